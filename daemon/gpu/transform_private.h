/* What the files behind transform.h share: transform.c (shape, memory, life), prologue.c (what
 * specialises the kernels), dispatch.c (which kernels, with which arguments), frame.c (a frame
 * under way). */
#ifndef FFTD_GPU_TRANSFORM_PRIVATE_H
#define FFTD_GPU_TRANSFORM_PRIVATE_H

#include "gpu/transform.h"

#define MAX_DISPATCHES (4 * PLAN_MAX_STAGES) /* staged: two axes, there and back */

/* Where an argument of a kernel comes from. */
enum argument_kind {
    ARGUMENT_NONE,
    ARGUMENT_IMAGE,    /* transform_buffers */
    ARGUMENT_RESULT,   /* transform_buffers */
    ARGUMENT_RESPONSE, /* transform_buffers */
    ARGUMENT_SPECTRUM, /* the frame's own */
    ARGUMENT_TABLE,    /* the transform's */
    ARGUMENT_LOCAL,    /* local memory */
};

struct argument {
    enum argument_kind kind;
    cl_mem table;
    size_t local_bytes;
};

#define MAX_ARGUMENTS 6

struct dispatch {
    char kernel[32];
    size_t global, local; /* of an image; a second dimension counts images */
    bool along_rows;
    unsigned argument_count;
    struct argument argument[MAX_ARGUMENTS];
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

/* How the work-groups of the fused technique carry the lines of an axis. */
struct carriage {
    const struct plan_axis *axis;
    bool along_rows;   /* of memory */
    unsigned group;    /* work-items */
    unsigned lines;    /* groups of lanes of lines, or of pairs of lines */
    bool held;         /* in registers between stages */
    size_t work_bytes; /* local memory */
    cl_mem twiddle;
};

/* What the planner is asked for an image with these settings. */
struct plan_limits transform_limits(const struct transform_image *image,
                                    const struct transform_border *border,
                                    const struct transform_tuning *tuning);

struct carriage transform_carriage(const struct transform *transform, const struct plan_axis *axis);

/* The stages that one dispatch of the staged technique does along an axis. */
struct pass {
    unsigned first, count; /* count: 1 or 2 */
};

/* Lists an axis' passes, forward; returns how many. */
unsigned transform_passes(struct pass ret[PLAN_MAX_STAGES], const struct plan_axis *axis,
                          const struct transform_tuning *tuning);

/* Groups of lanes from one row of the spectrum, or one panel, to the next (pack.cl). */
uint32_t transform_pitch(const struct transform *transform);

/* The lines of #define that go before the kernels; the caller frees them. NULL: no memory. */
char *transform_prologue(const struct transform *transform, const struct transform_border *border);

/* Builds the program and lists its dispatches; shrinks work-groups until the built kernels accept
 * them. */
int transform_build(struct transform *transform, const struct transform_border *border,
                    const char *cache_dir, struct error *warning, struct error *why);

/* Numbers, as they are stored, from one image's spectrum to the next one's. */
size_t transform_spectrum_size(const struct transform *transform);

/* Of one number. */
size_t transform_stored_bytes(const struct transform *transform);

#endif
