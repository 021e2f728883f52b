#include "gpu/program.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cache.h"

#define CACHE_KIND      "clbin"
#define MAX_BINARY_SIZE (64u << 20)
#define MAX_FILES       16
#define BUILD_OPTIONS   "-cl-std=CL1.2 -cl-mad-enable -cl-no-signed-zeros"

static const struct {
    const char *name;
    const char *text;
} sources[] = {
#include "kernels.inc"
};

static const char *source_text(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (strcmp(sources[i].name, name) == 0)
            return sources[i].text;
    abort(); /* a name that is not in kernels/: a mistake in this folder */
}

uint64_t program_sources_hash(void)
{
    uint64_t hash = CACHE_HASH_START;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        hash = cache_hash(hash, sources[i].text, strlen(sources[i].text));
    return hash;
}

static void keep_binary(cl_program program, const char *dir, uint64_t key, struct error *warning)
{
    size_t size = 0;
    struct error why;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
            CL_SUCCESS ||
        size == 0 || size > MAX_BINARY_SIZE)
        return;
    unsigned char *binary = malloc(size);
    if (binary == NULL)
        return;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        if (cache_write(dir, CACHE_KIND, key, binary, size, &why) < 0)
            error_set(warning, EIO, "%s; the next start will be as slow", why.text);
    free(binary);
}

static int load_binary(cl_program *ret, const struct gpu_device *device, const char *dir,
                       uint64_t key, struct error *warning)
{
    size_t size;
    unsigned char *binary = cache_read(dir, CACHE_KIND, key, &size, warning);
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
    error_set(warning, EINVAL,
              "%s/%016llx." CACHE_KIND " is ignored and will be made anew: the driver refuses it",
              dir, (unsigned long long)key);
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

    uint64_t key = cache_hash(CACHE_HASH_START, device->identity, strlen(device->identity));
    key = cache_hash(key, BUILD_OPTIONS, sizeof BUILD_OPTIONS);
    for (unsigned i = 0; i < text_count; i++)
        key = cache_hash(key, text[i], strlen(text[i]));
    if (load_binary(ret, device, cache_dir, key, warning) == 0)
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
    if (cache_exists(cache_dir))
        keep_binary(program, cache_dir, key, warning);
    *ret = program;
    return 0;
}
