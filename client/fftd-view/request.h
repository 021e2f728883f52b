/* Routes and requests, and the functions that serve them, file by file: shared within the server. A
 * request belongs to the thread of libmicrohttpd. */
#ifndef FFTD_VIEW_REQUEST_H
#define FFTD_VIEW_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include <microhttpd.h>

#include "asked.h"
#include "changer.h"
#include "http/connections.h"
#include "encoder.h"
#include "problems.h"
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
    enum waiter_kind waits_for;     /* what a request needs from its camera first */
    enum changer_question question; /* answer_asked: what the daemon is asked */
    enum route_token token;
    bool has_words; /* answer_asked: the body has those of the question */
    bool is_clip;   /* answer_stream: it has an end */
    bool is_change; /* it is a POST request that access_check_change accepts */
};

/* A file of the page, which is embedded in the program. */
struct page_file {
    const char *name; /* "index.html" */
    const char *text;
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
    struct problems *problems;                 /* NULL: filters may not be changed */
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

/* ---- router.c: which paths exist, with which method, and what answers them ---- */

/* Finds what a path asks for. A path matches a route if each of its segments, between slashes, is
 * the route's; nothing but a colon is unescaped. Returns false if there is none. */
bool router_find(struct target *ret, const struct server *server, const char *path);

/* ---- refusal.c: refuses requests before their body is read; access.h has the rules ---- */

/* Returns 0 or the HTTP status of the refusal. `route` belongs to the path; NULL: there is none. */
unsigned refusal_check(const struct server *server, const struct route *route,
                       struct MHD_Connection *connection, const char *path, const char *method);

/* Answers with this status and a line that says what would be right. */
enum MHD_Result refusal_respond(const struct server *server, const struct route *route,
                                struct MHD_Connection *connection, unsigned status);

/* ---- answer.c ----
 * Each function is called when its request is complete, and again when something that it waits for
 * has happened. Until it has queued an answer, the connection is suspended. It returns MHD_NO if
 * the connection must end without an answer. */

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
/* The daemon's answer to the question that the route asks. */
enum MHD_Result answer_asked(struct server *server, struct request *request);
/* The state of the search for problems, and after a POST that of a new one. */
enum MHD_Result answer_problems(struct server *server, struct request *request);

#endif
