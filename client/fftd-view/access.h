/* Which requests are answered, by their headers. Pure: no sockets, no state.
 *
 * A page of another site can make a browser of this machine send requests here. It cannot choose
 * the header Host, unless its own name leads here (DNS rebinding), nor the headers Origin and
 * Sec-Fetch-Site. */
#ifndef FFTD_VIEW_ACCESS_H
#define FFTD_VIEW_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

struct access_request {
    const char *host;       /* NULL: the request has none */
    unsigned host_count;    /* headers of that name */
    const char *origin;     /* NULL: none */
    const char *fetch_site; /* Sec-Fetch-Site; NULL: none, as from programs and old browsers */
    bool is_page;           /* of the page itself, which other sites may link to */
};

/* Returns 0 or the HTTP status of the refusal: 400, 403 or 421. names: the names besides localhost,
 * 127.0.0.1 and [::1] under which the page may be asked for, NULL at the end. */
unsigned access_check(const struct access_request *request, const char *const *names);

/* A request that changes something, which access_check has let pass. NULL: it has no such header.
 */
struct access_change {
    const char *origin;
    const char *authorization;
    const char *content_type;
    const char *content_length;
    const char *transfer_encoding;
};

/* Returns 0 or the HTTP status of the refusal: 403 (it does not come from the page), 401 (it does
 * not have the token), 415 (it is not JSON), 411 or 413 (its length is missing, or above `most`).
 */
unsigned access_check_change(const struct access_change *change, const char *token, size_t most);

/* Returns whether the header Authorization has the token. How long this takes does not depend on
 * which of its characters are right. */
bool access_has_token(const char *authorization, const char *token);

/* Returns whether a name can be one of these: letters, digits, '.' and '-'. */
bool access_is_name(const char *name);

#endif
