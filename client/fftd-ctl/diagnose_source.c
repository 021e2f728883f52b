#include "diagnose_source.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "capture/y4m.h"
#include "common/frames.h"
#include "core/clock.h"
#include "daemon.h"
#include "diagnosis/intake.h"

#define MOST_BYTES  (256u << 20) /* of kept frames, at two bytes a pixel */
#define PATIENCE_NS 10000000000  /* how long a camera is watched, and a file is waited for */
#define RATE        30.          /* of a file that does not tell its rate */

void diagnose_progress(const struct ctl *ctl, const char *what, unsigned done, unsigned total)
{
    if (!ctl->json && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %u of %u%s", what, done, total, done >= total ? "\n" : "");
}

static int begin(const struct ctl *ctl, struct intake *intake, const struct pixels *pixels,
                 const char *captured)
{
    const struct fftd_format *format = pixels->format;
    if (format->width < DIAGNOSIS_MIN_SIDE || format->height < DIAGNOSIS_MIN_SIDE ||
        format->width > DIAGNOSIS_MAX_SIDE || format->height > DIAGNOSIS_MAX_SIDE)
        return ctl_fail(ctl, EX_DATAERR,
                        "diagnose: the frames have %u x %u pixels: expected %u .. "
                        "%u a side",
                        format->width, format->height, DIAGNOSIS_MIN_SIDE, DIAGNOSIS_MAX_SIDE);
    const int r = intake_begin(intake, pixels, captured, MOST_BYTES);
    return r == 0 ? 0 : ctl_fail(ctl, EX_OSERR, "diagnose: %s", strerror(-r));
}

static int take_in(const struct ctl *ctl, struct intake *intake, const struct pixels *pixels,
                   uint64_t sequence, int64_t captured_ns)
{
    const int r = intake_add(intake, pixels, sequence, captured_ns);
    if (r == -EINVAL)
        return ctl_fail(ctl, EX_TEMPFAIL,
                        "diagnose: the size or format of the frames has changed meanwhile");
    diagnose_progress(ctl, "looking at frames", intake->got, intake->wanted);
    return r == 0 ? 0 : ctl_fail(ctl, EX_OSERR, "diagnose: %s", strerror(-r));
}

static void finish(struct intake *intake, struct diagnosis **ret, int code)
{
    intake_finish(intake);
    if (code != 0)
        diagnosis_destroy(intake->diagnosis);
    else
        *ret = intake->diagnosis;
}

/* ---- a daemon ---- */

static int watch(const struct ctl *ctl, struct intake *intake, sd_bus *bus, struct fftd *camera,
                 const char *captured)
{
    const int64_t begin_ns = clock_now_ns();
    const struct frames_moment first = frames_look_at_clock(camera);
    int code = 0;
    while (code == 0 && intake->got < intake->wanted &&
           (intake->got < INTAKE_FEWEST || clock_now_ns() - begin_ns < PATIENCE_NS)) {
        struct shot shot = {0};
        code = daemon_snapshot(ctl, bus, &shot, true);
        if (code == 0 && intake->diagnosis == NULL)
            code = begin(ctl, intake, &shot.before, captured);
        if (code == 0)
            code = take_in(ctl, intake, &shot.before, shot.sequence, clock_now_ns());
        shot_finish(&shot);
    }
    const struct frames_moment last = frames_look_at_clock(camera);
    if (code == 0)
        intake_set_times(intake, first, last);
    return code;
}

int diagnose_watch(const struct ctl *ctl, unsigned frames, struct diagnosis **ret)
{
    struct intake intake = {.wanted = frames};
    struct fftd *camera = NULL;
    sd_bus *bus = NULL;
    char dir[PATH_MAX], captured[16];
    int code = daemon_open(ctl, &bus);
    if (code == 0)
        code = daemon_read_captured(ctl, bus, captured);
    if (code == 0)
        code = ctl_runtime_dir(ctl, dir);
    if (code == 0 && fftd_open(&camera, dir) < 0)
        camera = NULL;
    if (code == 0)
        code = watch(ctl, &intake, bus, camera, captured);
    fftd_close(camera);
    sd_bus_unref(bus);
    finish(&intake, ret, code);
    return code;
}

/* ---- a file ---- */

struct clip_input {
    const struct ctl *ctl;
    const char *path;
    int fd;
    uint8_t header[Y4M_MAX_HEADER];
    size_t filled; /* bytes of the header that were read */
};

static int fail_input(const struct clip_input *input, const char *why)
{
    return ctl_fail(input->ctl, EX_NOINPUT, "diagnose: %s: %s",
                    strcmp(input->path, "-") == 0 ? "stdin" : input->path, why);
}

/* Reads up to `size` bytes; fewer only at the end of the file. Negative: -errno. */
static ssize_t read_patiently(const struct clip_input *input, uint8_t *bytes, size_t size)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    size_t done = 0;
    while (done < size) {
        struct pollfd poller = {.fd = input->fd, .events = POLLIN};
        const int64_t left_ns = deadline_ns - clock_now_ns();
        const int ready = left_ns > 0 ? poll(&poller, 1, (int)(left_ns / 1000000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return ready < 0 ? -errno : -ETIMEDOUT;
        const ssize_t got = read(input->fd, bytes + done, size - done);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

static int fail_read(const struct clip_input *input, ssize_t got)
{
    return fail_input(input, got == -ETIMEDOUT ? "it delivered no whole frame within 10 seconds"
                                               : strerror((int)-got));
}

/* Reads one header line. *ret_bytes: its length, 0 at the end of the file. */
static int read_line(struct clip_input *input, size_t *ret_bytes)
{
    input->filled = 0;
    while (input->filled < sizeof input->header) {
        const ssize_t got = read_patiently(input, input->header + input->filled, 1);
        if (got < 0)
            return fail_read(input, got);
        if (got == 0)
            break;
        if (input->header[input->filled++] == '\n')
            break;
    }
    *ret_bytes = input->filled;
    return 0;
}

static int read_format(struct clip_input *input, struct fftd_format *ret)
{
    struct error why;
    size_t length;
    const int code = read_line(input, &length);
    if (code != 0)
        return code;
    if (length == 0)
        return fail_input(input, "it is empty");
    return y4m_parse_header(input->header, length, ret, &length, &why) < 0
               ? fail_input(input, why.text)
               : 0;
}

/* Sets *ret_end at the end of the file, also within a frame. */
static int read_frame(struct clip_input *input, uint8_t *memory, size_t size, bool *ret_end)
{
    struct error why;
    size_t length;
    int code = read_line(input, &length);
    *ret_end = code == 0 && length == 0;
    if (code != 0 || *ret_end)
        return code;
    if (y4m_parse_frame(input->header, length, &length, &why) < 0)
        return fail_input(input, why.text);
    const ssize_t got = read_patiently(input, memory, size);
    *ret_end = got >= 0 && (size_t)got < size;
    return got < 0 ? fail_read(input, got) : 0;
}

static int read_frames(const struct ctl *ctl, struct intake *intake, struct clip_input *input)
{
    struct fftd_format format;
    struct pixels pixels;
    bool end = false;
    int code = read_format(input, &format);
    uint8_t *memory = code == 0 ? malloc(format.frame_bytes) : NULL;
    if (code == 0 && memory == NULL)
        code = ctl_fail(ctl, EX_OSERR, "diagnose: out of memory");
    if (code == 0 && pixels_from_memory(&pixels, &format, memory, format.frame_bytes) < 0)
        code = fail_input(input, "its pixel format is not known");
    if (code == 0)
        code = begin(ctl, intake, &pixels, NULL);
    const double interval_ns =
        format.rate_num > 0 ? 1e9 * format.rate_den / format.rate_num : 1e9 / RATE;
    while (code == 0 && intake->got < intake->wanted) {
        code = read_frame(input, memory, format.frame_bytes, &end);
        if (code != 0 || end)
            break;
        code =
            take_in(ctl, intake, &pixels, intake->got + 1, 1 + llround(interval_ns * intake->got));
    }
    if (code == 0 && intake->got == 0)
        code = fail_input(input, "it has no whole frame");
    else if (code == 0 && end)
        diagnose_progress(ctl, "looking at frames", intake->got, intake->got);
    free(memory);
    return code;
}

int diagnose_read(const struct ctl *ctl, const char *path, unsigned frames, struct diagnosis **ret)
{
    struct intake intake = {.wanted = frames};
    struct clip_input input = {.ctl = ctl, .path = path, .fd = STDIN_FILENO};
    const bool is_stdin = strcmp(path, "-") == 0;
    /* A pipe without a writer is opened at once, and then waited for like a mute one. */
    if (!is_stdin)
        input.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (input.fd < 0)
        return fail_input(&input, strerror(errno));
    const int code = read_frames(ctl, &intake, &input);
    if (!is_stdin)
        close(input.fd);
    finish(&intake, ret, code);
    return code;
}
