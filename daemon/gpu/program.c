#include "gpu/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cache.h"

#define CACHE_KIND      "clbin"
#define MAX_BINARY_SIZE (64u << 20)
#define BUILD_OPTIONS   "-cl-std=CL1.2 -cl-mad-enable -cl-no-signed-zeros"

static const struct {
    const char *name;
    const char *text;
} sources[] = {
#include "kernels.inc"
};

const char *program_file(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (strcmp(sources[i].name, name) == 0)
            return sources[i].text;
    abort(); /* the caller named a file that is not in kernels/ */
}

uint64_t program_sources_hash(void)
{
    static _Atomic uint64_t known; /* 0: not yet; threads that meet here find the same */
    uint64_t hash = known;
    if (hash != 0)
        return hash;
    hash = CACHE_HASH_START;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        hash = cache_hash(hash, sources[i].text, strlen(sources[i].text));
    known = hash;
    return hash;
}

static void keep(const char *dir, uint64_t key, const void *bytes, size_t size,
                 struct error *warning)
{
    struct error why;
    if (cache_write(dir, CACHE_KIND, key, bytes, size, &why) < 0)
        error_set(warning, EIO, "%s; the next start will compile the kernels again", why.text);
}

static void keep_binary(cl_program program, const char *dir, uint64_t key, struct error *warning)
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
        keep(dir, key, binary, size, warning);
    free(binary);
}

/* PoCL compiles each kernel when it is first enqueued, for its group, and keeps the result. Asked
 * for a binary, it compiles all kernels once more, for groups of any size, and then uses those
 * nowhere. For such a driver the entry is the source, which tells that it has compiled it before.
 */
static uint64_t source_key(const struct gpu_device *device, const char *source)
{
    uint64_t key = cache_hash(CACHE_HASH_START, device->identity, strlen(device->identity));
    key = cache_hash(key, BUILD_OPTIONS, sizeof BUILD_OPTIONS);
    key = cache_hash(key, &device->caches_programs, sizeof device->caches_programs);
    return cache_hash(key, source, strlen(source));
}

static cl_program create_from_entry(const struct gpu_device *device, const unsigned char *entry,
                                    size_t size, const char *source)
{
    cl_program program = NULL;
    cl_int status = CL_SUCCESS, code;
    if (!device->caches_programs)
        program = clCreateProgramWithBinary(device->context, 1, &device->id, &size, &entry, &status,
                                            &code);
    else if (size == strlen(source) && memcmp(entry, source, size) == 0)
        program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    if (program == NULL || status == CL_SUCCESS)
        return program;
    clReleaseProgram(program);
    return NULL;
}

/* -ENOENT: there is none; -EINVAL: the driver refuses it. */
static int load(cl_program *ret, const struct gpu_device *device, const char *source,
                const char *cache_dir, struct error *warning)
{
    const uint64_t key = source_key(device, source);
    size_t size;
    unsigned char *entry = cache_read(cache_dir, CACHE_KIND, key, &size, warning);
    if (entry == NULL)
        return -ENOENT;
    cl_program program = create_from_entry(device, entry, size, source);
    free(entry);
    if (program != NULL &&
        clBuildProgram(program, 1, &device->id, BUILD_OPTIONS, NULL, NULL) == CL_SUCCESS) {
        *ret = program;
        return 0;
    }
    opencl_release_program(program);
    error_set(warning, EINVAL,
              "%s/%016llx." CACHE_KIND " is ignored and will be replaced: the driver refuses it",
              cache_dir, (unsigned long long)key);
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
    error_set(why, EIO, "%s cannot compile the kernels (%s): %s", device->name,
              opencl_error_name(code), log != NULL ? log : "no build log");
    free(log);
    return -EIO;
}

static int build(cl_program *ret, const struct gpu_device *device, const char *source,
                 const char *cache_dir, struct error *warning, struct error *why)
{
    cl_int code;
    cl_program program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &device->id, BUILD_OPTIONS, NULL, NULL);
    if (code != CL_SUCCESS) {
        const int r = fail_build(device, program, code, why);
        clReleaseProgram(program);
        return r;
    }
    if (cache_exists(cache_dir) && device->caches_programs)
        keep(cache_dir, source_key(device, source), source, strlen(source), warning);
    else if (cache_exists(cache_dir))
        keep_binary(program, cache_dir, source_key(device, source), warning);
    *ret = program;
    return 0;
}

int program_get(cl_program *ret, const struct gpu_device *device, char *source, bool compile,
                const char *cache_dir, struct error *warning, struct error *why)
{
    int r = 0;
    if (source == NULL)
        return error_set(why, ENOMEM, "out of memory while writing the kernels' source");
    if (*ret == NULL && load(ret, device, source, cache_dir, warning) < 0)
        r = compile ? build(ret, device, source, cache_dir, warning, why) : 1;
    free(source);
    return r;
}

int program_small(cl_program *ret, struct gpu_device *device, const char *file, bool half,
                  struct error *why)
{
    struct error warning;
    char *source;
    unsigned i = 0;
    for (; i < GPU_MAX_SMALL_PROGRAMS && device->small[i].file != NULL; i++)
        if (strcmp(device->small[i].file, file) == 0 && device->small[i].half == half) {
            *ret = device->small[i].program;
            return 0;
        }
    if (i == GPU_MAX_SMALL_PROGRAMS)
        return error_set(why, E2BIG, "%s is one of more than %d small programs", file,
                         GPU_MAX_SMALL_PROGRAMS);
    if (asprintf(&source, "#define HALF_STORAGE %d\n#line 1 \"%s\"\n%s", half, file,
                 program_file(file)) < 0)
        return error_set(why, ENOMEM, "out of memory for %s", file);
    const int r = build(&device->small[i].program, device, source, NULL, &warning, why);
    free(source);
    if (r < 0)
        return r;
    device->small[i].file = file;
    device->small[i].half = half;
    *ret = device->small[i].program;
    return 0;
}
