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
#include "calibration/average.h"
#include "core/clock.h"
#include "daemon.h"

#define MOST_BYTES  (256u << 20) /* of kept frames, at two bytes a pixel */
#define PATIENCE_NS 10000000000  /* how long a camera is watched, and a file is waited for */
#define FEWEST      2u           /* frames, even of a slow camera */
#define RATE        30.          /* of a file that does not tell its rate */

void diagnose_progress(const struct ctl *ctl, const char *what, unsigned done, unsigned total)
{
    if (!ctl->json && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %u of %u%s", what, done, total, done >= total ? "\n" : "");
}

/* Frames on their way into a diagnosis. */
struct intake {
    const struct ctl *ctl;
    struct diagnosis *diagnosis;
    struct average average; /* turns samples into levels */
    float *level;
    unsigned wanted, got;
};

static void finish_intake(struct intake *intake, struct diagnosis **ret, int code)
{
    average_finish(&intake->average);
    free(intake->level);
    if (code != 0)
        diagnosis_destroy(intake->diagnosis);
    else
        *ret = intake->diagnosis;
}

/* captured: the name of the format of captured frames; NULL: that of the frames. */
static int begin_intake(struct intake *intake, const struct pixels *pixels, const char *captured)
{
    const struct fftd_format *format = pixels->format;
    const struct ctl *ctl = intake->ctl;
    const size_t count = (size_t)format->width * format->height;
    const bool is_limited = pixels->layout->family == FFTD_FAMILY_YUV && !format->full_range;
    if (format->width < DIAGNOSIS_MIN_SIDE || format->height < DIAGNOSIS_MIN_SIDE ||
        format->width > DIAGNOSIS_MAX_SIDE || format->height > DIAGNOSIS_MAX_SIDE)
        return ctl_fail(ctl, EX_DATAERR,
                        "diagnose: the frames have %u x %u pixels: expected %u .. "
                        "%u a side",
                        format->width, format->height, DIAGNOSIS_MIN_SIDE, DIAGNOSIS_MAX_SIDE);
    int r = average_init(&intake->average, format->width, format->height, captured);
    const struct diagnosis_format wanted = {.width = format->width,
                                            .height = format->height,
                                            .black = is_limited ? 16 : 0,
                                            .white = is_limited ? 235 : 255,
                                            .mosaic_step = intake->average.is_mosaic ? 2 : 1};
    intake->level = malloc(count * sizeof *intake->level);
    if (r == 0)
        r = intake->level == NULL ? -ENOMEM : diagnosis_create(&intake->diagnosis, &wanted);
    if (MOST_BYTES / 2 / count < intake->wanted)
        intake->wanted =
            MOST_BYTES / 2 / count < FEWEST ? FEWEST : (unsigned)(MOST_BYTES / 2 / count);
    return r == 0 ? 0 : ctl_fail(ctl, EX_OSERR, "diagnose: %s", strerror(-r));
}

static int take_in(struct intake *intake, const struct pixels *pixels, int64_t captured_ns)
{
    const size_t count = (size_t)intake->average.width * intake->average.height;
    int r = average_add(&intake->average, pixels, intake->level);
    if (r == -EINVAL)
        return ctl_fail(intake->ctl, EX_TEMPFAIL,
                        "diagnose: the size or format of the frames has changed meanwhile");
    for (size_t i = 0; i < count; i++)
        intake->level[i] *= 255;
    if (r == 0)
        r = diagnosis_add(intake->diagnosis, intake->level, captured_ns);
    intake->got += r == 0;
    diagnose_progress(intake->ctl, "looking at frames", intake->got, intake->wanted);
    return r == 0 ? 0 : ctl_fail(intake->ctl, EX_OSERR, "diagnose: %s", strerror(-r));
}

/* ---- a daemon ---- */

/* The newest frame of the ring: its number and time. A snapshot does not tell when its frame was
 * captured, so two of these do. */
struct moment {
    uint64_t sequence;
    int64_t captured_ns;
};

static bool look_at_clock(struct fftd *camera, struct moment *ret)
{
    struct fftd_frame frame;
    if (camera == NULL || fftd_wait(camera, 1000) <= 0 || fftd_frame(camera, &frame) < 0)
        return false;
    *ret = (struct moment){frame.sequence, frame.captured_ns};
    return true;
}

struct watching {
    struct intake intake;
    uint64_t *sequence; /* of each frame that was taken */
    struct moment first, last;
    char captured[16];
};

/* Luma alone has no samples of a mosaic; it is taken as it is. */
static const char *mosaic_of(const struct watching *watch, const struct pixels *pixels)
{
    return pixels->layout->family == FFTD_FAMILY_RGB ? watch->captured : NULL;
}

static int watch_frames(struct watching *watch, sd_bus *bus, struct fftd *camera)
{
    struct intake *intake = &watch->intake;
    const int64_t begin_ns = clock_now_ns();
    int code = 0;
    look_at_clock(camera, &watch->first);
    while (code == 0 && intake->got < intake->wanted &&
           (intake->got < FEWEST || clock_now_ns() - begin_ns < PATIENCE_NS)) {
        struct shot shot = {0};
        code = daemon_snapshot(intake->ctl, bus, &shot, true);
        if (code == 0 && intake->diagnosis == NULL)
            code = begin_intake(intake, &shot.before, mosaic_of(watch, &shot.before));
        /* A camera that stands delivers the same frame again. */
        if (code == 0 && (intake->got == 0 || watch->sequence[intake->got - 1] < shot.sequence)) {
            watch->sequence[intake->got] = shot.sequence;
            code = take_in(intake, &shot.before, clock_now_ns());
        }
        shot_finish(&shot);
    }
    look_at_clock(camera, &watch->last);
    return code;
}

/* Gives each frame the time at which it was captured, by its number; the times at which they
 * arrived are kept if there is no better clock. */
static void set_times(struct watching *watch)
{
    const struct moment first = watch->first, last = watch->last;
    if (first.captured_ns == 0 || last.sequence <= first.sequence ||
        last.captured_ns <= first.captured_ns)
        return;
    const double interval_ns =
        (double)(last.captured_ns - first.captured_ns) / (double)(last.sequence - first.sequence);
    for (unsigned i = 0; i < watch->intake.got; i++) {
        const int64_t frames = (int64_t)(watch->sequence[i] - first.sequence);
        diagnosis_set_time(watch->intake.diagnosis, i,
                           first.captured_ns + llround(interval_ns * (double)frames));
    }
}

int diagnose_watch(const struct ctl *ctl, unsigned frames, struct diagnosis **ret)
{
    struct watching watch = {.intake = {.ctl = ctl, .wanted = frames}};
    struct fftd *camera = NULL;
    sd_bus *bus = NULL;
    char dir[PATH_MAX];
    int code = daemon_open(ctl, &bus);
    if (code == 0)
        code = daemon_read_captured(ctl, bus, watch.captured);
    if (code == 0)
        code = ctl_runtime_dir(ctl, dir);
    watch.sequence = calloc(frames, sizeof *watch.sequence);
    if (code == 0 && watch.sequence == NULL)
        code = ctl_fail(ctl, EX_OSERR, "diagnose: out of memory");
    if (code == 0 && fftd_open(&camera, dir) < 0)
        camera = NULL;
    if (code == 0)
        code = watch_frames(&watch, bus, camera);
    if (code == 0)
        set_times(&watch);
    fftd_close(camera);
    sd_bus_unref(bus);
    free(watch.sequence);
    finish_intake(&watch.intake, ret, code);
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

static int read_frames(struct intake *intake, struct clip_input *input)
{
    struct fftd_format format;
    struct pixels pixels;
    bool end = false;
    int code = read_format(input, &format);
    uint8_t *memory = code == 0 ? malloc(format.frame_bytes) : NULL;
    if (code == 0 && memory == NULL)
        code = ctl_fail(intake->ctl, EX_OSERR, "diagnose: out of memory");
    if (code == 0 && pixels_from_memory(&pixels, &format, memory, format.frame_bytes) < 0)
        code = fail_input(input, "its pixel format is not known");
    if (code == 0)
        code = begin_intake(intake, &pixels, NULL);
    const double interval_ns =
        format.rate_num > 0 ? 1e9 * format.rate_den / format.rate_num : 1e9 / RATE;
    while (code == 0 && intake->got < intake->wanted) {
        code = read_frame(input, memory, format.frame_bytes, &end);
        if (code != 0 || end)
            break;
        code = take_in(intake, &pixels, 1 + llround(interval_ns * intake->got));
    }
    if (code == 0 && intake->got == 0)
        code = fail_input(input, "it has no whole frame");
    else if (code == 0 && end)
        diagnose_progress(intake->ctl, "looking at frames", intake->got, intake->got);
    free(memory);
    return code;
}

int diagnose_read(const struct ctl *ctl, const char *path, unsigned frames, struct diagnosis **ret)
{
    struct intake intake = {.ctl = ctl, .wanted = frames};
    struct clip_input input = {.ctl = ctl, .path = path, .fd = STDIN_FILENO};
    const bool is_stdin = strcmp(path, "-") == 0;
    /* A pipe without a writer is opened at once, and then waited for like a mute one. */
    if (!is_stdin)
        input.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (input.fd < 0)
        return fail_input(&input, strerror(errno));
    const int code = read_frames(&intake, &input);
    if (!is_stdin)
        close(input.fd);
    finish_intake(&intake, ret, code);
    return code;
}
