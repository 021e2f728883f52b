/* Which requests the server refuses before their body is read, and with which text. access.h has
 * the rules for headers. */
#ifndef FFTD_VIEW_REFUSAL_H
#define FFTD_VIEW_REFUSAL_H

#include "request.h"

/* Returns 0 or the HTTP status of the refusal. route: that of the path; NULL: there is none. */
unsigned refusal_check(const struct server *server, const struct route *route,
                       struct MHD_Connection *connection, const char *path, const char *method);

/* Answers with that status and a line that says what would be right. */
enum MHD_Result refusal_respond(const struct server *server, const struct route *route,
                                struct MHD_Connection *connection, unsigned status);

#endif
