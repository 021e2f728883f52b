/* Implements `convert`, which filters a recording: input -> feeder -> daemon of its own -> this
 * process -> output. The daemon is the same program that filters a camera, so a recording gets
 * exactly the same filter, and this program needs neither OpenCL nor the engine.
 *
 * The feeder, a process of its own, writes frames into the daemon's standard input
 * (capture/pipe.c); ffmpeg writes into the feeder what is neither Y4M nor raw. With
 * `output.lossless` each end waits for the one after it, from the input to the output, through
 * three pipes and the ring. So each frame of the ring has the number that follows the last one, and
 * a number that is missing is an error. OUT.part grows by whole frames, and its size says where
 * --resume begins. Every process ends with its parent (PR_SET_PDEATHSIG). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adaptation.h"
#include "commands.h"
#include "common/bus.h"
#include "common/usage.h"
#include "core/clock.h"
#include "daemon.h"
#include "private_daemon.h"
#include "recording/before.h"
#include "recording/program.h"
#include "recording/recording.h"
#include "save.h"

#define WAIT_MS     200
#define CONNECT_US  20000
#define PROGRESS_US 500000
#define SAME_LENGTH 0.9 /* a shorter recording is noted */
#define CHAIN_BYTES 8192
#define JOB_BYTES   (2 * CHAIN_BYTES)

const char convert_help[] =
    "Every frame is filtered once, in order, and none is lost, however fast or slow\n"
    "either side is. An fftd of its own filters the frames, and leaves other ones\n"
    "alone.\n\n"
    "IN is Y4M, raw frames, or whatever the program ffmpeg reads: AVI, MP4, MKV, and\n"
    "pictures as in-%05d.png. - is standard input, which is Y4M or raw.\n"
    "OUT is .y4m, .raw, .mkv or .avi (FFV1: no bit is lost), .mp4, .mov or .webm\n"
    "(8 bits, lossy), or pictures: out-%05d.png, .pgm, .ppm, .tif, .bmp. - is\n"
    "standard output. All but Y4M and raw frames need the program ffmpeg.\n"
    "Pictures keep their numbers, which have to be without a gap. OUT has no sound,\n"
    "and its frames have an even rate.\n\n"
    "  -f, --filter CHAIN         the filter, as for `filter set` (default: none)\n"
    "      --size WxH             IN has raw frames of this size,\n"
    "      --pixel-format FORMAT  in this format: GREY, Y10, Y16, NV12, RGB24 ...\n"
    "      --fps N                and at this rate\n"
    "      --raw                  OUT gets raw frames, whatever its name\n"
    "      --two-pass             look at all of IN first; filters that adapt\n"
    "                             then have what they found from the first frame on\n"
    "      --compare              put each frame before the filter to the left of it\n"
    "      --resume               continue OUT.part after this program was killed;\n"
    "                             without one, begin (only .y4m and .raw)\n"
    "      --set KEY=VALUE        any key of fftd.conf(5); may be repeated\n"
    "      --json                 print the number of frames, or the error, as JSON\n\n"
    "OUT is called OUT.part until it is complete. Exit codes: 64 wrong options or\n"
    "filter, 65 IN is damaged (the frames before it are converted) or not supported,\n"
    "66 there is no IN, 69 fftd, ffmpeg or the OpenCL device is missing, 70 frames\n"
    "were lost because the device failed, 73 or 74 OUT cannot be written, 75\n"
    "interrupted, or nothing found to keep, 78 the filter does not suit the frames.\n\n"
    "Examples:\n"
    "  fftd-ctl convert in.mp4 out.mkv --filter preset:moire\n"
    "  fftd-ctl convert in.avi out.mp4 --filter auto-notch --two-pass\n"
    "  fftd-ctl convert scan-%04d.tif clean-%04d.tif --filter 'sharpen:amount=0.5'\n"
    "  fftd-ctl convert in.raw out.raw --size 640x480 --pixel-format Y16 --resume\n";

struct conversion {
    const struct ctl *ctl;
    const char *from;
    struct input_request request;
    struct recording_writer to;
    struct private_daemon daemon;
    struct before before;    /* --compare */
    char chain[CHAIN_BYTES]; /* the filter in use */
    bool estimating;         /* the first of two passes */
    bool resumed;            /* the output had frames already */
    bool is_complete;        /* there is nothing more that could be converted */
    bool is_left;            /* the reader of the stream has gone */
    uint32_t rate_num, rate_den;
    uint64_t total;    /* frames of the recording; 0: unknown */
    uint64_t skipped;  /* frames that the daemon does not get */
    uint64_t received; /* frames that it has delivered */
    uint64_t begun_us, shown_us;
};

/* ---- progress ---- */

static void show_progress(struct conversion *c, bool is_end)
{
    const uint64_t now_us = clock_now_us();
    if (!isatty(STDERR_FILENO) || (!is_end && now_us - c->shown_us < PROGRESS_US))
        return;
    c->shown_us = now_us;
    const double seconds = (double)(now_us - c->begun_us) / 1e6;
    const double rate = seconds > 0.0 ? (double)c->received / seconds : 0.0;
    const uint64_t done = c->skipped + c->received;
    fprintf(stderr, "\r%s%" PRIu64, c->estimating ? "estimating: " : "", done);
    if (c->total > done && rate > 0.0) {
        const uint64_t left = (uint64_t)((double)(c->total - done) / rate);
        fprintf(stderr,
                " of %" PRIu64 " frames, %.0f a second, %" PRIu64 ":%02" PRIu64 ":%02" PRIu64
                " left",
                c->total, rate, left / 3600, left / 60 % 60, left % 60);
    } else {
        fprintf(stderr, " frames, %.0f a second", rate);
    }
    fputs(is_end ? "\033[K\n" : "\033[K", stderr);
}

/* ---- what --resume has to find again ---- */

/* Describes what the frames in the file depend on. */
static void describe(const struct conversion *c, char job[JOB_BYTES])
{
    const struct ctl *ctl = c->ctl;
    struct stat about = {0};
    int n = 0;
    if (strcmp(c->from, "-") != 0)
        stat(c->from, &about);
    n = snprintf(job, JOB_BYTES, "fftd-ctl convert 1\n%s %lld %lld.%09ld\n%s\n%ux%u %s%s%s\n",
                 c->from, (long long)about.st_size, (long long)about.st_mtim.tv_sec,
                 about.st_mtim.tv_nsec, ctl->filter, c->request.width, c->request.height,
                 c->request.layout != NULL ? c->request.layout->name : "",
                 ctl->compare ? " compare" : "", ctl->two_pass ? " two-pass" : "");
    for (unsigned i = 0; i < ctl->settings.count && n < JOB_BYTES; i++)
        n += snprintf(job + n, (size_t)(JOB_BYTES - n), "%s\n", ctl->settings.text[i]);
}

static int job_path(const struct conversion *c, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s.job", c->to.part) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool can_resume(const struct conversion *c)
{
    return c->to.kind <= RECORDING_RAW && !c->to.is_stream;
}

/* Behind the description are the filter in use, which the first pass may have found, and the sizes
 * of what is written. */
static int write_job(const struct conversion *c)
{
    char job[JOB_BYTES], path[PATH_MAX];
    struct output_file file;
    if (!can_resume(c))
        return 0;
    describe(c, job);
    if (job_path(c, path) < 0)
        return ctl_fail(c->ctl, EX_CANTCREAT, "cannot create %.1000s.job: %s", c->to.part,
                        strerror(ENAMETOOLONG));
    const int code = save_begin(c->ctl, &file, path, OUTPUT_WHOLE);
    if (code != 0)
        return code;
    fprintf(file.file, "%s\n%s\n%zu %zu", job, c->chain, c->to.header_bytes, c->to.frame_bytes);
    return save_end(c->ctl, &file, path, 0);
}

static int read_job(struct conversion *c)
{
    char job[JOB_BYTES], path[PATH_MAX] = "", text[JOB_BYTES + CHAIN_BYTES] = "";
    uint32_t header = 0, frame = 0;
    describe(c, job);
    FILE *file = job_path(c, path) == 0 ? fopen(path, "r") : NULL;
    if (file == NULL)
        return ctl_fail(c->ctl, EX_DATAERR, "cannot resume: %s: %s", path, strerror(errno));
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const size_t length = strlen(job);
    char *chain = text + length + 1;
    if (strncmp(text, job, length) != 0 || text[length] != '\n')
        return ctl_fail(c->ctl, EX_DATAERR,
                        "cannot resume: %s was begun with another recording or other options: "
                        "expected those that %s names, or no --resume",
                        c->to.part, path);
    const size_t end = strcspn(chain, "\n");
    if (chain[end] == '\0' || !input_parse_pair(chain + end + 1, ' ', &header, &frame))
        return ctl_fail(c->ctl, EX_DATAERR, "cannot resume: %s is damaged", path);
    chain[end] = '\0';
    snprintf(c->chain, sizeof c->chain, "%s", chain);
    return recording_resume(&c->to, header, frame) == 0
               ? 0
               : ctl_fail(c->ctl, EX_DATAERR, "%s", c->to.why);
}

static void remove_job(const struct conversion *c)
{
    char path[PATH_MAX];
    if (can_resume(c) && job_path(c, path) == 0)
        unlink(path);
}

/* ---- frames ---- */

static int begin_output(struct conversion *c, const struct fftd_format *format)
{
    const int r = recording_begin(&c->to, format);
    if (r < 0)
        return ctl_fail(c->ctl, r == -ENOPKG ? EX_UNAVAILABLE : EX_CANTCREAT, "%s", c->to.why);
    return c->resumed ? 0 : write_job(c);
}

static int write_frame(struct conversion *c, const struct fftd_frame *frame)
{
    struct fftd_format format = *frame->format;
    struct pixels pixels;
    const bool is_first = c->to.format.fourcc == 0;
    int code = 0;
    if (pixels_from_frame(&pixels, frame) < 0)
        return ctl_fail(c->ctl, EX_PROTOCOL, "the daemon describes an impossible frame");
    format.rate_num = c->rate_num;
    format.rate_den = c->rate_den;
    pixels.format = &format;
    if (is_first && c->ctl->compare &&
        before_open(&c->before, c->from, &c->request, &format, c->to.finished) < 0)
        return ctl_fail(c->ctl, EX_DATAERR, "--compare: %s", c->before.input.why);
    if (is_first)
        code = begin_output(c, c->ctl->compare ? &c->before.wide : &format);
    if (code != 0 || c->skipped + c->received <= c->to.finished)
        return code;
    if (c->ctl->compare && before_put_beside(&c->before, &pixels) < 0)
        return ctl_fail(c->ctl, EX_DATAERR, "--compare: %s", c->before.input.why);
    const int r = recording_write(&c->to, &pixels);
    c->is_left = r == -EPIPE;
    return r < 0 && !c->is_left ? ctl_fail(c->ctl, EX_IOERR, "%s", c->to.why) : 0;
}

/* The daemon waits for this process, so a frame is missing only if a device has failed. */
static int take_frame(struct conversion *c, const struct fftd_frame *frame)
{
    if (frame->missed > 0 || frame->source_sequence != c->received)
        return ctl_fail(c->ctl, EX_SOFTWARE,
                        "frame %" PRIu64 " was lost, because the OpenCL device failed; --resume "
                        "continues before it",
                        c->skipped + c->received);
    c->received++;
    show_progress(c, false);
    return c->estimating ? 0 : write_frame(c, frame);
}

/* ---- passes ---- */

/* Waits until the daemon is ready, which may take seconds: it compiles kernels. */
static int connect_to(struct conversion *c)
{
    int r;
    while ((r = private_daemon_connect(&c->daemon)) == -EAGAIN && !ctl_interrupted)
        usleep(CONNECT_US);
    return r;
}

/* Reads all frames. When it estimates, it does not wait again after the last one: a daemon whose
 * frames have all been read ends, and it is to be asked what it has found. */
static int read_frames(struct conversion *c)
{
    struct fftd_frame frame;
    int code = 0, r = 0;
    while (code == 0 && !ctl_interrupted && !c->is_left && r != -EPIPE) {
        if (c->estimating && private_daemon_has_fed(&c->daemon, c->received))
            return 0;
        r = fftd_wait(c->daemon.camera, WAIT_MS);
        while (code == 0 && !ctl_interrupted && !c->is_left && r == 1 &&
               fftd_next(c->daemon.camera, &frame) == 0)
            code = take_frame(c, &frame);
        if (r < 0 && r != -EPIPE)
            code = ctl_fail(c->ctl, EX_PROTOCOL, "frames cannot be read: %s", strerror(-r));
        show_progress(c, false);
    }
    return code;
}

/* Finds what was wrong with either end of the daemon. */
static int judge(struct conversion *c, int decoder_status)
{
    const struct feeding *feeding = c->daemon.feeding;
    const uint64_t done = c->skipped + c->received;
    if (ctl_interrupted)
        return ctl_fail(c->ctl, EX_TEMPFAIL, "interrupted after %" PRIu64 " frames%s", done,
                        can_resume(c) ? "; --resume continues" : "");
    if (c->daemon.status > 0)
        return c->daemon.status; /* the daemon has said why */
    if (!private_daemon_has_fed(&c->daemon, c->received))
        return ctl_fail(c->ctl, EX_SOFTWARE, "%" PRIu64 " of %" PRIu64 " frames came back",
                        c->received, feeding->fed);
    c->is_complete = !c->estimating && done > 0;
    if (feeding->is_damaged)
        return ctl_fail(c->ctl, EX_DATAERR, "%s; the frames before it were converted, %" PRIu64,
                        feeding->why, done);
    if (done == 0)
        return ctl_fail(c->ctl, EX_DATAERR, "%s: contains no frame", c->from);
    return decoder_status == 0
               ? 0
               : ctl_fail(c->ctl, EX_DATAERR,
                          "%s: ffmpeg could not read all of it; what it could was converted, "
                          "%" PRIu64 " frames",
                          c->from, done);
}

/* Replaces the filter by what its adaptive stages have found. */
static int keep_filter(struct conversion *c)
{
    struct ctl private = *c->ctl;
    sd_bus_message *properties = NULL;
    private.runtime_dir = c->daemon.dir;
    private.json = false;
    private.silent = true;
    private.no_wait = true; /* there are no more frames that it could be in force with */
    private.if_serial = 0;
    private.fade = 0;
    int code = adaptation_keep(&private);
    if (code == 0)
        code = daemon_ask(&private, &properties, NULL);
    if (code == 0)
        snprintf(c->chain, sizeof c->chain, "%s", bus_text(properties, "Filter"));
    sd_bus_message_unref(properties);
    return code;
}

/* ffmpeg ends in silence where the end of a file is missing. Matroska does not say that its frames
 * have uneven times. */
static void note_length(const struct conversion *c, const struct input *input)
{
    const double seconds = (double)(c->skipped + c->received) * c->rate_den / c->rate_num;
    if (seconds < SAME_LENGTH * input->seconds)
        fprintf(
            stderr,
            "fftd-ctl: %s: its frames last %.4g s at an even rate of %.4g a second, but it says "
            "%.4g s: frames are missing, or came at uneven times\n",
            c->from, seconds, (double)c->rate_num / c->rate_den, input->seconds);
}

static int run_pass(struct conversion *c)
{
    struct input input;
    const int r = input_open(&input, c->from, &c->request);
    if (r < 0) {
        input_close(&input);
        return ctl_fail(c->ctl,
                        r == -ENOPKG                                        ? EX_UNAVAILABLE
                        : r == -EINVAL || r == -EOPNOTSUPP || r == -ENODATA ? EX_DATAERR
                                                                            : EX_NOINPUT,
                        "%s", input.why);
    }
    if (input.notice[0] != '\0' && !c->ctl->two_pass == !c->estimating)
        fprintf(stderr, "fftd-ctl: %s: %s\n", c->from, input.notice);
    c->rate_num = input.format.rate_num;
    c->rate_den = input.format.rate_den;
    c->total = input.total;
    c->to.first_number = input.first_number;
    c->to.shape = input.shape;
    c->received = 0;
    c->begun_us = clock_now_us();
    int code = private_daemon_start(&c->daemon, c->ctl, &input, c->chain, c->skipped);
    input_leave(&input);
    if (code == 0 && connect_to(c) == 0)
        code = read_frames(c);
    if (code == 0 && !c->is_left) {
        if (!ctl_interrupted && !c->estimating)
            private_daemon_await_end(&c->daemon);
        const bool all = private_daemon_has_fed(&c->daemon, c->received);
        const int status = all && input.decoder > 0 ? program_wait(input.decoder) : 0;
        input.decoder = all ? 0 : input.decoder;
        code = judge(c, status);
    }
    if (code == 0 && c->estimating)
        code = keep_filter(c);
    else if (code == 0 && c->is_complete && c->rate_num > 0)
        note_length(c, &input);
    input_close(&input); /* before the pipe's end, of which the decoder would complain */
    private_daemon_stop(&c->daemon);
    show_progress(c, true);
    return code;
}

/* ---- the command ---- */

/* Filters that use more than one frame also need the frames already written. */
static bool remembers(const char *chain)
{
    static const char *const kinds[] = {"auto-notch", "deflicker", "denoise",
                                        "stabilise",  "stack",     "preset:"};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strstr(chain, kinds[i]) != NULL)
            return true;
    return false;
}

static int read_request(const struct ctl *ctl, struct input_request *ret)
{
    *ret = (struct input_request){.rate_den = 1};
    if ((ctl->size == NULL) != (ctl->pixel_format == NULL))
        return ctl_fail(ctl, EX_USAGE, "raw frames need both --size and --pixel-format");
    if (ctl->size == NULL)
        return 0;
    if (!input_parse_pair(ctl->size, 'x', &ret->width, &ret->height) || ret->width < 16 ||
        ret->height < 16 || ret->width > FFTD_MAX_SIDE || ret->height > FFTD_MAX_SIDE)
        return ctl_fail(ctl, EX_USAGE, "--size %s: expected WIDTHxHEIGHT, 16x16 to %ux%u",
                        ctl->size, FFTD_MAX_SIDE, FFTD_MAX_SIDE);
    for (unsigned i = 0; ret->layout == NULL && fftd_pixel_format_at(i) != NULL; i++)
        if (strcasecmp(fftd_pixel_format_at(i)->name, ctl->pixel_format) == 0)
            ret->layout = fftd_pixel_format_at(i);
    if (ret->layout == NULL)
        return ctl_fail(
            ctl, EX_USAGE,
            "--pixel-format %s: expected one of GREY, Y10, Y12, Y16, YUYV, UYVY, NV12, NV21, "
            "NV16, YUV420, YVU420, RGB24, BGR24, XRGB32, XBGR32",
            ctl->pixel_format);
    if (ctl->fps > 0.0) {
        ret->rate_num = (uint32_t)(ctl->fps * 1000.0 + 0.5);
        ret->rate_den = 1000;
    }
    return 0;
}

static int check_options(const struct ctl *ctl, const char *from, const char *to)
{
    if (strcmp(from, "-") == 0 && (ctl->two_pass || ctl->compare))
        return ctl_fail(ctl, EX_USAGE, "%s reads the recording twice: expected a file, not -",
                        ctl->two_pass ? "--two-pass" : "--compare");
    if (strcmp(to, "-") == 0 && isatty(STDOUT_FILENO))
        return ctl_fail(ctl, EX_USAGE, "refusing to write binary frames to a terminal; use a pipe");
    return 0;
}

static int convert(struct conversion *c)
{
    int code = 0;
    c->resumed = c->ctl->resume && recording_is_begun(&c->to);
    if (c->resumed)
        code = read_job(c);
    if (code == 0 && c->ctl->two_pass && !c->resumed) {
        c->estimating = true;
        code = run_pass(c);
        c->estimating = false;
    }
    /* The frames that are there need not be filtered again. */
    if (!remembers(c->chain))
        c->skipped = c->to.finished;
    return code == 0 ? run_pass(c) : code;
}

static void report(const struct conversion *c)
{
    if (c->ctl->json)
        fprintf(strcmp(c->to.path, "-") == 0 ? stderr : stdout,
                "{\"frames\": %" PRIu64 ", \"resumed_at\": %" PRIu64 "}\n", c->to.count,
                c->to.finished);
}

int command_convert(const struct ctl *ctl)
{
    struct conversion *c = calloc(1, sizeof *c);
    if (c == NULL)
        return ctl_fail(ctl, EX_OSERR, "out of memory");
    c->ctl = ctl;
    c->from = ctl->argv[0];
    snprintf(c->chain, sizeof c->chain, "%s", ctl->filter);
    int code = check_options(ctl, c->from, ctl->argv[1]);
    if (code == 0)
        code = read_request(ctl, &c->request);
    if (code == 0 && recording_init(&c->to, ctl->argv[1], ctl->raw, ctl->resume) < 0)
        code = ctl_fail(ctl, EX_USAGE, "%s", c->to.why);
    if (code == 0) {
        ctl_catch_signals();
        code = convert(c);
        const int r = recording_finish(&c->to, !c->is_complete);
        if (r < 0 && code == 0 && !c->is_left)
            code = ctl_fail(ctl, EX_IOERR, "%s", c->to.why);
        const bool is_empty = c->to.format.fourcc != 0 && c->to.count == 0;
        if (c->is_complete || is_empty)
            remove_job(c);
    }
    if (code == 0)
        report(c);
    before_close(&c->before);
    free(c);
    return code;
}
