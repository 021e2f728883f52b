/* A coordinate search. It tries all values of one setting with the best values of the others so
 * far, and then continues with the next setting. It can miss the optimum, but it needs only a few
 * dozen builds. The exhaustive search tries more values and repeats the round until nothing
 * improves. */
#include "transform/tuner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/clock.h"
#include "transform/tuner_private.h"

#define MAX_ROUNDS  4
#define MAX_FRAMES  20
#define MEASURE_NS  (150 * NS_PER_MS)
#define WORTH_WHILE 0.98 /* of the best time; a smaller gain may be noise */

/* ---- rounds -------------------------------------------------------------------------------- */

/* Returns how many combinations remain in this round if none of them is better. */
static unsigned count_left(const struct tuner *tuner)
{
    struct tuner_values values;
    unsigned left = tuner->values.count - tuner->next;
    for (unsigned i = tuner->setting; i < tuner_setting_count(); i++) {
        tuner_list_values(tuner, i, &values);
        left += values.count;
    }
    return left;
}

/* Moves to the next setting that has values to try. Returns false if there is none. */
static bool next_setting(struct tuner *tuner)
{
    while (tuner->next == tuner->values.count) {
        if (tuner->setting == tuner_setting_count()) {
            if (!tuner->exhaustive || !tuner->improved || ++tuner->round == MAX_ROUNDS)
                return false;
            tuner->setting = 0;
            tuner->improved = false;
        }
        tuner_list_values(tuner, tuner->setting++, &tuner->values);
        tuner->next = 0;
    }
    return true;
}

/* ---- measuring ----------------------------------------------------------------------------- */

/* Returns the time from the start of the first kernel to the end of the last one. Releases both
 * events. */
static double kernels_ms(cl_event first, cl_event last)
{
    cl_ulong start = 0, end = 0;
    clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(first);
    clReleaseEvent(last);
    return (double)(end - start) / 1e6;
}

/* Returns the time of the fastest of several frames, because other load on the machine only
 * increases times. */
static int time_frames(const struct tuner *tuner, struct transform_frame *frame,
                       const struct transform_buffers *buffers, double *ret_ms, struct error *why)
{
    const int64_t until_ns = clock_now_ns() + MEASURE_NS;
    double best_ms = HUGE_VAL;
    for (unsigned i = 0; i < MAX_FRAMES && (i < 3 || clock_now_ns() < until_ns); i++) {
        cl_event first = NULL, last = NULL;
        const int r = transform_frame_enqueue(frame, tuner->queue, buffers, &first, &last, why);
        if (r < 0)
            return r;
        const cl_int code = clFinish(tuner->queue);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clFinish");
        const double ms = kernels_ms(first, last);
        if (i > 0 && ms < best_ms) /* the driver may compile during the first frame */
            best_ms = ms;
    }
    *ret_ms = best_ms;
    return 0;
}

/* Measures one combination of settings. ret_fitted is the combination that was built, adapted to
 * the device. */
static int measure(const struct tuner *tuner, const struct transform_tuning *tuning,
                   struct transform_tuning *ret_fitted, double *ret_ms, struct error *why)
{
    const struct tuner_subject *subject = &tuner->subject;
    struct transform *transform = NULL;
    struct transform_frame *frame = NULL;
    struct transform_buffers buffers = {.image = tuner->image, .result = tuner->result};
    struct error warning;
    int r = transform_create(&transform, subject->device, &subject->image, &subject->border, tuning,
                             NULL, &warning, why);
    if (r < 0)
        return r;
    r = opencl_make_buffer(&buffers.response.numbers, subject->device->context, CL_MEM_READ_ONLY,
                           transform_response_bytes(transform), NULL, why);
    const cl_float zero = 0;
    if (r == 0 &&
        clEnqueueFillBuffer(tuner->queue, buffers.response.numbers, &zero, sizeof(cl_short), 0,
                            transform_response_bytes(transform), 0, NULL, NULL) != CL_SUCCESS)
        r = error_set(why, EIO, "cannot clear the buffer of the response");
    if (r == 0)
        r = transform_frame_create(&frame, transform, why);
    if (r == 0)
        r = time_frames(tuner, frame, &buffers, ret_ms, why);
    *ret_fitted = *transform_tuning(transform);
    ret_fitted->length_x = transform_plan(transform)->x.length;
    ret_fitted->length_y = transform_plan(transform)->y.length;

    transform_frame_destroy(frame);
    if (buffers.response.numbers != NULL)
        clReleaseMemObject(buffers.response.numbers);
    transform_destroy(transform);
    return r;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Cycles of all passes along an axis of a frame, forward and inverse. A dispatch takes as long as
 * its arithmetic or as its traffic: each number is loaded and stored, but at the image, whose bytes
 * are few, and in the middle, where the inverse goes on and the response is read. */
static double axis_cycles(const struct transform *transform, bool is_first)
{
    const struct plan *plan = &transform->plan;
    const struct plan_axis *axis = is_first ? &plan->y : &plan->x;
    const double number_bytes = 2 * (double)transform_stored_bytes(transform);
    const double numbers =
        (double)plan->x.length *
        (is_first ? plan->y.length / 2. : transform_staged_layout(transform).lines);
    struct pass pass[PLAN_MAX_STAGES];
    const unsigned count = transform_passes(pass, transform, axis);
    double cycles = 0;
    for (unsigned i = 0; i < count; i++) {
        const double moved = is_first && i == 0 ? 2 : !is_first && i + 1 == count ? 2.5 : 4;
        double arithmetic = 0;
        for (unsigned k = pass[i].first; k < pass[i].first + pass[i].count; k++)
            arithmetic += plan_midgard_cycles(axis, k, is_first, transform->tuning.half);
        cycles += fmax(arithmetic, moved * number_bytes / PLAN_MIDGARD_BYTES);
    }
    return numbers * cycles;
}

/* Kernels of radix 8 and more spill registers; 7 has not been counted in dispatches of several
 * stages. */
#define MIDGARD_LEAST_RADIX 4
#define MIDGARD_MOST_RADIX  6

/* Begins with the fastest staged plan. In the table of `make mali-counts` it takes 0.5 to 0.6 of
 * the time of the fastest fused one at 640x480 and 1280x720, in float and in half precision. At
 * 1920x1080 the fused kernels spill hundreds of times (docs/PERFORMANCE.md). */
static void start_on_midgard(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    const struct transform_tuning defaults = *ret;
    double least = HUGE_VAL;
    for (unsigned stages = 1; stages <= MAX_PASS_STAGES; stages++)
        for (unsigned radix = MIDGARD_LEAST_RADIX; radix <= MIDGARD_MOST_RADIX; radix++) {
            struct transform transform = {.device = subject->device,
                                          .image = subject->image,
                                          .border = subject->border,
                                          .tuning = defaults};
            struct error why;
            transform.tuning.technique = TRANSFORM_STAGED;
            transform.tuning.stages_per_dispatch = stages;
            transform.tuning.max_radix = radix;
            if (transform_fit(&transform, &why) < 0)
                continue;
            const double cycles = axis_cycles(&transform, true) + axis_cycles(&transform, false);
            if (cycles < least) {
                least = cycles;
                *ret = transform.tuning;
            }
        }
}

void tuner_start(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    transform_default_tuning(ret, subject->device);
    ret->half = subject->half;
    ret->technique = subject->technique;
    if (subject->device->midgard &&
        (subject->technique == TRANSFORM_STAGED || subject->any_technique))
        start_on_midgard(ret, subject);
}

static int make_frame(cl_mem *ret, const struct tuner *tuner, uint32_t stride, struct error *why)
{
    const struct transform_image *image = &tuner->subject.image;
    const size_t size =
        image->offset + (size_t)image->apart * (image->count - 1) + (size_t)stride * image->height;
    const cl_uchar grey = 128;
    const int r =
        opencl_make_buffer(ret, tuner->subject.device->context, CL_MEM_READ_WRITE, size, NULL, why);
    if (r < 0)
        return r;
    const cl_int code =
        clEnqueueFillBuffer(tuner->queue, *ret, &grey, sizeof grey, 0, size, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueFillBuffer");
}

int tuner_create(struct tuner **ret, const struct tuner_subject *subject, bool exhaustive,
                 struct error *why)
{
    struct tuner *tuner = calloc(1, sizeof *tuner);
    cl_int code;
    if (tuner == NULL)
        return error_set(why, ENOMEM, "out of memory while starting the search for settings");
    tuner->subject = *subject;
    tuner->exhaustive = exhaustive;
    tuner->queue = clCreateCommandQueue(subject->device->context, subject->device->id,
                                        CL_QUEUE_PROFILING_ENABLE, &code);
    const struct transform_image *image = &subject->image;
    int r = code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateCommandQueue");
    if (r == 0)
        r = make_frame(&tuner->image, tuner, image->stride, why);
    if (r == 0)
        r = make_frame(&tuner->result, tuner,
                       image->kind == SAMPLE_BAYER || image->grey_result ? image->result_stride
                                                                         : image->stride,
                       why);
    if (r < 0) {
        tuner_destroy(tuner);
        return r;
    }
    tuner_start(&tuner->best, subject);
    *ret = tuner;
    return 0;
}

void tuner_destroy(struct tuner *tuner)
{
    if (tuner == NULL)
        return;
    if (tuner->image != NULL)
        clReleaseMemObject(tuner->image);
    if (tuner->result != NULL)
        clReleaseMemObject(tuner->result);
    if (tuner->queue != NULL)
        clReleaseCommandQueue(tuner->queue);
    free(tuner);
}

/* Measures the initial settings. If any technique is allowed, a size that the fused one cannot
 * handle is tried with the staged one. */
static int measure_default(struct tuner *tuner, struct error *why)
{
    struct transform_tuning tuning = tuner->best;
    int r = measure(tuner, &tuning, &tuner->best, &tuner->best_ms, why);
    if (r == -ERANGE && tuner->subject.any_technique) {
        tuning.technique = TRANSFORM_STAGED;
        r = measure(tuner, &tuning, &tuner->best, &tuner->best_ms, why);
    }
    tuner->default_ms = tuner->best_ms;
    return r;
}

/* Whether a time is better than the best one so far. If it seems so, the best settings are measured
 * once more, because the load on the machine may have changed. */
static bool is_better(struct tuner *tuner, double ms)
{
    struct transform_tuning fitted;
    struct error why;
    double again_ms = HUGE_VAL;
    if (ms >= tuner->best_ms * WORTH_WHILE)
        return false;
    if (measure(tuner, &tuner->best, &fitted, &again_ms, &why) == 0 && again_ms < tuner->best_ms)
        tuner->best_ms = again_ms;
    return ms < tuner->best_ms * WORTH_WHILE;
}

int tuner_step(struct tuner *tuner, struct error *why)
{
    struct transform_tuning fitted;
    struct error refusal;
    double ms = 0;
    if (tuner->tried++ == 0) {
        const int r = measure_default(tuner, why);
        if (r < 0)
            return r;
    } else if (measure(tuner, &tuner->values.tuning[tuner->next++], &fitted, &ms, &refusal) == 0 &&
               is_better(tuner, ms)) {
        /* Settings that the device refuses are skipped. */
        tuner->best = fitted;
        tuner->best_ms = ms;
        tuner->improved = true;
    }
    return next_setting(tuner) ? 1 : 0;
}

void tuner_get_progress(const struct tuner *tuner, struct tuner_progress *ret)
{
    const unsigned begun = tuner->tried > 0 ? tuner->tried : 1; /* the initial settings */
    *ret = (struct tuner_progress){.tried = tuner->tried,
                                   .total = begun + count_left(tuner),
                                   .default_ms = tuner->default_ms,
                                   .best_ms = tuner->best_ms};
}

void tuner_get_best(const struct tuner *tuner, struct transform_tuning *ret)
{
    *ret = tuner->best;
}
