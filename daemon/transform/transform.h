/* The transform of one component of the image (luma, or one colour), or of several with the same
 * shape in the same dispatches. It consists of a plan, kernels and tables. */
#ifndef FFTD_TRANSFORM_TRANSFORM_H
#define FFTD_TRANSFORM_TRANSFORM_H

#include <stdint.h>

#include "filters/recipe.h"
#include "core/format.h"
#include "transform/plan.h"
#include "gpu/device_private.h"

/* The layout of a component's samples in a frame. Input and output share it, except that the output
 * of SAMPLE_BAYER is RGB with four bytes per pixel, and with grey_result a plane of luma. */
struct transform_image {
    unsigned count;         /* images of this shape, which share a response: at least 1 */
    uint32_t apart;         /* distance between images, bytes; SAMPLE_BAYER: 0 */
    uint32_t width, height; /* samples */
    uint32_t stride;        /* bytes per row */
    uint32_t offset;        /* where the first sample of the first image is, bytes */
    uint32_t step;          /* distance between samples, bytes */
    enum sample_kind kind;
    uint8_t bits;
    uint8_t rgb[3];   /* SAMPLE_RGB8, result of SAMPLE_BAYER: offsets within a pixel */
    bool keep_others; /* the store copies the bytes between samples; images must not interleave */
    bool grey_result; /* the result is one plane with this component alone */
    bool deep_result; /* its samples have 16 bits; with grey_result, and of smaller pictures */
    uint32_t result_stride; /* bytes per row of the result: SAMPLE_BAYER, grey_result */
    struct {
        uint8_t red_x, red_y; /* position of red in each 2 x 2 cell */
        uint8_t bits;         /* bits of an input sample; filtered samples have image.bits */
        uint8_t colour; /* colour of the first image: 0 .. 2, one per image; 3: luma is filtered and
                           all colours are stored */
        enum demosaic demosaic;
    } mosaic; /* SAMPLE_BAYER */
    /* The result is a smaller picture: fewer samples of the same kind, or of luma with grey_result
     * and SAMPLE_BAYER, and laid out otherwise. Its width is 0 if the result has the size of the
     * image. Not with keep_others. */
    struct {
        uint32_t width, height, stride, offset, step, apart;
    } smaller;
};

/* The bits of a sample of the result. */
static inline unsigned transform_result_bits(const struct transform_image *image)
{
    return image->deep_result ? 16 : image->bits;
}

/* Returns the stride of a smaller picture (struct taps_samples), or 0 if it has none, or if the
 * result has the size of the image. */
static inline unsigned transform_stride(const struct transform_image *image)
{
    return image->width == TAPS_STRIDE * image->smaller.width &&
                   image->height == TAPS_STRIDE * image->smaller.height
               ? TAPS_STRIDE
               : 0;
}

/* The planes of floats that a denoiser writes and a transform loads. */
#define DENOISER_LINE 16 /* floats of a cache line */

/* The distance between two rows, in floats: an odd number of cache lines, so that the rows of a
 * block are in different sets of a cache. */
static inline uint32_t denoiser_pitch(const struct transform_image *image)
{
    return ((image->width + DENOISER_LINE - 1) / DENOISER_LINE | 1) * DENOISER_LINE;
}

/* The distance between the planes of two images, in floats. */
static inline size_t denoiser_plane_size(const struct transform_image *image)
{
    return (size_t)denoiser_pitch(image) * image->height;
}

enum transform_technique {
    TRANSFORM_FUSED,
    TRANSFORM_STAGED,
    TRANSFORM_DIRECT,    /* for short filters: it does not transform */
    TRANSFORM_TILES,     /* for filters of medium reach: it transforms tiles of the image */
    TRANSFORM_HALF_RATE, /* for wide blurs: direct, at half the rate */
    TRANSFORM_TWICE,     /* direct, with one dispatch for each axis: for Mali Midgard */
    TRANSFORM_TECHNIQUES
};

enum transform_twiddles { TWIDDLES_READ, TWIDDLES_COMBINED, TWIDDLES_COMPUTED };

/* The settings of a transform: what it does for a frame (`recipe`), and the tuner's choices, which
 * all give the same result up to rounding. (fields: each is one choice.) */
struct transform_tuning {
    enum transform_technique technique;
    enum plan_order order; /* rows first: fused with one lane only */
    struct recipe recipe;  /* what frames need; another view than the picture needs one image */
    unsigned lanes;        /* 1, 2, 4, 8 or 16; staged: 2 */
    unsigned max_radix;    /* 4 .. 16 */
    unsigned column_group; /* work-items in a group */
    unsigned columns;      /* columns, or pairs of columns, of a work-group, divided by lanes */
    unsigned row_group;
    unsigned rows;                /* rows, or pairs of rows, of a work-group, divided by lanes */
    bool skew;                    /* gaps in local memory that prevent bank conflicts */
    bool columns_held, rows_held; /* one lane only: numbers stay in registers between stages */
    enum transform_twiddles twiddles; /* fused */
    unsigned stages_per_dispatch;     /* staged: 1 .. 3 */
    uint32_t length_x, length_y; /* padded size, if it fits the border; 0: the planner chooses */
};

struct transform_border {
    enum plan_border mode;
    double value; /* PLAN_CONSTANT, in sample units */
    uint32_t margin_x, margin_y;
};

struct transform;

/* Returns default settings for the device. The caller sets the recipe, and may set the technique.
 */
void transform_default_tuning(struct transform_tuning *ret, const struct gpu_device *device);

/* Returns the greatest reach of a filter with which a transform of tiles may be faster on a device
 * than one of the whole image; 0: it never is, or that is not known. */
uint32_t transform_tile_radius(const struct gpu_device *device);

/* Returns the greatest radius at half the rate of a blur (taps.h) that may be faster on a device
 * than a transform; 0: none is. */
uint32_t transform_half_radius(const struct gpu_device *device);

/* A smaller picture (transform_image.smaller). Only the frequencies of the spectrum that it can
 * have are multiplied by H and transformed back, in lengths that are to those of the image as its
 * sides are to the image's. Along an axis that becomes shorter, H is reduced to 0 by a raised
 * cosine over the outer tenth of these frequencies, or over recipe.crop_edge, so that sharp edges
 * ring less. The middle of each sample of the result is the middle of what it covers of the image.
 * The fused technique does this. `direct` makes the same result where taps of a stride suffice
 * (struct taps_stride); no other technique does.
 *
 * Plans a transform, which then has its plan, tuning and sizes, but nothing on the device: it can
 * only be asked, equipped and destroyed. -ERANGE: the technique cannot handle this size or recipe
 * on this device. -EINVAL: no lengths suit the smaller picture (plan_choose). The device must
 * outlive the result. */
int transform_sketch(struct transform **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct transform_border *border,
                     const struct transform_tuning *tuning, struct error *why);

/* One transform for several results. A load reads the captured image and transforms it along the
 * first axis, and those lines along the second one that it is told to complete; each of its
 * results, which may be smaller pictures, has a response, an inverse and frames in flight of its
 * own. No result writes what another one reads, so they may be enqueued in any order, after the
 * load's frame; unless one is made in place, whose dispatches have to begin when the first dispatch
 * of every other one has ended.
 *
 * Plans a load, with the fused technique. `sizes`: those that its results should be able to have,
 * for which the lengths are chosen if that costs at most a tenth more; the recipe is that of the
 * result that comes first. -ERANGE: recipes with more than a plain load have none, nor do other
 * techniques. */
struct transform_size {
    uint32_t width, height;
};
int transform_sketch_load(struct transform **ret, const struct gpu_device *device,
                          const struct transform_image *image,
                          const struct transform_border *border,
                          const struct transform_tuning *tuning, const struct transform_size *sizes,
                          unsigned size_count, struct error *why);

/* Plans a result, whose image and recipe are those of a transform of its own. The load must outlive
 * it. -ERANGE: its image, its recipe or its size are not those of this load
 * (transform_load_suits), or local memory does not suffice. */
int transform_sketch_result(struct transform **ret, const struct transform *load,
                            const struct transform_image *image, const struct recipe *recipe,
                            struct error *why);

/* Returns whether a transform could be the result of a load: it is fused, and captured samples are
 * loaded as they are, so that other results can be made of the same spectrum. */
bool transform_loads_plainly(const struct transform *transform);

/* Returns whether a load can serve such a result, without a technique of its own: same captured
 * samples, same border, at least this margin, and lengths in the ratio of its sides. */
bool transform_load_suits(const struct transform *load, const struct transform_image *image,
                          const struct transform_border *border, const struct recipe *recipe);

/* Makes the tables of a planned transform. After a failure it can only be destroyed; otherwise it
 * must be built before frames are created. */
int transform_equip(struct transform *transform, struct error *why);

/* Gets the kernels from the cache; with `compile`, compiles those that are not there and stores
 * them, which may take many seconds. Returns how many are missing then. `warning` is as in
 * program.h. */
int transform_build(struct transform *transform, bool compile, const char *cache_dir,
                    struct error *warning, struct error *why);

/* Plans, equips and builds a transform. */
int transform_create(struct transform **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct transform_border *border,
                     const struct transform_tuning *tuning, const char *cache_dir,
                     struct error *warning, struct error *why);
void transform_destroy(struct transform *transform);

/* The plan of the image that is loaded; that of a smaller picture follows from it. */
const struct plan *transform_plan(const struct transform *transform);
const struct transform_tuning *transform_tuning(const struct transform *transform);
/* Writes the technique and its form: "fused float, columns first"; "direct with up to 7x7 taps". */
void transform_describe(const struct transform *transform, char *text, size_t size);

/* Returns whether it has no spectrum of the image: it convolves with the taps of a short filter, or
 * transforms tiles. Its plan is then the size of a transform with the same border; nothing is
 * padded. */
bool transform_is_direct(const struct transform *transform);
unsigned transform_dispatches(const struct transform *transform);

/* Returns the bytes of main memory that a dispatch, 0 .. transform_dispatches() - 1, or all
 * dispatches of a frame read and write if the response's band is all pairs; a narrower one needs
 * fewer. A byte that one dispatch reads twice counts once. */
double transform_dispatch_traffic(const struct transform *transform, unsigned dispatch);
double transform_traffic(const struct transform *transform);

/* The size of the table with which samples are loaded, and 0 if there is none: all gains, then all
 * offsets, as floats, if samples are calibrated; then two int16_t for each sample if they are
 * warped. */
size_t transform_table_bytes(const struct transform *transform);

/* The memory of a transform, bytes, in 64 bits on every machine. */
struct transform_bytes {
    uint64_t tables, frame; /* on the device: for all frames, and for a frame in flight */
    uint64_t making;        /* on the host, while either is made */
};
struct transform_bytes transform_bytes(const struct transform *transform);

/* Returns the host memory that filling a response with a chain's H takes, without the response
 * itself. The plane's samples are sub_x and sub_y luma pixels apart. */
uint64_t transform_filling_bytes(const struct transform *transform,
                                 const struct filter_chain *chain, double sub_x, double sub_y);

/* A response on the device, and its band (response_band): the number of pairs of lines, from the
 * first on, beyond which H is negligible. Lines outside the band are neither transformed along the
 * second axis nor read, and in the fused technique not stored. */
struct transform_response {
    cl_mem numbers;
    uint32_t band; /* 0: all pairs */
};

/* The response in the order in which kernels read it: its numbers, its size and its contents. A
 * direct technique has taps (filters/taps.h), which are floats; otherwise the contents are H
 * at the plan's frequencies, for a plane whose samples are sub_x and sub_y luma pixels apart; with
 * thresholds then the chain's threshold, in units of samples, of the spectrum divided by the
 * padded size.
 * Filling sets the band unless ret_band is NULL. -ENOMEM; -EINVAL: the taps reach too far. */
bool transform_response_is_half(const struct transform *transform);
size_t transform_response_bytes(const struct transform *transform);
int transform_response_fill(const struct transform *transform, void *response,
                            const struct filter_chain *chain, double sub_x, double sub_y,
                            uint32_t *ret_band, struct error *why);

/* Returns the number of a response's real parts, and, unless ret is NULL, sets their frequencies
 * (response_frequencies) in cycles per length of the plan. */
size_t transform_response_frequencies(const struct transform *transform, uint16_t (*ret)[2]);

/* The state of one frame in flight: its spectra, and kernels with their arguments. Frames may be
 * enqueued in different queues, each by one thread at a time. The transform must outlive its
 * frames. */
struct transform_frame;
int transform_frame_create(struct transform_frame **ret, const struct transform *transform,
                           struct error *why);
void transform_frame_destroy(struct transform_frame *frame);

/* Where the samples of a frame come from (kernels/transform/warp.cl): sample (x, y) of the result
 * is at the captured place (n[0] x + n[1] y + n[2], n[3] x + n[4] y + n[5]). */
#define TRANSFORM_SIMILARITY_FLOATS 6

/* The buffers of a frame that the caller owns. The frame retains them until it is enqueued with
 * others; it releases the image earlier if that is dropped. */
struct transform_buffers {
    cl_mem image;
    cl_mem result;
    struct transform_response response;
    cl_mem correction;  /* if the recipe has corrections (corrector.h); otherwise NULL */
    cl_mem calibration; /* transform_table_bytes; NULL if there are none */
    cl_mem similarity;  /* TRANSFORM_SIMILARITY_FLOATS, if the recipe has similarities; else NULL */
    cl_mem denoised;    /* planes of floats (denoiser.h); NULL if noise is not reduced */
    cl_mem spectrum;    /* spectrum of a load, for a result of it; otherwise NULL */
    cl_mem complete;    /* for a result of a load: pairs that the load has transformed completely */
    uint32_t completed; /* how many; in a load: how many to complete; 0: none */
    bool in_place;      /* a result of the captured size may overwrite that spectrum */
};

#define TRANSFORM_MAX_DISPATCHES (4 * PLAN_MAX_STAGES) /* staged: two axes, forward and inverse */

/* Sets the kernels' arguments to the buffers of the next frame, if they are others than before. */
int transform_frame_bind(struct transform_frame *frame, const struct transform_buffers *buffers,
                         struct error *why);

/* Enqueues the dispatches of the frame that was bound last in an in-order queue, with an event for
 * each, which the caller releases, also after a failure. */
int transform_frame_enqueue_each(struct transform_frame *frame, cl_command_queue queue,
                                 cl_event ret_event[TRANSFORM_MAX_DISPATCHES], unsigned *ret_count,
                                 struct error *why);

/* Binds and enqueues one frame in an in-order queue. Its previous use must have ended, unless that
 * was in the same queue. first and last, if not NULL, receive the events of the first and the last
 * dispatch; the caller releases them. */
int transform_frame_enqueue(struct transform_frame *frame, cl_command_queue queue,
                            const struct transform_buffers *buffers, cl_event *first,
                            cl_event *last, struct error *why);

/* The spectrum that the frame of a load computes. */
cl_mem transform_frame_spectrum(const struct transform_frame *frame);

/* The pairs that the frame of a load completes (buffers.completed); NULL: it completes none, and
 * the number is ignored. */
cl_mem transform_frame_complete(const struct transform_frame *frame);

/* The number of pairs that a load should complete where results need `shared` of those that it
 * stores, `band` (0: all): whole work-groups. */
uint32_t transform_whole_groups(const struct transform *load, uint32_t shared, uint32_t band);

/* Releases the image, or the result, that was enqueued last. The frame must have ended. */
void transform_frame_drop(struct transform_frame *frame, bool image);

#endif
