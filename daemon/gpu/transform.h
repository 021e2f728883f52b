/* The transform of one component of the image (luma, or one colour), or of several alike in the
 * same dispatches: plan, kernels and tables, as a few dispatches in a queue. */
#ifndef FFTD_GPU_TRANSFORM_H
#define FFTD_GPU_TRANSFORM_H

#include <stdint.h>

#include "core/filter.h"
#include "core/format.h"
#include "core/plan.h"
#include "gpu/opencl.h"

/* Where the component's samples lie in a frame: in the one that comes in as in the one that goes
 * out, but for SAMPLE_BAYER, whose result is RGB, four bytes a pixel. */
struct transform_image {
    unsigned count;         /* images alike, which share a response: at least 1 */
    uint32_t apart;         /* from one's first sample to the next one's, bytes; SAMPLE_BAYER: 0 */
    uint32_t width, height; /* samples */
    uint32_t stride;        /* bytes a row */
    uint32_t offset;        /* of the first one's first sample, bytes */
    uint32_t step;          /* from one sample to the next, bytes */
    enum sample_kind kind;
    uint8_t bits;
    uint8_t rgb[3];   /* SAMPLE_RGB8, SAMPLE_BAYER's result: offsets within a pixel */
    bool keep_others; /* the store copies what lies between the samples: no other image of these */
    struct {
        uint8_t red_x, red_y; /* where red is in a cell of 2 x 2 */
        uint8_t bits;         /* of a sample; what is filtered has image.bits */
        uint8_t colour; /* filtered and stored alone: 0 .. 2, the next images have the next ones;
                           3: luma, and stored are all */
        uint32_t result_stride; /* bytes a row */
    } mosaic;                   /* SAMPLE_BAYER */
};

enum transform_technique { TRANSFORM_FUSED, TRANSFORM_STAGED };

enum transform_twiddles { TWIDDLES_READ, TWIDDLES_COMBINED, TWIDDLES_COMPUTED };

/* What may be tuned; every combination gives the same result up to rounding. */
struct transform_tuning {
    enum transform_technique technique;
    enum plan_order order; /* rows first: fused with one lane only */
    bool half;             /* spectrum and response in half precision */
    unsigned lanes;        /* 1, 2, 4, 8 or 16; staged: 1 */
    unsigned max_radix;    /* 4 .. 16 */
    unsigned column_group; /* work-items of a group */
    unsigned columns;      /* groups of lanes a work-group carries, of columns or pairs of them */
    unsigned row_group;
    unsigned rows;                /* the same of rows */
    bool skew;                    /* gaps in local memory against conflicts of its banks */
    bool columns_held, rows_held; /* one lane: stages keep their numbers in registers */
    enum transform_twiddles twiddles;
    unsigned stages_per_dispatch; /* staged: 1 or 2 */
    uint32_t length_x, length_y;  /* padded size, where it fits the border; 0: the planner's */
};

struct transform_border {
    enum plan_border mode;
    double value; /* PLAN_CONSTANT, in sample units */
    uint32_t margin_x, margin_y;
};

struct transform;

/* Settings that suit the device; `half` and a technique are the caller's. */
void transform_default_tuning(struct transform_tuning *ret, const struct gpu_device *device);

/* Plans and builds. -EINVAL: images of a count or at a distance that can not be; -ERANGE: the
 * technique can not carry this size on this device. `warning` as in program.h. The device must
 * outlive the result. */
int transform_create(struct transform **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct transform_border *border,
                     const struct transform_tuning *tuning, const char *cache_dir,
                     struct error *warning, struct error *why);
void transform_destroy(struct transform *transform);

const struct plan *transform_plan(const struct transform *transform);
const struct transform_tuning *transform_tuning(const struct transform *transform);
unsigned transform_dispatches(const struct transform *transform);

/* Bytes of main memory a frame's dispatches read and write, counted from the buffers they touch
 * (a byte read twice by one dispatch counts once). */
double transform_traffic(const struct transform *transform);

/* The response as the kernels want it: its size, and its contents, H sampled at the plan's
 * frequencies for a plane whose samples are sub_x and sub_y luma pixels apart. -ENOMEM. */
size_t transform_response_bytes(const struct transform *transform);
int transform_response_fill(const struct transform *transform, void *response,
                            const struct filter_chain *chain, double sub_x, double sub_y,
                            struct error *why);

/* What a frame under way needs of its own: spectra, and kernels that keep their arguments.
 * Frames may be enqueued in different queues, each by one thread at a time. The transform must
 * outlive it. */
struct transform_frame;
int transform_frame_create(struct transform_frame **ret, const struct transform *transform,
                           struct error *why);
void transform_frame_destroy(struct transform_frame *frame);

/* What a frame is given from outside; kept alive until the next enqueue with others, the image also
 * until it is dropped. */
struct transform_buffers {
    cl_mem image;
    cl_mem result;
    cl_mem response;
};

/* Enqueues one frame in an in-order queue, in which its last one was enqueued or has ended. first
 * and last, where not NULL, become the events of its first and last dispatch, which the caller
 * releases. */
int transform_frame_enqueue(struct transform_frame *frame, cl_command_queue queue,
                            const struct transform_buffers *buffers, cl_event *first,
                            cl_event *last, struct error *why);

/* Lets go of the image that was enqueued last, whose frame has ended. */
void transform_frame_drop_image(struct transform_frame *frame);

#endif
