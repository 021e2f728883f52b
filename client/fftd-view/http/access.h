/* Decides by its headers whether a request is answered. Pure: no sockets, no state.
 *
 * A page of another site can make a browser on this machine send requests here. It cannot choose
 * the header Host, unless its own name resolves to this machine (DNS rebinding). It cannot choose
 * the headers Origin and Sec-Fetch-Site at all. */
#ifndef FFTD_VIEW_ACCESS_H
#define FFTD_VIEW_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

struct access_request {
    const char *host;       /* NULL: the request has none */
    unsigned host_count;    /* how many headers Host it has */
    const char *origin;     /* NULL: none */
    const char *fetch_site; /* Sec-Fetch-Site; NULL: none; programs and old browsers send none */
    bool is_page;           /* it is for the page itself, to which other sites may link */
};

/* Returns 0 or the HTTP status of the refusal: 400, 403 or 421. `names` are the names besides
 * localhost, 127.0.0.1 and [::1] under which the page is served, with NULL at the end. */
unsigned access_check(const struct access_request *request, const char *const *names);

/* The headers of a request that changes something and that access_check has accepted. NULL: it has
 * no such header. */
struct access_change {
    const char *origin;
    const char *authorization;
    const char *content_type;
    const char *content_length;
    const char *transfer_encoding;
};

/* Returns 0 or the HTTP status of the refusal: 403 (it does not come from the page), 401 (it lacks
 * the token), 415 (it is not JSON), 411 or 413 (its length is missing or above `most`). */
unsigned access_check_change(const struct access_change *change, const char *token, size_t most);

/* Returns whether the header Authorization has the token. The time that this takes does not depend
 * on which characters are right. */
bool access_has_token(const char *authorization, const char *token);

/* Returns whether the name of a host has only letters, digits, '.' and '-'. */
bool access_is_name(const char *name);

#endif
