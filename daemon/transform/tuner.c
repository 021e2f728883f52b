/* A coordinate search. It tries all values of one setting with the best values of the others so
 * far, and then continues with the next setting. It can miss the optimum, but it needs only a few
 * dozen builds. The exhaustive search tries more values and repeats the round until nothing
 * improves. The best settings so far stay built, so that each combination is measured by turns with
 * them. */
#include "transform/tuner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/clock.h"
#include "transform/tuner_private.h"

#define MAX_ROUNDS 4
#define MAX_FRAMES 20
#define MEASURE_NS (75 * NS_PER_MS)

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

static int time_kernels(void *context, double *ret_ms, struct error *why)
{
    const struct tuner_built *built = context;
    const struct tuner *tuner = built->tuner;
    const struct transform_buffers buffers = {
        .image = tuner->image, .result = tuner->result, .response.numbers = built->response};
    cl_event first = NULL, last = NULL;
    const int r = transform_frame_enqueue(built->frame, tuner->queue, &buffers, &first, &last, why);
    if (r < 0)
        return r;
    const cl_int code = clFinish(tuner->queue);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clFinish");
    *ret_ms = kernels_ms(first, last);
    return 0;
}

static void release(struct tuner_built *built)
{
    transform_frame_destroy(built->frame);
    opencl_release_buffer(built->response);
    transform_destroy(built->transform);
    *built = (struct tuner_built){0};
}

/* Builds one combination of settings. */
static int build(struct tuner_built *ret, const struct tuner *tuner,
                 const struct transform_tuning *tuning, struct error *why)
{
    const struct tuner_subject *subject = &tuner->subject;
    struct tuner_built built = {.tuner = tuner};
    struct error warning;
    int r = transform_create(&built.transform, subject->device, &subject->image, &subject->border,
                             tuning, NULL, &warning, why);
    if (r < 0)
        return r;
    const size_t bytes = transform_response_bytes(built.transform);
    r = opencl_make_buffer(&built.response, subject->device->context, CL_MEM_READ_ONLY, bytes, NULL,
                           why);
    const cl_float zero = 0;
    if (r == 0 && clEnqueueFillBuffer(tuner->queue, built.response, &zero, sizeof(cl_short), 0,
                                      bytes, 0, NULL, NULL) != CL_SUCCESS)
        r = error_set(why, EIO, "cannot clear the buffer of the response");
    if (r == 0)
        r = transform_frame_create(&built.frame, built.transform, why);
    if (r < 0) {
        release(&built);
        return r;
    }
    built.tuning = *transform_tuning(built.transform);
    if (!built.transform->technique->is_direct) {
        built.tuning.length_x = transform_plan(built.transform)->x.length;
        built.tuning.length_y = transform_plan(built.transform)->y.length;
    }
    *ret = built;
    return 0;
}

/* Measures `built` and the best settings by turns. Returns 1 if `built` is faster, 0 if not, or
 * -errno. */
static int compare(struct tuner *tuner, struct tuner_built *built, struct pair *ret_median,
                   struct error *why)
{
    struct pairs pairs = {.count = 0};
    enum pairs_verdict verdict;
    while ((verdict = pairs_decide(&pairs)) == PAIRS_OPEN) {
        struct tuner_built *const turns[] = {&tuner->built, built};
        double ms[2];
        const unsigned first = pairs_new_is_first(&pairs);
        int r = tuner_time(time_kernels, turns[first], &ms[first], why);
        if (r == 0)
            r = tuner_time(time_kernels, turns[!first], &ms[!first], why);
        if (r < 0)
            return r;
        pairs_add(&pairs, ms[1], ms[0]);
    }
    *ret_median = pairs_median(&pairs);
    return verdict == PAIRS_FASTER;
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
    release(&tuner->built);
    opencl_release_buffer(tuner->image);
    opencl_release_buffer(tuner->result);
    if (tuner->queue != NULL)
        clReleaseCommandQueue(tuner->queue);
    free(tuner);
}

/* Builds and measures the initial settings. */
static int measure_initial(struct tuner *tuner, struct error *why)
{
    struct transform_tuning tuning = tuner->best;
    int r;
    do
        r = build(&tuner->built, tuner, &tuning, why);
    while (r == -ERANGE && tuner_fall_back(&tuning, &tuner->subject));
    if (r == 0)
        r = tuner_time(time_kernels, &tuner->built, &tuner->default_ms, why);
    if (r < 0)
        return r;
    tuner->initial = tuner->best = tuner->built.tuning;
    tuner->best_ms = tuner->default_ms;
    return 0;
}

/* Tries the next combination. One that the device refuses is skipped. */
static void try_next(struct tuner *tuner)
{
    struct tuner_built built;
    struct pair median;
    struct error refusal;
    if (build(&built, tuner, &tuner->values.tuning[tuner->next++], &refusal) < 0)
        return;
    if (compare(tuner, &built, &median, &refusal) == 1) {
        release(&tuner->built);
        tuner->built = built;
        tuner->best = built.tuning;
        tuner->best_ms *= median.new_ms / median.old_ms;
        tuner->improved = true;
    } else {
        release(&built);
    }
}

/* Measures the best settings and the initial ones by turns. The initial ones are kept unless the
 * best are faster again: of many combinations, the one that seemed fastest may only have been
 * lucky. */
static void confirm(struct tuner *tuner)
{
    struct tuner_built best = tuner->built;
    struct pair median;
    struct error refusal;
    tuner->built = (struct tuner_built){0};
    int r = build(&tuner->built, tuner, &tuner->initial, &refusal);
    if (r == 0)
        r = compare(tuner, &best, &median, &refusal);
    release(&best);
    release(&tuner->built);
    if (r <= 0)
        tuner->best = tuner->initial;
    if (r < 0) { /* there may be no memory for both */
        tuner->best_ms = tuner->default_ms;
        return;
    }
    tuner->default_ms = median.old_ms;
    tuner->best_ms = r == 1 ? median.new_ms : median.old_ms;
}

int tuner_step(struct tuner *tuner, struct error *why)
{
    if (tuner->tried > 0 && tuner->next == tuner->values.count) {
        confirm(tuner);
        return 0;
    }
    if (tuner->tried++ > 0) {
        try_next(tuner);
    } else {
        const int r = measure_initial(tuner, why);
        if (r < 0)
            return r;
    }
    if (next_setting(tuner) || !tuner_same(&tuner->best, &tuner->initial))
        return 1;
    release(&tuner->built);
    return 0;
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
