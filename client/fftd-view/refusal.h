/* Refuses requests before their body is read, with a text that says why. access.h has the rules for
 * headers. */
#ifndef FFTD_VIEW_REFUSAL_H
#define FFTD_VIEW_REFUSAL_H

#include "request.h"

/* Returns 0 or the HTTP status of the refusal. `route` belongs to the path; NULL: there is none. */
unsigned refusal_check(const struct server *server, const struct route *route,
                       struct MHD_Connection *connection, const char *path, const char *method);

/* Answers with this status and a line that says what would be right. */
enum MHD_Result refusal_respond(const struct server *server, const struct route *route,
                                struct MHD_Connection *connection, unsigned status);

#endif
