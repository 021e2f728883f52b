/* The techniques of the published work on FFT image filtering on GPUs, rebuilt one by one: the
 * interface between the driver (main.c, measure.c, pipeline.c, reference.c) and the rows (row_*.c).
 *
 * A row consists of groups. A group is a list of pipelines that compute the same thing in different
 * ways. The driver compares the result of each with one in double precision, then times all of them
 * in turns, and writes one JSON line for each pipeline. docs/ARTICLES.md is made from these lines
 * by write.py alone.
 *
 * A pipeline keeps its first error, and all later calls on it do nothing. It is refused if the
 * device lacks something that is named, and has failed in every other case, which is an error of
 * the program. There is one thread. */
#ifndef FFTD_TESTS_BENCH_ARTICLES_H
#define FFTD_TESTS_BENCH_ARTICLES_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/device_private.h"

struct bench;
struct pipeline;

/* The pipelines that are compared; `build` of bench_group fills it. */
struct group {
    struct bench *bench;
    bool counting; /* kernels of intel.cl are built with counters of their traffic */
    struct pipeline *list[40];
    unsigned count;
};

/* ---- main.c ---- */

/* How large the work is. QUICK is for the test that every technique is still right. SMALL is for
 * devices on which the published sizes would take hours. LARGE is for devices on which a kernel of
 * the published size takes no longer than its launch. */
enum sizes { SIZES_QUICK, SIZES_SMALL, SIZES_PUBLISHED, SIZES_LARGE };
enum sizes bench_sizes(const struct bench *bench);
bool bench_is_quick(const struct bench *bench);
const struct gpu_device *bench_device(const struct bench *bench);
cl_command_queue bench_queue(const struct bench *bench);

/* ---- measure.c ---- */

struct group_head {
    unsigned row;     /* 1 .. 8, as in docs/ARTICLES.md */
    const char *name; /* of the group, which claims.py refers to */
    double x;         /* a size, for plots; claims are judged at the largest */
    bool counted;     /* the group is first built with counters, and run once */
    bool simulated;   /* instructions and accesses are counted on a simulated device, too */
    bool untimed;     /* what is asked of it is counted */
};

/* Builds a group, validates its pipelines, times them in turns and writes their lines. */
void bench_group(struct bench *bench, const struct group_head *head,
                 void (*build)(struct group *group, const void *context), const void *context);

/* Times that a row has measured by itself, of the same frames. */
struct figure {
    const char *name;
    double *ms;
    unsigned count; /* 0: the device does not report it */
};

/* Writes a line for each figure that was measured; or, with r < 0, a single one that says why the
 * measurement failed. */
void bench_figures(struct bench *bench, const struct group_head *head, const struct figure *figure,
                   unsigned count, int r, const struct error *why);

/* ---- pipeline.c ---- */

enum result_kind { RESULT_FLOATS, RESULT_BYTES };

/* Adds a pipeline to the group, which owns it. */
struct pipeline *pipeline_new(struct group *group, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Names what the device lacks, such as local memory. */
void pipeline_refuse(struct pipeline *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Everything else: a kernel that does not compile, a call that fails, a result that is wrong. */
void pipeline_fail(struct pipeline *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool pipeline_has_ended(const struct pipeline *p); /* after either of them */

/* Memory that is released with the pipeline: of the device, with a copy of `data` unless that is
 * NULL, and of the host, zeroed. Both return NULL on failure. */
cl_mem pipeline_buffer(struct pipeline *p, size_t bytes, const void *data);
void *pipeline_memory(struct pipeline *p, size_t bytes);

/* An image of bytes that kernels read as numbers of 0 .. 1, with a copy of `data`. */
cl_mem pipeline_image(struct pipeline *p, size_t width, size_t height, const void *data);

/* Adds a copy of a buffer of bytes to such an image. */
void pipeline_copy_to_image(struct pipeline *p, cl_mem from, cl_mem to, size_t width,
                            size_t height);

/* Builds a kernel file of this folder, or two ("arm.cl+stockham.cl"), with compiler options.
 * Programs are shared. */
cl_program pipeline_program(struct pipeline *p, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The size of a launch. Local sizes of 0: the driver chooses. `deep`: dimension 2; 0 is 1. */
struct shape {
    size_t across, down, local_across, local_down, deep;
};

/* Adds the launch of a kernel. Each letter of `types` is an argument: b cl_mem, u unsigned,
 * s int that becomes a short, f double that becomes a float. */
void pipeline_launch(struct pipeline *p, cl_program program, const char *kernel, struct shape shape,
                     const char *types, ...);
/* The last launch is made `rows` times, with offsets 0 .. rows - 1 in dimension 1. */
void pipeline_repeat(struct pipeline *p, unsigned rows);

/* Returns the largest group in which the kernel can be launched, at most `wanted`. */
size_t pipeline_group_limit(struct pipeline *p, cl_program program, const char *kernel,
                            size_t wanted);

/* Adds work of the host or of others' OpenCL calls. It returns 0, or -errno with the reason.
 * `close`, unless NULL, is called once with the pipeline's end. */
void pipeline_call(struct pipeline *p, int (*call)(void *context, struct error *why),
                   void (*close)(void *context), void *context);

/* Where the result is, and what it should be: `count` numbers. The error is relative (L2) for
 * floats, and the largest one in units of a sample for bytes. `expected` must outlive the group. */
void pipeline_result(struct pipeline *p, enum result_kind kind, cl_mem buffer, size_t count,
                     const double *expected, double limit);
/* The same for bytes in rows that are `pitch` apart. */
void pipeline_rows_result(struct pipeline *p, cl_mem buffer, size_t width, size_t height,
                          size_t pitch, const double *expected, double limit);
void pipeline_host_result(struct pipeline *p, const float *result, size_t count,
                          const double *expected, double limit);

/* What a buffer of floats has to hold after the launches and calls that have been added so far. */
void pipeline_check(struct pipeline *p, cl_mem buffer, size_t count, const double *expected,
                    double limit);

/* Traffic that is known from the pipeline's arithmetic instead of from counters. */
void pipeline_traffic(struct pipeline *p, double moved_bytes);

/* ---- reference.c ---- */

/* The unscaled DFT in double precision, in place, of any length; sign -1 is the forward one. */
void reference_dft(double complex *x, size_t n, int sign);
void reference_dft_2d(double complex *x, size_t width, size_t height, int sign);

/* H of the filter that all pipelines with a product apply, at all frequencies of an unpadded
 * transform, divided by width x height. The caller frees it. */
float *reference_response(uint32_t width, uint32_t height);

/* Noise on a slope, 0 .. 255, and what the filter makes of it after extension to px x py by
 * mirroring. The caller frees them. */
uint8_t *reference_picture(uint32_t width, uint32_t height);
double *reference_filtered(const uint8_t *picture, uint32_t width, uint32_t height, uint32_t px,
                           uint32_t py);
extern const char reference_chain[];

/* ---- fftd.c ---- */

/* Adds fftd's own pipeline, through daemon/transform: forward transform, product and inverse
 * transform of `planes` equal pictures. */
struct fftd_variant {
    const char *name;
    bool bytes; /* samples of 8 bits instead of floats, in and out */
    bool staged, half;
    unsigned planes;
    int twiddles;  /* enum transform_twiddles; -1: the default */
    bool unpadded; /* the transform has the size of the picture */
    /* Instead of the reference's filter: a square kernel of odd size, its result in double
     * precision, and a border that repeats the edge, as wide as the daemon makes it. */
    const int *kernel;
    uint32_t kernel_size;
    const double *kernel_result;
};
/* As it ships: fused, staged, and fused with half precision. */
#define FFTD_FORMS 3
extern const struct fftd_variant fftd_form[FFTD_FORMS];

void fftd_add(struct group *group, const struct fftd_variant *variant, const uint8_t *picture,
              uint32_t width, uint32_t height);

/* ---- overhead.c ---- */

/* The last part of row 7. */
void overhead_measure(struct bench *bench);

/* ---- rows ---- */
void row_intel_passes(struct bench *bench);
void row_intel_twiddles(struct bench *bench);
void row_intel_further(struct bench *bench);
void row_vectorised(struct bench *bench);
void row_mixed_radix(struct bench *bench);
void row_two_dimensions(struct bench *bench);
void row_convolution(struct bench *bench);
void row_openvx(struct bench *bench);

#endif
