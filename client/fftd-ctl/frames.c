/* Implements `frames`, which writes every frame to a file or a pipe. Each frame is copied before it
 * is checked and written, because a slow reader of the pipe blocks the writing. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "commands.h"
#include "common/frames.h"
#include "common/json.h"
#include "core/clock.h"
#include "common/output.h"
#include "pictures/y4m.h"

#define WAIT_MS    500
#define GIVE_UP_US 10000000 /* how long to wait for a daemon to return */

struct output {
    struct output_file to;
    struct fftd_format format; /* the first frame's; fourcc is 0 before that frame */
    uint8_t *copy, *row;
    struct pixels pixels; /* describes `copy` */
    uint64_t written, missed;
    int error; /* -errno of the write that failed */
};

/* Allocates the copy and writes the stream header, for frames of this format. */
static int begin(const struct ctl *ctl, struct output *output, const struct fftd_format *format)
{
    const struct fftd_pixel_format *layout = fftd_pixel_format(format->fourcc);
    if (layout == NULL)
        return ctl_fail(ctl, EX_PROTOCOL,
                        "frames: this fftd-ctl does not know the camera's pixel format");
    if (!ctl->raw && layout->y4m == NULL)
        return ctl_fail(
            ctl, EX_DATAERR,
            "Y4M does not have the pixel format %s; use --raw, or another camera.format",
            layout->name);
    output->copy = malloc(format->frame_bytes);
    output->row = malloc(y4m_row_bytes(layout, format));
    if (output->copy == NULL || output->row == NULL)
        return ctl_fail(ctl, EX_OSERR, "out of memory");
    output->format = *format;
    if (pixels_from_memory(&output->pixels, &output->format, output->copy, format->frame_bytes) < 0)
        return ctl_fail(ctl, EX_PROTOCOL, "frames: the daemon describes an impossible format");
    if (!ctl->raw)
        y4m_write_header(output->to.file, layout, format, Y4M_USUAL_SHAPE);
    return 0;
}

static void copy_frame(struct output *output, const struct fftd_frame *frame)
{
    for (unsigned p = 0; p < output->format.plane_count; p++) {
        const struct fftd_plane *plane = &output->format.plane[p];
        for (uint32_t y = 0; y < plane->rows; y++)
            memcpy(output->copy + plane->offset + (size_t)y * plane->stride,
                   frame->plane[p] + (size_t)y * frame->stride[p], plane->row_bytes);
    }
}

static int write_frame(const struct ctl *ctl, struct output *output, const struct fftd *camera,
                       const struct fftd_frame *frame)
{
    if (output->format.fourcc == 0) {
        int code = begin(ctl, output, frame->format);
        if (code != 0)
            return code;
    } else if (memcmp(&output->format, frame->format, sizeof output->format) != 0) {
        return ctl_fail(ctl, EX_TEMPFAIL, "the camera's format has changed; the stream ends here");
    }
    copy_frame(output, frame);
    if (output->written > 0) /* frames before the first one were not missed */
        output->missed += frame->missed;
    if (!fftd_frame_valid(camera, frame)) {
        output->missed++;
        return 0;
    }
    if (ctl->raw)
        y4m_write_raw(output->to.file, &output->pixels);
    else
        y4m_write_frame(output->to.file, &output->pixels, output->row);
    if (ferror(output->to.file) || fflush(output->to.file) != 0) /* the reader gets it at once */
        output->error = -errno;
    else
        output->written++;
    return 0;
}

static bool is_done(const struct ctl *ctl, const struct output *output)
{
    return ctl_interrupted || output->error < 0 ||
           (ctl->count > 0 && output->written >= ctl->count);
}

static int copy_frames(const struct ctl *ctl, struct output *output, struct fftd *camera,
                       const char *dir)
{
    struct fftd_frame frame;
    uint64_t gone_since_us = 0;
    int code = 0;

    frames_skip_old(camera);
    while (code == 0 && !is_done(ctl, output)) {
        int r = fftd_wait(camera, WAIT_MS);
        if (r == -EPIPE) {
            const uint64_t now_us = clock_now_us();
            gone_since_us = gone_since_us == 0 ? now_us : gone_since_us;
            if (now_us - gone_since_us >= GIVE_UP_US)
                return ctl_fail(ctl, EX_UNAVAILABLE,
                                "the daemon in %s has ended and did not come back within %d s", dir,
                                GIVE_UP_US / 1000000);
            continue;
        }
        if (r < 0)
            return ctl_no_daemon(ctl, dir, r);
        gone_since_us = 0;
        while (code == 0 && !is_done(ctl, output) && fftd_next(camera, &frame) == 0)
            code = write_frame(ctl, output, camera, &frame);
    }
    return code;
}

/* Prints to stderr, because stdout may be the stream. */
static void report(const struct ctl *ctl, const struct output *output)
{
    if (!ctl->json) {
        fprintf(stderr, "fftd-ctl: %" PRIu64 " frames, %" PRIu64 " missed\n", output->written,
                output->missed);
        return;
    }
    struct json json = {.file = stderr};
    json_open(&json, NULL, '{');
    json_integer(&json, "written", output->written);
    json_integer(&json, "missed", output->missed);
    json_close(&json, '}');
}

static int finish(const struct ctl *ctl, struct output *output, int code)
{
    /* The signal that ends the stream has also ended the wait for a pipe that is full. What has not
     * gone into it would be waited for again. */
    if (output->error == -EINTR && ctl_interrupted) {
        __fpurge(output->to.file);
        clearerr(output->to.file);
        output->error = 0;
    }
    int r = output_close(&output->to);
    if (output->error < 0)
        r = output->error;
    if (code == 0 && r < 0 && r != -EPIPE)
        code = ctl_fail(ctl, EX_IOERR, "%s: %s", ctl->output != NULL ? ctl->output : "stdout",
                        strerror(-r));
    /* With --json an error is the only value on stderr. After a write error nobody knows how much
     * of the stream was written. */
    if (code == 0 || (!ctl->json && output->written > 0 && r == 0))
        report(ctl, output);
    free(output->copy);
    free(output->row);
    return code;
}

int command_frames(const struct ctl *ctl)
{
    char dir[PATH_MAX];
    struct output output = {0};
    struct fftd *camera;

    int code = ctl_runtime_dir(ctl, dir);
    if (code != 0)
        return code;
    bool to_file = ctl->output != NULL && strcmp(ctl->output, "-") != 0;
    if (!to_file && isatty(STDOUT_FILENO))
        return ctl_fail(ctl, EX_USAGE,
                        "refusing to write binary frames to a terminal; use -o FILE or a pipe");
    int r = fftd_open(&camera, dir);
    if (r < 0)
        return ctl_no_daemon(ctl, dir, r);
    r = output_open(&output.to, to_file ? ctl->output : "-", OUTPUT_STREAM);
    if (r < 0) {
        code = ctl_fail(ctl, EX_CANTCREAT, "cannot create %s: %s", ctl->output, output.to.why);
        fftd_close(camera);
        return code;
    }
    ctl_catch_signals();
    code = copy_frames(ctl, &output, camera, dir);
    fftd_close(camera);
    return finish(ctl, &output, code);
}
