/* The answers of the routes. Each is called when its request is complete, and again whenever what
 * it has waited for is there; until it has queued an answer the connection is suspended. Returns
 * MHD_NO where the connection has to end without an answer. */
#ifndef FFTD_VIEW_ANSWER_H
#define FFTD_VIEW_ANSWER_H

#include "request.h"

/* A file of the page. */
enum MHD_Result answer_file(struct server *server, struct request *request);
/* The newest picture, or spectrum, as JPEG. */
enum MHD_Result answer_image(struct server *server, struct request *request);
/* A frame before and after the filter. */
enum MHD_Result answer_comparison(struct server *server, struct request *request);
/* Pictures for as long as they are read, or for the seconds of a clip. */
enum MHD_Result answer_stream(struct server *server, struct request *request);
/* The cameras with their state. */
enum MHD_Result answer_list(struct server *server, struct request *request);
/* The kinds of filters with their parameters. */
enum MHD_Result answer_kinds(struct server *server, struct request *request);
/* Changes the filter as the body says. */
enum MHD_Result answer_change(struct server *server, struct request *request);

#endif
