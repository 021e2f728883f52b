#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matroska.h"
#include "respond.h"

/* A browser shows a part when it has read the boundary after it, so that boundary follows at once.
 */
#define BEGINNING      "--fftd\r\n"
#define END            "\r\n--fftd\r\n"

/* No clip is larger, whatever the size of its pictures. */
#define CLIP_MAX_BYTES (UINT64_C(512) << 20)

struct stream {
    struct camera *camera;
    unsigned *count;
    struct waiter waiter;
    struct image *image; /* the image being sent; NULL: waits for the next one */
    uint64_t sequence;   /* the last image's */
    uint8_t head[MATROSKA_BEGIN_BYTES + MATROSKA_FRAME_BYTES]; /* precedes the image */
    size_t head_bytes;
    const char *end; /* follows the image */
    size_t sent;     /* bytes of head, image and end together */
    int64_t clip_ns; /* the length of a clip; 0: the stream has no end */
    /* Clips alone use these. */
    int64_t began_ns;
    uint32_t width, height;
};

static void begin_part(struct stream *stream, struct image *image, bool is_first)
{
    stream->head_bytes = (size_t)snprintf(
        (char *)stream->head, sizeof stream->head,
        "%sContent-Type: image/jpeg\r\nContent-Length: %zu\r\nFftd-Sequence: %" PRIu64
        "\r\nFftd-Serial: %" PRIu64 "\r\n\r\n",
        is_first ? BEGINNING : "", image->bytes, image->sequence, image->serial);
    stream->end = END;
}

/* Returns whether the clip continues with this image. */
static bool begin_frame(struct stream *stream, const struct image *image, bool is_first,
                        uint64_t offset)
{
    stream->head_bytes = 0;
    stream->end = "";
    if (is_first) {
        stream->began_ns = image->captured_ns;
        stream->width = image->width;
        stream->height = image->height;
        stream->head_bytes = matroska_begin(stream->head, image->width, image->height);
    }
    const int64_t time_ns = image->captured_ns - stream->began_ns;
    if (time_ns < 0 || time_ns >= stream->clip_ns || image->width != stream->width ||
        image->height != stream->height || offset + image->bytes > CLIP_MAX_BYTES)
        return false;
    stream->head_bytes += matroska_frame(stream->head + stream->head_bytes,
                                         (uint64_t)time_ns / 1000000, image->bytes);
    return true;
}

/* Takes the image over. Returns whether the stream continues with it. */
static bool begin(struct stream *stream, struct image *image, bool is_first, uint64_t offset)
{
    stream->image = image;
    stream->sequence = image->sequence;
    stream->sent = 0;
    if (stream->clip_ns != 0)
        return begin_frame(stream, image, is_first, offset);
    begin_part(stream, image, is_first);
    return true;
}

/* Copies the rest of one piece of the part. *at is the piece's offset in the part. */
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
    if (stream->image == NULL) {
        struct image *image;
        int r = camera_take(stream->camera, &stream->waiter, stream->sequence, &image);
        if (r == -EAGAIN)
            return 0; /* suspended */
        if (r < 0 || !begin(stream, image, false, offset))
            return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t at = 0, copied = 0;
    copied += copy_piece(stream, &at, stream->head, stream->head_bytes, buffer, size);
    copied += copy_piece(stream, &at, stream->image->data, stream->image->bytes, buffer + copied,
                         size - copied);
    copied +=
        copy_piece(stream, &at, stream->end, strlen(stream->end), buffer + copied, size - copied);
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
                               struct image *first, unsigned clip_s, unsigned *count)
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
    stream->clip_ns = clip_s * NS_PER_S;
    begin(stream, first, true, 0);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 32768, read_stream, stream, free_stream);
    if (response == NULL) {
        free_stream(stream);
        return MHD_NO;
    }
    return respond(connection, MHD_HTTP_OK, response, clip_s > 0 ? MATROSKA_TYPE : STREAM_TYPE);
}
