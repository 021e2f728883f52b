/* Declarations shared by the files behind transform.h. Each file calls only those below it:
 *
 *     transform.c        creation and destruction, tables, response
 *     frame.c            a frame in flight
 *     dispatch.c         the list of dispatches: kernels, arguments, work-group sizes
 *     kernel_source.c    the kernels' source, specialised
 *     program.c          compiling the source, and cached binaries (program.h)
 *     layout.c           layout of spectra, lines and passes */
#ifndef FFTD_TRANSFORM_TRANSFORM_PRIVATE_H
#define FFTD_TRANSFORM_TRANSFORM_PRIVATE_H

#include "transform/response.h"
#include "transform/transform.h"

/* The origin of a kernel argument. */
enum argument_kind {
    ARGUMENT_NONE,
    ARGUMENT_IMAGE,       /* transform_buffers */
    ARGUMENT_RESULT,      /* transform_buffers */
    ARGUMENT_RESPONSE,    /* transform_buffers */
    ARGUMENT_BAND,        /* transform_buffers: a number of pairs */
    ARGUMENT_CORRECTION,  /* transform_buffers */
    ARGUMENT_CALIBRATION, /* transform_buffers */
    ARGUMENT_DENOISED,    /* transform_buffers */
    ARGUMENT_SPECTRUM,    /* transform_frame */
    ARGUMENT_LINES,       /* transform_frame */
    ARGUMENT_POWERS,      /* transform_frame */
    ARGUMENT_FILTERED,    /* transform_frame */
    ARGUMENT_TABLE,       /* transform */
    ARGUMENT_LOCAL,       /* local memory */
};

struct argument {
    enum argument_kind kind;
    cl_mem table;
    size_t local_bytes;
};

#define MAX_ARGUMENTS 11 /* `forward` with corrections, a table and a denoiser */

struct dispatch {
    char kernel[32];
    unsigned dimensions;
    size_t global[3], local[3]; /* work-items; the last dimension also counts images */
    bool along_rows;
    /* How many pairs a group has, and along which dimension there are only as many groups as the
     * band needs. 0 pairs: the number of groups does not depend on the band. */
    unsigned pairs_per_group, band_dimension;
    unsigned argument_count;
    struct argument argument[MAX_ARGUMENTS];
};

struct transform {
    const struct gpu_device *device;
    struct transform_image image;
    struct transform_border border;
    struct transform_tuning tuning;
    struct plan plan;
    cl_program program;                                            /* NULL: not built yet */
    cl_mem map_x, map_y, pairs, frequencies, twiddle_x, twiddle_y; /* fused */
    cl_mem places;                                                 /* of a spectrum (view.cl) */
    struct dispatch dispatch[TRANSFORM_MAX_DISPATCHES];
    unsigned dispatch_count;
};

/* ---- transform.c --------------------------------------------------------------------------- */

/* Fills in the tables at the ends of one image's buffers of the staged technique. The buffers have
 * been cleared, because one of the tables is zeros. */
void transform_fill_staged(const struct transform *transform, void *spectrum, void *lines);

/* ---- layout.c ------------------------------------------------------------------------------ */

/* Fills in the plan and the tuning of a transform whose device, image, border and desired tuning
 * are set. Settings that the device does not support are replaced by the nearest that it supports.
 * -ERANGE: the technique cannot handle this size on this device. */
int transform_fit(struct transform *transform, struct error *why);

/* Returns the planner's limits for an image with these settings. */
struct plan_limits transform_limits(const struct gpu_device *device,
                                    const struct transform_image *image,
                                    const struct transform_border *border,
                                    const struct transform_tuning *tuning);

/* The line layout of an axis: how many lines of it a work-group of the fused technique transforms
 * together, and whether local memory or registers hold them between stages. */
struct line_layout {
    const struct plan_axis *axis;
    bool along_rows;   /* lines are rows, which are contiguous in memory */
    unsigned group;    /* work-items in a group */
    unsigned lines;    /* lines, or pairs of lines, of a work-group, divided by lanes */
    bool held;         /* in registers between stages; local memory only passes them on */
    size_t work_bytes; /* local memory of a work-group */
    cl_mem twiddle;
};

struct line_layout transform_line_layout(const struct transform *transform,
                                         const struct plan_axis *axis);

/* The stages that one dispatch of the staged technique computes along an axis. */
#define MAX_PASS_STAGES 3
struct pass {
    unsigned first, count; /* count: 1 .. MAX_PASS_STAGES */
};

/* Lists the passes of an axis in forward order and returns their number. */
unsigned transform_passes(struct pass ret[PLAN_MAX_STAGES], const struct transform *transform,
                          const struct plan_axis *axis);

/* The work-items of a pass of the staged technique, as staged.cl lists them, and of their groups,
 * which divide them exactly. */
struct staged_range {
    size_t global[3], local[3];
    unsigned lines; /* the dimension along which groups count lines */
};
struct staged_range transform_staged_range(const struct transform *transform,
                                           const struct plan_axis *axis, const struct pass *pass);

/* Returns the smallest radix of a pass, whose stage has the most butterflies. */
unsigned transform_least_radix(const struct plan_axis *axis, const struct pass *pass);

/* The buffers of the staged technique, for one image: how many lines a row of the second one has
 * (the pairs of lines, rounded up so that groups can divide them), their sizes, and where the
 * tables at their ends begin, in bytes (staged.cl). */
struct staged_layout {
    uint32_t lines;
    size_t spectrum_twiddles, map_x, map_y, frequencies, zeros, spectrum_bytes;
    size_t lines_twiddles, pairs, lines_bytes;
};
struct staged_layout transform_staged_layout(const struct transform *transform);

/* Returns the distance between two rows, or two panels, of the spectrum, in groups of lanes
 * (pack.cl). */
uint32_t transform_pitch(const struct transform *transform);

/* Returns the distance between the spectra of two images, in stored numbers. */
size_t transform_spectrum_size(const struct transform *transform);

/* Returns the order in which fused.cl and staged.cl read the response. */
struct response_layout transform_response_layout(const struct transform *transform);

/* Returns the bytes of one stored number. */
size_t transform_stored_bytes(const struct transform *transform);

/* ---- kernel_source.c ----------------------------------------------------------------------- */

/* Writes the constants of an image to a FILE *, as the files that load and store samples use them.
 */
void transform_put_image(void *stdio_file, const struct transform_image *image,
                         const struct transform_border *border);

/* Returns the source of all kernels of a transform, or NULL if out of memory. The caller frees it.
 */
char *transform_source(const struct transform *transform);

/* ---- dispatch.c ---------------------------------------------------------------------------- */

/* Lists the dispatches and loads the program from the cache. If it is not there, `program` is NULL
 * afterwards. Work-groups are reduced until the built kernels accept them. */
int transform_load(struct transform *transform, const char *cache_dir, struct error *warning,
                   struct error *why);

/* Does the same, but compiles the program if it is not in the cache, and stores it there. */
int transform_compile(struct transform *transform, const char *cache_dir, struct error *warning,
                      struct error *why);

#endif
