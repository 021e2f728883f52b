/* Queues answers, with the headers that keep other sites out. Each function queues one answer. */
#ifndef FFTD_VIEW_RESPOND_H
#define FFTD_VIEW_RESPOND_H

#include <microhttpd.h>

#include "image.h"

/* Adds those headers and the type, queues the response and releases it; NULL: out of memory. */
enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                        struct MHD_Response *response, const char *type);

/* Sends one line of text about an error. The connection then ends. */
enum MHD_Result respond_error(struct MHD_Connection *connection, unsigned status, const char *text);

/* Sends the status 405 with the allowed methods, such as "GET, HEAD". The connection then ends. */
enum MHD_Result respond_method_error(struct MHD_Connection *connection, const char *allowed);

/* Sends a constant text. */
enum MHD_Result respond_text(struct MHD_Connection *connection, const char *text, const char *type);

/* Sends an image, whose reference it takes over. If the image's status is not 200, its text is sent
 * like respond_error's. NULL: out of memory. */
enum MHD_Result respond_image(struct MHD_Connection *connection, struct image *image,
                              const char *type);

/* Sends only headers, for a HEAD request whose answer would first have to be made. */
enum MHD_Result respond_empty(struct MHD_Connection *connection, const char *type);

#endif
