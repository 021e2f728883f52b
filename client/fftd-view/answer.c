#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "respond.h"
#include "stream.h"

#define MAX_STREAMS 64
#define CLIP_S      10 /* unless the request gives another length */

static const char *type_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strcmp(dot, ".css") == 0   ? "text/css; charset=utf-8"
           : strcmp(dot, ".js") == 0  ? "text/javascript; charset=utf-8"
           : strcmp(dot, ".svg") == 0 ? "image/svg+xml"
                                      : "text/html; charset=utf-8";
}

enum MHD_Result answer_file(struct server *server, struct request *request)
{
    const struct page_file *file = request->target.file;
    (void)server;
    return respond_text(request->waiter.connection, file->text, type_of(file->name));
}

static struct camera *camera_of(const struct server *server, const struct request *request)
{
    return server->camera[request->target.camera];
}

static enum MHD_Result answer_no_frame(const struct server *server, struct request *request)
{
    char text[256];
    snprintf(text, sizeof text,
             "camera %s has published no frame for %d s; /api/cameras says why\n",
             camera_name_of(camera_place(camera_of(server, request))),
             (int)(WAITER_PATIENCE_NS / NS_PER_S));
    return respond_error(request->waiter.connection, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

enum MHD_Result answer_image(struct server *server, struct request *request)
{
    struct image *image;
    int r = camera_take(camera_of(server, request), &request->waiter, 0, &image);
    if (r == -EAGAIN)
        return MHD_YES;
    if (r < 0)
        return answer_no_frame(server, request);
    return respond_image(request->waiter.connection, image, request->target.route->type);
}

enum MHD_Result answer_comparison(struct server *server, struct request *request)
{
    struct image *image;
    int r = asked_take(server->comparison[request->target.camera], &request->waiter, &image);
    if (r == -EAGAIN)
        return MHD_YES;
    return r < 0 ? MHD_NO
                 : respond_image(request->waiter.connection, image, request->target.route->type);
}

/* Returns the length of a clip that the query asks for; 0: it is invalid. */
static unsigned clip_length(struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "seconds");
    if (text == NULL)
        return CLIP_S;
    const size_t digits = strspn(text, "0123456789");
    const unsigned long seconds = digits > 0 && text[digits] == '\0' ? strtoul(text, NULL, 10) : 0;
    return seconds <= STREAM_CLIP_S ? (unsigned)seconds : 0;
}

enum MHD_Result answer_stream(struct server *server, struct request *request)
{
    struct image *image;
    const unsigned clip_s =
        request->target.route->is_clip ? clip_length(request->waiter.connection) : 0;
    if (request->target.route->is_clip && clip_s == 0) {
        char text[64];
        snprintf(text, sizeof text, "seconds: expected a whole number from 1 to %d\n",
                 STREAM_CLIP_S);
        return respond_error(request->waiter.connection, MHD_HTTP_BAD_REQUEST, text);
    }
    if (!request->is_counted) {
        if (__atomic_add_fetch(&server->streams, 1, __ATOMIC_RELAXED) > MAX_STREAMS) {
            __atomic_sub_fetch(&server->streams, 1, __ATOMIC_RELAXED);
            return respond_error(request->waiter.connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                 "too many streams are open; close some pages, or ask for "
                                 "snapshot.jpg\n");
        }
        request->is_counted = true;
    }
    int r = camera_take(camera_of(server, request), &request->waiter, 0, &image);
    if (r == -EAGAIN)
        return MHD_YES;
    if (r < 0)
        return answer_no_frame(server, request);
    request->is_counted = false;
    return stream_respond(request->waiter.connection, camera_of(server, request), image, clip_s,
                          &server->streams);
}

enum MHD_Result answer_list(struct server *server, struct request *request)
{
    struct image *status;
    if (request->list == NULL) {
        request->list = open_memstream(&request->list_text, &request->list_bytes);
        if (request->list == NULL)
            return MHD_NO;
        fprintf(request->list,
                "{\"version\": \"" FFTD_VERSION "\", \"control\": %s, \"cameras\": [\n",
                server->token != NULL ? "true" : "false");
    }
    for (; request->listed < server->camera_count; request->listed++) {
        int r = asked_take(server->status[request->listed], &request->waiter, &status);
        if (r == -EAGAIN)
            return MHD_YES;
        if (r < 0)
            return MHD_NO;
        fputs(request->listed > 0 ? ", " : "", request->list);
        fwrite(status->data, 1, status->bytes, request->list);
        image_unref(status);
        request->waiter.is_over = false;
    }
    fputs("]}\n", request->list);
    const bool is_written = fclose(request->list) == 0;
    request->list = NULL;
    return respond_image(request->waiter.connection,
                         is_written ? image_create(request->list_text, request->list_bytes) : NULL,
                         request->target.route->type);
}

/* Asks the daemon, and is called again with its answer. The body of a change has words. */
enum MHD_Result answer_asked(struct server *server, struct request *request)
{
    struct changer_call *call = &request->call;
    const struct route *route = request->target.route;
    char why[256];
    if (request->is_asked) {
        struct image *answer = call->answer;
        call->answer = NULL;
        return respond_image(call->connection, answer, route->type);
    }
    if (route->has_words &&
        change_request_parse(&call->words, request->body != NULL ? request->body : "",
                             request->body_bytes, why, sizeof why - 1) < 0) {
        strcat(why, "\n");
        return respond_error(request->waiter.connection, MHD_HTTP_BAD_REQUEST, why);
    }
    request->is_asked = true;
    call->question = route->question;
    call->connection = request->waiter.connection;
    changer_begin(server->changer[request->target.camera], call);
    return MHD_YES;
}

enum MHD_Result answer_problems(struct server *server, struct request *request)
{
    const char *place = camera_place(camera_of(server, request));
    return respond_image(request->waiter.connection,
                         request->target.route->is_change ? problems_start(server->problems, place)
                                                          : problems_get(server->problems, place),
                         request->target.route->type);
}
