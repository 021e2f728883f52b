/* State that the server's files share: the table of routes, and requests. A request belongs to the
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

#define ROUTE_PATH_BYTES 128
#define MAX_PAGE_ROUTES  16 /* the page's files and the list of cameras */
#define MAX_ROUTES       (MAX_PAGE_ROUTES + 7 * CAMERA_MAX_COUNT)

struct server;
struct request;

/* A path and its answer. */
struct route {
    char path[ROUTE_PATH_BYTES];
    const char *type; /* the answer's Content-Type */
    enum MHD_Result (*answer)(struct server *server, struct request *request);
    const char *text;      /* a file of the page; NULL: the route is something else */
    struct camera *camera; /* NULL: the route is not one of a camera */
    unsigned index;        /* the camera's index */
    bool is_stream;
    bool is_clip;            /* it is a stream with an end */
    bool is_control;         /* it needs the token */
    bool is_change;          /* it is a POST request that access_check_change accepts */
    struct changer *changer; /* NULL: filters may not be changed */
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
    struct route route[MAX_ROUTES];
    unsigned route_count;
    unsigned streams; /* atomic */
};

/* One request, from its headers to the end of its answer. */
struct request {
    const struct route *route;
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
