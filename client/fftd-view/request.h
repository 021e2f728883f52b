/* State that the server's files share: routes and requests. A request belongs to the
 * thread of libmicrohttpd. */
#ifndef FFTD_VIEW_REQUEST_H
#define FFTD_VIEW_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include <microhttpd.h>

#include "asked.h"
#include "changer.h"
#include "http/connections.h"
#include "encoder.h"
#include "view_camera.h"
#include "http/waiter.h"

struct server;
struct request;

/* Which requests of a route need the token. */
enum route_token { TOKEN_NEVER, TOKEN_WITH_CONTROL /* if there is one */, TOKEN_ALWAYS };

/* Paths and their answer. */
struct route {
    const char *path; /* segments, of which some stand for several (router.c) */
    const char *type; /* the answer's Content-Type; NULL: that of the file */
    enum MHD_Result (*answer)(struct server *server, struct request *request);
    enum waiter_kind waits_for; /* what a request needs from its camera first */
    enum route_token token;
    bool is_stream;
    bool is_clip;   /* it is a stream with an end */
    bool is_change; /* it is a POST request that access_check_change accepts */
};

/* The route that a request takes, and its camera or file. */
struct target {
    const struct route *route;
    const struct page_file *file; /* NULL: the route is not that of the page's files */
    unsigned camera;              /* an index, if the route is one of cameras */
};

struct server {
    struct MHD_Daemon *daemon;
    struct connections *connections;
    const char *const *hosts;
    const char *token; /* NULL: filters may not be changed */
    struct camera *camera[CAMERA_MAX_COUNT];
    struct asked *status[CAMERA_MAX_COUNT];
    struct asked *comparison[CAMERA_MAX_COUNT];
    struct encoder *encoder[CAMERA_MAX_COUNT]; /* for comparisons */
    struct changer *changer[CAMERA_MAX_COUNT]; /* NULL: filters may not be changed */
    unsigned camera_count;
    unsigned streams; /* atomic */
};

/* One request, from its headers to the end of its answer. */
struct request {
    struct target target;
    struct waiter waiter;
    bool is_counted; /* server->streams includes it, until its stream exists */
    /* A change, or a question for the kinds of filters. */
    char *body;
    size_t body_bytes;
    bool is_asked;
    struct changer_call call;
    /* The part of the list of cameras that is already written. */
    unsigned listed;
    FILE *list;
    char *list_text;
    size_t list_bytes;
};

#endif
