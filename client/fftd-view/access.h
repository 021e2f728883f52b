/* Which requests are answered, by their headers. Pure: no sockets, no state.
 *
 * A page of another site can make a browser of this machine send requests here. It cannot choose
 * the header Host, unless its own name leads here (DNS rebinding), nor the headers Origin and
 * Sec-Fetch-Site. */
#ifndef FFTD_VIEW_ACCESS_H
#define FFTD_VIEW_ACCESS_H

#include <stdbool.h>

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

/* Returns whether a name can be one of these: letters, digits, '.' and '-'. */
bool access_is_name(const char *name);

#endif
