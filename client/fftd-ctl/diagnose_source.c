#include "diagnose_source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "common/frames.h"
#include "core/clock.h"
#include "daemon.h"
#include "diagnosis/intake.h"
#include "recording/input.h"

#define MOST_BYTES  (256u << 20) /* at most for kept frames, at two bytes a pixel */
#define PATIENCE_NS 10000000000  /* how long a camera is watched, and a file is waited for */
#define RATE        30.          /* assumed if a file does not tell its rate */

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

/* A frame that was cut off is the end of the file. */
static int read_frames(const struct ctl *ctl, struct intake *intake, struct input *input)
{
    const struct fftd_format *format = &input->format;
    const double interval_ns =
        format->rate_num > 0 ? 1e9 * format->rate_den / format->rate_num : 1e9 / RATE;
    struct pixels pixels;
    uint8_t *memory = malloc(format->frame_bytes);
    int r = 1;
    if (memory == NULL || pixels_from_memory(&pixels, format, memory, format->frame_bytes) < 0) {
        free(memory);
        return ctl_fail(ctl, EX_OSERR, "diagnose: out of memory");
    }
    int code = begin(ctl, intake, &pixels, NULL);
    while (code == 0 && intake->got < intake->wanted && (r = input_read(input, memory)) > 0)
        code =
            take_in(ctl, intake, &pixels, intake->got + 1, 1 + llround(interval_ns * intake->got));
    if (code == 0 && r < 0 && r != -ENODATA)
        code = ctl_fail(ctl, EX_NOINPUT, "diagnose: %s", input->why);
    else if (code == 0 && intake->got == 0)
        code = ctl_fail(ctl, EX_NOINPUT, "diagnose: %s: it has no whole frame", input->path);
    else if (code == 0 && r <= 0)
        diagnose_progress(ctl, "looking at frames", intake->got, intake->got);
    free(memory);
    return code;
}

int diagnose_read(const struct ctl *ctl, const char *path, unsigned frames, struct diagnosis **ret)
{
    const struct input_request request = {.patience_ms = PATIENCE_NS / 1000000};
    struct intake intake = {.wanted = frames};
    struct input input;
    const int r = input_open(&input, path, &request);
    const int code = r < 0 ? ctl_fail(ctl, EX_NOINPUT, "diagnose: %s", input.why)
                           : read_frames(ctl, &intake, &input);
    input_close(&input);
    finish(&intake, ret, code);
    return code;
}
