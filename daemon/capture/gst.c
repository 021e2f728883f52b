/* gst:PIPELINE - the frames of a GStreamer pipeline, which another process delivers.
 *
 * Plugins crash, leak and hang, so the pipeline is built and run by a helper (daemon/gstreamer),
 * and this program neither links GStreamer nor loads a plugin. The daemon makes the memory for
 * frames, which the helper can neither shrink nor grow, and maps it for reading only. The helper
 * copies each frame into a free buffer and sends its index; every message is checked before it is
 * used. A helper that breaks a rule, ends or is killed counts as a camera that was removed: the
 * next opening starts another one.
 *
 * A live pipeline does not wait, like a camera: the newest frame is taken, and frames that find no
 * free buffer are lost. Another pipeline, for example one that reads a file, waits and loses
 * none. */
#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/gst_helper.h"
#include "capture/pace.h"
#include "capture/openers.h"
#include "core/clock.h"
#include "core/secret.h"

/* GStreamer looks at every plugin when it starts for the first time, and keeps what it has found.
 */
#define LOADING_TIMEOUT_S 60
/* From the description of the pipeline to its first frame. */
#define OPENING_TIMEOUT_S 10
/* A frame that claims to be older than this has no usable time. */
#define OLDEST_FRAME_NS   (60 * NS_PER_S)
/* In one call; more than an honest helper can send without getting a buffer back. */
#define MAX_MESSAGES      (2 * CAPTURE_MAX_BUFFERS)

struct gst {
    struct capture capture;
    struct gst_helper helper;
    char pipeline[GST_LINK_TEXT]; /* with its passwords: for the helper only */
    enum gst_link_kind awaited;   /* while it opens: the message that comes next */
    bool live;
    unsigned wanted_buffers;
    int end;             /* what ended the pipeline, as capture_dequeue returns it; 0: it runs */
    struct error reason; /* the reason of the end */
    uint32_t start;      /* counts the starts */
    /* From start to stop. */
    uint8_t *memory;
    size_t memory_bytes;
    unsigned buffer_count;
    bool lent[CAPTURE_MAX_BUFFERS];
};

/* Records why there will be no more frames. */
static void end_with(struct gst *gst, int code, const struct error *reason)
{
    if (gst->end != 0)
        return;
    gst->end = code;
    gst->reason = *reason;
    /* The socket stays readable, so that the caller comes back for the end after the last frame. */
    shutdown(gst->helper.socket, SHUT_RD);
}

static void end_as_broken(struct gst *gst, const struct error *reason)
{
    struct error words = *reason;
    end_with(gst, error_prefix(&words, ENODEV, "the GStreamer pipeline ended"), &words);
}

static void gst_stop(struct capture *capture)
{
    struct gst *gst = (struct gst *)capture;
    if (gst->memory == NULL)
        return;
    struct gst_link_message stop = {.kind = LINK_STOP};
    struct error why;
    if (gst_helper_send(&gst->helper, &stop, -1, &why) < 0)
        end_as_broken(gst, &why);
    munmap(gst->memory, gst->memory_bytes);
    gst->memory = NULL;
    gst->buffer_count = 0;
    memset(gst->lent, 0, sizeof gst->lent);
}

/* Memory that no process can shrink, so that reading it never fails. */
static int make_memory(size_t bytes, uint8_t **ret, int *ret_fd, struct error *why)
{
    int fd = memfd_create("fftd-gst", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return error_set(why, errno, "memfd_create: %s", strerror(errno));
    uint8_t *memory = MAP_FAILED;
    if (ftruncate(fd, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        int r = error_set(why, errno, "%zu bytes for frames: %s", bytes, strerror(errno));
        close(fd);
        return r;
    }
    *ret = memory;
    *ret_fd = fd;
    return 0;
}

static int gst_start(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                     struct error *why)
{
    struct gst *gst = (struct gst *)capture;
    (void)memory; /* used by other modes */
    if (mode != MEMORY_COPIED)
        return error_set(why, EOPNOTSUPP, "frames come from another process");
    gst_stop(capture);
    const unsigned count = gst->wanted_buffers;
    const size_t bytes = (size_t)count * capture->format.frame_bytes;
    int fd = -1;
    int r = make_memory(bytes, &gst->memory, &fd, why);
    if (r < 0)
        return r;
    gst->memory_bytes = bytes;
    gst->buffer_count = count;
    struct gst_link_message start = {.kind = LINK_START, .start = ++gst->start, .index = count};
    r = gst_helper_send(&gst->helper, &start, fd, why);
    close(fd);
    if (r < 0)
        gst_stop(capture);
    return r < 0 ? error_prefix(why, -r, "the GStreamer pipeline ended") : 0;
}

static void give_back(struct gst *gst, unsigned index)
{
    struct gst_link_message release = {.kind = LINK_RELEASE, .start = gst->start, .index = index};
    struct error why;
    gst->lent[index] = false;
    if (gst_helper_send(&gst->helper, &release, -1, &why) < 0)
        end_as_broken(gst, &why);
}

/* ---- what the helper sends ---- */

/* As gst_helper_receive. Elements quote their properties in their errors. */
static int receive(const struct gst *gst, struct gst_link_message *ret, struct error *why)
{
    int r = gst_helper_receive(&gst->helper, ret, why);
    if (r == 0 && ret->kind == LINK_END)
        secret_hide_of(gst->pipeline, ret->text, sizeof ret->text);
    return r;
}

static void take_end(struct gst *gst, const struct gst_link_message *message)
{
    struct error why;
    int r = error_set(&why, message->err, "%s", message->text);
    if (r == -ENODATA || r == -ESTALE)
        end_with(gst, r, &why);
    else
        end_as_broken(gst, &why);
}

/* Returns false if the buffer is none that the helper has. */
static bool take_frame(struct gst *gst, const struct gst_link_message *message,
                       struct capture_frame *ret)
{
    struct error why;
    if (message->index >= gst->buffer_count || gst->lent[message->index]) {
        error_set(&why, ENODEV,
                  "its process has sent a frame in buffer %u of %u, which it does not have",
                  message->index, gst->buffer_count);
        end_as_broken(gst, &why);
        return false;
    }
    const struct fftd_format *format = &gst->capture.format;
    const int64_t now_ns = clock_now_ns();
    const bool timed =
        message->captured_ns <= now_ns && message->captured_ns >= now_ns - OLDEST_FRAME_NS;
    gst->lent[message->index] = true;
    copy_count_add(&gst->capture.copied, format->frame_bytes);
    capture_fill_frame(ret, format, gst->memory + (size_t)message->index * format->frame_bytes);
    ret->sequence = message->sequence;
    ret->captured_ns = timed ? message->captured_ns : now_ns;
    ret->dequeued_ns = now_ns;
    ret->index = message->index;
    return true;
}

/* Takes one message. Returns whether *ret is another frame now; an older one has been given
 * back. */
static bool take_message(struct gst *gst, const struct gst_link_message *message, bool has_frame,
                         struct capture_frame *ret)
{
    if (message->kind == LINK_END) {
        take_end(gst, message);
    } else if (message->kind != LINK_FRAME) {
        struct error why;
        error_set(&why, ENODEV, "its process has sent message %u, expected a frame", message->kind);
        end_as_broken(gst, &why);
    } else if (message->start == gst->start) { /* else it was sent before it knew of the stop */
        const struct capture_frame older = *ret;
        if (!take_frame(gst, message, ret))
            return false;
        if (has_frame) {
            gst->capture.dropped_stale++;
            give_back(gst, older.index);
        }
        return true;
    }
    return false;
}

static int gst_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    struct gst *gst = (struct gst *)capture;
    struct capture_frame frame = {.memory = -1};
    bool has_frame = false;
    for (unsigned i = 0; i < MAX_MESSAGES && gst->end == 0 && (gst->live || !has_frame); i++) {
        struct gst_link_message message;
        struct error problem;
        int r = receive(gst, &message, &problem);
        if (r == -EAGAIN)
            break;
        if (r < 0)
            end_as_broken(gst, &problem);
        else
            has_frame |= take_message(gst, &message, has_frame, &frame);
    }
    if (has_frame) { /* before the end */
        *ret = frame;
        return 0;
    }
    if (gst->end != 0) {
        *why = gst->reason;
        return gst->end;
    }
    return error_set(why, EAGAIN, "no frame is ready");
}

static void gst_release(struct capture *capture, const struct capture_frame *frame)
{
    give_back((struct gst *)capture, frame->index);
}

static void gst_close(struct capture *capture)
{
    struct gst *gst = (struct gst *)capture;
    gst_helper_stop(&gst->helper);
    if (gst->memory != NULL)
        munmap(gst->memory, gst->memory_bytes);
    free(gst);
}

/* ---- opening ---- */

static int adopt_format(struct gst *gst, const struct gst_link_message *message, struct error *why)
{
    const struct gst_link_format *offered = &message->format;
    struct fftd_format format;
    int r = format_layout(&format, offered->fourcc, offered->width, offered->height, 1, why);
    if (r < 0)
        return r;
    /* An invalid rate, or that of a stream with a variable rate, counts as unknown. */
    const double rate = offered->rate_den > 0 ? (double)offered->rate_num / offered->rate_den : 0.0;
    if (rate >= CAPTURE_MIN_RATE && rate <= CAPTURE_MAX_RATE) {
        format.rate_num = offered->rate_num;
        format.rate_den = offered->rate_den;
    }
    format.primaries = offered->primaries;
    format.transfer = offered->transfer;
    format.matrix = offered->matrix;
    format.full_range = offered->full_range != 0;
    gst->capture.format = format;
    gst->live = message->live != 0;
    gst->capture.waits = !gst->live;
    return 0;
}

/* Returns true if an opening can fail with this errno. */
static bool is_reason(int err)
{
    return err > 0 && err < 4096 && err != EAGAIN;
}

/* Takes the only message that may come next. -EAGAIN: it has not come yet. */
static int take_expected(const struct gst *gst, struct gst_link_message *ret, struct error *why)
{
    int r = receive(gst, ret, why);
    if (r == -EAGAIN && clock_now_ns() >= gst->capture.opening_until_ns)
        return gst->awaited == LINK_LOADED
                   ? error_set(why, ENODEV, "GStreamer did not load its plugins within %d s",
                               LOADING_TIMEOUT_S)
                   : error_set(why, ENODEV, "no frame came within %d s", OPENING_TIMEOUT_S);
    if (r < 0)
        return r;
    if (ret->kind == LINK_END)
        return error_set(why, is_reason(ret->err) ? ret->err : EIO, "%s", ret->text);
    if (ret->kind != (uint32_t)gst->awaited)
        return error_set(why, ENODEV, "its process has sent message %u, expected %u", ret->kind,
                         gst->awaited);
    return 0;
}

/* Puts the pipeline without its passwords before the text. */
static int fail_for(const char *pipeline, int err, struct error *why)
{
    char shown[GST_LINK_TEXT];
    return error_prefix(why, err, "gst:%s", secret_hide(shown, sizeof shown, pipeline));
}

static int gst_open_more(struct capture *capture, struct error *why)
{
    struct gst *gst = (struct gst *)capture;
    struct gst_link_message message;
    int r = take_expected(gst, &message, why);
    if (r == 0 && gst->awaited == LINK_LOADED) {
        gst->awaited = LINK_FORMAT;
        capture->opening_until_ns = clock_now_ns() + OPENING_TIMEOUT_S * NS_PER_S;
        r = take_expected(gst, &message, why);
    }
    if (r == 0)
        r = adopt_format(gst, &message, why);
    if (r == -EAGAIN)
        return r;
    if (r < 0)
        return fail_for(gst->pipeline, -r, why);
    capture_describe(capture, gst->live ? "live GStreamer pipeline" : "GStreamer pipeline");
    capture->opening_until_ns = 0;
    return 0;
}

static const struct capture_ops gst_ops = {
    .open_more = gst_open_more,
    .start = gst_start,
    .stop = gst_stop,
    .dequeue = gst_dequeue,
    .release = gst_release,
    .close = gst_close,
};

_Static_assert(GST_LINK_TEXT >= CAPTURE_URI_BYTES, "a message holds any pipeline");

/* Starts the helper and sends it the pipeline. */
static int begin_opening(struct gst *gst, const char *pipeline,
                         const struct capture_request *request, struct error *why)
{
    struct gst_link_message message = {
        .kind = LINK_OPEN,
        .format = {.fourcc = request->fourcc,
                   .width = request->width,
                   .height = request->height,
                   .rate_den = 1},
        .loop = request->loop,
    };
    strcpy(message.text, pipeline);
    strcpy(gst->pipeline, pipeline);
    if (isinf(request->rate))
        return error_set(why, EINVAL, "rate max: the pipeline sets the pace itself");
    if (request->rate > 0.0)
        pace_fraction(request->rate, &message.format.rate_num, &message.format.rate_den);
    int r = gst_helper_start(&gst->helper, why);
    gst->capture.fd = gst->helper.socket;
    gst->awaited = LINK_LOADED;
    gst->capture.opening_until_ns = clock_now_ns() + LOADING_TIMEOUT_S * NS_PER_S;
    return r == 0 ? gst_helper_send(&gst->helper, &message, -1, why) : r;
}

int capture_open_gst(struct capture **ret, const char *path, const struct capture_request *request,
                     struct error *why)
{
    struct gst *gst = calloc(1, sizeof *gst);
    if (gst == NULL)
        return error_set(why, ENOMEM, "gst: out of memory");
    gst->capture.ops = &gst_ops;
    gst->helper.socket = -1;
    gst->wanted_buffers = request->buffers;
    int r = begin_opening(gst, path, request, why);
    if (r < 0) {
        gst_close(&gst->capture);
        return fail_for(path, -r, why);
    }
    *ret = &gst->capture;
    return 0;
}
