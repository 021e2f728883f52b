#include "request.h"

#include <string.h>
#include <strings.h>

#include "http/access.h"
#include "respond.h"

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

static bool needs_token(const struct server *server, const struct route *route)
{
    return route->token == TOKEN_ALWAYS ||
           (route->token == TOKEN_WITH_CONTROL && server->token != NULL);
}

/* Like refusal_check, for a route that needs the token. */
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

unsigned refusal_check(const struct server *server, const struct route *route,
                       struct MHD_Connection *connection, const char *path, const char *method)
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
    return needs_token(server, route) ? check_control(server, connection, route) : 0;
}

enum MHD_Result refusal_respond(const struct server *server, const struct route *route,
                                struct MHD_Connection *connection, unsigned status)
{
    switch (status) {
    case MHD_HTTP_FORBIDDEN:
        return respond_error(connection, status,
                             route != NULL && needs_token(server, route) && server->token == NULL
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
