#include "gpu/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC      "FFTDBIN1"
#define MAX_SIZE   (64u << 20)
#define NAME_BYTES 64
#define PATH_BYTES 4096

struct cache_header {
    char magic[8];
    uint64_t key;
    uint64_t size; /* bytes after the header */
    uint64_t checksum;
};

uint64_t cache_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size-- > 0)
        hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

bool cache_exists(const char *dir)
{
    return dir != NULL && dir[0] != '\0';
}

static void name_entry(char name[NAME_BYTES], const char *kind, uint64_t key)
{
    snprintf(name, NAME_BYTES, "%016llx.%s", (unsigned long long)key, kind);
}

/* ---- whom to believe ---- */

/* Cached programs run with this user's rights, and the drivers load them unchecked. So nobody else
 * may be able to write them. */
static int check_owner(int fd, mode_t type, const char *what, struct error *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(why, errno, "%s: %s", what, strerror(errno));
    if ((st.st_mode & S_IFMT) != type)
        return error_set(why, EPERM, "%s is not a %s", what,
                         type == S_IFDIR ? "directory" : "regular file");
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(why, EPERM, "%s belongs to user %u: expected user %u or root", what,
                         (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(why, EPERM,
                         "%s has mode %04o: expected no write permission for group and others",
                         what, (unsigned)(st.st_mode & 07777));
    return 0;
}

/* Takes the result of open(): returns the descriptor if it may be used, else closes it. */
static int check_opened(int fd, mode_t type, const char *what, struct error *why)
{
    if (fd < 0)
        return error_set(why, errno, "%s: %s", what, strerror(errno));
    const int r = check_owner(fd, type, what, why);
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

/* -ENOENT: there is no such directory yet. */
static int open_directory(const char *dir, struct error *why)
{
    return check_opened(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), S_IFDIR, dir, why);
}

/* Opens a file of the directory for reading. Without O_NONBLOCK, opening a FIFO would wait for a
 * writer. */
static int open_entry(int dir_fd, const char *name, struct error *why)
{
    const int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return check_opened(fd, S_IFREG, name, why);
}

/* ---- reading ---- */

/* Returns -ENOENT if there is no such entry. */
static int find_entry(FILE **ret, const char *dir, const char *name, struct error *why)
{
    const int dir_fd = open_directory(dir, why);
    if (dir_fd < 0)
        return dir_fd;
    const int fd = open_entry(dir_fd, name, why);
    close(dir_fd);
    if (fd < 0)
        return fd;
    *ret = fdopen(fd, "rb");
    if (*ret != NULL)
        return 0;
    close(fd);
    return error_set(why, ENOMEM, "out of memory");
}

void *cache_read(const char *dir, const char *kind, uint64_t key, size_t *ret_size,
                 struct error *warning)
{
    struct cache_header header;
    struct error why;
    char name[NAME_BYTES];
    unsigned char *bytes = NULL;
    const char *fault = "it is too short";
    FILE *file;
    if (!cache_exists(dir))
        return NULL;
    name_entry(name, kind, key);
    const int r = find_entry(&file, dir, name, &why);
    if (r < 0) {
        if (r != -ENOENT)
            error_set(warning, -r, "the cache in %s is not used: %s", dir, why.text);
        return NULL;
    }
    if (fread(&header, sizeof header, 1, file) != 1)
        goto fail;
    fault = "another version of fftd wrote it";
    if (memcmp(header.magic, MAGIC, sizeof header.magic) != 0 || header.key != key ||
        header.size == 0 || header.size > MAX_SIZE)
        goto fail;
    fault = "out of memory";
    bytes = malloc(header.size);
    if (bytes == NULL)
        goto fail;
    fault = "its length or checksum is wrong";
    if (fread(bytes, header.size, 1, file) != 1 || fgetc(file) != EOF ||
        cache_hash(CACHE_HASH_START, bytes, header.size) != header.checksum)
        goto fail;
    fclose(file);
    *ret_size = header.size;
    return bytes;
fail:
    error_set(warning, EINVAL, "%s/%s is ignored and will be replaced: %s", dir, name, fault);
    free(bytes);
    fclose(file);
    return NULL;
}

/* ---- writing ---- */

static void make_directories(const char *path)
{
    char part[PATH_BYTES];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(part, 0700);
            *at = '/';
        }
    mkdir(part, 0700);
}

static int write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t n = write(fd, at, size);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

/* Writes a file under a temporary name, which must not exist yet, and then renames it to `name`.
 * header NULL: syncs the file to the disk before renaming it. */
static int write_file(int dir_fd, const char *temporary, const char *name,
                      const struct cache_header *header, const void *bytes, size_t size)
{
    const int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = header != NULL ? write_all(fd, header, sizeof *header) : 0;
    if (r == 0)
        r = write_all(fd, bytes, size);
    if (r == 0 && header == NULL && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(dir_fd, temporary, 0);
    return r;
}

static int write_entry(int dir_fd, const char *name, const struct cache_header *header,
                       const void *bytes)
{
    char temporary[NAME_BYTES];
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return -EIO;
    snprintf(temporary, sizeof temporary, "new-%016llx", (unsigned long long)number);
    return write_file(dir_fd, temporary, name, header, bytes, header->size);
}

int cache_write(const char *dir, const char *kind, uint64_t key, const void *bytes, size_t size,
                struct error *why)
{
    struct cache_header header = {.key = key, .size = size};
    char name[NAME_BYTES];
    memcpy(header.magic, MAGIC, sizeof header.magic);
    header.checksum = cache_hash(CACHE_HASH_START, bytes, size);
    name_entry(name, kind, key);
    make_directories(dir);
    const int dir_fd = open_directory(dir, why);
    if (dir_fd < 0)
        return error_prefix(why, -dir_fd, "cannot save results");
    const int r = write_entry(dir_fd, name, &header, bytes);
    close(dir_fd);
    return r < 0 ? error_set(why, -r, "cannot save results in %s: %s", dir, strerror(-r)) : 0;
}

/* A fixed name, so that a process that is killed leaves at most one file. */
static int write_whole(int dir_fd, const char *name, const char *text)
{
    char temporary[NAME_MAX + 1];
    if (snprintf(temporary, sizeof temporary, "%s.new", name) >= (int)sizeof temporary)
        return -ENAMETOOLONG;
    unlinkat(dir_fd, temporary, 0);
    return write_file(dir_fd, temporary, name, NULL, text, strlen(text));
}

int cache_replace(const char *dir, const char *name, const char *text, struct error *why)
{
    make_directories(dir);
    const int dir_fd = open_directory(dir, why);
    if (dir_fd < 0)
        return error_prefix(why, -dir_fd, "cannot save");
    int r = text != NULL                                       ? write_whole(dir_fd, name, text)
            : unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno
                                                               : 0;
    if (r == 0)
        fsync(dir_fd); /* the name is there already, and a file system may not know how */
    close(dir_fd);
    return r < 0 ? error_set(why, -r, "cannot save in %s: %s", dir, strerror(-r)) : 0;
}
