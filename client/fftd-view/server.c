#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fftd/fftd.h>

#include "access.h"
#include "connections.h"
#include "changer.h"
#include "comparison.h"
#include "encoder.h"
#include "matroska.h"
#include "page.h"
#include "respond.h"
#include "status.h"
#include "stream.h"

#define MAX_STREAMS     64
#define CLIP_S          10 /* unless the request says another length */
#define MAX_PER_ADDRESS 128
#define REQUEST_BYTES   32768u /* of a connection: its headers, and what it is sent at once */
#define MAX_PATH        128
#define MAX_PAGE_ROUTES 16 /* and the list of cameras */
#define MAX_ROUTES      (MAX_PAGE_ROUTES + 7 * SERVER_MAX_CAMERAS)

struct server;
struct request;

/* A path and its answer. */
struct route {
    char path[MAX_PATH];
    const char *type; /* of the answer */
    enum MHD_Result (*answer)(struct server *server, struct request *request);
    const char *text;      /* of a file of the page */
    struct camera *camera; /* of those of one camera */
    unsigned index;        /* of that camera */
    bool is_stream;
    bool is_clip;            /* a stream with an end */
    bool is_control;         /* it needs the token */
    bool is_change;          /* by POST, and it needs more */
    struct changer *changer; /* NULL: filters may not be changed */
};

struct server {
    struct MHD_Daemon *daemon;
    struct connections *connections;
    const char *const *hosts;
    const char *token; /* NULL: filters may not be changed */
    struct camera *camera[SERVER_MAX_CAMERAS];
    struct asked *status[SERVER_MAX_CAMERAS];
    struct asked *comparison[SERVER_MAX_CAMERAS];
    struct encoder *encoder[SERVER_MAX_CAMERAS]; /* of comparisons */
    struct changer *changer[SERVER_MAX_CAMERAS]; /* NULL: filters may not be changed */
    unsigned camera_count;
    struct route route[MAX_ROUTES];
    unsigned route_count;
    unsigned streams; /* atomic */
};

/* One request, from its headers to the end of its answer. */
struct request {
    const struct route *route;
    struct waiter waiter;
    bool is_counted; /* in server->streams, until its stream counts itself */
    /* A change, or a question for the kinds of filters. */
    char *body;
    size_t body_bytes;
    bool is_asked;
    struct changer_call call;
    /* The list of cameras, as far as it is written. */
    unsigned listed;
    FILE *list;
    char *list_text;
    size_t list_bytes;
};

/* ---- answers ---- */

static enum MHD_Result answer_file(struct server *server, struct request *request)
{
    (void)server;
    return respond_text(request->waiter.connection, request->route->text, request->route->type);
}

static enum MHD_Result answer_no_frame(struct request *request)
{
    char text[256];
    snprintf(text, sizeof text,
             "camera %s has published no frame for %d s; /api/cameras says why\n",
             camera_name(request->route->camera), (int)(WAITER_PATIENCE_NS / 1000000000));
    return respond_error(request->waiter.connection, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result answer_image(struct server *server, struct request *request)
{
    struct image *image;
    (void)server;
    int r = camera_take(request->route->camera, &request->waiter, 0, &image);
    if (r == -EAGAIN)
        return MHD_YES;
    if (r < 0)
        return answer_no_frame(request);
    return respond_image(request->waiter.connection, image, request->route->type);
}

static enum MHD_Result answer_comparison(struct server *server, struct request *request)
{
    struct image *image;
    int r = asked_take(server->comparison[request->route->index], &request->waiter, &image);
    if (r == -EAGAIN)
        return MHD_YES;
    return r < 0 ? MHD_NO : respond_image(request->waiter.connection, image, request->route->type);
}

/* The seconds of a clip that the query asks for; 0: they are wrong. */
static unsigned clip_length(struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "seconds");
    if (text == NULL)
        return CLIP_S;
    const size_t digits = strspn(text, "0123456789");
    const unsigned long seconds = digits > 0 && text[digits] == '\0' ? strtoul(text, NULL, 10) : 0;
    return seconds <= STREAM_CLIP_S ? (unsigned)seconds : 0;
}

static enum MHD_Result answer_stream(struct server *server, struct request *request)
{
    struct image *image;
    const unsigned clip_s = request->route->is_clip ? clip_length(request->waiter.connection) : 0;
    if (request->route->is_clip && clip_s == 0) {
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
    int r = camera_take(request->route->camera, &request->waiter, 0, &image);
    if (r == -EAGAIN)
        return MHD_YES;
    if (r < 0)
        return answer_no_frame(request);
    request->is_counted = false;
    return stream_respond(request->waiter.connection, request->route->camera, image, clip_s,
                          &server->streams);
}

static enum MHD_Result answer_list(struct server *server, struct request *request)
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
    char *text = request->list_text;
    request->list_text = NULL;
    if (!is_written) {
        free(text);
        return MHD_NO;
    }
    return respond_json(request->waiter.connection, text, request->list_bytes);
}

/* Asks the daemon, and is called again with its answer. */
static enum MHD_Result answer_call(struct request *request)
{
    struct changer_call *call = &request->call;
    if (!request->is_asked) {
        request->is_asked = true;
        call->connection = request->waiter.connection;
        changer_begin(request->route->changer, call);
        return MHD_YES;
    }
    char *text = call->text;
    call->text = NULL;
    if (text == NULL)
        return MHD_NO;
    if (call->status == MHD_HTTP_OK)
        return respond_json(call->connection, text, call->bytes);
    enum MHD_Result result = respond_error(call->connection, call->status, text);
    free(text);
    return result;
}

static enum MHD_Result answer_kinds(struct server *server, struct request *request)
{
    (void)server;
    return answer_call(request);
}

static enum MHD_Result answer_change(struct server *server, struct request *request)
{
    char why[256];
    (void)server;
    if (!request->is_asked &&
        change_request_parse(&request->call.change, request->body != NULL ? request->body : "",
                             request->body_bytes, why, sizeof why - 1) < 0) {
        strcat(why, "\n");
        return respond_error(request->waiter.connection, MHD_HTTP_BAD_REQUEST, why);
    }
    return answer_call(request);
}

/* ---- requests ---- */

static const struct route *find_route(const struct server *server, const char *path)
{
    for (unsigned i = 0; i < server->route_count; i++)
        if (strcmp(server->route[i].path, path) == 0)
            return &server->route[i];
    return NULL;
}

static enum MHD_Result count_hosts(void *cls, enum MHD_ValueKind kind, const char *key,
                                   const char *value)
{
    unsigned *count = cls;
    (void)kind, (void)value;
    if (strcasecmp(key, "Host") == 0)
        ++*count;
    return MHD_YES;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* As check, of a request for a route that needs the token. */
static unsigned check_control(const struct server *server, struct MHD_Connection *connection,
                              const struct route *route)
{
    const struct access_change change = {
        .origin = header(connection, "Origin"),
        .authorization = header(connection, "Authorization"),
        .content_type = header(connection, "Content-Type"),
        .content_length = header(connection, "Content-Length"),
        .transfer_encoding = header(connection, "Transfer-Encoding"),
    };
    if (server->token == NULL)
        return MHD_HTTP_FORBIDDEN;
    if (route->is_change)
        return access_check_change(&change, server->token, CHANGE_REQUEST_BYTES);
    return access_has_token(change.authorization, server->token) ? 0 : MHD_HTTP_UNAUTHORIZED;
}

/* Returns 0 or the status of the refusal. */
static unsigned check(const struct server *server, struct MHD_Connection *connection,
                      const char *path, const char *method)
{
    struct access_request request = {
        .host = header(connection, "Host"),
        .origin = header(connection, "Origin"),
        .fetch_site = header(connection, "Sec-Fetch-Site"),
        .is_page = strcmp(path, "/") == 0,
    };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_hosts, &request.host_count);
    unsigned status = access_check(&request, server->hosts);
    if (status != 0)
        return status;
    const struct route *route = find_route(server, path);
    if (route != NULL && route->is_change)
        return strcmp(method, "POST") == 0 ? check_control(server, connection, route)
                                           : MHD_HTTP_METHOD_NOT_ALLOWED;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    const char *length = header(connection, "Content-Length");
    if (header(connection, "Transfer-Encoding") != NULL ||
        (length != NULL && strcmp(length, "0") != 0))
        return MHD_HTTP_BAD_REQUEST;
    if (route == NULL)
        return MHD_HTTP_NOT_FOUND;
    return route->is_control ? check_control(server, connection, route) : 0;
}

static enum MHD_Result refuse(const struct server *server, struct MHD_Connection *connection,
                              const struct route *route, unsigned status)
{
    switch (status) {
    case MHD_HTTP_FORBIDDEN:
        return respond_error(connection, status,
                             route != NULL && route->is_control && server->token == NULL
                                 ? "fftd-view was started without --control: it changes nothing\n"
                             : route != NULL && route->is_change
                                 ? "the request does not come from the page itself\n"
                                 : "the request comes from a page of another site\n");
    case MHD_HTTP_UNAUTHORIZED:
        return respond_error(connection, status,
                             "the token is missing or not that of this start; fftd-view(1) says "
                             "where the address with the token is\n");
    case MHD_HTTP_NOT_FOUND:
        return respond_error(connection, status, "no such path; /api/cameras lists the cameras\n");
    case MHD_HTTP_METHOD_NOT_ALLOWED:
        return respond_method_error(connection,
                                    route != NULL && route->is_change ? "POST" : "GET, HEAD");
    case MHD_HTTP_LENGTH_REQUIRED:
        return respond_error(connection, status, "expected a header Content-Length\n");
    case MHD_HTTP_CONTENT_TOO_LARGE:
        return respond_error(connection, status, "the body is too large: at most 40 KiB\n");
    case MHD_HTTP_UNSUPPORTED_MEDIA_TYPE:
        return respond_error(connection, status,
                             "expected the header Content-Type: application/json\n");
    case MHD_HTTP_MISDIRECTED_REQUEST:
        return respond_error(connection, status,
                             "the header Host names another machine: expected localhost or a name "
                             "that fftd-view was given with --host\n");
    default:
        return respond_error(connection, status, "expected one header Host, and no body\n");
    }
}

static struct connection *context_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* The length was checked, and the library passes on no more. */
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
        unsigned status = check(server, connection, path, method);
        if (status != 0)
            return refuse(server, connection, find_route(server, path), status);
        if ((request = calloc(1, sizeof *request)) == NULL)
            return MHD_NO;
        request->route = find_route(server, path);
        request->waiter.connection = connection;
        *context = request;
        connections_begin(server->connections, context_of(connection), request->route->is_stream);
        return MHD_YES; /* an answer at the first call would end the connection */
    }
    if (*upload_bytes > 0) {
        enum MHD_Result result = collect_body(request, upload, *upload_bytes);
        *upload_bytes = 0;
        return result;
    }
    if (request->route->text == NULL && strcmp(method, "HEAD") == 0)
        return respond_empty(connection, request->route->type);
    request->waiter.kind = strstr(path, "/spectrum") != NULL ? WAITER_SPECTRUM
                           : request->route->camera != NULL  ? WAITER_PICTURE
                                                             : WAITER_ASKED;
    return request->route->answer(server, request);
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
    free(request->call.text);
    change_request_finish(&request->call.change);
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

/* Paths are compared byte by byte, as they were sent. */
static size_t leave_escaped(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls, (void)connection;
    return strlen(text);
}

/* ---- making ---- */

static struct route *add_route(struct server *server, const char *type,
                               enum MHD_Result (*answer)(struct server *, struct request *))
{
    struct route *route = &server->route[server->route_count++];
    *route = (struct route){.type = type, .answer = answer};
    return route;
}

static const char *type_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strcmp(dot, ".css") == 0   ? "text/css; charset=utf-8"
           : strcmp(dot, ".js") == 0  ? "text/javascript; charset=utf-8"
           : strcmp(dot, ".svg") == 0 ? "image/svg+xml"
                                      : "text/html; charset=utf-8";
}

static void add_page(struct server *server)
{
    for (const struct page_file *file = page_files(); file->name != NULL; file++) {
        struct route *route = add_route(server, type_of(file->name), answer_file);
        snprintf(route->path, MAX_PATH, "/%s",
                 strcmp(file->name, "index.html") == 0 ? "" : file->name);
        route->text = file->text;
    }
    snprintf(add_route(server, "application/json", answer_list)->path, MAX_PATH, "/api/cameras");
}

static void add_camera_routes(struct server *server, unsigned index)
{
    const struct {
        const char *name, *type;
        enum MHD_Result (*answer)(struct server *, struct request *);
    } parts[] = {{"stream.mjpeg", STREAM_TYPE, answer_stream},
                 {"clip.mkv", MATROSKA_TYPE, answer_stream},
                 {"snapshot.jpg", "image/jpeg", answer_image},
                 {"spectrum", "image/jpeg", answer_image},
                 {"comparison", COMPARISON_TYPE, answer_comparison},
                 {"filters", "application/json", answer_kinds},
                 {"filter", "application/json", answer_change}};
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct route *route = add_route(server, parts[i].type, parts[i].answer);
        route->index = index;
        route->camera = server->camera[index];
        route->changer = server->changer[index];
        snprintf(route->path, MAX_PATH, "/camera/%s/%s", camera_name(route->camera), parts[i].name);
        route->is_stream = parts[i].answer == answer_stream;
        route->is_clip = strcmp(parts[i].type, MATROSKA_TYPE) == 0;
        route->is_change = parts[i].answer == answer_change;
        /* A comparison shows what the filter hides. With --control it needs the token; otherwise
         * the daemon refuses it unless output.watch_unfiltered is set. */
        route->is_control = route->is_change || parts[i].answer == answer_kinds ||
                            (parts[i].answer == answer_comparison && server->token != NULL);
    }
}

static int add_camera(struct server *server, const struct server_options *options, unsigned index)
{
    const struct camera_options camera = {
        .name = options->names[index], .fps = options->fps, .quality = options->quality};
    int r = camera_create(&server->camera[index], &camera);
    if (r < 0)
        return r;
    server->camera_count++;
    r = asked_create(&server->status[index], camera.name, &status_kind, NULL);
    if (r == 0)
        r = encoder_create(&server->encoder[index], options->quality);
    if (r == 0)
        r = asked_create(&server->comparison[index], camera.name,
                         server->token != NULL ? &comparison_by_changer : &comparison_by_watcher,
                         server->encoder[index]);
    if (r == 0 && server->token != NULL)
        r = changer_create(&server->changer[index], camera.name);
    if (r == 0)
        add_camera_routes(server, index);
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
    add_page(server);
    for (unsigned i = 0; r == 0 && i < options->name_count; i++)
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
        leave_escaped, NULL, MHD_OPTION_END);
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
