#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "request.h"
#include "respond.h"
#include "status.h"

#define MAX_PER_ADDRESS 128
#define REQUEST_BYTES   32768u /* per connection: its headers, and what is sent at once */

/* ---- requests ---- */

static struct connection *context_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* The length was checked, and libmicrohttpd passes no more than that. */
static enum MHD_Result collect_body(struct request *request, const char *part, size_t bytes)
{
    if (request->body == NULL)
        request->body = malloc(CHANGE_REQUEST_BYTES);
    if (request->body == NULL || bytes > CHANGE_REQUEST_BYTES - request->body_bytes)
        return MHD_NO;
    memcpy(request->body + request->body_bytes, part, bytes);
    request->body_bytes += bytes;
    return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, /* NOLINT: libmicrohttpd's type */
                                  void **context)
{
    struct server *server = cls;
    struct request *request = *context;
    (void)version;
    if (request == NULL) {
        struct target target = {.route = NULL};
        router_find(&target, server, path);
        unsigned status = refusal_check(server, target.route, connection, path, method);
        if (status != 0)
            return refusal_respond(server, target.route, connection, status);
        if ((request = calloc(1, sizeof *request)) == NULL)
            return MHD_NO;
        request->target = target;
        request->waiter.connection = connection;
        *context = request;
        connections_begin(server->connections, context_of(connection),
                          target.route->answer == answer_stream);
        return MHD_YES; /* an answer at the first call would end the connection */
    }
    if (*upload_bytes > 0) {
        enum MHD_Result result = collect_body(request, upload, *upload_bytes);
        *upload_bytes = 0;
        return result;
    }
    const struct route *route = request->target.route;
    if (route->type != NULL && strcmp(method, "HEAD") == 0)
        return respond_empty(connection, route->type);
    request->waiter.kind = route->waits_for;
    return route->answer(server, request);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct server *server = cls;
    struct request *request = *context;
    (void)code;
    connections_end(server->connections, context_of(connection));
    if (request == NULL)
        return;
    if (request->is_counted)
        __atomic_sub_fetch(&server->streams, 1, __ATOMIC_RELAXED);
    if (request->list != NULL)
        fclose(request->list);
    free(request->list_text);
    free(request->body);
    image_unref(request->call.answer);
    change_request_finish(&request->call.words);
    free(request);
    *context = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *server = cls;
    switch (code) {
    case MHD_CONNECTION_NOTIFY_STARTED:
        *context = connections_open(
            server->connections,
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
        return;
    case MHD_CONNECTION_NOTIFY_CLOSED:
        connections_close(server->connections, *context);
        return;
    }
}

/* Paths are compared byte by byte, as they were sent. But JavaScript's encodeURIComponent escapes
 * the colon in the name of an output. */
static size_t unescape_colons(void *cls, struct MHD_Connection *connection, char *text)
{
    static const char colon[] = "%3A";
    char *to = text;
    (void)cls, (void)connection;
    for (const char *from = text; *from != '\0'; to++) {
        const bool is_colon = strncmp(from, colon, strlen(colon)) == 0;
        *to = is_colon ? ':' : *from;
        from += is_colon ? strlen(colon) : 1;
    }
    *to = '\0';
    return (size_t)(to - text);
}

/* ---- creating ---- */

static int add_camera(struct server *server, const struct server_options *options, unsigned index)
{
    const struct camera_options camera = {.place = options->places[index],
                                          .fps = (unsigned)options->fps,
                                          .quality = (int)options->quality};
    int r = camera_create(&server->camera[index], &camera);
    if (r < 0)
        return r;
    server->camera_count++;
    r = asked_create(&server->status[index], camera.place, "control-watch", &status_kind, NULL);
    if (r == 0)
        r = encoder_create(&server->encoder[index], camera.quality);
    if (r == 0)
        r = asked_create(&server->comparison[index], camera.place,
                         server->token != NULL ? "control" : "control-watch", &comparison_kind,
                         server->encoder[index]);
    if (r == 0 && server->token != NULL)
        r = changer_create(&server->changer[index], camera.place);
    return r;
}

int server_create(struct server **ret, int fd, const struct server_options *options)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return -ENOMEM;
    server->hosts = options->hosts;
    server->token = options->token;
    int r = connections_create(&server->connections);
    if (r == 0 && server->token != NULL)
        r = problems_create(&server->problems);
    for (unsigned i = 0; r == 0 && i < options->count; i++)
        r = add_camera(server, options, i);
    if (r < 0)
        goto fail;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)MAX_PER_ADDRESS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)CONNECTION_IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_UNESCAPE_CALLBACK,
        unescape_colons, NULL, MHD_OPTION_END);
    if (server->daemon == NULL) {
        r = errno != 0 ? -errno : -EIO;
        goto fail;
    }
    *ret = server;
    return 0;
fail:
    server_destroy(server);
    return r;
}

void server_destroy(struct server *server)
{
    if (server == NULL)
        return;
    /* No connection may be suspended when the library's thread ends. */
    for (unsigned i = 0; i < server->camera_count; i++) {
        camera_stop(server->camera[i]);
        asked_stop(server->status[i]);
        asked_stop(server->comparison[i]);
        changer_stop(server->changer[i]);
    }
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    for (unsigned i = 0; i < server->camera_count; i++) {
        camera_destroy(server->camera[i]);
        asked_destroy(server->status[i]);
        asked_destroy(server->comparison[i]);
        encoder_destroy(server->encoder[i]);
        changer_destroy(server->changer[i]);
    }
    problems_destroy(server->problems);
    connections_destroy(server->connections);
    free(server);
}

int server_fd(const struct server *server)
{
    return connections_fd(server->connections);
}

void server_sweep(struct server *server)
{
    connections_sweep(server->connections);
}
