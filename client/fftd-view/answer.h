/* The answers of the routes. Each function is called when its request is complete, and again when
 * something that it waits for has happened. Until it has queued an answer, the connection is
 * suspended. It returns MHD_NO if the connection must end without an answer. */
#ifndef FFTD_VIEW_ANSWER_H
#define FFTD_VIEW_ANSWER_H

#include "request.h"

/* A file of the page. */
enum MHD_Result answer_file(struct server *server, struct request *request);
/* The newest picture, or spectrum, as JPEG. */
enum MHD_Result answer_image(struct server *server, struct request *request);
/* A frame before and after the filter. */
enum MHD_Result answer_comparison(struct server *server, struct request *request);
/* Pictures for as long as the browser reads them, or for the length of a clip. */
enum MHD_Result answer_stream(struct server *server, struct request *request);
/* The list of cameras with their states. */
enum MHD_Result answer_list(struct server *server, struct request *request);
/* The kinds of filters with their parameters. */
enum MHD_Result answer_kinds(struct server *server, struct request *request);
/* The result of the change of the filter that the body describes. */
enum MHD_Result answer_change(struct server *server, struct request *request);

#endif
