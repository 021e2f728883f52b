#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "respond.h"

/* A browser shows a part when it has read the boundary behind it, which therefore follows at once.
 */
#define BEGINNING "--fftd\r\n"
#define END       "\r\n--fftd\r\n"

struct stream {
    struct camera *camera;
    unsigned *count;
    struct waiter waiter;
    struct image *image; /* which is being sent; NULL: the next one is waited for */
    uint64_t sequence;   /* of the last image */
    char head[160];      /* the part's headers */
    size_t head_bytes;
    size_t sent; /* of head, image and END together */
};

static void begin_part(struct stream *stream, struct image *image, const char *before)
{
    stream->image = image;
    stream->sequence = image->sequence;
    stream->sent = 0;
    stream->head_bytes = (size_t)snprintf(
        stream->head, sizeof stream->head,
        "%sContent-Type: image/jpeg\r\nContent-Length: %zu\r\nFftd-Sequence: %" PRIu64
        "\r\nFftd-Serial: %" PRIu64 "\r\n\r\n",
        before, image->bytes, image->sequence, image->serial);
}

/* Copies what is left of one piece of the part; *at is the place of the piece in the part. */
static size_t copy_piece(struct stream *stream, size_t *at, const void *piece, size_t bytes,
                         char *to, size_t size)
{
    size_t copied = 0;
    if (stream->sent < *at + bytes) {
        const size_t from = stream->sent - *at;
        copied = bytes - from < size ? bytes - from : size;
        memcpy(to, (const char *)piece + from, copied);
        stream->sent += copied;
    }
    *at += bytes;
    return copied;
}

static ssize_t read_stream(void *cls, uint64_t offset, char *buffer, size_t size)
{
    struct stream *stream = cls;
    (void)offset;
    if (stream->image == NULL) {
        struct image *image;
        int r = camera_take(stream->camera, &stream->waiter, stream->sequence, &image);
        if (r == -EAGAIN)
            return 0; /* suspended */
        if (r < 0)
            return MHD_CONTENT_READER_END_OF_STREAM;
        begin_part(stream, image, "");
    }
    size_t at = 0, copied = 0;
    copied += copy_piece(stream, &at, stream->head, stream->head_bytes, buffer, size);
    copied += copy_piece(stream, &at, stream->image->data, stream->image->bytes, buffer + copied,
                         size - copied);
    copied += copy_piece(stream, &at, END, strlen(END), buffer + copied, size - copied);
    if (stream->sent == at) {
        image_unref(stream->image);
        stream->image = NULL;
    }
    return (ssize_t)copied;
}

static void free_stream(void *cls)
{
    struct stream *stream = cls;
    __atomic_sub_fetch(stream->count, 1, __ATOMIC_RELAXED);
    image_unref(stream->image);
    free(stream);
}

enum MHD_Result stream_respond(struct MHD_Connection *connection, struct camera *camera,
                               struct image *first, unsigned *count)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        image_unref(first);
        __atomic_sub_fetch(count, 1, __ATOMIC_RELAXED);
        return MHD_NO;
    }
    stream->camera = camera;
    stream->count = count;
    stream->waiter = (struct waiter){.connection = connection, .kind = WAITER_PICTURE};
    begin_part(stream, first, BEGINNING);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 32768, read_stream, stream, free_stream);
    if (response == NULL) {
        free_stream(stream);
        return MHD_NO;
    }
    return respond(connection, MHD_HTTP_OK, response, STREAM_TYPE);
}
