/* A file is not read again while its inode, size and times are what they were, because clients that
 * draw a response name the same image many times a second. Times are as coarse as the kernel's
 * clock ticks, so a file that was changed just before it was read is not trusted. */
#include "config/image.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/dirs.h"
#include "config/png.h"

#define MAX_IMAGES     256         /* in memory; a chain has at most 32 */
#define IDLE_IMAGES    16          /* kept although no chain holds them */
#define IDLE_BYTES     (64u << 20) /* the same, for their pixels: one of the largest */
#define COARSE_SECONDS 2 /* a second change this soon may leave a file's times as they are */

/* An image and the file that it was read from. */
struct entry {
    struct filter_image *image;
    struct stat file;
    bool is_trusted;
};

/* In the order in which they were read. Files are read and images decoded without the lock. */
static struct {
    pthread_mutex_t lock;
    unsigned count;
    struct entry entry[MAX_IMAGES];
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The images that this thread has loaded since it last trimmed them; it holds them. */
static _Thread_local struct {
    unsigned count;
    const struct filter_image *image[MAX_IMAGES];
    const atomic_bool *cancelled; /* NULL: loading is not cancelled */
} loaded;

/* ---- the store ---- */

/* Holds an image for this thread, under the lock. */
static const struct filter_image *use(const struct filter_image *image)
{
    for (unsigned i = 0; i < loaded.count; i++)
        if (loaded.image[i] == image)
            return image;
    filter_image_hold(image);
    loaded.image[loaded.count++] = image;
    return image;
}

static void take_out(unsigned at)
{
    store.count--;
    memmove(&store.entry[at], &store.entry[at + 1], (store.count - at) * sizeof store.entry[0]);
}

static size_t bytes_of(const struct filter_image *image)
{
    return (size_t)image->columns * image->rows * sizeof image->pixel[0];
}

static void trim(unsigned max_count, size_t max_bytes)
{
    struct filter_image *unused[MAX_IMAGES];
    unsigned count = 0, unused_count = 0;
    size_t bytes = 0;
    while (loaded.count > 0)
        filter_image_drop(loaded.image[--loaded.count]);
    pthread_mutex_lock(&store.lock);
    for (unsigned i = store.count; i-- > 0;) { /* the newest first */
        struct filter_image *image = store.entry[i].image;
        if (filter_image_is_held(image))
            continue;
        count++;
        bytes += bytes_of(image);
        if (count > max_count || bytes > max_bytes) {
            unused[unused_count++] = image;
            take_out(i);
        }
    }
    pthread_mutex_unlock(&store.lock);
    while (unused_count >
           0) /* the kernel takes milliseconds to take back the memory of a large one */
        filter_image_destroy(unused[--unused_count]);
}

void config_trim_images(void)
{
    trim(IDLE_IMAGES, IDLE_BYTES);
}

void config_forget_images(void)
{
    trim(0, 0);
}

static bool same_times(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_times(&a->st_mtim, &b->st_mtim) && same_times(&a->st_ctim, &b->st_ctim);
}

static bool has_settled(const struct stat *file)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - file->st_ctim.tv_sec > COARSE_SECONDS;
}

static const struct filter_image *find_read(const char *name, const struct stat *file)
{
    const struct filter_image *found = NULL;
    pthread_mutex_lock(&store.lock);
    for (unsigned i = 0; found == NULL && i < store.count; i++)
        if (store.entry[i].is_trusted && same_file(&store.entry[i].file, file) &&
            strcmp(store.entry[i].image->name, name) == 0)
            found = use(store.entry[i].image);
    pthread_mutex_unlock(&store.lock);
    return found;
}

/* The sums tell nearly all images apart, so that pixels are compared only if they are equal. */
static bool is_same(const struct filter_image *a, const struct filter_image *b)
{
    return a->sum == b->sum && a->square_sum == b->square_sum && filter_image_equal(a, b);
}

/* Keeps an image, or returns an equal one and destroys this. Two threads may have read it. */
static int keep(const struct filter_image **ret, struct filter_image *image,
                const struct stat *file, bool is_trusted, struct error *why)
{
    struct filter_image *unused = NULL;
    unsigned at = 0;
    pthread_mutex_lock(&store.lock);
    while (at < store.count && !is_same(store.entry[at].image, image))
        at++;
    const bool is_full = at == MAX_IMAGES;
    if (at < store.count || is_full)
        unused = image;
    else
        store.entry[store.count++].image = image;
    if (!is_full) {
        store.entry[at].file = *file;
        store.entry[at].is_trusted = is_trusted;
        *ret = use(store.entry[at].image);
    }
    pthread_mutex_unlock(&store.lock);
    filter_image_destroy(unused);
    return is_full ? error_set(why, ENOSPC, "%d images are in use: expected fewer", MAX_IMAGES) : 0;
}

/* ---- files ---- */

static int check_file(const char *path, const struct stat *file, struct error *why)
{
    if (!S_ISREG(file->st_mode))
        return error_set(why, EINVAL, "%s is %s: expected a regular file", path,
                         S_ISDIR(file->st_mode)    ? "a directory"
                         : S_ISFIFO(file->st_mode) ? "a pipe"
                                                   : "a device or a socket");
    if (file->st_size > FILTER_IMAGE_MAX_BYTES)
        return error_set(why, EFBIG, "%s has %lld bytes: expected at most %u", path,
                         (long long)file->st_size, FILTER_IMAGE_MAX_BYTES);
    return 0;
}

static int parse(struct filter_image **ret, const char *name, const unsigned char *bytes,
                 size_t count, struct error *why)
{
    unsigned char *pgm = NULL;
    size_t pgm_count;
    if (!png_is_png(bytes, count))
        return filter_image_parse(ret, name, bytes, count, why);
    int r = png_decode(&pgm, &pgm_count, name, bytes, count, loaded.cancelled, why);
    if (r == 0)
        r = filter_image_parse(ret, name, pgm, pgm_count, why);
    free(pgm);
    return r;
}

static int parse_file(struct filter_image **ret, const char *name, const char *path, int fd,
                      const struct stat *file, struct error *why)
{
    const size_t size = (size_t)file->st_size;
    unsigned char *bytes = malloc(size + 1);
    if (bytes == NULL)
        return error_set(why, ENOMEM, "out of memory for %s of %zu bytes", path, size);
    size_t count = 0;
    ssize_t got = 0;
    while (count < size && (got = read(fd, bytes + count, size - count)) > 0)
        count += (size_t)got;
    int r = got < 0 ? error_set(why, errno, "cannot read %s: %s", path, strerror(errno))
                    : parse(ret, name, bytes, count, why);
    free(bytes);
    return r;
}

/* Opening without waiting matters for a pipe, which would wait for a writer. */
static int load_file(const struct filter_image **ret, const char *name, const char *path,
                     struct error *why)
{
    struct stat file;
    struct filter_image *image = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &file) < 0) {
        int err = errno;
        if (fd >= 0)
            close(fd);
        return error_set(why, err, "cannot open %s: %s", path, strerror(err));
    }
    int r = check_file(path, &file, why);
    const struct filter_image *known = r == 0 ? find_read(name, &file) : NULL;
    const bool is_trusted = has_settled(&file); /* before it is read */
    if (known != NULL)
        *ret = known;
    else if (r == 0)
        r = parse_file(&image, name, path, fd, &file, why);
    close(fd);
    return image != NULL ? keep(ret, image, &file, is_trusted, why) : r;
}

/* The name has no slash: filter_image_load has checked it. */
static int load_image(const struct filter_image **ret, const char *name, struct error *why)
{
    struct config_dirs dirs;
    char path[CONFIG_PATH_BYTES];
    if (loaded.cancelled != NULL && atomic_load(loaded.cancelled))
        return error_set(why, ECANCELED, "image %s is no longer needed", name);
    config_find_dirs(&dirs, "FFTD_IMAGE_DIR", "images");
    if (config_find_in_dirs(&dirs, name, "", path))
        return load_file(ret, name, path, why);
    return config_fail_unknown(&dirs, "image", name, "", why);
}

void config_cancel_images(const atomic_bool *cancelled)
{
    loaded.cancelled = cancelled;
}

void config_use_images(void)
{
    filter_image_set_loader(load_image);
}
