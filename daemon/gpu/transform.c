#include "gpu/transform_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/response.h"

/* ---- shape --------------------------------------------------------------------------------- */

/* Elements of local memory for one column or row: SKEWED() in fused.cl. */
static size_t skewed(const struct plan_axis *axis, bool skew)
{
    const uint32_t last = axis->length - 1, unit = axis->radix[axis->stage_count - 1];
    return last + (skew && unit % 2 == 0 ? last / unit : 0) + 1;
}

/* Of a number in local memory, always float: re and im together, or one after the other. */
static size_t work_bytes(const struct transform_tuning *tuning, bool held)
{
    return tuning->lanes * (held ? sizeof(float) : 2 * sizeof(float));
}

static size_t column_local(const struct plan *plan, const struct transform_tuning *tuning)
{
    return skewed(&plan->y, tuning->skew) * tuning->columns *
           work_bytes(tuning, tuning->columns_held);
}

static size_t row_local(const struct plan *plan, const struct transform_tuning *tuning)
{
    return skewed(&plan->x, tuning->skew) * tuning->rows * work_bytes(tuning, tuning->rows_held);
}

size_t transform_stored_bytes(const struct transform *transform)
{
    return transform->tuning.half ? 2 : 4;
}

struct carriage transform_carriage(const struct transform *transform, const struct plan_axis *axis)
{
    const struct plan *plan = &transform->plan;
    const struct transform_tuning *tuning = &transform->tuning;
    if (axis == &plan->x)
        return (struct carriage){.axis = axis,
                                 .along_rows = true,
                                 .group = tuning->row_group,
                                 .lines = tuning->rows,
                                 .held = tuning->rows_held,
                                 .work_bytes = row_local(plan, tuning),
                                 .twiddle = transform->twiddle_x};
    return (struct carriage){.axis = axis,
                             .along_rows = false,
                             .group = tuning->column_group,
                             .lines = tuning->columns,
                             .held = tuning->columns_held,
                             .work_bytes = column_local(plan, tuning),
                             .twiddle = transform->twiddle_y};
}

/* Rows or panels a multiple of 4 KiB apart would share few sets of the cache: those get one step
 * more. Single lanes are accessed a few neighbours at a time: theirs begin where a sector does. */
uint32_t transform_pitch(const struct transform *transform)
{
    const uint32_t lanes = transform->tuning.lanes, step = lanes == 1 ? 8 : 1;
    const uint32_t half = plan_second(&transform->plan)->length / 2;
    const bool panels = transform->plan.order == PLAN_ROWS_FIRST;
    const uint32_t groups = panels ? half * transform->tuning.columns : half / lanes;
    const uint32_t pitch = (groups + step - 1) / step * step;
    return pitch + (pitch * lanes * 2 * transform_stored_bytes(transform) % 4096 == 0 ? step : 0);
}

/* With the spare rows of the staged technique. */
size_t transform_spectrum_size(const struct transform *transform)
{
    const uint32_t length = plan_first(&transform->plan)->length;
    const uint32_t columns = transform->tuning.columns;
    const bool panels = transform->plan.order == PLAN_ROWS_FIRST;
    const size_t rows = panels ? (length + columns - 1) / columns : length + 2;
    return rows * transform_pitch(transform) * transform->tuning.lanes * 2;
}

/* Two stages go in one dispatch from the last one backwards: the radices there are the smallest,
 * and what an item has in the cache between its two stages is their product. */
unsigned transform_passes(struct pass ret[PLAN_MAX_STAGES], const struct plan_axis *axis,
                          const struct transform_tuning *tuning)
{
    const unsigned each = tuning->stages_per_dispatch == 1 ? 1 : 2;
    unsigned count = 0;
    for (unsigned first = 0; first < axis->stage_count; count++) {
        ret[count].first = first;
        ret[count].count = (axis->stage_count - first) % each != 0 ? 1 : each;
        first += ret[count].count;
    }
    return count;
}

void transform_default_tuning(struct transform_tuning *ret, const struct gpu_device *device)
{
    *ret = (struct transform_tuning){
        .technique = TRANSFORM_FUSED, .max_radix = 16, .stages_per_dispatch = 2};
    if (device->type & CL_DEVICE_TYPE_CPU) {
        /* A work-group is a loop on one core: one item that computes in vector registers. */
        ret->lanes = device->vector_width >= 16 ? 16 : device->vector_width >= 8 ? 8 : 4;
        /* A butterfly of 16 is all 32 registers of AVX-512, those of its twiddles not counted. */
        ret->max_radix = 8;
        ret->column_group = ret->row_group = 1;
        ret->columns = ret->rows = 1;
    } else {
        ret->lanes = 1;
        /* Measured best or near it on an H200 from 640x480 to 3840x2160. */
        ret->order = PLAN_ROWS_FIRST;
        ret->column_group = 192;
        ret->row_group = 256;
        if (device->midgard) {
            /* Counted (make mali-counts): no kernel spills, and of those 64 items fit a core. */
            ret->max_radix = 8;
            ret->column_group = ret->row_group = 64;
        }
        ret->columns = 4;
        ret->rows = 1;
        ret->skew = true;
        ret->twiddles = TWIDDLES_COMBINED;
    }
}

struct plan_limits transform_limits(const struct transform_image *image,
                                    const struct transform_border *border,
                                    const struct transform_tuning *tuning)
{
    return (struct plan_limits){.width = image->width,
                                .height = image->height,
                                .margin_x = border->margin_x,
                                .margin_y = border->margin_y,
                                .order = tuning->order,
                                .lanes = tuning->lanes,
                                .max_radix = (uint8_t)tuning->max_radix,
                                .want_x = tuning->length_x,
                                .want_y = tuning->length_y};
}

/* Shrinks what a work-group carries until it fits the device's local memory. */
static int fit_local_memory(struct transform_tuning *tuning, struct plan *ret_plan,
                            const struct gpu_device *device, const struct transform_image *image,
                            const struct transform_border *border, struct error *why)
{
    for (;;) {
        const struct plan_limits limits = transform_limits(image, border, tuning);
        const int r = plan_choose(ret_plan, &limits, why);
        if (r < 0)
            return r;
        if (tuning->technique == TRANSFORM_STAGED)
            return 0;
        const bool columns_fit = column_local(ret_plan, tuning) <= device->local_bytes;
        const bool rows_fit = row_local(ret_plan, tuning) <= device->local_bytes;
        if (columns_fit && rows_fit)
            return 0;
        /* Fewer than four columns are part of a sector of memory, and holding them is better. A
         * panel of two makes one with two rows. */
        const bool rows_first = tuning->order == PLAN_ROWS_FIRST;
        const bool may_hold_columns = tuning->lanes == 1 && !tuning->columns_held;
        const unsigned narrowest = !may_hold_columns ? 1 : rows_first ? 2 : 4;
        if (!columns_fit && tuning->columns > narrowest) {
            tuning->columns /= 2;
            if (rows_first && tuning->columns == 2 && tuning->rows == 1) {
                tuning->rows = 2;
                tuning->row_group *= 2;
            }
        } else if (!columns_fit && may_hold_columns)
            tuning->columns_held = true;
        else if (!rows_fit && tuning->lanes == 1 && !tuning->rows_held)
            tuning->rows_held = true;
        else if (!rows_fit && tuning->rows > 1)
            tuning->rows /= 2;
        else if (tuning->skew)
            tuning->skew = false;
        else if (tuning->lanes > 1)
            tuning->lanes /= 2;
        else
            return error_set(why, ERANGE,
                             "a transform of %ux%u needs %zu bytes of local memory, %s has %llu",
                             ret_plan->x.length, ret_plan->y.length,
                             work_bytes(tuning, true) * (ret_plan->x.length > ret_plan->y.length
                                                             ? ret_plan->x.length
                                                             : ret_plan->y.length),
                             device->name, (unsigned long long)device->local_bytes);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static int make_table(cl_mem *ret, struct transform *transform, const void *data, size_t size,
                      struct error *why)
{
    cl_int code;
    *ret = clCreateBuffer(transform->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size,
                          (void *)data, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateBuffer");
}

static int make_twiddles(cl_mem *ret, struct transform *transform, const struct plan_axis *axis,
                         struct error *why)
{
    const size_t size = 2 * plan_twiddle_count(axis) * sizeof(float);
    float *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "no memory for twiddles");
    plan_twiddles(axis, values);
    const int r = make_table(ret, transform, values, size, why);
    free(values);
    return r;
}

static int make_map(cl_mem *ret, struct transform *transform, uint32_t padded, uint32_t length,
                    enum plan_border mode, struct error *why)
{
    int32_t map[PLAN_MAX_LENGTH];
    plan_border_map(map, padded, length, mode);
    return make_table(ret, transform, map, padded * sizeof map[0], why);
}

/* Where the spectrum holds ku and -ku, and where the half B stays (pack.cl). */
static int make_pairs(cl_mem *ret, struct transform *transform, struct error *why)
{
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    cl_uint table[PLAN_MAX_LENGTH / 2 + 1][4];
    const uint32_t length = plan_first(&transform->plan)->length, count = length / 2 + 1;
    uint32_t spare = length;
    plan_pairs(&transform->plan, pair);
    for (uint32_t k = 0; k < count; k++) {
        table[k][0] = pair[k].place;
        table[k][1] = pair[k].negative;
        table[k][2] = pair[k].negative != pair[k].place ? pair[k].negative : spare++;
        table[k][3] = 0;
    }
    return make_table(ret, transform, table, count * sizeof table[0], why);
}

static int make_buffers(struct transform *transform, const struct transform_border *border,
                        struct error *why)
{
    const struct plan *plan = &transform->plan;
    int r = make_twiddles(&transform->twiddle_x, transform, &plan->x, why);
    if (r == 0)
        r = make_twiddles(&transform->twiddle_y, transform, &plan->y, why);
    if (r == 0)
        r = make_map(&transform->map_x, transform, plan->x.length, plan->width, border->mode, why);
    if (r == 0)
        r = make_map(&transform->map_y, transform, plan->y.length, plan->height, border->mode, why);
    if (r == 0)
        r = make_pairs(&transform->pairs, transform, why);
    return r;
}

/* ---- life ---------------------------------------------------------------------------------- */

static int check_image(const struct transform_image *image, struct error *why)
{
    if (image->count == 0)
        return error_set(why, EINVAL, "no image to transform, expected 1 or more");
    /* They would overwrite each other's results with what was there before. */
    if (image->count > 1 && image->keep_others &&
        image->apart < (uint64_t)image->stride * image->height)
        return error_set(why, EINVAL,
                         "images %u bytes apart share pixels: none can keep what the others make",
                         image->apart);
    return 0;
}

int transform_create(struct transform **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct transform_border *border,
                     const struct transform_tuning *tuning, const char *cache_dir,
                     struct error *warning, struct error *why)
{
    int r = check_image(image, why);
    if (r < 0)
        return r;
    struct transform *transform = calloc(1, sizeof *transform);
    if (transform == NULL)
        return error_set(why, ENOMEM, "no memory for a transform");
    transform->device = device;
    transform->image = *image;
    transform->tuning = *tuning;
    if (tuning->technique == TRANSFORM_STAGED)
        transform->tuning.lanes = 1;
    if (transform->tuning.lanes > 1)
        transform->tuning.columns_held = transform->tuning.rows_held = false;
    if (transform->tuning.lanes > 1 || tuning->technique == TRANSFORM_STAGED)
        transform->tuning.order = PLAN_COLUMNS_FIRST;

    r = fit_local_memory(&transform->tuning, &transform->plan, device, image, border, why);
    if (transform->tuning.column_group > device->max_group)
        transform->tuning.column_group = (unsigned)device->max_group;
    if (transform->tuning.row_group > device->max_group)
        transform->tuning.row_group = (unsigned)device->max_group;
    if (r == 0)
        r = make_buffers(transform, border, why);
    if (r == 0)
        r = transform_build(transform, border, cache_dir, warning, why);
    if (r < 0) {
        transform_destroy(transform);
        return r;
    }
    *ret = transform;
    return 0;
}

void transform_destroy(struct transform *transform)
{
    if (transform == NULL)
        return;
    if (transform->program != NULL)
        clReleaseProgram(transform->program);
    const cl_mem buffers[] = {transform->map_x, transform->map_y, transform->pairs,
                              transform->twiddle_x, transform->twiddle_y};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (buffers[i] != NULL)
            clReleaseMemObject(buffers[i]);
    free(transform);
}

const struct plan *transform_plan(const struct transform *transform)
{
    return &transform->plan;
}

const struct transform_tuning *transform_tuning(const struct transform *transform)
{
    return &transform->tuning;
}

unsigned transform_dispatches(const struct transform *transform)
{
    return transform->dispatch_count;
}

double transform_traffic(const struct transform *transform)
{
    const struct transform_image *image = &transform->image;
    static const unsigned sample_bytes[] = {
        [SAMPLE_U8] = 1, [SAMPLE_U16] = 2, [SAMPLE_RGB8] = 3, [SAMPLE_BAYER] = 1, [SAMPLE_F32] = 4};
    const bool mosaic = image->kind == SAMPLE_BAYER;
    const double samples = (double)image->width * image->height;
    const double plane =
        samples * (image->keep_others || mosaic ? image->step : sample_bytes[image->kind]);
    const double in = mosaic ? plane : image->count * plane;
    const double out = image->count * (mosaic ? samples * (image->keep_others ? 4 : 1) : plane);
    const double spectra = (double)transform->plan.x.length * transform->plan.y.length *
                           (double)transform_stored_bytes(transform) * image->count;
    /* Images in; the spectra out of every dispatch but the last and into the next; the response;
     * what is kept; the results. */
    return in + 2 * (transform->dispatch_count - 1) * spectra +
           (double)transform_response_bytes(transform) + (image->keep_others ? in : 0) + out;
}

/* ---- response ------------------------------------------------------------------------------ */

/* The order in which fused.cl and staged.cl read it. */
static struct response_layout response_layout(const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    return (struct response_layout){.plan = &transform->plan,
                                    .lanes = tuning->order == PLAN_ROWS_FIRST ? tuning->columns
                                                                              : tuning->lanes,
                                    .legs_apart = tuning->lanes == 1};
}

size_t transform_response_bytes(const struct transform *transform)
{
    const struct response_layout layout = response_layout(transform);
    return response_count(&layout) * transform_stored_bytes(transform);
}

/* IEEE 754 binary16, round to nearest even; H is small and finite. */
static uint16_t to_half(float value)
{
    union {
        float f;
        uint32_t u;
    } bits = {.f = fabsf(value)};
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (bits.f >= 65520.f)
        return sign | 0x7c00;
    if (bits.f < 0x1p-14f) /* subnormal: a multiple of 2^-24 */
        return sign | (uint16_t)lrintf(bits.f * 0x1p24f);
    bits.u += 0xfff + (bits.u >> 13 & 1);
    return sign | (uint16_t)((bits.u >> 13) - (112u << 10));
}

int transform_response_fill(const struct transform *transform, void *response,
                            const struct filter_chain *chain, double sub_x, double sub_y,
                            struct error *why)
{
    const struct response_layout layout = response_layout(transform);
    const struct plan *plan = &transform->plan;
    if (!transform->tuning.half) {
        response_fill(response, &layout, chain, sub_x, sub_y,
                      0.5 / plan->x.length / plan->y.length);
        return 0;
    }
    const size_t count = response_count(&layout);
    float *values = malloc(count * sizeof *values);
    if (values == NULL)
        return error_set(why, ENOMEM, "no memory for a filter's response");
    response_fill(values, &layout, chain, sub_x, sub_y, 1);
    uint16_t *half = response;
    for (size_t i = 0; i < count; i++)
        half[i] = to_half(values[i]);
    free(values);
    return 0;
}
