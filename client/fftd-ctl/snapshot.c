/* Implements `snapshot`, which saves one frame before and after the filter as images. The daemon
 * sends the frame in memory files. They are read and not mapped, because a mapping of memory that
 * another process truncates would end this program. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bus.h"
#include "commands.h"
#include "picture_file.h"
#include "spectrum.h"

struct shot {
    struct fftd_format format;
    struct pixels before, after; /* before: all zero unless it was asked for */
    uint8_t *memory[2];
};

/* ---- the daemon's reply ---- */

static int read_planes(sd_bus_message *reply, struct fftd_format *format)
{
    const char *key;
    uint32_t value;
    int r = sd_bus_message_enter_container(reply, 'v', "aa{su}");
    if (r >= 0)
        r = sd_bus_message_enter_container(reply, 'a', "a{su}");
    while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'a', "{su}")) > 0) {
        if (format->plane_count == FFTD_MAX_PLANES)
            return -EPROTO;
        struct fftd_plane *plane = &format->plane[format->plane_count++];
        while ((r = sd_bus_message_read(reply, "{su}", &key, &value)) > 0) {
            uint32_t *field = strcmp(key, "offset") == 0      ? &plane->offset
                              : strcmp(key, "stride") == 0    ? &plane->stride
                              : strcmp(key, "row_bytes") == 0 ? &plane->row_bytes
                              : strcmp(key, "rows") == 0      ? &plane->rows
                                                              : NULL;
            if (field != NULL)
                *field = value;
        }
        if (r >= 0)
            r = sd_bus_message_exit_container(reply);
    }
    if (r >= 0)
        r = sd_bus_message_exit_container(reply);
    if (r >= 0)
        r = sd_bus_message_exit_container(reply);
    return r;
}

static int read_format_value(sd_bus_message *reply, const char *key, struct fftd_format *format)
{
    int full_range;
    if (strcmp(key, "planes") == 0)
        return read_planes(reply, format);
    if (strcmp(key, "fourcc") == 0)
        return sd_bus_message_read(reply, "v", "u", &format->fourcc);
    if (strcmp(key, "width") == 0)
        return sd_bus_message_read(reply, "v", "u", &format->width);
    if (strcmp(key, "height") == 0)
        return sd_bus_message_read(reply, "v", "u", &format->height);
    if (strcmp(key, "matrix") == 0)
        return sd_bus_message_read(reply, "v", "y", &format->matrix);
    if (strcmp(key, "full_range") != 0)
        return sd_bus_message_skip(reply, "v");
    int r = sd_bus_message_read(reply, "v", "b", &full_range);
    if (r > 0)
        format->full_range = (uint8_t)full_range;
    return r;
}

static int read_format(sd_bus_message *reply, struct fftd_format *ret)
{
    const char *key;
    int r = sd_bus_message_enter_container(reply, 'a', "{sv}");
    while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
        r = sd_bus_message_read(reply, "s", &key);
        if (r >= 0)
            r = read_format_value(reply, key, ret);
        if (r >= 0)
            r = sd_bus_message_exit_container(reply);
    }
    return r < 0 ? r : sd_bus_message_exit_container(reply);
}

/* No frame of the greatest size takes more than this. */
#define MAX_FRAME_BYTES ((uint64_t)FFTD_MAX_SIDE * FFTD_MAX_SIDE * 4 + (1u << 20))

/* The end of the last plane. -EFBIG: the daemon describes a frame that cannot be. */
static int find_size(const struct fftd_format *format, size_t *ret)
{
    uint64_t size = 0;
    for (unsigned i = 0; i < format->plane_count; i++) {
        const struct fftd_plane *plane = &format->plane[i];
        const uint64_t rows = plane->rows > 0 ? plane->rows - 1 : 0;
        const uint64_t end = plane->offset + rows * plane->stride + plane->row_bytes;
        size = end > size ? end : size;
    }
    *ret = (size_t)size;
    return size > MAX_FRAME_BYTES ? -EFBIG : 0;
}

static int read_memory(int fd, size_t size, uint8_t **ret)
{
    ssize_t got = 1;
    uint8_t *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        return -ENOMEM;
    for (size_t done = 0; got > 0 && done < size; done += (size_t)got)
        got = pread(fd, memory + done, size - done, (off_t)done);
    if (got > 0) {
        *ret = memory;
        return 0;
    }
    got = got < 0 ? -errno : -ENODATA;
    free(memory);
    return (int)got;
}

/* The caller frees *ret_memory, also after a failure. */
static int read_frame(int fd, const struct fftd_format *format, uint8_t **ret_memory,
                      struct pixels *ret)
{
    size_t size;
    int r = find_size(format, &size);
    if (r >= 0)
        r = read_memory(fd, size, ret_memory);
    return r < 0 ? r : pixels_from_memory(ret, format, *ret_memory, size);
}

static void shot_finish(struct shot *shot)
{
    for (unsigned i = 0; i < 2; i++)
        free(shot->memory[i]);
}

/* The descriptors remain the reply's; *ret owns the memory, also on failure. */
static int shot_read(struct shot *ret, sd_bus_message *reply, bool with_before)
{
    int before = -1, after;
    int r = with_before ? sd_bus_message_read(reply, "h", &before) : 0;
    if (r >= 0)
        r = sd_bus_message_read(reply, "h", &after);
    if (r >= 0)
        r = read_format(reply, &ret->format);
    if (r >= 0 && with_before)
        r = read_frame(before, &ret->format, &ret->memory[0], &ret->before);
    if (r >= 0)
        r = read_frame(after, &ret->format, &ret->memory[1], &ret->after);
    return r;
}

/* ---- pictures ---- */

static int draw_before(struct picture *ret, const struct shot *shot)
{
    return picture_from_pixels(ret, &shot->before);
}

static int draw_after(struct picture *ret, const struct shot *shot)
{
    return picture_from_pixels(ret, &shot->after);
}

static int draw_side_by_side(struct picture *ret, const struct shot *shot)
{
    struct picture before = {0}, after = {0};
    int r = draw_before(&before, shot);
    if (r == 0)
        r = draw_after(&after, shot);
    if (r == 0)
        r = picture_beside(ret, &before, &after);
    picture_free(&before);
    picture_free(&after);
    return r;
}

/* Draws both spectra on one scale, so that the right one is darker where the filter removed power.
 */
static int draw_spectrum(struct picture *ret, const struct shot *shot)
{
    struct picture left = {0}, right = {0};
    double *before = NULL, *after = NULL;
    int r = spectrum_create(&before, &shot->before);
    if (r == 0)
        r = spectrum_create(&after, &shot->after);
    if (r == 0)
        r = spectrum_draw(&left, before, before);
    if (r == 0)
        r = spectrum_draw(&right, after, before);
    if (r == 0)
        r = picture_beside(ret, &left, &right);
    picture_free(&left);
    picture_free(&right);
    free(before);
    free(after);
    return r;
}

static const struct kind {
    const char *name;
    int (*draw)(struct picture *ret, const struct shot *shot);
    bool with_before; /* shows the frame before the filter, too */
} kinds[] = {
    {"before", draw_before, true},
    {"after", draw_after, false},
    {"spectrum", draw_spectrum, true},
    {"side-by-side", draw_side_by_side, true},
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static const struct kind *find_kind(const char *name)
{
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* ---- files ---- */

static int write_picture(const struct ctl *ctl, const struct kind *kind, const struct shot *shot,
                         const char *path)
{
    struct picture picture = {0};
    int r = kind->draw(&picture, shot);
    if (r < 0)
        return ctl_fail(ctl, EX_OSERR, "snapshot %s: %s", kind->name, strerror(-r));
    const int code = picture_save(ctl, &picture, path);
    picture_free(&picture);
    return code;
}

/* The path of an image: --output is the file for one image, or the directory for several. */
static int path_of(const struct ctl *ctl, const struct kind *kind, bool single, char path[PATH_MAX])
{
    struct stat st;
    bool is_file =
        single && ctl->output != NULL && (stat(ctl->output, &st) < 0 || !S_ISDIR(st.st_mode));
    int length =
        is_file ? snprintf(path, PATH_MAX, "%s", ctl->output)
                : snprintf(path, PATH_MAX, "%s%s%s.png", ctl->output != NULL ? ctl->output : "",
                           ctl->output != NULL ? "/" : "", kind->name);
    return length < PATH_MAX ? 0 : ctl_fail(ctl, EX_USAGE, "--output: the path is too long");
}

static int write_pictures(const struct ctl *ctl, const struct shot *shot, uint64_t sequence)
{
    const struct kind *wanted[KIND_COUNT];
    unsigned count = ctl->argc > 0 ? (unsigned)ctl->argc : KIND_COUNT;
    struct json json = {.file = stdout};
    char path[PATH_MAX];
    int code = 0;

    for (unsigned i = 0; i < count; i++)
        wanted[i] = ctl->argc > 0 ? find_kind(ctl->argv[i]) : &kinds[i];
    if (count > 1 && ctl->output != NULL && mkdir(ctl->output, 0777) < 0 && errno != EEXIST)
        return ctl_fail(ctl, EX_CANTCREAT, "cannot create %s: %s", ctl->output, strerror(errno));
    bool to_stdout = ctl->output != NULL && strcmp(ctl->output, "-") == 0;
    bool report = ctl->json && !to_stdout;
    if (report) {
        json_open(&json, NULL, '{');
        json_integer(&json, "Sequence", sequence);
        json_open(&json, "Pictures", '[');
    }
    for (unsigned i = 0; i < count && code == 0; i++) {
        code = path_of(ctl, wanted[i], count == 1, path);
        if (code == 0)
            code = write_picture(ctl, wanted[i], shot, path);
        if (code == 0 && report)
            json_text(&json, NULL, path);
        else if (code == 0 && !to_stdout)
            puts(path);
    }
    if (report) {
        json_close(&json, ']');
        json_close(&json, '}');
    }
    return code == 0 ? ctl_finish(ctl) : code;
}

int command_snapshot(const struct ctl *ctl)
{
    sd_bus *bus = NULL;
    sd_bus_message *reply = NULL;
    struct shot shot = {0};
    uint64_t sequence = 0;
    bool with_before = ctl->argc == 0;

    for (int i = 0; i < ctl->argc; i++) {
        const struct kind *kind = find_kind(ctl->argv[i]);
        if (kind == NULL)
            return ctl_fail(ctl, EX_USAGE,
                            "snapshot %s: expected before, after, spectrum or side-by-side",
                            ctl->argv[i]);
        with_before |= kind->with_before;
    }
    if (ctl->argc != 1 && ctl->output != NULL && strcmp(ctl->output, "-") == 0)
        return ctl_fail(ctl, EX_USAGE, "snapshot: only one image can go to stdout: name it");

    int code = bus_open(ctl, &bus);
    if (code == 0)
        code = bus_call(ctl, bus, &reply, with_before ? "Snapshot" : "SnapshotAfter", NULL);
    if (code != 0)
        goto out;
    int r = shot_read(&shot, reply, with_before);
    if (r >= 0)
        r = sd_bus_message_read(reply, "t", &sequence);
    if (r == -EOPNOTSUPP)
        code = ctl_fail(ctl, EX_PROTOCOL,
                        "snapshot: this fftd-ctl does not know the camera's pixel format");
    else if (r == -ENODATA)
        code = ctl_fail(ctl, EX_PROTOCOL,
                        "snapshot: the daemon's memory is smaller than the frame it describes");
    else if (r < 0)
        code = ctl_fail(ctl, EX_PROTOCOL, "snapshot: cannot read the reply: %s", strerror(-r));
    else
        code = write_pictures(ctl, &shot, sequence);

out:
    shot_finish(&shot);
    sd_bus_message_unref(reply);
    sd_bus_unref(bus);
    return code;
}
