/* A path is followed component by component, because only so it is known whose link or directory
 * each of them is. What was looked at is held open, so that nobody can replace it afterwards. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as Linux */

/* A path that is being followed, from `folder` on. At its end: a name in that directory. */
struct place {
    int folder;
    char rest[PATH_MAX]; /* what follows the name */
    char name[NAME_MAX + 1];
    struct stat st; /* what has the name, which may be a link; st_mode 0: nothing has it */
    struct stat folder_st;
    unsigned links;
};

/* ---- whom to believe ---- */

/* Without fs.protected_hardlinks everybody may give another name to a pipe or a link of root. */
static bool has_names(const struct stat *st)
{
    return !S_ISDIR(st->st_mode) && st->st_nlink > 1;
}

static bool is_own(const struct stat *st)
{
    return (st->st_uid == geteuid() || st->st_uid == 0) && !has_names(st);
}

/* The rule of fs.protected_symlinks, for whatever is in the directory. */
static bool is_planted(const struct stat *st, const struct stat *folder)
{
    return (folder->st_mode & S_ISVTX) != 0 && (folder->st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
           !is_own(st) && (st->st_uid != folder->st_uid || has_names(st));
}

static int refuse(char why[OUTPUT_WHY_BYTES], const char *what, const char *name,
                  const struct stat *st)
{
    snprintf(why, OUTPUT_WHY_BYTES,
             "%.50s is a %s of user %u%s in a directory that others may write: expected your own",
             name, what, (unsigned)st->st_uid, has_names(st) ? " with several names" : "");
    return -EPERM;
}

/* ---- following a path ---- */

/* Goes to another directory, or fails with the errno of opening it. */
static int enter(struct place *place, int folder)
{
    if (folder < 0)
        return -errno;
    if (place->folder >= 0)
        close(place->folder);
    place->folder = folder;
    return 0;
}

static int enter_start(struct place *place)
{
    const char *start = place->rest[0] == '/' ? "/" : ".";
    return enter(place, open(start, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Takes the next component off the rest of the path. */
static int take_name(struct place *place)
{
    const char *begin = place->rest + strspn(place->rest, "/");
    const size_t length = strcspn(begin, "/");
    if (length == 0 || length > NAME_MAX)
        return length == 0 ? -EISDIR : -ENAMETOOLONG;
    memcpy(place->name, begin, length);
    place->name[length] = '\0';
    memmove(place->rest, begin + length, strlen(begin + length) + 1);
    return 0;
}

/* Puts the target of a link before the rest of the path. */
static int follow(struct place *place, int link)
{
    char target[PATH_MAX];
    const ssize_t length = readlinkat(link, "", target, sizeof target);
    const size_t rest_bytes = strlen(place->rest) + 1;
    if (length < 0)
        return -errno;
    if ((size_t)length + rest_bytes > sizeof place->rest)
        return -ENAMETOOLONG;
    if (++place->links > MAX_LINKS)
        return -ELOOP;
    memmove(place->rest + length, place->rest, rest_bytes);
    memcpy(place->rest, target, (size_t)length);
    return place->rest[0] == '/' ? enter_start(place) : 0;
}

/* Goes into what the name is, which `fd` holds. Takes fd. */
static int pass(struct place *place, int fd, char why[OUTPUT_WHY_BYTES])
{
    const bool is_link = S_ISLNK(place->st.st_mode);
    int r = is_planted(&place->st, &place->folder_st)
                ? refuse(why, is_link ? "link" : "directory", place->name, &place->st)
            : is_link                     ? follow(place, fd)
            : !S_ISDIR(place->st.st_mode) ? -ENOTDIR
                                          : 0;
    if (r == 0 && !is_link)
        return enter(place, fd);
    close(fd);
    return r;
}

/* Follows the rest of the path. With follow_last also follows a link that is its last component. */
static int find_place(struct place *place, bool follow_last, char why[OUTPUT_WHY_BYTES])
{
    for (;;) {
        int r = take_name(place);
        if (r < 0)
            return r;
        if (fstat(place->folder, &place->folder_st) < 0)
            return -errno;
        const bool is_last = place->rest[0] == '\0';
        const int fd = openat(place->folder, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        place->st.st_mode = 0;
        if (fd < 0)
            return is_last && errno == ENOENT ? 0 : -errno;
        if (fstat(fd, &place->st) < 0 ||
            (is_last && !(follow_last && S_ISLNK(place->st.st_mode)))) {
            close(fd);
            return place->st.st_mode != 0 ? 0 : -EIO;
        }
        r = pass(place, fd, why);
        if (r < 0)
            return r;
    }
}

/* ---- pipes and devices ---- */

static bool is_device(const struct stat *st)
{
    return S_ISCHR(st->st_mode) || S_ISFIFO(st->st_mode);
}

/* Opens what was found there. */
static int open_found(const struct place *place, int flags)
{
    struct stat st;
    const int fd = openat(place->folder, place->name, flags | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && st.st_dev == place->st.st_dev && st.st_ino == place->st.st_ino)
        return fd;
    close(fd); /* the name is something else now */
    return -EPERM;
}

/* Opens a pipe or a device, which is written into instead of replaced. */
static int open_device(const struct place *place, char why[OUTPUT_WHY_BYTES])
{
    return is_planted(&place->st, &place->folder_st)
               ? refuse(why, S_ISFIFO(place->st.st_mode) ? "pipe" : "device", place->name,
                        &place->st)
               : open_found(place, O_WRONLY);
}

/* Follows a link that leads to a pipe or a device. Returns -ENOENT if it leads to something else,
 * or may have been planted: then the link is replaced. */
static int open_linked_device(const struct place *link, char why[OUTPUT_WHY_BYTES])
{
    struct place target = {.folder = fcntl(link->folder, F_DUPFD_CLOEXEC, 0)};
    if (target.folder < 0)
        return -errno;
    strcpy(target.rest, link->name);
    int r = is_own(&link->st) ? find_place(&target, true, why) : -ENOENT;
    if (r == 0)
        r = is_device(&target.st) ? open_device(&target, why) : -ENOENT;
    else if (r != -EPERM)
        r = -ENOENT;
    close(target.folder);
    return r;
}

/* ---- files ---- */

static int create(struct output_file *output, const char *name, mode_t mode)
{
    const int fd = openat(output->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    return fd < 0 ? -errno : fd;
}

static int create_temporary(struct output_file *output, mode_t mode)
{
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return -EIO;
    const int length = snprintf(output->temporary, sizeof output->temporary, "%.*s.new-%016" PRIx64,
                                NAME_MAX - 32, output->name, number);
    const int fd = length < 0 ? -EIO : create(output, output->temporary, mode);
    if (fd < 0)
        output->temporary[0] = '\0';
    return fd;
}

/* Opens a file that another process of this user may have left. */
static int open_again(const struct place *place)
{
    if (!S_ISREG(place->st.st_mode) || !is_own(&place->st))
        return place->st.st_mode == 0 ? -ENOENT : -EPERM;
    return open_found(place, O_RDWR);
}

static int create_file(struct output_file *output, const struct place *place, enum output_kind kind)
{
    if (S_ISDIR(place->st.st_mode) && kind != OUTPUT_NEW)
        return -EISDIR;
    if (kind == OUTPUT_WHOLE || kind == OUTPUT_PRIVATE)
        return create_temporary(output, kind == OUTPUT_PRIVATE ? 0600 : 0666);
    if (kind == OUTPUT_STREAM && place->st.st_mode != 0 &&
        unlinkat(output->folder, output->name, 0) < 0)
        return -errno;
    const int fd = create(output, output->name, 0666);
    output->is_partial = fd >= 0 && kind == OUTPUT_NEW;
    return fd;
}

/* ---- descriptors ---- */

/* Returns the descriptor that a path names, which a shell may have opened for it; -1: none. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t length = strlen(folders[i]);
        char *end;
        if (strncmp(path, folders[i], length) != 0)
            continue;
        const long number = strtol(path + length, &end, 10);
        if (end != path + length && *end == '\0' && number >= 0 && number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

/* ---- the interface ---- */

/* Finds the place of a path, apart from a link as its last component. The caller closes its folder,
 * unless that is -1. */
static int find(struct place *ret, const char *path, char why[OUTPUT_WHY_BYTES])
{
    *ret = (struct place){.folder = -1};
    if (strlen(path) >= sizeof ret->rest)
        return -ENAMETOOLONG;
    strcpy(ret->rest, path);
    const int r = enter_start(ret);
    return r < 0 ? r : find_place(ret, false, why);
}

static int open_path(struct output_file *output, const char *path, enum output_kind kind)
{
    struct place place;
    int r = find(&place, path, output->why);
    output->folder = place.folder;
    if (r < 0)
        return r;
    strcpy(output->name, place.name);
    if (kind == OUTPUT_CONTINUED)
        return open_again(&place);
    r = kind == OUTPUT_NEW          ? -ENOENT
        : is_device(&place.st)      ? open_device(&place, output->why)
        : S_ISLNK(place.st.st_mode) ? open_linked_device(&place, output->why)
                                    : -ENOENT;
    return r == -ENOENT ? create_file(output, &place, kind) : r;
}

/* Completes the reason of a failure. */
static void explain(int r, char why[OUTPUT_WHY_BYTES])
{
    if (r < 0 && why[0] == '\0')
        snprintf(why, OUTPUT_WHY_BYTES, "%s",
                 r == -EEXIST ? "the file exists and is not overwritten" : strerror(-r));
}

static void close_folder(struct output_file *output)
{
    if (output->folder >= 0)
        close(output->folder);
    output->folder = -1;
}

int output_open(struct output_file *ret, const char *path, enum output_kind kind)
{
    *ret = (struct output_file){.file = stdout, .folder = -1};
    int fd = descriptor_of(path);
    if (fd == STDOUT_FILENO)
        return 0;
    if (fd >= 0) {
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        fd = fd < 0 ? -errno : fd;
    } else {
        fd = open_path(ret, path, kind);
    }
    int r = fd < 0 ? fd : 0;
    ret->file = r == 0 ? fdopen(fd, "wb") : NULL;
    if (ret->file != NULL)
        return 0;
    if (r == 0) {
        r = -ENOMEM;
        close(fd);
    }
    output_discard(ret);
    explain(r, ret->why);
    return r;
}

static void remove_part(struct output_file *output)
{
    if (output->temporary[0] != '\0')
        unlinkat(output->folder, output->temporary, 0);
    else if (output->is_partial)
        unlinkat(output->folder, output->name, 0);
}

void output_discard(struct output_file *output)
{
    if (output->file != NULL && output->file != stdout)
        fclose(output->file);
    output->file = NULL;
    remove_part(output);
    close_folder(output);
}

/* The owner comes before the mode, which a change of the owner may reduce. */
int output_keep(struct output_file *output, const struct stat *replaced)
{
    const int fd = fileno(output->file);
    output->is_synced = true;
    if (fchown(fd, replaced->st_uid, replaced->st_gid) < 0 ||
        fchmod(fd, replaced->st_mode & 07777) < 0)
        return -errno;
    return 0;
}

/* Some file systems cannot; the file has its name all the same. */
static void sync_folder(const struct output_file *output)
{
    const int fd = openat(output->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

int output_close(struct output_file *output)
{
    errno = 0;
    int r = ferror(output->file) ? -EIO : 0;
    if (output->file == stdout)
        return fflush(stdout) != 0 && r == 0 ? -errno : r;
    if (output->is_synced && r == 0 &&
        (fflush(output->file) != 0 || fsync(fileno(output->file)) < 0))
        r = -errno;
    if (fclose(output->file) != 0 && errno != 0)
        r = -errno;
    output->file = NULL;
    if (r == 0 && output->temporary[0] != '\0' &&
        renameat(output->folder, output->temporary, output->folder, output->name) < 0)
        r = -errno;
    if (r < 0)
        remove_part(output);
    else if (output->is_synced)
        sync_folder(output);
    close_folder(output);
    return r;
}

int output_make_directory(const char *path, char why[OUTPUT_WHY_BYTES])
{
    struct place place;
    char copy[PATH_MAX];
    size_t length = strlen(path);
    why[0] = '\0';
    if (length >= sizeof copy) {
        explain(-ENAMETOOLONG, why);
        return -ENAMETOOLONG;
    }
    memcpy(copy, path, length);
    while (length > 1 && copy[length - 1] == '/')
        length--;
    copy[length] = '\0';
    int r = find(&place, copy, why);
    if (r == 0 && mkdirat(place.folder, place.name, 0777) < 0 && errno != EEXIST)
        r = -errno;
    if (place.folder >= 0)
        close(place.folder);
    r = r == -EISDIR ? 0 : r; /* the root */
    explain(r, why);
    return r;
}

bool output_is_file(const char *path)
{
    struct stat st;
    return path != NULL && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode));
}

bool output_is_stream(const char *path)
{
    struct stat st;
    return descriptor_of(path) >= 0 || (stat(path, &st) == 0 && is_device(&st));
}
