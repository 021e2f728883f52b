/* The answers of the routes. Each is called when its request is complete, and again whenever
 * something that it waits for has happened; the connection is suspended until it has queued an
 * answer. Returns MHD_NO if the connection has to end without one. */
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
