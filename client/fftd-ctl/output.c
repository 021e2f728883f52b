#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".new-XXXXXX"

static bool is_device(const struct stat *st)
{
    return S_ISCHR(st->st_mode) || S_ISFIFO(st->st_mode);
}

/* Returns whether the path names a device or a pipe, which is written to instead of replaced.
 * Sets *ret_is_link if the path is a symbolic link. */
static bool names_device(const char *path, bool *ret_is_link)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return false;
    *ret_is_link = S_ISLNK(st.st_mode);
    if (*ret_is_link && (st.st_uid == geteuid() || st.st_uid == 0) && stat(path, &st) < 0)
        return false;
    return is_device(&st);
}

/* Follows a link only if there was one before, because another user could have planted it since. */
static int open_device(const char *path, bool is_link)
{
    struct stat st;
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && is_device(&st))
        return fd;
    close(fd); /* the path now names something else */
    return -EPERM;
}

/* Creates a file with the mode that open() would give it. */
static int open_temporary(struct output_file *output)
{
    if (strlen(output->path) + sizeof SUFFIX > sizeof output->temporary)
        return -ENAMETOOLONG;
    memcpy(output->temporary, output->path, strlen(output->path) + 1);
    strcat(output->temporary, SUFFIX);
    const int fd = mkostemp(output->temporary, O_CLOEXEC);
    if (fd < 0) {
        output->temporary[0] = '\0';
        return -errno;
    }
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    return fd;
}

static int open_stream(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode) && unlink(path) < 0)
        return -errno;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd < 0 ? -errno : fd;
}

/* Closes the file, and removes it if it does not have its name yet. */
static void discard(struct output_file *output)
{
    if (output->file != NULL && output->file != stdout)
        fclose(output->file);
    output->file = NULL;
    if (output->temporary[0] != '\0')
        unlink(output->temporary);
}

int output_open(struct output_file *ret, const char *path, enum output_kind kind)
{
    *ret = (struct output_file){.file = stdout};
    /* /dev/stdout may be a link to a regular file, which must not be replaced. */
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return 0;
    if (strlen(path) >= sizeof ret->path)
        return -ENAMETOOLONG;
    strcpy(ret->path, path);
    bool is_link;
    const int fd = names_device(path, &is_link) ? open_device(path, is_link)
                   : kind == OUTPUT_STREAM      ? open_stream(path)
                                                : open_temporary(ret);
    if (fd < 0)
        return fd == -EEXIST ? -EISDIR : fd;
    ret->file = fdopen(fd, "wb");
    if (ret->file != NULL)
        return 0;
    close(fd);
    discard(ret);
    return -ENOMEM;
}

int output_close(struct output_file *output)
{
    errno = 0;
    int r = ferror(output->file) ? -EIO : 0;
    if (output->file == stdout)
        return fflush(stdout) != 0 && r == 0 ? -errno : r;
    if (fclose(output->file) != 0 && errno != 0)
        r = -errno;
    output->file = NULL;
    if (output->temporary[0] == '\0')
        return r;
    if (r == 0 && rename(output->temporary, output->path) < 0)
        r = -errno;
    if (r < 0)
        unlink(output->temporary);
    return r;
}

bool output_is_file(const char *path)
{
    struct stat st;
    return path != NULL && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode));
}

int output_save_picture(const struct ctl *ctl, const struct picture *picture, const char *path)
{
    struct output_file output;
    const bool to_stdout = strcmp(path, "-") == 0;
    int r = output_open(&output, path, OUTPUT_WHOLE);
    if (r < 0)
        return ctl_fail(ctl, EX_CANTCREAT, "cannot create %s: %s", path, strerror(-r));
    errno = 0;
    r = picture_write_png(picture, output.file);
    if (r < 0)
        discard(&output);
    else if (!to_stdout)
        r = output_close(&output);
    if (r < 0 && !(to_stdout && r == -EPIPE))
        return ctl_fail(ctl, EX_IOERR, "%s: %s", to_stdout ? "stdout" : path, strerror(-r));
    return EX_OK;
}
