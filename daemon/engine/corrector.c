#include "engine/corrector.h"

#include <complex.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_private.h"
#include "transform/transform_private.h"

#define TWO_PI     6.28318530717958647693
/* Places in the buffer (correct.cl). */
#define TOP_AT     1
#define LOW_AT     2
#define HIGH_AT    3
#define COLUMNS_AT 4
#define ROWS_AT    5
#define ACROSS_AT  6
#define DOWN_AT    7
#define GAIN_AT    16

/* With a constant border one wave more keeps the gain away from the constant (put_constant). */
#define MAX_TABLES (CORRECTION_MAX_WAVES + 1)

/* An axis of the padded image. */
struct axis {
    uint32_t length, padded;
    int32_t *map;    /* plan_border_map */
    size_t table_at; /* where its factors begin among those of a wave, in floats */
};

struct corrector {
    cl_command_queue queue;
    cl_mem device, pinned;
    float *at; /* the pinned memory, which a discrete GPU reads without a copy by its driver */
    struct axis x, y;
    bool border_is_constant;
    double border_value;
    bool loads_samples; /* as they were captured, at limits that are known */
    size_t waves_at, wave_floats;
    bool is_none; /* the device's buffer has no correction */
};

/* Finds where the tables of the corrector are. */
static void lay_out(struct corrector *corrector, const struct plan *plan)
{
    corrector->x.padded = plan->x.length;
    corrector->y.padded = plan->y.length;
    corrector->waves_at = GAIN_AT + corrector->y.padded;
    corrector->wave_floats = 2 * ((size_t)corrector->x.padded + corrector->y.padded);
}

static size_t buffer_bytes(const struct corrector *corrector, unsigned tables)
{
    return (corrector->waves_at + tables * corrector->wave_floats) * sizeof(float);
}

static int make_map(struct axis *axis, uint32_t length, enum plan_border mode)
{
    axis->length = length;
    axis->map = malloc(axis->padded * sizeof *axis->map);
    if (axis->map == NULL)
        return -ENOMEM;
    plan_border_map(axis->map, axis->padded, length, mode);
    return 0;
}

static int make_buffers(struct corrector *corrector, cl_context context, struct error *why)
{
    const size_t bytes = buffer_bytes(corrector, MAX_TABLES);
    void *at = NULL;
    int r = opencl_make_buffer(&corrector->device, context, CL_MEM_READ_ONLY, bytes, NULL, why);
    if (r == 0)
        r = opencl_make_pinned(&corrector->pinned, &at, context, corrector->queue, CL_MAP_WRITE,
                               bytes, why);
    corrector->at = at;
    return r;
}

int corrector_create(struct corrector **ret, const struct transform *transform,
                     cl_command_queue queue, struct error *why)
{
    const struct plan *plan = &transform->plan;
    const enum plan_border mode = transform->border.mode;
    struct corrector *corrector = calloc(1, sizeof *corrector);
    if (corrector == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a correction");
    corrector->queue = queue;
    corrector->border_is_constant = mode == PLAN_CONSTANT;
    corrector->border_value = (float)transform->border.value;
    corrector->loads_samples =
        !transform->tuning.recipe.calibrated && !transform->tuning.recipe.warped;
    int r = 0;
    lay_out(corrector, plan);
    if (make_map(&corrector->x, plan->width, mode) < 0 ||
        make_map(&corrector->y, plan->height, mode) < 0)
        r = error_set(why, ENOMEM, "out of memory while creating a correction");
    struct axis *second = plan_first(plan) == &plan->x ? &corrector->y : &corrector->x;
    second->table_at = 2 * (size_t)plan_first(plan)->length;
    if (r == 0)
        r = make_buffers(corrector, transform->device->context, why);
    if (r < 0) {
        corrector_destroy(corrector);
        return r;
    }
    *ret = corrector;
    return 0;
}

void corrector_destroy(struct corrector *corrector)
{
    if (corrector == NULL)
        return;
    if (corrector->at != NULL) {
        clEnqueueUnmapMemObject(corrector->queue, corrector->pinned, corrector->at, 0, NULL, NULL);
        clFinish(corrector->queue);
    }
    opencl_release_buffer(corrector->pinned);
    opencl_release_buffer(corrector->device);
    free(corrector->x.map);
    free(corrector->y.map);
    free(corrector);
}

/* Repeats the factors of the image's places in its border, where a constant has none. */
static void extend(float *factor, const struct axis *axis, float constant)
{
    for (uint32_t i = axis->length; i < axis->padded; i++)
        factor[i] = axis->map[i] >= 0 ? factor[axis->map[i]] : constant;
}

/* Fills in amplitude * exp(2 pi i f n) for each place n of an axis. Multiplying by one step is much
 * faster than a sine for each place. Its rounding errors add up to 1e-12 for the longest axes. */
static void put_factors(float *re, const struct axis *axis, double f, double complex amplitude)
{
    const double complex step = cexp(TWO_PI * I * f);
    const double step_re = creal(step), step_im = cimag(step);
    double z_re = creal(amplitude), z_im = cimag(amplitude);
    float *im = re + axis->padded;
    for (uint32_t i = 0; i < axis->length; i++) {
        re[i] = (float)z_re;
        im[i] = (float)z_im;
        const double next = z_re * step_re - z_im * step_im;
        z_im = z_re * step_im + z_im * step_re;
        z_re = next;
    }
    extend(re, axis, 0);
    extend(im, axis, 0);
}

static void put_wave(const struct corrector *corrector, float *table, const struct wave *wave,
                     const float *gain)
{
    const struct axis *y = &corrector->y;
    float *re = table + y->table_at;
    put_factors(table + corrector->x.table_at, &corrector->x, wave->fx, 1);
    put_factors(re, y, wave->fy, wave->re + wave->im * I);
    for (uint32_t i = 0; i < y->padded; i++) {
        re[i] *= gain[i];
        re[y->padded + i] *= gain[i];
    }
}

/* Kernels multiply whole rows by their gain, also where a constant is beside the image. This "wave"
 * subtracts what that adds to the constant. */
static void put_constant(const struct corrector *corrector, float *table, const float *gain)
{
    const struct axis *x = &corrector->x, *y = &corrector->y;
    float *along_x = table + x->table_at, *along_y = table + y->table_at;
    for (uint32_t i = 0; i < x->padded; i++) {
        along_x[i] = i >= x->length;
        along_x[x->padded + i] = 0;
    }
    for (uint32_t i = 0; i < y->padded; i++) {
        along_y[i] = (float)(corrector->border_value * ((double)gain[i] - 1));
        along_y[y->padded + i] = 0;
    }
}

static void put_gain(float *gain, const struct axis *y, const float *row_gain)
{
    for (uint32_t i = 0; i < y->length; i++)
        gain[i] = row_gain != NULL ? row_gain[i] : 1;
    extend(gain, y, 1);
}

/* Returns whether loaded samples keep to the limits of the correction. A constant border may be
 * beyond them, and with gains it would be. */
static bool has_limits(const struct corrector *corrector, const struct correction *correction)
{
    const double value = corrector->border_value;
    return corrector->loads_samples &&
           (!corrector->border_is_constant ||
            (correction->row_gain == NULL && value >= 0 && value <= correction->top));
}

/* Fills in the pinned memory and returns the number of waves. */
static unsigned fill(const struct corrector *corrector, const struct correction *correction)
{
    float *gain = corrector->at + GAIN_AT, *table = corrector->at + corrector->waves_at;
    unsigned tables = 0;
    put_gain(gain, &corrector->y, correction->row_gain);
    for (; tables < correction->wave_count; tables++, table += corrector->wave_floats)
        put_wave(corrector, table, &correction->wave[tables], gain);
    if (corrector->border_is_constant && correction->row_gain != NULL) {
        put_constant(corrector, table, gain);
        tables++;
    }
    corrector->at[0] = (float)tables;
    corrector->at[TOP_AT] = has_limits(corrector, correction) ? (float)correction->top : 0;
    corrector->at[LOW_AT] = (float)correction->share_low;
    corrector->at[HIGH_AT] = (float)correction->share_high;
    corrector->at[COLUMNS_AT] = (float)corrector->x.padded;
    corrector->at[ROWS_AT] = (float)corrector->y.padded;
    corrector->at[ACROSS_AT] = (float)corrector->x.table_at;
    corrector->at[DOWN_AT] = (float)corrector->y.table_at;
    return tables;
}

int corrector_check(const struct correction *correction, bool corrections, struct error *why)
{
    if (correction == NULL)
        return 0;
    if (!corrections)
        return error_set(why, EINVAL,
                         "a frame has a correction: expected an engine with corrections");
    if (correction->wave_count > CORRECTION_MAX_WAVES)
        return error_set(why, EINVAL, "a correction of %u waves: expected at most %d",
                         correction->wave_count, CORRECTION_MAX_WAVES);
    return 0;
}

int corrector_set(struct corrector *corrector, const struct correction *correction, cl_mem *ret,
                  struct error *why)
{
    static const struct correction none = {.wave_count = 0};
    const bool is_none = correction == NULL;
    *ret = corrector->device;
    if (is_none && corrector->is_none)
        return 0;
    corrector->is_none = false;
    const unsigned tables = fill(corrector, is_none ? &none : correction);
    const int r = opencl_write(corrector->queue, corrector->device, corrector->at,
                               buffer_bytes(corrector, tables), why);
    if (r < 0)
        return r;
    corrector->is_none = is_none;
    return 0;
}

/* ---- the step ---- */

static bool applies(const struct recipe *recipe)
{
    return recipe->corrections;
}

static int create_frame(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why)
{
    struct corrector *corrector = NULL;
    (void)part;
    const int r = corrector_create(&corrector, component_transform(component), queue, why);
    *ret_frame = corrector;
    return r;
}

static void destroy_frame(void *frame)
{
    corrector_destroy(frame);
}

static int enqueue(struct step_run *run, struct error *why)
{
    return corrector_set(run->frame, run->slot->job.correction, &run->buffers->correction, why);
}

static struct step_memory memory(const struct component *component)
{
    struct corrector corrector = {.is_none = true};
    lay_out(&corrector, transform_plan(component_transform(component)));
    const uint64_t bytes = buffer_bytes(&corrector, MAX_TABLES);
    const uint64_t lengths = (uint64_t)corrector.x.padded + corrector.y.padded;
    return (struct step_memory){
        .frame = {.device = bytes, .pinned = bytes, .host = lengths * sizeof corrector.x.map[0]}};
}

const struct step step_correct = {.name = "correct",
                                  .applies = applies,
                                  .create_frame = create_frame,
                                  .destroy_frame = destroy_frame,
                                  .enqueue = enqueue,
                                  .memory = memory};
