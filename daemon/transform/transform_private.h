/* Declarations shared by the files behind transform.h. Each file calls only those below it:
 *
 *     transform.c        creation and destruction, response, traffic
 *     frame.c            a frame in flight
 *     load.c             planning, the table of techniques, loads that have several results
 *     fused.c, staged.c  a technique each, which transforms
 *     tiles.c            one that transforms tiles
 *     direct.c           one that does not
 *     direct_twice.c     the same in two dispatches
 *     half_rate.c        the same for wide blurs on a GPU
 *     smaller.c          tables of a smaller picture, and of pairs
 *     draw.c             views, which are drawn after the transform
 *     dispatch.c         a dispatch: its arguments; the program of all dispatches
 *     kernel_source.c    the kernels' source: what all techniques have of it
 *     program.c          compiling the source, and cached binaries (program.h)
 *     layout.c           layout of spectra and lines */
#ifndef FFTD_TRANSFORM_TRANSFORM_PRIVATE_H
#define FFTD_TRANSFORM_TRANSFORM_PRIVATE_H

#include <stdio.h>

#include "transform/response.h"
#include "transform/transform.h"

/* The origin of a kernel argument. */
enum argument_kind {
    ARGUMENT_NONE,
    ARGUMENT_IMAGE,       /* transform_buffers */
    ARGUMENT_RESULT,      /* transform_buffers */
    ARGUMENT_RESPONSE,    /* transform_buffers */
    ARGUMENT_CORRECTION,  /* transform_buffers */
    ARGUMENT_CALIBRATION, /* transform_buffers */
    ARGUMENT_SIMILARITY,  /* transform_buffers */
    ARGUMENT_DENOISED,    /* transform_buffers */
    ARGUMENT_LARGER,      /* transform_frame, or transform_buffers: the spectrum that was loaded */
    ARGUMENT_COMPLETE,    /* transform_buffers: lines that the load has completed */
    ARGUMENT_SPECTRUM,    /* transform_frame */
    ARGUMENT_LINES,       /* transform_frame */
    ARGUMENT_DRAWN,       /* transform_frame: what a view is drawn from */
    ARGUMENT_BUFFERS,     /* the number of those before it, which are buffers of a frame */
    ARGUMENT_BAND,        /* transform_buffers: a number of pairs */
    ARGUMENT_COMPLETED,   /* transform_buffers: a number of pairs */
    ARGUMENT_TABLE,       /* transform */
    ARGUMENT_LOCAL,       /* local memory */
};

struct argument {
    enum argument_kind kind;
    cl_mem table;
    size_t local_bytes;
};

#define MAX_ARGUMENTS 13 /* `middle` of a smaller picture, with completed lines */

struct dispatch {
    char kernel[32];
    unsigned dimensions;
    size_t global[3], local[3]; /* work-items; the last dimension also counts images */
    bool along_rows;
    /* How many pairs a group has, and along which dimension there are only as many groups as the
     * band needs. 0 pairs: the number of groups does not depend on the band. */
    unsigned pairs_per_group, band_dimension;
    bool completes; /* it has the pairs that a load completes, instead of the band */
    unsigned argument_count;
    struct argument argument[MAX_ARGUMENTS];
};

/* (fields: the settings, the tables and kernels that follow from them, and its parts.) */
struct transform {
    const struct gpu_device *device;
    struct transform_image image;
    struct transform_border border;
    struct transform_tuning tuning;
    const struct technique *technique; /* what `tuning` chose; set by transform_fit */
    struct plan plan;
    cl_program program;                                            /* NULL: not built yet */
    cl_mem map_x, map_y, pairs, frequencies, twiddle_x, twiddle_y; /* fused; maps: direct */
    cl_mem places;        /* where numbers of a spectrum are (view.cl) */
    cl_mem origins, crop; /* fused_larger.cl */
    struct dispatch dispatch[TRANSFORM_MAX_DISPATCHES];
    unsigned dispatch_count;
    /* A smaller picture is made by a transform of its own, whose image is the result: this one has
     * only the dispatch that computes the spectrum. NULL: the result has the size of the image. */
    struct transform *smaller;
    const struct transform *larger; /* whose spectrum it reads; NULL: it has its own */
    bool is_load; /* it computes a spectrum for results that have transforms of their own */
};

/* Returns whether it makes a smaller picture of another one's spectrum. */
static inline bool transform_is_smaller(const struct transform *transform)
{
    const struct transform *larger = transform->larger;
    return larger != NULL && (transform->image.width != larger->image.width ||
                              transform->image.height != larger->image.height);
}

/* Returns whether it only computes a spectrum. */
static inline bool transform_only_loads(const struct transform *transform)
{
    return transform->is_load || transform->smaller != NULL;
}

/* The fewest floats that a processor's vector registers hold. A smaller picture may have fewer
 * lanes than its load, but no fewer than these. */
#define TRANSFORM_LEAST_LANES 4

/* Returns whether a load completes lines for its results, or this is a result of such a load. In
 * half precision what is completed would be rounded once more. */
static inline bool transform_completes(const struct transform *transform)
{
    const struct transform *load = transform->larger != NULL ? transform->larger : transform;
    return load->is_load && load->tuning.lanes > 1 && load->tuning.recipe.precision != RECIPE_HALF;
}

/* ---- techniques ---------------------------------------------------------------------------- */

struct tuner;
struct tuner_subject;
struct tuner_values;

/* Lists values of one setting to try beside the best ones of the others so far. */
typedef void vary_fn(const struct tuner *tuner, struct tuner_values *ret);

/* A technique is one way to transform frames. It is one file with a `struct technique`, and a row
 * of the table in transform.c. Nothing else lists techniques: planning, kernels, frames, the tuner
 * and descriptions ask that of the transform. Functions that return int return 0 or -errno with a
 * reason in *why. (fields: each is one thing in which techniques differ.) */
struct technique {
    const char *name;         /* in descriptions: "fused" */
    const char *complex_file; /* the kernels' complex numbers (complex.cl) */
    bool by_stages;           /* its kernels are one stage or a few: STAGED */
    bool is_direct;           /* it has no spectrum of the image: DIRECT */
    bool makes_smaller;       /* it makes smaller pictures */

    /* Returns how long a frame is expected to take before any is measured. On a GPU this is the
     * time of a frame alone, in microseconds (tuner_gpu_cost); elsewhere it is relative to `fused`.
     * HUGE_VAL: the technique cannot do what the filters need. The cheapest technique that fits is
     * chosen. */
    double (*cost)(const struct tuner_subject *subject);

    /* Writes what it does for the description of an engine; NULL: "float, columns first". */
    void (*describe)(const struct transform *transform, char *text, size_t size);

    /* Improves the default settings before they are tuned; NULL: they are good. */
    void (*start)(struct transform_tuning *ret, const struct tuner_subject *subject);

    /* As transform_fit, which calls it. */
    int (*fit)(struct transform *transform, struct error *why);

    /* Sets the lanes of a response and whether its legs are apart; NULL: it has one lane, or is no
     * H, but views and descriptions ask for a table. */
    void (*lay_out_response)(struct response_layout *ret, const struct transform *transform);

    /* The response of a direct technique, as transform_response_fill and transform_filling_bytes,
     * in floats. NULL: it is H. */
    size_t (*count_response)(const struct transform *transform);
    int (*fill_response)(const struct transform *transform, float *values,
                         const struct filter_chain *chain, double sub_x, double sub_y,
                         struct error *why);
    uint64_t (*filling_bytes)(const struct transform *transform, const struct filter_chain *chain,
                              double sub_x, double sub_y);

    /* The distance between the spectra of two images, in stored numbers; NULL if it is direct. */
    size_t (*spectrum_size)(const struct transform *transform);

    /* The memory that the next two functions take. */
    struct transform_bytes (*memory)(const struct transform *transform);

    /* Makes the tables of all frames; NULL: there are none. */
    int (*make_tables)(struct transform *transform, struct error *why);

    /* Makes the buffers of a frame in flight: spectra and lines, if its kernels have them;
     * NULL: they have none. */
    int (*make_buffers)(cl_mem *ret_spectra, cl_mem *ret_lines, const struct transform *transform,
                        struct error *why);

    /* Lists the dispatches (transform_add_dispatch), and writes the source of their kernels, behind
     * the constants and the files that all techniques have (kernel_source.c). */
    void (*list_dispatches)(struct transform *transform);
    void (*put_source)(FILE *out, const struct transform *transform);

    /* What the tuner varies, in this order, ended by NULL; and what it tries at the end of a round,
     * whichever technique is the best so far. NULL: the start values, unless it is the best. */
    vary_fn *const *settings;
    vary_fn *offer;
};

extern const struct technique technique_fused;        /* fused.c */
extern const struct technique technique_staged;       /* staged.c */
extern const struct technique technique_direct;       /* direct.c */
extern const struct technique technique_tiles;        /* tiles.c */
extern const struct technique technique_half_rate;    /* half_rate.c */
extern const struct technique technique_direct_twice; /* direct_twice.c */

/* ---- load.c -------------------------------------------------------------------------------- */

/* The techniques in the order of enum transform_technique. */
extern const struct technique *const transform_techniques[TRANSFORM_TECHNIQUES];

/* Fills in the plan and the tuning of a transform whose device, image, border and desired tuning
 * are set. Settings that the device does not support are replaced by the nearest that it supports.
 * -ERANGE: the technique cannot handle this size or recipe on this device, and the next one may be
 * tried (tuner_fall_back). */
int transform_fit(struct transform *transform, struct error *why);

/* ---- staged.c ------------------------------------------------------------------------------ */

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

/* ---- smaller.c ----------------------------------------------------------------------------- */

/* Makes the table of where a transform's pairs (pack.cl) are in a spectrum with this plan, which is
 * its own plan or that of the larger transform. */
int transform_make_pairs(cl_mem *ret, const struct transform *transform,
                         const struct plan *spectrum, struct error *why);

/* The tables of a smaller picture say where its pairs are in the larger spectrum, and where
 * frequencies along the second axis are in its own lines. transform_crop_bytes returns their bytes,
 * and transform_make_crop makes them. Other pictures have none: 0. */
uint64_t transform_crop_bytes(const struct transform *transform);
int transform_make_crop(struct transform *transform, struct error *why);

/* ---- draw.c -------------------------------------------------------------------------------- */

/* The memory from which the dispatch of a view draws: powers of the spectrum, or filtered samples.
 * Returns its size; 0: no view is drawn. */
size_t transform_drawn_bytes(const struct transform *transform);

/* Returns how many dispatches draw edges: 0: they are not drawn; more than one: they are tracked.
 */
unsigned transform_edge_dispatches(const struct transform *transform);

/* Makes the table of a view, if it needs one. */
int transform_make_places(struct transform *transform, struct error *why);

/* Lists the dispatches that draw the view, if one is drawn. */
void transform_list_view(struct transform *transform);

/* ---- dispatch.c ---------------------------------------------------------------------------- */

/* clang-format off */
#define ARGUMENT(name)           {.kind = ARGUMENT_##name}
#define ARGUMENT_OF_TABLE(data)  {.kind = ARGUMENT_TABLE, .table = (data)}
#define ARGUMENT_OF_LOCAL(bytes) {.kind = ARGUMENT_LOCAL, .local_bytes = (bytes)}
/* clang-format on */

/* Adds a dispatch with the arguments up to the first ARGUMENT_NONE, or ARGUMENT_CORRECTION if there
 * are no corrections. Others that follow from the recipe, in a kernel that reads the image or the
 * response, are added behind them. */
void transform_add_dispatch(struct transform *transform, struct dispatch dispatch);

/* Adds the only dispatch of a technique that convolves: each of its work-groups, of column_group
 * items, makes a block of the result. */
void transform_add_blocks(struct transform *transform, const char *kernel, size_t block_x,
                          size_t block_y, size_t local_bytes);

/* Writes what the kernel of such a dispatch needs of its blocks, and how it loads one. */
void transform_put_blocks(FILE *out, const struct transform *transform);

/* The samples that taps are found for. */
struct taps_samples transform_taps_samples(const struct transform *transform, double sub_x,
                                           double sub_y);

/* The memory of the host that finding them takes, bytes. */
uint64_t transform_taps_bytes(const struct transform *transform, const struct filter_chain *chain,
                              double sub_x, double sub_y);

/* Where the transform stores its samples: the result, or what a view is drawn from. */
enum argument_kind transform_store_argument(const struct transform *transform);

/* Lists the dispatches and gets the program from the cache, or compiles it and stores it there.
 * Without `compile`, the program is NULL afterwards if it is not in the cache. Work-groups are
 * reduced until the built kernels accept them. */
int transform_get_program(struct transform *transform, bool compile, const char *cache_dir,
                          struct error *warning, struct error *why);

/* ---- kernel_source.c ----------------------------------------------------------------------- */

struct line_layout;

/* Write a file of kernels, a constant that another copy of a template may have defined differently,
 * the constants of an image as the files that load and store samples use them, those of an axis,
 * and those of a stage that the templates of all techniques use. */
void transform_put_file(FILE *out, const char *name);
void transform_put_constant(FILE *out, const char *name, uint32_t value);
void transform_put_image(FILE *out, const struct transform_image *image,
                         const struct transform_border *border);
void transform_put_axis(FILE *out, char name, const struct line_layout *layout);
void transform_put_stage(FILE *out, const char *axis_name, const struct plan_axis *axis,
                         unsigned stage);

/* Returns the source of all kernels of a transform, or NULL if out of memory. The caller frees it.
 */
char *transform_source(const struct transform *transform);

/* ---- layout.c ------------------------------------------------------------------------------ */

/* Returns the planner's limits for an image with these settings, and plans with them. */
struct plan_limits transform_limits(const struct gpu_device *device,
                                    const struct transform_image *image,
                                    const struct transform_border *border,
                                    const struct transform_tuning *tuning);
int transform_choose_plan(struct transform *transform, struct error *why);

/* The transform that multiplies by the response and makes the result. */
static inline const struct transform *transform_of_result(const struct transform *transform)
{
    return transform->smaller != NULL ? transform->smaller : transform;
}

/* The plan of the image that is loaded. */
static inline const struct plan *transform_loaded(const struct transform *transform)
{
    return transform->larger != NULL ? &transform->larger->plan : &transform->plan;
}

/* The frequency of a smaller picture's axis in the length of the loaded image's: those above half
 * the length are negative. */
static inline uint32_t transform_loaded_frequency(uint32_t frequency, uint32_t length,
                                                  uint32_t loaded)
{
    return 2 * frequency > length ? frequency + loaded - length : frequency;
}

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

/* The layout of the larger transform's lines along its second axis, which a work-group of the
 * dispatch that makes a smaller picture transforms forward (kernels/transform/fused_larger.cl). */
struct line_layout transform_larger_lines(const struct transform *transform);

/* The distance between the completed lines of two images, in stored numbers; 0: there are none. */
size_t transform_complete_size(const struct transform *transform);

/* Returns the butterflies of a stage in all lines of a group, and the rounds in which the group
 * computes them. */
static inline uint32_t line_layout_items(const struct line_layout *layout, unsigned stage)
{
    return layout->axis->length / layout->axis->radix[stage] * layout->lines;
}

static inline uint32_t line_layout_rounds(const struct line_layout *layout, unsigned stage)
{
    return (line_layout_items(layout, stage) + layout->group - 1) / layout->group;
}

/* Returns the distance between two rows, or two panels, of the spectrum, in groups of lanes
 * (pack.cl). */
uint32_t transform_pitch(const struct transform *transform);

/* Returns the order in which the technique's kernels read the response. */
struct response_layout transform_response_layout(const struct transform *transform);

/* Returns the bytes of one number of a spectrum. */
size_t transform_stored_bytes(const struct transform *transform);

/* Makes the table of a border along an axis (plan_border_map). */
int transform_make_map(cl_mem *ret, const struct transform *transform, uint32_t padded,
                       uint32_t length, enum plan_border mode, struct error *why);

/* For a direct technique whose filters reach this number of samples: the plan and the order, so
 * that the border is that of a transform with as much padding; the maps of both axes, and their
 * memory. */
void transform_plan_border(struct transform *transform, uint32_t reach);
int transform_make_border_maps(struct transform *transform, struct error *why);
struct transform_bytes transform_border_memory(const struct transform *transform);

#endif
