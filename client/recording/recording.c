#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "program.h"

/* The kinds of files by the ends of their names. Matroska and AVI get FFV1, which keeps all bits.
 * Other videos get what ffmpeg chooses for them, in the pixel format that every player knows. */
static const struct {
    const char *ending;
    enum recording_kind kind;
    const char *muxer;
    bool exact;
} kinds[] = {
    {".y4m", RECORDING_Y4M, NULL, true},         {".raw", RECORDING_RAW, NULL, true},
    {".mkv", RECORDING_VIDEO, "matroska", true}, {".avi", RECORDING_VIDEO, "avi", true},
    {".mp4", RECORDING_VIDEO, "mp4", false},     {".mov", RECORDING_VIDEO, "mov", false},
    {".webm", RECORDING_VIDEO, "webm", false},   {".png", RECORDING_PICTURES, NULL, true},
    {".pgm", RECORDING_PICTURES, NULL, true},    {".ppm", RECORDING_PICTURES, NULL, true},
    {".tif", RECORDING_PICTURES, NULL, true},    {".tiff", RECORDING_PICTURES, NULL, true},
    {".bmp", RECORDING_PICTURES, NULL, true},
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static __attribute__((format(printf, 3, 4))) int fail(struct recording_writer *recording, int err,
                                                      const char *format, ...)
{
    va_list args;
    if (recording->why[0] != '\0')
        return -err;
    va_start(args, format);
    const int length =
        snprintf(recording->why, sizeof recording->why,
                 "%s: ", strcmp(recording->path, "-") == 0 ? "standard output" : recording->path);
    if (length >= 0 && (size_t)length < sizeof recording->why)
        vsnprintf(recording->why + length, sizeof recording->why - (size_t)length, format, args);
    va_end(args);
    return -err;
}

static bool ends(const char *path, const char *with)
{
    const size_t length = strlen(path), end = strlen(with);
    return length > end && strcasecmp(path + length - end, with) == 0;
}

static int find_kind(struct recording_writer *recording, bool raw)
{
    const char *path = recording->path;
    unsigned i = 0;
    recording->kind = raw ? RECORDING_RAW : RECORDING_Y4M;
    if (strcmp(path, "-") == 0 || raw)
        return 0;
    while (i < KIND_COUNT && !ends(path, kinds[i].ending))
        i++;
    if (i == KIND_COUNT)
        return fail(recording, EINVAL,
                    "expected a name that ends in .y4m, .raw, .mkv, .avi, .mp4, .mov, .webm, .png, "
                    ".pgm, .ppm, .tif or .bmp, or - with --raw or for Y4M");
    recording->kind = kinds[i].kind;
    recording->muxer = kinds[i].muxer;
    recording->is_exact = kinds[i].exact;
    if (recording->kind == RECORDING_PICTURES && strchr(path, '%') == NULL)
        return fail(recording, EINVAL, "expected a number in the name, as in out-%%05d%s",
                    kinds[i].ending);
    return 0;
}

int recording_init(struct recording_writer *ret, const char *path, bool raw, bool resume)
{
    *ret = (struct recording_writer){.path = path,
                                     .is_stream = output_is_stream(path),
                                     .shape = Y4M_USUAL_SHAPE,
                                     .to = {.folder = -1}};
    const int r = find_kind(ret, raw);
    if (r < 0)
        return r;
    if (resume && (ret->kind >= RECORDING_VIDEO || ret->is_stream))
        return fail(ret, EPERM,
                    "only .y4m and .raw files can be resumed; convert to one of these, "
                    "and encode it afterwards");
    if ((size_t)snprintf(ret->part, sizeof ret->part, "%s.part", path) >= sizeof ret->part)
        return fail(ret, ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
    return 0;
}

bool recording_is_begun(const struct recording_writer *recording)
{
    struct stat about;
    return recording->kind <= RECORDING_RAW && !recording->is_stream &&
           stat(recording->part, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
}

/* ---- beginning ---- */

static size_t count_bytes(const struct recording_writer *recording)
{
    const struct fftd_format *format = &recording->format;
    size_t bytes = recording->kind == RECORDING_Y4M ? strlen("FRAME\n") : 0;
    for (unsigned p = 0; p < format->plane_count; p++)
        bytes += (size_t)format->plane[p].row_bytes * format->plane[p].rows;
    return bytes;
}

int recording_resume(struct recording_writer *recording, size_t header, size_t frame)
{
    struct stat about;
    const int r = output_open(&recording->to, recording->part, OUTPUT_CONTINUED);
    if (r < 0)
        return fail(recording, -r, "cannot continue %s: %s", recording->part, recording->to.why);
    recording->file = recording->to.file;
    if (frame == 0 || fstat(fileno(recording->file), &about) < 0)
        return fail(recording, EINVAL, "cannot continue %s: its size is not known",
                    recording->part);
    recording->header_bytes = header;
    recording->frame_bytes = frame;
    if (about.st_size > (off_t)header)
        recording->finished = ((uint64_t)about.st_size - header) / frame;
    recording->count = recording->finished;
    return 0;
}

/* Cuts off a frame that was written in part, and continues behind the last whole one. */
static int continue_file(struct recording_writer *recording, size_t frame)
{
    const off_t end = recording->finished == 0
                          ? 0
                          : (off_t)(recording->header_bytes + recording->finished * frame);
    if (frame != recording->frame_bytes)
        return fail(recording, EINVAL,
                    "cannot continue %s: its frames have %zu bytes, expected %zu", recording->part,
                    recording->frame_bytes, frame);
    if (ftruncate(fileno(recording->file), end) < 0 || fseeko(recording->file, end, SEEK_SET) < 0)
        return fail(recording, errno, "%s: %s", recording->part, strerror(errno));
    return 0;
}

static const char *ffmpeg_name(const struct fftd_pixel_format *layout)
{
    static const char *const names[][2] = {
        {"GREY", "gray"},    {"Y10", "gray10le"},   {"Y12", "gray12le"}, {"Y16", "gray16le"},
        {"YUYV", "yuyv422"}, {"UYVY", "uyvy422"},   {"NV12", "nv12"},    {"NV21", "nv21"},
        {"NV16", "nv16"},    {"YUV420", "yuv420p"}, {"RGB24", "rgb24"},  {"BGR24", "bgr24"},
        {"XRGB32", "0rgb"},  {"XBGR32", "bgr0"},
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i][0], layout->name) == 0)
            return names[i][1];
    return NULL;
}

/* ffmpeg gets the file's descriptor and not its name, so that it follows no link that somebody has
 * planted. */
static int start_ffmpeg(struct recording_writer *recording, const struct fftd_pixel_format *layout)
{
    const struct fftd_format *format = &recording->format;
    const bool pictures_follow = recording->kind == RECORDING_PICTURES;
    const char *pixels = ffmpeg_name(layout);
    const bool known = format->rate_num > 0;
    /* A player that is not told takes 16 for black. AVI has no place for it. */
    const bool is_full_range =
        !pictures_follow && format->full_range && layout->family == FFTD_FAMILY_YUV;
    /* FFmpeg 7 converts the samples if only the output's range is given. */
    char *const range = is_full_range ? "pc" : "unknown";
    char size[32], rate[32], target[PATH_MAX + 2], first[24], aspect[48];
    if (pixels == NULL)
        return fail(recording, EINVAL, "ffmpeg does not know the pixel format %s", layout->name);
    if (!recording->is_exact && layout->bits > 8)
        return fail(
            recording, EINVAL,
            "%s has only 8 bits, and the frames have %u: expected .mkv, .avi, .y4m, .raw or "
            "pictures",
            recording->muxer, layout->bits);
    snprintf(size, sizeof size, "%ux%u", format->width, format->height);
    snprintf(rate, sizeof rate, "%u/%u", known ? format->rate_num : 30,
             known ? format->rate_den : 1);
    const int fd = pictures_follow ? -1 : fileno(recording->to.file);
    snprintf(target, sizeof target, "/dev/fd/%d", fd);
    /* Without -xerror, ffmpeg 5 calls a file complete that it could not write to its end. */
    char *arguments[32] = {
        "ffmpeg",     "-v",       "error",         "-nostdin",     "-y",          "-xerror",
        "-f",         "rawvideo", "-pixel_format", (char *)pixels, "-video_size", size,
        "-framerate", rate,       "-color_range",  range,          "-i",          "/dev/stdin",
        NULL};
    unsigned n = 18;
    if (pictures_follow) {
        arguments[n++] = "-f";
        arguments[n++] = "image2";
        arguments[n++] = "-start_number";
        snprintf(first, sizeof first, "%" PRIu64, recording->first_number);
        arguments[n++] = first;
    } else {
        arguments[n++] = "-f";
        arguments[n++] = (char *)recording->muxer;
        arguments[n++] = recording->is_exact ? "-c:v" : "-pix_fmt";
        arguments[n++] = recording->is_exact ? "ffv1" : "yuv420p";
        snprintf(aspect, sizeof aspect, "setsar=%u/%u", recording->shape.aspect_x,
                 recording->shape.aspect_y);
        arguments[n++] = "-vf";
        arguments[n++] = aspect;
        if (is_full_range) {
            arguments[n++] = "-color_range";
            arguments[n++] = "pc";
        }
    }
    if (pictures_follow)
        program_name_file(recording->path, target, sizeof target);
    arguments[n++] = target;
    arguments[n] = NULL;
    const int r = program_start(arguments, false, fd, &recording->file, &recording->encoder);
    if (r == -ENOENT)
        return fail(recording, ENOPKG,
                    "this kind of file needs the program ffmpeg (Debian package ffmpeg); .y4m and "
                    ".raw need nothing");
    return r < 0 ? fail(recording, -r, "cannot run ffmpeg: %s", strerror(-r)) : 0;
}

int recording_begin(struct recording_writer *recording, const struct fftd_format *format)
{
    const struct fftd_pixel_format *layout = fftd_pixel_format(format->fourcc);
    recording->format = *format;
    if (layout == NULL)
        return fail(recording, EINVAL, "unknown pixel format");
    if (recording->kind == RECORDING_Y4M && layout->y4m == NULL)
        return fail(recording, EINVAL,
                    "Y4M does not have the pixel format %s: expected .raw or .mkv", layout->name);
    recording->row = malloc(y4m_row_bytes(layout, format));
    if (recording->row == NULL)
        return fail(recording, ENOMEM, "out of memory");
    const size_t frame = count_bytes(recording);
    if (recording->frame_bytes != 0) {
        const int r = continue_file(recording, frame);
        if (r < 0 || recording->finished > 0)
            return r;
    } else if (recording->kind != RECORDING_PICTURES) {
        const char *path = recording->is_stream ? recording->path : recording->part;
        const int r = output_open(&recording->to, path, OUTPUT_STREAM);
        if (r < 0)
            return fail(recording, -r, "cannot create it: %s", recording->to.why);
        recording->file = recording->to.file;
    }
    recording->frame_bytes = frame;
    if (recording->kind >= RECORDING_VIDEO)
        return start_ffmpeg(recording, layout);
    if (recording->kind == RECORDING_Y4M)
        recording->header_bytes =
            y4m_write_header(recording->file, layout, format, recording->shape);
    return 0;
}

/* ---- frames ---- */

int recording_write(struct recording_writer *recording, const struct pixels *pixels)
{
    if (recording->kind == RECORDING_Y4M)
        y4m_write_frame(recording->file, pixels, recording->row);
    else
        y4m_write_raw(recording->file, pixels);
    if (recording->is_stream)
        fflush(recording->file);
    if (ferror(recording->file)) {
        const int error = errno != 0 ? errno : EIO;
        if (error == EPIPE && recording->encoder == 0)
            return -EPIPE;
        /* -EPIPE would be the end of the stream. */
        return fail(recording, error == EPIPE ? EIO : error, "frame %" PRIu64 ": %s",
                    recording->count, error == EPIPE ? "ffmpeg has ended" : strerror(error));
    }
    recording->count++;
    return 0;
}

/* ---- the end ---- */

static int rename_part(struct recording_writer *recording)
{
    if (recording->is_stream || recording->kind == RECORDING_PICTURES)
        return 0;
    return rename(recording->part, recording->path) == 0
               ? 0
               : fail(recording, errno, "%s cannot get its name: %s", recording->part,
                      strerror(errno));
}

int recording_finish(struct recording_writer *recording, bool keep)
{
    int r = recording->why[0] != '\0' ? -EIO : 0;
    if (recording->encoder > 0) {
        if (recording->file != NULL)
            fclose(recording->file);
        const int status = program_wait(recording->encoder);
        if (status != 0)
            r = fail(recording, EIO, "ffmpeg has failed with status %d", status);
    }
    if (recording->to.file != NULL) {
        const int closed = output_close(&recording->to);
        if (closed < 0)
            r = fail(recording, -closed, "%s", strerror(-closed));
    }
    if (recording->count == 0 && recording->format.fourcc != 0 && !recording->is_stream &&
        recording->kind != RECORDING_PICTURES)
        unlink(recording->part); /* no frame was written */
    free(recording->row);
    recording->row = NULL;
    if (r == 0 && !keep)
        r = rename_part(recording);
    return r;
}
