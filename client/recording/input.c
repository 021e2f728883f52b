/* ffmpeg writes Y4M, where Y4M has the format, and otherwise raw frames. The rest of this file
 * therefore reads both in the same way. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "capture/y4m.h"
#include "core/clock.h"
#include "program.h"
#include "sequence.h"

#define FRAME     "FRAME"

/* Rates that Y4M may have here, and what two of the same recording differ by. */
#define LEAST_FPS 0.01
#define MOST_FPS  1000.0
#define EVEN      0.05

/* What ffprobe is asked for. */
static char shown[] =
    "stream=pix_fmt,color_range,width,height,sample_aspect_ratio,"
    "r_frame_rate,avg_frame_rate,nb_frames,duration:stream_tags=DURATION:stream_side_data=rotation:"
    "format=duration";

static __attribute__((format(printf, 3, 4))) int fail(struct input *input, int err,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length =
        snprintf(input->why, sizeof input->why,
                 "%s: ", strcmp(input->path, "-") == 0 ? "standard input" : input->path);
    if (length >= 0 && (size_t)length < sizeof input->why)
        vsnprintf(input->why + length, sizeof input->why - (size_t)length, format, args);
    va_end(args);
    return -err;
}

/* ---- reading ---- */

/* For fopencookie. A mute pipe ends the patience, and so does one that drips. */
static ssize_t read_patiently(void *cookie, char *bytes, size_t size)
{
    const struct input *input = cookie;
    struct pollfd poller = {.fd = input->fd, .events = POLLIN};
    for (;;) {
        const int64_t left_ns = input->deadline_ns - clock_now_ns();
        const int ready = left_ns > 0 ? poll(&poller, 1, (int)(left_ns / 1000000) + 1) : 0;
        const ssize_t got = ready > 0 ? read(input->fd, bytes, size) : -1;
        if (ready == 0)
            errno = ETIMEDOUT;
        if (got >= 0 || (errno != EINTR && errno != EAGAIN))
            return got;
    }
}

static int close_patiently(void *cookie)
{
    return close(((const struct input *)cookie)->fd);
}

static void begin_patience(struct input *input)
{
    input->deadline_ns = clock_now_ns() + input->patience_ms * (int64_t)1000000;
}

static int fail_reading(struct input *input)
{
    const int error = errno;
    return error == ETIMEDOUT
               ? fail(input, error, "it delivered no whole frame within %d seconds",
                      input->patience_ms / 1000)
               : fail(input, error, "frame %" PRIu64 ": %s", input->count, strerror(error));
}

/* Reads a line with its end, or as much of it as there is. Returns its length; 0 at the end of the
 * file, or after an error. */
static size_t read_line(FILE *file, char line[INPUT_LINE])
{
    size_t length = 0;
    for (int c = 0; c != '\n' && length < INPUT_LINE && (c = getc(file)) != EOF;)
        line[length++] = (char)c;
    return ferror(file) ? 0 : length;
}

bool input_parse_pair(const char *text, char between, uint32_t *ret_first, uint32_t *ret_second)
{
    char *end;
    const unsigned long first = strtoul(text, &end, 10);
    if (end == text || *end != between || first > UINT32_MAX)
        return false;
    const char *rest = end + 1;
    const unsigned long second = strtoul(rest, &end, 10);
    if (end == rest || *end != '\0' || second > UINT32_MAX)
        return false;
    *ret_first = (uint32_t)first;
    *ret_second = (uint32_t)second;
    return true;
}

static int set_format(struct input *input, const struct fftd_pixel_format *layout, uint32_t width,
                      uint32_t height, uint32_t rate_num, uint32_t rate_den)
{
    struct error why;
    const int r = format_layout(&input->format, layout->fourcc, width, height, 1, &why);
    if (r < 0)
        return fail(input, -r, "%s", why.text);
    const bool is_known = rate_num > 0 && rate_den > 0;
    input->format.rate_num = is_known ? rate_num : 0;
    input->format.rate_den = is_known ? rate_den : 1;
    return 0;
}

static void set_aspect(struct input *input, const char *text, bool is_turned)
{
    uint32_t x, y;
    if (input_parse_pair(text, ':', &x, &y) && x > 0 && y > 0) {
        input->shape.aspect_x = is_turned ? y : x;
        input->shape.aspect_y = is_turned ? x : y;
    }
}

/* Reads from the header what the format does not have. */
static void read_shape(struct input *input)
{
    char header[INPUT_LINE], *rest = header;
    memcpy(header, input->header, sizeof header);
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] == 'I')
            input->shape.interlacing = word[1];
        else if (word[0] == 'A')
            set_aspect(input, word + 1, false);
    }
}

static int read_header(struct input *input)
{
    struct error why;
    size_t length = read_line(input->file, input->header);
    if (ferror(input->file))
        return fail_reading(input);
    if (length == 0)
        return fail(input, EINVAL, "is empty");
    const int r =
        y4m_parse_header((const uint8_t *)input->header, length, &input->format, &length, &why);
    if (r < 0)
        return fail(input, -r, "%s; `ffmpeg -i IN -pix_fmt yuv420p OUT.y4m` makes Y4M of a video%s",
                    why.text,
                    input->patience_ms == 0 ? ", and --size and --pixel-format describe raw frames"
                                            : "");
    input->header[length - 1] = '\0';
    read_shape(input);
    return 0;
}

/* ---- ffmpeg ---- */

struct probe {
    char pixels[32]; /* FFmpeg's pix_fmt */
    bool is_full_range;
    uint32_t width, height;
    bool is_turned; /* it is shown turned by a quarter, and ffmpeg turns it */
    uint32_t rate_num, rate_den;
    uint32_t mean_num, mean_den; /* frames by their duration */
    uint64_t frames;
    char aspect[24]; /* the proportions of a pixel, as X:Y */
    double seconds;  /* the length of the video, or of the whole file if that is not known */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Matroska has hours, minutes and seconds. */
static double parse_seconds(const char *text)
{
    double seconds = 0;
    char *end;
    for (;; text = end + 1) {
        seconds = 60 * seconds + strtod(text, &end);
        if (*end != ':')
            return *end == '\0' ? seconds : 0;
    }
}

/* A line is NAME=VALUE; "N/A" counts as 0. */
static void take_answer(struct probe *probe, char *line)
{
    char *value = strchr(line, '=');
    if (value == NULL)
        return;
    *value++ = '\0';
    value[strcspn(value, "\n")] = '\0';
    if (strcmp(line, "pix_fmt") == 0)
        snprintf(probe->pixels, sizeof probe->pixels, "%s", value);
    else if (strcmp(line, "color_range") == 0)
        probe->is_full_range = strcmp(value, "pc") == 0;
    else if (strcmp(line, "width") == 0)
        probe->width = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(line, "height") == 0)
        probe->height = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(line, "sample_aspect_ratio") == 0)
        snprintf(probe->aspect, sizeof probe->aspect, "%s", value);
    else if (strcmp(line, "rotation") == 0)
        probe->is_turned = labs(strtol(value, NULL, 10)) % 180 == 90;
    else if (strcmp(line, "r_frame_rate") == 0)
        input_parse_pair(value, '/', &probe->rate_num, &probe->rate_den);
    else if (strcmp(line, "avg_frame_rate") == 0)
        input_parse_pair(value, '/', &probe->mean_num, &probe->mean_den);
    else if (strcmp(line, "nb_frames") == 0)
        probe->frames = strtoull(value, NULL, 10);
    else if (strcasecmp(line + (begins(line, "TAG:") ? 4 : 0), "duration") == 0 &&
             probe->seconds == 0)
        probe->seconds = parse_seconds(value);
}

/* Looks at the numbers of pictures. Writes the first one as text; empty: there are none. */
static int find_first(struct input *input, char first[24])
{
    struct sequence pictures;
    first[0] = '\0';
    const int r =
        strchr(input->path, '%') != NULL ? sequence_find(&pictures, input->path) : -EINVAL;
    if (r == -EINVAL) /* one file, or a pattern that is left to ffmpeg */
        return 0;
    if (r < 0)
        return fail(input, -r, "%s",
                    r == -ENOENT ? "there is no picture of this name with a number" : strerror(-r));
    if (pictures.has_gap)
        return fail(input, EINVAL,
                    "there is no picture with the number %" PRIu64 ": expected all from %" PRIu64
                    " to %" PRIu64,
                    pictures.missing, pictures.first, pictures.last);
    snprintf(first, 24, "%" PRIu64, pictures.first);
    input->first_number = pictures.first;
    input->total = pictures.last - pictures.first + 1;
    return 0;
}

static int look_at(struct input *input, char *name, char *first, struct probe *ret)
{
    const bool is_numbered = first[0] != '\0';
    char *arguments[] = {"ffprobe",
                         "-v",
                         "error",
                         "-select_streams",
                         "v:0",
                         "-show_entries",
                         shown,
                         "-of",
                         "default=noprint_wrappers=1",
                         is_numbered ? "-start_number" : "-i",
                         is_numbered ? first : name,
                         is_numbered ? "-i" : NULL,
                         name,
                         NULL};
    char line[INPUT_LINE];
    FILE *answer;
    pid_t pid;
    const int r = program_start(arguments, true, -1, &answer, &pid);
    if (r == -ENOENT)
        return fail(input, ENOPKG,
                    "neither Y4M nor raw frames with --size and --pixel-format: other recordings "
                    "need the program ffmpeg (Debian package ffmpeg)");
    if (r < 0)
        return fail(input, -r, "cannot run ffprobe: %s", strerror(-r));
    while (fgets(line, sizeof line, answer) != NULL)
        take_answer(ret, line);
    fclose(answer);
    if (program_wait(pid) != 0 || ret->pixels[0] == '\0' || ret->width == 0)
        return fail(input, EINVAL,
                    "ffmpeg finds no video in it; for raw frames set --size and --pixel-format");
    return 0;
}

/* Chooses one of fftd's formats, without a change where that is possible. */
static const char *choose_pixels(struct input *input, const struct probe *probe)
{
    static const char *const exact[][2] = {
        {"gray10", "gray10le"}, {"gray12", "gray12le"},   {"gray16", "gray16le"},
        {"gray9", "gray16le"},  {"gray14", "gray16le"},   {"monow", "gray"},
        {"monob", "gray"},      {"grayf", "gray16le"},    {"gray", "gray"},
        {"nv12", "yuv420p"},    {"yuv420p1", NULL},       {"yuv420p9", NULL},
        {"yuv420p", "yuv420p"}, {"yuvj420p", "yuvj420p"}, {"rgb24", "rgb24"},
        {"bgr24", "rgb24"},     {"rgb0", "rgb24"},        {"bgr0", "rgb24"},
        {"pal8", "rgb24"},      {"gbrp1", NULL},          {"gbrp9", NULL},
        {"gbrpf", NULL},        {"gbrp", "rgb24"},        {"yuyv422", "yuyv422"},
        {"uyvy422", "uyvy422"}, {"yuv422p1", NULL},       {"yuv422p9", NULL},
        {"yuv422p", "yuyv422"},
    };
    unsigned i = 0;
    while (i < sizeof exact / sizeof exact[0] && !begins(probe->pixels, exact[i][0]))
        i++;
    if (i < sizeof exact / sizeof exact[0] && exact[i][1] != NULL)
        return exact[i][1];
    const char *to = begins(probe->pixels, "yuvj") ? "yuvj420p"
                     : begins(probe->pixels, "yuv") || begins(probe->pixels, "uyv") ||
                             begins(probe->pixels, "nv")
                         ? "yuv420p"
                     : begins(probe->pixels, "ya16") ? "gray16le"
                     : begins(probe->pixels, "ya")   ? "gray"
                                                     : "rgb24";
    snprintf(input->notice, sizeof input->notice, "%s is read as %s", probe->pixels, to);
    return to;
}

/* The format of raw frames that ffmpeg writes; NULL: Y4M has it, and says so. */
static const struct fftd_pixel_format *find_raw(const char *pixels)
{
    return fftd_pixel_format(strcmp(pixels, "rgb24") == 0
                                 ? FFTD_FOURCC('B', 'G', '2', '4') /* R G B in memory */
                             : strcmp(pixels, "yuyv422") == 0 ? FFTD_FOURCC('Y', 'U', 'Y', 'V')
                             : strcmp(pixels, "uyvy422") == 0 ? FFTD_FOURCC('U', 'Y', 'V', 'Y')
                                                              : 0);
}

/* Frames with uneven times get an even rate, by which they last as long. */
static void settle_rate(struct input *input, const struct probe *probe)
{
    struct fftd_format *format = &input->format;
    const double rate = (double)format->rate_num / format->rate_den;
    const double mean = probe->mean_den > 0 ? (double)probe->mean_num / probe->mean_den : 0.0;
    const size_t length = strlen(input->notice);
    if (mean < LEAST_FPS || mean > MOST_FPS || fabs(rate - mean) <= EVEN * mean)
        return;
    format->rate_num = probe->mean_num;
    format->rate_den = probe->mean_den;
    snprintf(input->notice + length, sizeof input->notice - length,
             "%sframes that came at uneven times get %.4g a second", length > 0 ? "; " : "", mean);
}

static int open_with_ffmpeg(struct input *input)
{
    struct probe probe = {.rate_den = 1};
    char first[24], name[PATH_MAX + 2];
    int r = find_first(input, first);
    program_name_file(input->path, name, sizeof name);
    if (r == 0)
        r = look_at(input, name, first, &probe);
    if (r < 0)
        return r;
    const bool is_numbered = first[0] != '\0';
    const char *pixels = choose_pixels(input, &probe);
    const struct fftd_pixel_format *raw = find_raw(pixels);
    /* Raw frames do not say their range, and ffmpeg gives them this one. */
    if (raw != NULL && raw->family == FFTD_FAMILY_YUV && probe.is_full_range)
        snprintf(input->notice, sizeof input->notice, "%s of full range is read as limited range",
                 probe.pixels);
    /* It goes on after an error in the recording, and then exits with a status. */
    char *arguments[22] = {"ffmpeg", "-v", "error", "-nostdin", "-max_error_rate", "0"};
    char *const rest[] = {
        "-i",        name,          "-map",     "0:v:0",
        "-fps_mode", "passthrough", "-pix_fmt", (char *)pixels,
        "-strict",   "-1",          "-f",       raw == NULL ? "yuv4mpegpipe" : "rawvideo",
        "-",         NULL};
    unsigned n = 6;
    if (is_numbered) {
        arguments[n++] = "-start_number";
        arguments[n++] = first;
    }
    memcpy(arguments + n, rest, sizeof rest);
    r = program_start(arguments, true, -1, &input->file, &input->decoder);
    if (r < 0)
        return fail(input, r == -ENOENT ? ENOPKG : -r, "cannot run ffmpeg: %s", strerror(-r));
    const bool has_rate = probe.rate_num > 0 && probe.rate_den > 0;
    input->seconds = is_numbered ? 0.0 : probe.seconds;
    if (!is_numbered)
        input->total = probe.frames > 0 ? probe.frames
                       : has_rate ? (uint64_t)(probe.seconds * probe.rate_num / probe.rate_den)
                                  : 0;
    if (raw == NULL)
        r = read_header(input);
    else
        r = set_format(input, raw, probe.is_turned ? probe.height : probe.width,
                       probe.is_turned ? probe.width : probe.height, probe.rate_num,
                       probe.rate_den);
    if (raw != NULL)
        set_aspect(input, probe.aspect, probe.is_turned);
    if (r == 0)
        settle_rate(input, &probe);
    return r;
}

/* ---- opening ---- */

/* Opens a file, or looks at what comes from a pipe. Whether it is Y4M shows in its first bytes. */
static int open_path(struct input *input, const struct input_request *request)
{
    const bool is_stdin = strcmp(input->path, "-") == 0, waits = request->patience_ms == 0;
    const bool is_pattern = strchr(input->path, '%') != NULL || strstr(input->path, "://") != NULL;
    if (!is_pattern || is_stdin || !waits) {
        /* A pipe without a writer is opened at once, and then waited for like a mute one. */
        const int flags = O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK);
        input->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(input->path, flags);
        if (input->fd >= 0)
            input->file = waits ? fdopen(input->fd, "rb")
                                : fopencookie(input, "rb",
                                              (cookie_io_functions_t){.read = read_patiently,
                                                                      .close = close_patiently});
        if (input->file == NULL)
            return fail(input, errno, "%s", strerror(errno));
    }
    if (request->width != 0)
        return set_format(input, request->layout, request->width, request->height,
                          request->rate_num, request->rate_den);
    if (is_stdin || !waits)
        return 0;
    const int first = input->file != NULL ? getc(input->file) : EOF;
    if (first == EOF && input->file != NULL && ferror(input->file))
        return fail(input, errno, "%s", strerror(errno));
    if (first != EOF)
        ungetc(first, input->file);
    if (first == 'Y') /* begins YUV4MPEG2 */
        return 0;
    if (input->file != NULL)
        fclose(input->file);
    input->file = NULL;
    return open_with_ffmpeg(input);
}

static void count_frames(struct input *input)
{
    struct stat about;
    const size_t extra = input->header[0] != '\0' ? sizeof FRAME : 0;
    if (input->decoder == 0 && fstat(fileno(input->file), &about) == 0 && S_ISREG(about.st_mode))
        input->total = (uint64_t)about.st_size / (input->format.frame_bytes + extra);
}

int input_open(struct input *ret, const char *path, const struct input_request *request)
{
    *ret =
        (struct input){.path = path, .patience_ms = request->patience_ms, .shape = Y4M_USUAL_SHAPE};
    begin_patience(ret);
    int r = open_path(ret, request);
    if (r == 0 && ret->format.fourcc == 0)
        r = read_header(ret);
    /* What Y4M has and fftd has not, ffmpeg converts; the notice says to what. */
    if (r == -EOPNOTSUPP && strcmp(path, "-") != 0 && ret->decoder == 0 &&
        request->patience_ms == 0) {
        fclose(ret->file);
        ret->file = NULL;
        r = open_with_ffmpeg(ret);
    }
    if (r == 0)
        count_frames(ret);
    return r;
}

int input_read(struct input *input, uint8_t *frame)
{
    char line[INPUT_LINE];
    struct error why;
    const bool is_y4m = input->header[0] != '\0';
    begin_patience(input);
    size_t length = is_y4m ? read_line(input->file, line) : 0;
    if (is_y4m && length == 0 && !ferror(input->file))
        return 0;
    if (length > 0 && y4m_parse_frame((const uint8_t *)line, length, &length, &why) < 0)
        return feof(input->file)
                   ? fail(input, ENODATA, "frame %" PRIu64 " is truncated", input->count)
                   : fail(input, EINVAL, "frame %" PRIu64 ": %s", input->count, why.text);
    const size_t bytes = input->format.frame_bytes, got = fread(frame, 1, bytes, input->file);
    if (ferror(input->file))
        return fail_reading(input);
    if (got == 0 && !is_y4m)
        return 0;
    if (got < bytes)
        return fail(input, ENODATA, "frame %" PRIu64 " is truncated: %zu bytes of %zu",
                    input->count, got, bytes);
    input->count++;
    return 1;
}

void input_close(struct input *input)
{
    if (input->file != NULL)
        fclose(input->file);
    input->file = NULL;
    /* ffmpeg would first wait until what it has decoded is read. */
    if (input->decoder > 0)
        program_end(input->decoder, SIGKILL);
    input->decoder = 0;
}

void input_leave(struct input *input)
{
    /* fclose alone would move the position to what this process has read. */
    if (input->file != NULL) {
        close(fileno(input->file));
        fclose(input->file);
    }
    input->file = NULL;
}
