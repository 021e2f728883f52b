/* The cache: one file a program, named by the hash of everything the binary depends on. A damaged
 * binary makes some drivers (PoCL, rusticl) abort the process, so none is handed over whose
 * length and checksum do not match what was written. Files are written beside and renamed, so a
 * crash leaves the old one or none. */
#include "gpu/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_MAGIC     "FFTDBIN1"
#define MAX_BINARY_SIZE (64u << 20)
#define MAX_FILES       16
#define BUILD_OPTIONS   "-cl-std=CL1.2 -cl-mad-enable -cl-no-signed-zeros"

static const struct {
    const char *name;
    const char *text;
} sources[] = {
#include "kernels.inc"
};

struct cache_header {
    char magic[8];
    uint64_t key;
    uint64_t size; /* of the binary that follows */
    uint64_t checksum;
};

/* FNV-1a, 64 bit (Fowler, Noll, Vo). */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size-- > 0)
        hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

#define HASH_START 0xcbf29ce484222325u

static const char *source_text(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (strcmp(sources[i].name, name) == 0)
            return sources[i].text;
    abort(); /* a name that is not in kernels/: a mistake in this folder */
}

/* Reads a whole cache file into memory; NULL and no message if there is none. */
static unsigned char *cache_read(const char *path, uint64_t key, size_t *ret_size,
                                 struct error *warning)
{
    struct cache_header header;
    unsigned char *binary = NULL;
    const char *fault = "it is too short";
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        if (errno != ENOENT)
            error_set(warning, errno, "can not read %s: %s", path, strerror(errno));
        return NULL;
    }
    if (fread(&header, sizeof header, 1, file) != 1)
        goto fail;
    fault = "it is not a program of this version of fftd";
    if (memcmp(header.magic, CACHE_MAGIC, sizeof header.magic) != 0 || header.key != key ||
        header.size == 0 || header.size > MAX_BINARY_SIZE)
        goto fail;
    fault = "no memory";
    binary = malloc(header.size);
    if (binary == NULL)
        goto fail;
    fault = "its length or checksum is wrong";
    if (fread(binary, header.size, 1, file) != 1 || fgetc(file) != EOF ||
        hash_bytes(HASH_START, binary, header.size) != header.checksum)
        goto fail;
    fclose(file);
    *ret_size = header.size;
    return binary;
fail:
    error_set(warning, EINVAL, "%s is ignored and will be rebuilt: %s", path, fault);
    free(binary);
    fclose(file);
    return NULL;
}

static void make_directories(const char *path)
{
    char part[4096];
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

static void cache_write(const char *dir, const char *path, uint64_t key, const void *binary,
                        size_t size, struct error *warning)
{
    struct cache_header header = {.key = key, .size = size};
    char temporary[4200];
    memcpy(header.magic, CACHE_MAGIC, sizeof header.magic);
    header.checksum = hash_bytes(HASH_START, binary, size);
    snprintf(temporary, sizeof temporary, "%s/new-XXXXXX", dir);
    make_directories(dir);
    const int fd = mkostemp(temporary, O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;
    if (r == 0) {
        r = write_all(fd, &header, sizeof header);
        if (r == 0)
            r = write_all(fd, binary, size);
        if (close(fd) < 0 && r == 0)
            r = -errno;
        if (r == 0 && rename(temporary, path) < 0)
            r = -errno;
        if (r < 0)
            unlink(temporary);
    }
    if (r < 0)
        error_set(warning, -r,
                  "the built program can not be kept in %s: %s; the next start will be as slow",
                  dir, strerror(-r));
}

static void keep_binary(cl_program program, const char *dir, const char *path, uint64_t key,
                        struct error *warning)
{
    size_t size = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
            CL_SUCCESS ||
        size == 0 || size > MAX_BINARY_SIZE)
        return;
    unsigned char *binary = malloc(size);
    if (binary == NULL)
        return;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        cache_write(dir, path, key, binary, size, warning);
    free(binary);
}

static int load_binary(cl_program *ret, const struct gpu_device *device, const char *path,
                       uint64_t key, struct error *warning)
{
    size_t size;
    unsigned char *binary = cache_read(path, key, &size, warning);
    if (binary == NULL)
        return -ENOENT;
    cl_int status, code;
    const unsigned char *binaries[] = {binary};
    cl_program program =
        clCreateProgramWithBinary(device->context, 1, &device->id, &size, binaries, &status, &code);
    free(binary);
    if (code == CL_SUCCESS && status == CL_SUCCESS) {
        code = clBuildProgram(program, 1, &device->id, BUILD_OPTIONS, NULL, NULL);
        if (code == CL_SUCCESS) {
            *ret = program;
            return 0;
        }
    }
    if (program != NULL)
        clReleaseProgram(program);
    error_set(warning, EINVAL, "%s is ignored and will be rebuilt: the driver refuses it", path);
    return -EINVAL;
}

static int fail_build(const struct gpu_device *device, cl_program program, cl_int code,
                      struct error *why)
{
    size_t size = 0;
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(1, size + 1);
    if (log != NULL)
        clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    error_set(why, EIO, "%s refuses the kernels (%s): %s", device->name, opencl_error_name(code),
              log != NULL ? log : "no build log");
    free(log);
    return -EIO;
}

int program_build(cl_program *ret, const struct gpu_device *device, const char *prologue,
                  const char *const *files, unsigned file_count, const char *cache_dir,
                  struct error *warning, struct error *why)
{
    /* A #line before each file makes the driver's messages name it. */
    const char *text[1 + 2 * MAX_FILES] = {prologue};
    char line[MAX_FILES][64];
    for (unsigned i = 0; i < file_count; i++) {
        snprintf(line[i], sizeof line[i], "#line 1 \"%s\"\n", files[i]);
        text[1 + 2 * i] = line[i];
        text[2 + 2 * i] = source_text(files[i]);
    }
    const unsigned text_count = 1 + 2 * file_count;

    char path[4200];
    uint64_t key = hash_bytes(HASH_START, device->identity, strlen(device->identity));
    key = hash_bytes(key, BUILD_OPTIONS, sizeof BUILD_OPTIONS);
    for (unsigned i = 0; i < text_count; i++)
        key = hash_bytes(key, text[i], strlen(text[i]));
    const bool cached = cache_dir != NULL && cache_dir[0] != '\0' &&
                        snprintf(path, sizeof path, "%s/%016llx.clbin", cache_dir,
                                 (unsigned long long)key) < (int)sizeof path;
    if (cached && load_binary(ret, device, path, key, warning) == 0)
        return 0;

    cl_int code;
    cl_program program =
        clCreateProgramWithSource(device->context, text_count, (const char **)text, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &device->id, BUILD_OPTIONS, NULL, NULL);
    if (code != CL_SUCCESS) {
        const int r = fail_build(device, program, code, why);
        clReleaseProgram(program);
        return r;
    }
    if (cached)
        keep_binary(program, cache_dir, path, key, warning);
    *ret = program;
    return 0;
}
