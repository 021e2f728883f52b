/* A walk along one setting at a time: all values of the first are tried with the best of the others
 * so far, then those of the next. It does not find every optimum, but each step can be told, and a
 * few dozen builds are what a user waits for. The exhaustive one goes round until nothing gets
 * better any more, with more values. */
#include "gpu/tuner.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "gpu/cache.h"
#include "gpu/program.h"
#include "gpu/transform_private.h"

#define CACHE_KIND  "tuning"
#define MAX_VALUES  64
#define MAX_ROUNDS  4
#define MAX_SIZES   6
#define MAX_GROUPS  4
#define LEAST_RADIX 4 /* worth trying where registers are scarce: fewest legs, most items */
#define MAX_FRAMES  20
#define MEASURE_NS  (150 * NS_PER_MS)
#define WORTH_WHILE 0.98 /* of the time so far: less could be chance */

struct values {
    struct transform_tuning tuning[MAX_VALUES];
    unsigned count;
};

struct tuner {
    struct tuner_subject subject;
    bool exhaustive;
    cl_command_queue queue;
    cl_mem image, result;
    struct transform_tuning best;
    double default_ms, best_ms;
    struct values values; /* of the setting that is being varied */
    unsigned setting, next, round;
    unsigned tried;
    bool improved; /* in this round */
};

/* ---- settings as numbers ------------------------------------------------------------------- */

/* What a file holds, in this order, and the range of what is sane there: the file is another
 * program's as far as we know. */
#define FOR_EACH_FIELD(FIELD)                                                                      \
    FIELD(technique, TRANSFORM_FUSED, TRANSFORM_STAGED)                                            \
    FIELD(half, false, true)                                                                       \
    FIELD(lanes, 1, 16)                                                                            \
    FIELD(max_radix, 4, 16)                                                                        \
    FIELD(column_group, 1, 4096)                                                                   \
    FIELD(columns, 1, 64)                                                                          \
    FIELD(row_group, 1, 4096)                                                                      \
    FIELD(rows, 1, 64)                                                                             \
    FIELD(skew, false, true)                                                                       \
    FIELD(columns_held, false, true)                                                               \
    FIELD(rows_held, false, true)                                                                  \
    FIELD(twiddles, TWIDDLES_READ, TWIDDLES_COMPUTED)                                              \
    FIELD(length_x, 0, PLAN_MAX_LENGTH)                                                            \
    FIELD(length_y, 0, PLAN_MAX_LENGTH)                                                            \
    FIELD(stages_per_dispatch, 1, 2)                                                               \
    FIELD(order, PLAN_COLUMNS_FIRST, PLAN_ROWS_FIRST)

#define COUNT(member, smallest, largest) +1
enum { FIELD_COUNT = FOR_EACH_FIELD(COUNT) };
#undef COUNT

static void to_fields(const struct transform_tuning *tuning, uint32_t ret[FIELD_COUNT])
{
#define PUT(member, smallest, largest) *ret++ = (uint32_t)tuning->member;
    FOR_EACH_FIELD(PUT)
#undef PUT
}

static bool are_same(const struct transform_tuning *a, const struct transform_tuning *b)
{
    uint32_t of_a[FIELD_COUNT], of_b[FIELD_COUNT];
    to_fields(a, of_a);
    to_fields(b, of_b);
    return memcmp(of_a, of_b, sizeof of_a) == 0;
}

/* ---- what is tried ------------------------------------------------------------------------- */

static void add(struct values *values, const struct transform_tuning *tuning)
{
    if (values->count < MAX_VALUES)
        values->tuning[values->count++] = *tuning;
}

static void vary_size(const struct tuner *tuner, struct values *ret)
{
    const struct tuner_subject *subject = &tuner->subject;
    struct transform_tuning tuning = tuner->best;
    struct plan plan[MAX_SIZES];
    const struct plan_limits limits = transform_limits(&subject->image, &subject->border, &tuning);
    const unsigned count = plan_rank(plan, tuner->exhaustive ? MAX_SIZES : 4, &limits);
    for (unsigned i = 0; i < count; i++) {
        tuning.length_x = plan[i].x.length;
        tuning.length_y = plan[i].y.length;
        add(ret, &tuning);
    }
}

static void vary_lanes(const struct tuner *tuner, struct values *ret)
{
    if (tuner->best.technique != TRANSFORM_FUSED || tuner->best.lanes == 1)
        return; /* a GPU's items are lanes already */
    for (unsigned lanes = 4; lanes <= 16; lanes *= 2) {
        struct transform_tuning tuning = tuner->best;
        tuning.lanes = lanes;
        add(ret, &tuning);
    }
}

/* Other radices make other sizes cheap; this one's have been looked at. */
static void vary_radix(const struct tuner *tuner, struct values *ret)
{
    const unsigned least = tuner->subject.device->midgard ? LEAST_RADIX : 8;
    struct transform_tuning tuning = tuner->best;
    tuning.length_x = tuning.length_y = 0;
    for (unsigned radix = least; radix <= 16; radix++)
        if (radix != tuner->best.max_radix &&
            (tuner->exhaustive || radix == least || radix == 8 || radix == 10 || radix == 16)) {
            tuning.max_radix = radix;
            add(ret, &tuning);
        }
}

static void vary_order(const struct tuner *tuner, struct values *ret)
{
    struct transform_tuning tuning = tuner->best;
    tuning.order = tuning.order == PLAN_ROWS_FIRST ? PLAN_COLUMNS_FIRST : PLAN_ROWS_FIRST;
    tuning.length_x = tuning.length_y = 0;
    if (tuning.technique == TRANSFORM_FUSED && tuning.lanes == 1)
        add(ret, &tuning);
}

/* Work-items a group may have: on a CPU, one. Returns how many there are. */
static unsigned list_groups(const struct tuner *tuner, unsigned ret[MAX_GROUPS])
{
    if (tuner->best.lanes > 1) {
        ret[0] = 1;
        return 1;
    }
    for (unsigned i = 0; i < MAX_GROUPS; i++)
        ret[i] = 64u << i;
    return MAX_GROUPS;
}

/* Whether stages can keep their numbers in registers: 0, or 0 and 1. */
static unsigned most_held(const struct tuner *tuner)
{
    return tuner->best.lanes == 1 && tuner->best.technique == TRANSFORM_FUSED;
}

static void vary_columns(const struct tuner *tuner, struct values *ret)
{
    const bool one_lane = tuner->best.lanes == 1;
    const unsigned fewest = one_lane ? 2 : 1, most = one_lane ? 16 : 4;
    struct transform_tuning tuning = tuner->best;
    unsigned group[MAX_GROUPS];
    const unsigned group_count = list_groups(tuner, group);
    for (unsigned columns = fewest; columns <= most; columns *= 2)
        for (unsigned held = 0; held <= most_held(tuner); held++)
            for (unsigned i = 0; i < group_count; i++) {
                /* Quickly: large groups for wide strips, small ones for narrow ones. */
                if (!tuner->exhaustive && one_lane && group[i] != 32 * columns &&
                    group[i] != 64 * columns)
                    continue;
                tuning.columns = columns;
                tuning.columns_held = held;
                tuning.column_group = group[i];
                add(ret, &tuning);
            }
}

static void vary_rows(const struct tuner *tuner, struct values *ret)
{
    const bool one_lane = tuner->best.lanes == 1;
    struct transform_tuning tuning = tuner->best;
    unsigned group[MAX_GROUPS];
    const unsigned group_count = list_groups(tuner, group);
    for (unsigned rows = 1; rows <= (tuner->exhaustive ? 4 : 2); rows *= 2)
        for (unsigned held = 0; held <= most_held(tuner); held++)
            for (unsigned i = 0; i < group_count; i++) {
                if (!tuner->exhaustive && one_lane && (group[i] == 512 || rows == 2))
                    continue;
                tuning.rows = rows;
                tuning.rows_held = held;
                tuning.row_group = group[i];
                add(ret, &tuning);
            }
}

static void vary_twiddles(const struct tuner *tuner, struct values *ret)
{
    static const enum transform_twiddles kinds[] = {TWIDDLES_READ, TWIDDLES_COMBINED,
                                                    TWIDDLES_COMPUTED};
    struct transform_tuning tuning = tuner->best;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        tuning.twiddles = kinds[i];
        add(ret, &tuning);
    }
}

static void vary_skew(const struct tuner *tuner, struct values *ret)
{
    struct transform_tuning tuning = tuner->best;
    tuning.skew = !tuning.skew;
    if (tuning.technique == TRANSFORM_FUSED)
        add(ret, &tuning);
}

static void add_staged(struct values *ret, struct transform_tuning tuning)
{
    tuning.technique = TRANSFORM_STAGED;
    for (unsigned stages = 1; stages <= 2; stages++)
        for (unsigned group = 64; group <= 256; group *= 2) {
            tuning.stages_per_dispatch = stages;
            tuning.column_group = tuning.row_group = group;
            add(ret, &tuning);
        }
}

static void vary_technique(const struct tuner *tuner, struct values *ret)
{
    struct transform_tuning tuning = tuner->best;
    /* On a CPU, local memory is as near as any. */
    if (!tuner->subject.any_technique ||
        (gpu_device_is_cpu(tuner->subject.device) && !tuner->exhaustive))
        return;
    add_staged(ret, tuning);
    if (tuner->subject.device->midgard && tuning.max_radix > LEAST_RADIX) {
        tuning.max_radix = LEAST_RADIX;
        tuning.length_x = tuning.length_y = 0;
        add_staged(ret, tuning);
    }
}

typedef void vary_fn(const struct tuner *tuner, struct values *ret);

static vary_fn *const settings[] = {
    vary_lanes, vary_radix,    vary_order, vary_size,      vary_columns,
    vary_rows,  vary_twiddles, vary_skew,  vary_technique,
};
#define SETTING_COUNT (sizeof settings / sizeof settings[0])

/* What there is to try of a setting, but for the best so far, which has been measured. */
static void list_values(const struct tuner *tuner, unsigned setting, struct values *ret)
{
    ret->count = 0;
    settings[setting](tuner, ret);
    unsigned kept = 0;
    for (unsigned i = 0; i < ret->count; i++)
        if (!are_same(&ret->tuning[i], &tuner->best))
            ret->tuning[kept++] = ret->tuning[i];
    ret->count = kept;
}

/* How many there are to try in this round, if nothing better is found. */
static unsigned count_left(const struct tuner *tuner)
{
    struct values values;
    unsigned left = tuner->values.count - tuner->next;
    for (unsigned i = tuner->setting; i < SETTING_COUNT; i++) {
        list_values(tuner, i, &values);
        left += values.count;
    }
    return left;
}

/* Goes on to the next setting of which there is a value to try; false: there is none. */
static bool next_setting(struct tuner *tuner)
{
    while (tuner->next == tuner->values.count) {
        if (tuner->setting == SETTING_COUNT) {
            if (!tuner->exhaustive || !tuner->improved || ++tuner->round == MAX_ROUNDS)
                return false;
            tuner->setting = 0;
            tuner->improved = false;
        }
        list_values(tuner, tuner->setting++, &tuner->values);
        tuner->next = 0;
    }
    return true;
}

/* ---- measuring ----------------------------------------------------------------------------- */

/* From the first kernel's start to the last one's end; releases both events. */
static double kernels_ms(cl_event first, cl_event last)
{
    cl_ulong start = 0, end = 0;
    clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(first);
    clReleaseEvent(last);
    return (double)(end - start) / 1e6;
}

/* The fastest of some frames: what else the machine does only ever adds to a time. */
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
        if (i > 0 && ms < best_ms) /* the first one may have been compiled just now */
            best_ms = ms;
    }
    *ret_ms = best_ms;
    return 0;
}

/* Measures one choice of settings; ret_fitted are those it was built with. */
static int measure(const struct tuner *tuner, const struct transform_tuning *tuning,
                   struct transform_tuning *ret_fitted, double *ret_ms, struct error *why)
{
    const struct tuner_subject *subject = &tuner->subject;
    struct transform *transform = NULL;
    struct transform_frame *frame = NULL;
    struct transform_buffers buffers = {.image = tuner->image, .result = tuner->result};
    struct error warning;
    cl_int code;
    int r = transform_create(&transform, subject->device, &subject->image, &subject->border, tuning,
                             NULL, &warning, why);
    if (r < 0)
        return r;
    buffers.response = clCreateBuffer(subject->device->context, CL_MEM_READ_ONLY,
                                      transform_response_bytes(transform), NULL, &code);
    if (code != CL_SUCCESS)
        r = opencl_fail(why, code, "clCreateBuffer");
    const cl_float zero = 0;
    if (r == 0 &&
        clEnqueueFillBuffer(tuner->queue, buffers.response, &zero, sizeof(cl_short), 0,
                            transform_response_bytes(transform), 0, NULL, NULL) != CL_SUCCESS)
        r = error_set(why, EIO, "the response can not be cleared");
    if (r == 0)
        r = transform_frame_create(&frame, transform, why);
    if (r == 0)
        r = time_frames(tuner, frame, &buffers, ret_ms, why);
    *ret_fitted = *transform_tuning(transform);
    ret_fitted->length_x = transform_plan(transform)->x.length;
    ret_fitted->length_y = transform_plan(transform)->y.length;

    transform_frame_destroy(frame);
    if (buffers.response != NULL)
        clReleaseMemObject(buffers.response);
    transform_destroy(transform);
    return r;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void begin_with(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    transform_default_tuning(ret, subject->device);
    ret->half = subject->half;
    ret->technique = subject->technique;
}

static int make_frame(cl_mem *ret, const struct tuner *tuner, uint32_t stride, struct error *why)
{
    const struct transform_image *image = &tuner->subject.image;
    const size_t size =
        image->offset + (size_t)image->apart * (image->count - 1) + (size_t)stride * image->height;
    const cl_uchar grey = 128;
    cl_int code;
    *ret = clCreateBuffer(tuner->subject.device->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (code == CL_SUCCESS)
        code = clEnqueueFillBuffer(tuner->queue, *ret, &grey, sizeof grey, 0, size, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateBuffer");
}

int tuner_create(struct tuner **ret, const struct tuner_subject *subject, bool exhaustive,
                 struct error *why)
{
    struct tuner *tuner = calloc(1, sizeof *tuner);
    cl_int code;
    if (tuner == NULL)
        return error_set(why, ENOMEM, "no memory for a tuner");
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
                       image->kind == SAMPLE_BAYER ? image->mosaic.result_stride : image->stride,
                       why);
    if (r < 0) {
        tuner_destroy(tuner);
        return r;
    }
    begin_with(&tuner->best, subject);
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

/* Where the technique was left to us, a size that one can not carry is the other's. */
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

/* Whether so many milliseconds are better than the best so far, which is measured once more: other
 * work on the machine may have come and gone since. */
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
        /* What the device refuses is passed over. */
        tuner->best = fitted;
        tuner->best_ms = ms;
        tuner->improved = true;
    }
    return next_setting(tuner) ? 1 : 0;
}

void tuner_get_progress(const struct tuner *tuner, struct tuner_progress *ret)
{
    const unsigned begun = tuner->tried > 0 ? tuner->tried : 1; /* what it begins with, at least */
    *ret = (struct tuner_progress){.tried = tuner->tried,
                                   .total = begun + count_left(tuner),
                                   .default_ms = tuner->default_ms,
                                   .best_ms = tuner->best_ms};
}

void tuner_get_best(const struct tuner *tuner, struct transform_tuning *ret)
{
    *ret = tuner->best;
}

/* ---- keeping ------------------------------------------------------------------------------- */

static uint64_t subject_key(const struct tuner_subject *subject)
{
    const struct transform_image *image = &subject->image;
    const uint64_t sources = program_sources_hash();
    char text[256];
    snprintf(text, sizeof text,
             "%u of %ux%u stride %u step %u kind %d bits %u keep %d colour %u half %d any %d %d",
             image->count, image->width, image->height, image->stride, image->step,
             (int)image->kind, image->bits, image->keep_others, image->mosaic.colour / 3u,
             subject->half, subject->any_technique, (int)subject->technique);
    uint64_t key = cache_hash(CACHE_HASH_START, &sources, sizeof sources);
    key = cache_hash(key, subject->device->identity, strlen(subject->device->identity));
    return cache_hash(key, text, strlen(text));
}

static bool from_fields(const uint32_t fields[FIELD_COUNT], struct transform_tuning *ret)
{
#define RANGE(member, smallest, largest) {smallest, largest},
    static const struct range {
        uint32_t smallest, largest;
    } range[FIELD_COUNT] = {FOR_EACH_FIELD(RANGE)};
#undef RANGE
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if (fields[i] < range[i].smallest || fields[i] > range[i].largest)
            return false;
    struct transform_tuning tuning;
#define TAKE(member, smallest, largest) tuning.member = *fields++;
    FOR_EACH_FIELD(TAKE)
#undef TAKE
    if ((tuning.lanes & (tuning.lanes - 1)) != 0)
        return false;
    *ret = tuning;
    return true;
}

int tuner_keep(const struct tuner *tuner, const char *cache_dir, struct error *why)
{
    uint32_t fields[FIELD_COUNT];
    to_fields(&tuner->best, fields);
    return cache_write(cache_dir, CACHE_KIND, subject_key(&tuner->subject), fields, sizeof fields,
                       why);
}

bool tuner_find(struct transform_tuning *ret, const struct tuner_subject *subject,
                const char *cache_dir, struct error *warning)
{
    const uint64_t key = subject_key(subject);
    size_t size = 0;
    uint32_t *fields = cache_read(cache_dir, CACHE_KIND, key, &size, warning);
    const bool found = fields != NULL && size == FIELD_COUNT * sizeof *fields &&
                       from_fields(fields, ret) && ret->half == subject->half &&
                       (subject->any_technique || ret->technique == subject->technique);
    if (fields != NULL && !found)
        error_set(warning, EINVAL,
                  "%s/%016llx." CACHE_KIND " is ignored: it does not hold settings for this",
                  cache_dir, (unsigned long long)key);
    free(fields);
    return found;
}
