/* Answers, all with the headers that keep other sites out. Each function queues one answer. */
#ifndef FFTD_VIEW_RESPOND_H
#define FFTD_VIEW_RESPOND_H

#include <microhttpd.h>

#include "image.h"

/* Adds those headers and the type, queues the response and releases it; NULL: out of memory. */
enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                        struct MHD_Response *response, const char *type);

/* One line of text about an error. The connection ends after it. */
enum MHD_Result respond_error(struct MHD_Connection *connection, unsigned status, const char *text);

/* The same with the status 405, and the methods that are allowed: "GET, HEAD". */
enum MHD_Result respond_method_error(struct MHD_Connection *connection, const char *allowed);

/* A constant text. */
enum MHD_Result respond_text(struct MHD_Connection *connection, const char *text, const char *type);

/* A text from malloc, which is freed, and an image, whose reference is taken over. If its status is
 * not 200, its text is sent as by respond_error. */
enum MHD_Result respond_json(struct MHD_Connection *connection, char *text, size_t bytes);
enum MHD_Result respond_image(struct MHD_Connection *connection, struct image *image,
                              const char *type);

/* Headers alone, for HEAD of what would have to be made. */
enum MHD_Result respond_empty(struct MHD_Connection *connection, const char *type);

#endif
