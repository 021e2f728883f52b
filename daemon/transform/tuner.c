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
#define WORTH_WHILE 0.98 /* share of the best time; a smaller gain may be noise */

/* ---- rounds -------------------------------------------------------------------------------- */

static unsigned technique_settings(const struct tuner *tuner)
{
    unsigned count = 0;
    while (tuner->technique->settings[count] != NULL)
        count++;
    return count;
}

/* The settings of a round: those of the technique that was best when it began, and then the
 * techniques. */
static unsigned setting_count(const struct tuner *tuner)
{
    return technique_settings(tuner) + tuner->subject.any_technique;
}

/* Lists the other techniques that can do what the filters need, with the settings that each begins
 * with, or what a technique offers instead. */
static void list_techniques(const struct tuner *tuner, struct tuner_values *ret)
{
    for (unsigned i = 0; i < TRANSFORM_TECHNIQUES; i++) {
        const struct technique *technique = transform_techniques[i];
        struct transform_tuning tuning = tuner->defaults;
        tuning.technique = i;
        if (technique->offer != NULL) {
            technique->offer(tuner, ret);
        } else if (i != tuner->best.technique && technique->cost(&tuner->subject) < HUGE_VAL) {
            if (technique->start != NULL)
                technique->start(&tuning, &tuner->subject);
            tuner_add(ret, &tuning);
        }
    }
}

/* Lists the values of a setting to try, except the best one so far, which has been measured. */
static void list_values(const struct tuner *tuner, unsigned setting, struct tuner_values *ret)
{
    ret->count = 0;
    if (setting < technique_settings(tuner))
        tuner->technique->settings[setting](tuner, ret);
    else
        list_techniques(tuner, ret);
    unsigned kept = 0;
    for (unsigned i = 0; i < ret->count; i++)
        if (!tuner_same(&ret->tuning[i], &tuner->best))
            ret->tuning[kept++] = ret->tuning[i];
    ret->count = kept;
}

/* Returns how many combinations remain in this round if none of them is better. */
static unsigned count_left(const struct tuner *tuner)
{
    struct tuner_values values;
    unsigned left = tuner->values.count - tuner->next;
    for (unsigned i = tuner->setting; i < setting_count(tuner); i++) {
        list_values(tuner, i, &values);
        left += values.count;
    }
    return left;
}

/* Moves to the next setting that has values to try. Returns false if there is none. */
static bool next_setting(struct tuner *tuner)
{
    while (tuner->next == tuner->values.count) {
        if (tuner->setting == setting_count(tuner)) {
            if (!tuner->exhaustive || !tuner->improved || ++tuner->round == MAX_ROUNDS)
                return false;
            tuner->setting = 0;
            tuner->improved = false;
        }
        if (tuner->setting == 0)
            tuner->technique = transform_techniques[tuner->best.technique];
        list_values(tuner, tuner->setting++, &tuner->values);
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

int tuner_time(tuner_time_fn *time_frame, void *context, double *ret_ms, struct error *why)
{
    const int64_t until_ns = clock_now_ns() + MEASURE_NS;
    double best_ms = HUGE_VAL;
    for (unsigned i = 0; i < MAX_FRAMES && (i < 3 || clock_now_ns() < until_ns); i++) {
        double ms;
        const int r = time_frame(context, &ms, why);
        if (r < 0)
            return r;
        if (i > 0 && ms < best_ms) /* the driver may compile during the first frame */
            best_ms = ms;
    }
    *ret_ms = best_ms;
    return 0;
}

/* What is measured. */
struct run {
    cl_command_queue queue;
    struct transform_frame *frame;
    struct transform_buffers buffers;
};

static int time_kernels(void *context, double *ret_ms, struct error *why)
{
    const struct run *run = context;
    cl_event first = NULL, last = NULL;
    const int r =
        transform_frame_enqueue(run->frame, run->queue, &run->buffers, &first, &last, why);
    if (r < 0)
        return r;
    const cl_int code = clFinish(run->queue);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clFinish");
    *ret_ms = kernels_ms(first, last);
    return 0;
}

/* Measures one combination of settings. ret_fitted is the combination that was built, adapted to
 * the device. */
static int measure(const struct tuner *tuner, const struct transform_tuning *tuning,
                   struct transform_tuning *ret_fitted, double *ret_ms, struct error *why)
{
    const struct tuner_subject *subject = &tuner->subject;
    struct transform *transform = NULL;
    struct run run = {.queue = tuner->queue,
                      .buffers = {.image = tuner->image, .result = tuner->result}};
    struct error warning;
    int r = transform_create(&transform, subject->device, &subject->image, &subject->border, tuning,
                             NULL, &warning, why);
    if (r < 0)
        return r;
    r = opencl_make_buffer(&run.buffers.response.numbers, subject->device->context,
                           CL_MEM_READ_ONLY, transform_response_bytes(transform), NULL, why);
    const cl_float zero = 0;
    if (r == 0 &&
        clEnqueueFillBuffer(tuner->queue, run.buffers.response.numbers, &zero, sizeof(cl_short), 0,
                            transform_response_bytes(transform), 0, NULL, NULL) != CL_SUCCESS)
        r = error_set(why, EIO, "cannot clear the buffer of the response");
    if (r == 0)
        r = transform_frame_create(&run.frame, transform, why);
    if (r == 0)
        r = tuner_time(time_kernels, &run, ret_ms, why);
    *ret_fitted = *transform_tuning(transform);
    if (!transform->technique->is_direct) {
        ret_fitted->length_x = transform_plan(transform)->x.length;
        ret_fitted->length_y = transform_plan(transform)->y.length;
    }

    transform_frame_destroy(run.frame);
    opencl_release_buffer(run.buffers.response.numbers);
    transform_destroy(transform);
    return r;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* The cheapest technique that costs more than `than`; TRANSFORM_TECHNIQUES: there is none. */
static unsigned find_cheapest(const struct tuner_subject *subject, double than)
{
    unsigned found = TRANSFORM_TECHNIQUES;
    double least = HUGE_VAL;
    for (unsigned i = 0; i < TRANSFORM_TECHNIQUES; i++) {
        const double cost = transform_techniques[i]->cost(subject);
        if (cost > than && cost < least) {
            found = i;
            least = cost;
        }
    }
    return found;
}

void tuner_start(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    transform_default_tuning(ret, subject->device);
    ret->recipe.precision = subject->precision;
    ret->recipe.reach = subject->reach;
    ret->technique = subject->any_technique ? find_cheapest(subject, 0) : subject->technique;
    if (transform_techniques[ret->technique]->start != NULL)
        transform_techniques[ret->technique]->start(ret, subject);
}

bool tuner_fall_back(struct transform_tuning *tuning, const struct tuner_subject *subject)
{
    const double cost = transform_techniques[tuning->technique]->cost(subject);
    const unsigned next = find_cheapest(subject, cost);
    if (!subject->any_technique || next == TRANSFORM_TECHNIQUES)
        return false;
    tuning->technique = next;
    return true;
}

/* Makes a frame that images of this layout begin in. */
static int make_frame(cl_mem *ret, const struct tuner *tuner, uint32_t offset, uint32_t apart,
                      uint32_t stride, struct error *why)
{
    const struct transform_image *image = &tuner->subject.image;
    const size_t size =
        offset + (size_t)apart * (image->count - 1) + (size_t)stride * image->height;
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
    if (tuner == NULL)
        return error_set(why, ENOMEM, "out of memory while starting the search for settings");
    tuner->subject = *subject;
    tuner->exhaustive = exhaustive;
    const struct transform_image *image = &subject->image;
    int r = opencl_make_queue(&tuner->queue, subject->device, CL_QUEUE_PROFILING_ENABLE, why);
    if (r == 0)
        r = make_frame(&tuner->image, tuner, image->offset, image->apart, image->stride, why);
    if (r == 0 && image->smaller.width > 0)
        r = make_frame(&tuner->result, tuner, image->smaller.offset, image->smaller.apart,
                       image->smaller.stride, why);
    else if (r == 0)
        r = make_frame(&tuner->result, tuner, image->offset, image->apart,
                       image->kind == SAMPLE_BAYER || image->grey_result ? image->result_stride
                                                                         : image->stride,
                       why);
    if (r < 0) {
        tuner_destroy(tuner);
        return r;
    }
    transform_default_tuning(&tuner->defaults, subject->device);
    tuner->defaults.recipe.precision = subject->precision;
    tuner->defaults.recipe.reach = subject->reach;
    tuner_start(&tuner->best, subject);
    tuner->technique = transform_techniques[tuner->best.technique];
    *ret = tuner;
    return 0;
}

void tuner_destroy(struct tuner *tuner)
{
    if (tuner == NULL)
        return;
    opencl_release_buffer(tuner->image);
    opencl_release_buffer(tuner->result);
    if (tuner->queue != NULL)
        clReleaseCommandQueue(tuner->queue);
    free(tuner);
}

/* Measures the initial settings. */
static int measure_default(struct tuner *tuner, struct error *why)
{
    struct transform_tuning tuning = tuner->best;
    int r;
    do
        r = measure(tuner, &tuning, &tuner->best, &tuner->best_ms, why);
    while (r == -ERANGE && tuner_fall_back(&tuning, &tuner->subject));
    tuner->default_ms = tuner->best_ms;
    return r;
}

/* Returns whether a time is better than the best one so far. If it seems so, the best settings are
 * measured once more, because the load on the machine may have changed. */
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
