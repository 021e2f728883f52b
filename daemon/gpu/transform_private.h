/* What the files behind transform.h share: transform.c (shape, memory, life), prologue.c (what
 * specialises the kernels), dispatch.c (kernels and their arguments). */
#ifndef FFTD_GPU_TRANSFORM_PRIVATE_H
#define FFTD_GPU_TRANSFORM_PRIVATE_H

#include "gpu/transform.h"

#define MAX_DISPATCHES (4 * PLAN_MAX_STAGES) /* staged: two axes, forward and back */

/* One kernel with its fixed arguments set; those that change with every frame are named by their
 * index, -1: it has none. */
struct dispatch {
    cl_kernel kernel;
    size_t global, local;
    int image, result, response, spectrum;
};

struct transform {
    const struct gpu_device *device;
    struct transform_image image;
    struct transform_tuning tuning;
    struct plan plan;
    cl_program program;
    cl_mem map_x, map_y, pairs, twiddle_x, twiddle_y;
    struct dispatch dispatch[MAX_DISPATCHES];
    unsigned dispatch_count;
};

/* Work-groups of the two directions, and the local memory each takes (fused). */
uint32_t transform_row_groups(const struct plan *plan, const struct transform_tuning *tuning);
uint32_t transform_column_groups(const struct plan *plan, const struct transform_tuning *tuning);
size_t transform_row_local(const struct plan *plan, const struct transform_tuning *tuning);
size_t transform_column_local(const struct plan *plan, const struct transform_tuning *tuning);

/* Groups of lanes from one row of the spectrum to the next. */
uint32_t transform_pitch(const struct transform *transform);

/* The lines of #define that go before the kernels; the caller frees them. NULL: no memory. */
char *transform_prologue(const struct transform *transform, const struct transform_border *border);

/* Builds the kernels and sets the arguments that stay; shrinks work-groups until the built kernels
 * accept them. */
int transform_build(struct transform *transform, const struct transform_border *border,
                    const char *cache_dir, struct error *warning, struct error *why);
void transform_release_kernels(struct transform *transform);

/* Enqueues one dispatch with a frame's own arguments. */
int dispatch_enqueue(const struct dispatch *dispatch, cl_command_queue queue,
                     const struct transform_buffers *buffers, cl_event *event, struct error *why);

#endif
