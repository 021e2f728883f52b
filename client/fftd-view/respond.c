#include "respond.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *value;
} headers[] = {
    /* The page loads only its own files, and no other site can show it in a frame. */
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    /* No other site can show the camera's picture in its own page. */
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
};

enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                        struct MHD_Response *response, const char *type)
{
    if (response == NULL)
        return MHD_NO;
    for (unsigned i = 0; i < sizeof headers / sizeof headers[0]; i++)
        MHD_add_response_header(response, headers[i].name, headers[i].value);
    MHD_add_response_header(response, "Content-Type", type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* `name` and `value` are one more header; NULL: none. */
static enum MHD_Result respond_last(struct MHD_Connection *connection, unsigned status,
                                    const char *text, const char *name, const char *value)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Connection", "close");
    if (name != NULL)
        MHD_add_response_header(response, name, value);
    return respond(connection, status, response, "text/plain; charset=utf-8");
}

enum MHD_Result respond_error(struct MHD_Connection *connection, unsigned status, const char *text)
{
    switch (status) {
    case MHD_HTTP_UNAUTHORIZED:
        return respond_last(connection, status, text, "WWW-Authenticate", "Bearer");
    case MHD_HTTP_SERVICE_UNAVAILABLE:
        return respond_last(connection, status, text, "Retry-After", "2");
    default:
        return respond_last(connection, status, text, NULL, NULL);
    }
}

enum MHD_Result respond_method_error(struct MHD_Connection *connection, const char *allowed)
{
    char text[80];
    snprintf(text, sizeof text, "expected the method %s\n", allowed);
    return respond_last(connection, MHD_HTTP_METHOD_NOT_ALLOWED, text, "Allow", allowed);
}

enum MHD_Result respond_text(struct MHD_Connection *connection, const char *text, const char *type)
{
    return respond(
        connection, MHD_HTTP_OK,
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT), type);
}

static ssize_t read_image(void *cls, uint64_t offset, char *buffer, size_t size)
{
    const struct image *image = cls;
    size_t bytes = image->bytes - (size_t)offset < size ? image->bytes - (size_t)offset : size;
    memcpy(buffer, image->data + offset, bytes);
    return (ssize_t)bytes;
}

static void free_image(void *cls)
{
    image_unref(cls);
}

enum MHD_Result respond_image(struct MHD_Connection *connection, struct image *image,
                              const char *type)
{
    char number[24];
    if (image == NULL)
        return MHD_NO;
    if (image->status != MHD_HTTP_OK) {
        char text[IMAGE_ERROR_BYTES];
        snprintf(text, sizeof text, "%.*s", (int)image->bytes, (const char *)image->data);
        enum MHD_Result result = respond_error(connection, image->status, text);
        image_unref(image);
        return result;
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(image->bytes, 32768, read_image, image, free_image);
    if (response == NULL) {
        image_unref(image);
        return MHD_NO;
    }
    if (image->sequence != 0) {
        snprintf(number, sizeof number, "%" PRIu64, image->sequence);
        MHD_add_response_header(response, "Fftd-Sequence", number);
        snprintf(number, sizeof number, "%" PRIu64, image->serial);
        MHD_add_response_header(response, "Fftd-Serial", number);
    }
    return respond(connection, MHD_HTTP_OK, response, type);
}

enum MHD_Result respond_empty(struct MHD_Connection *connection, const char *type)
{
    return respond(connection, MHD_HTTP_OK,
                   MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT), type);
}
