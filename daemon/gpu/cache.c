#include "gpu/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC      "FFTDBIN1"
#define MAX_SIZE   (64u << 20)
#define PATH_BYTES 4200

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

static int entry_path(char path[PATH_BYTES], const char *dir, const char *kind, uint64_t key)
{
    const int length =
        snprintf(path, PATH_BYTES, "%s/%016llx.%s", dir, (unsigned long long)key, kind);
    return length < PATH_BYTES ? 0 : -ENAMETOOLONG;
}

void *cache_read(const char *dir, const char *kind, uint64_t key, size_t *ret_size,
                 struct error *warning)
{
    struct cache_header header;
    char path[PATH_BYTES];
    unsigned char *bytes = NULL;
    const char *fault = "it is too short";
    if (!cache_exists(dir) || entry_path(path, dir, kind, key) < 0)
        return NULL;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        if (errno != ENOENT)
            error_set(warning, errno, "cannot read the cache file %s: %s", path, strerror(errno));
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
    error_set(warning, EINVAL, "%s is ignored and will be replaced: %s", path, fault);
    free(bytes);
    fclose(file);
    return NULL;
}

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

int cache_write(const char *dir, const char *kind, uint64_t key, const void *bytes, size_t size,
                struct error *why)
{
    struct cache_header header = {.key = key, .size = size};
    char path[PATH_BYTES], temporary[PATH_BYTES];
    int r = entry_path(path, dir, kind, key);
    if (r < 0)
        return error_set(why, -r, "cannot save results in %s: %s", dir, strerror(-r));
    memcpy(header.magic, MAGIC, sizeof header.magic);
    header.checksum = cache_hash(CACHE_HASH_START, bytes, size);
    make_directories(dir);
    snprintf(temporary, sizeof temporary, "%s/new-XXXXXX", dir);
    const int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return error_set(why, errno, "cannot save results in %s: %s", dir, strerror(errno));
    r = write_all(fd, &header, sizeof header);
    if (r == 0)
        r = write_all(fd, bytes, size);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r == 0)
        return 0;
    unlink(temporary);
    return error_set(why, -r, "cannot save results in %s: %s", dir, strerror(-r));
}
