/* The fused technique: three dispatches, each of which carries whole lines in local memory
 * (kernels/transform/fused.cl). It suits all devices but those that have little local memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform/tuner_private.h"

/* The time of a million samples on an H200, and the share of it that remains with the narrowest
 * band. A narrow band gives the middle dispatch so few groups that it lasts as long as one of them,
 * which takes GPU_BAND_US. */
#define GPU_US          11.7
#define GPU_LEAST_SHARE 0.2
#define GPU_BAND_US     7

/* The band of a blur at half the rate is inversely proportional to its radius. This is the band
 * extrapolated to a radius of 1. */
#define BAND_OF_RADIUS  3.2

/* When frames overlap, this technique takes twice as long as one with a single dispatch that is as
 * fast for a frame alone. So the latter is preferred where both are close. */
#define GPU_OVERLAP     1.12

/* Nothing is known of the band of a filter, except that of a wide blur. */
static double cost(const struct tuner_subject *subject)
{
    const uint32_t radius = subject->reach.half_radius;
    const double band = radius > 0 ? BAND_OF_RADIUS / radius : 1;
    if (!tuner_is_gpu(subject->device))
        return 1;
    return GPU_OVERLAP *
           tuner_gpu_cost(
               subject,
               (struct gpu_time){.dispatches = 3,
                                 .latency_us = radius > 0 ? GPU_BAND_US : 0,
                                 .us = GPU_US * (GPU_LEAST_SHARE + (1 - GPU_LEAST_SHARE) * band)});
}

/* ---- the plan ------------------------------------------------------------------------------ */

/* Reduces the lines of a work-group until they fit into the device's local memory. */
static int fit_local_memory(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const struct gpu_device *device = transform->device;
    const struct plan *plan = &transform->plan;
    const size_t local = device->local_bytes;
    for (;;) {
        const int r = transform_choose_plan(transform, why);
        if (r < 0)
            return r;
        const bool columns_fit = transform_line_layout(transform, &plan->y).work_bytes <= local;
        const bool rows_fit = transform_line_layout(transform, &plan->x).work_bytes <= local;
        if (columns_fit && rows_fit)
            return 0;
        /* Fewer than four columns fill only part of a memory sector, so holding columns in
         * registers comes first. A panel of two columns fills a sector with two rows. */
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
            return error_set(
                why, ERANGE,
                "a transform of %ux%u needs %zu bytes of local memory, but %s has %llu",
                plan->x.length, plan->y.length,
                tuning->lanes * sizeof(float) *
                    (plan->x.length > plan->y.length ? plan->x.length : plan->y.length),
                device->name, (unsigned long long)device->local_bytes);
    }
}

/* Reduces the lines of the dispatch in the middle until those of the larger transform fit beside
 * those of a smaller picture (fused_larger.cl). Those along the other axis are shorter than the
 * larger transform's, which fit, and so do those of a result of the same size. */
static int fit_result(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const int r = transform_choose_plan(transform, why);
    if (r < 0 || !transform_is_smaller(transform))
        return r;
    const bool along_rows = plan_second(&transform->plan) == &transform->plan.x;
    unsigned *lines = along_rows ? &tuning->rows : &tuning->columns;
    *(along_rows ? &tuning->rows_held : &tuning->columns_held) = false;
    for (;;) {
        const size_t bytes =
            transform_line_layout(transform, plan_second(&transform->plan)).work_bytes +
            transform_larger_lines(transform).work_bytes;
        if (bytes <= transform->device->local_bytes)
            return 0;
        if (*lines > 1)
            *lines /= 2;
        else if (tuning->skew)
            tuning->skew = false;
        else
            return error_set(why, ERANGE,
                             "a smaller picture of %ux%u needs %zu bytes of local memory, but %s "
                             "has %llu",
                             transform->plan.width, transform->plan.height, bytes,
                             transform->device->name,
                             (unsigned long long)transform->device->local_bytes);
    }
}

static int fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    if (transform->larger != NULL)
        return fit_result(transform, why);
    if (tuning->lanes > 1) {
        tuning->columns_held = tuning->rows_held = false;
        tuning->order = PLAN_COLUMNS_FIRST;
    }
    int r = fit_local_memory(transform, why);
    /* Fewer lanes suit more sides of a smaller picture. */
    while (r == -EINVAL && tuning->lanes > TRANSFORM_LEAST_LANES) {
        tuning->lanes /= 2;
        r = fit_local_memory(transform, why);
    }
    return r;
}

static void lay_out_response(struct response_layout *ret, const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    ret->lanes = tuning->order == PLAN_ROWS_FIRST ? tuning->columns : tuning->lanes;
    ret->legs_apart = tuning->lanes == 1;
}

static size_t spectrum_size(const struct transform *transform)
{
    const uint32_t length = plan_first(&transform->plan)->length;
    const uint32_t columns = transform->tuning.columns;
    const size_t row = (size_t)transform_pitch(transform) * transform->tuning.lanes * 2;
    return (transform->plan.order == PLAN_ROWS_FIRST ? (length + columns - 1) / columns : length) *
           row;
}

static uint64_t twiddle_bytes(const struct plan_axis *axis)
{
    return (uint64_t)plan_twiddle_count(axis) * 2 * sizeof(cl_float);
}

static struct transform_bytes memory(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    const uint64_t tables = transform_crop_bytes(transform) + twiddle_bytes(&plan->x) +
                            twiddle_bytes(&plan->y) +
                            ((uint64_t)plan->x.length + plan->y.length) * sizeof(cl_int) +
                            (uint64_t)plan_pair_count(plan) * 2 * sizeof(cl_uint) +
                            (uint64_t)plan_first(plan)->length * sizeof(cl_ushort);
    const uint64_t numbers =
        spectrum_size(transform) + (transform->is_load ? transform_complete_size(transform) : 0);
    return (struct transform_bytes){.tables = tables,
                                    .frame = transform->image.count * numbers *
                                             transform_stored_bytes(transform),
                                    .making = tables};
}

/* ---- tables -------------------------------------------------------------------------------- */

static int make_twiddles(cl_mem *ret, struct transform *transform, const struct plan_axis *axis,
                         struct error *why)
{
    const size_t size = 2 * plan_twiddle_count(axis) * sizeof(float);
    float *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing twiddle factors");
    plan_twiddles(axis, values);
    const int r = opencl_make_table(ret, transform->device->context, values, size, why);
    free(values);
    return r;
}

static int make_frequencies(struct transform *transform, struct error *why)
{
    const struct plan_axis *axis = plan_first(&transform->plan);
    uint16_t frequency[PLAN_MAX_LENGTH];
    plan_frequencies(axis, frequency);
    return opencl_make_table(&transform->frequencies, transform->device->context, frequency,
                             axis->length * sizeof frequency[0], why);
}

static int make_tables(struct transform *transform, struct error *why)
{
    const struct plan *plan = &transform->plan;
    const enum plan_border mode = transform->border.mode;
    int r = make_twiddles(&transform->twiddle_x, transform, &plan->x, why);
    if (r == 0)
        r = make_twiddles(&transform->twiddle_y, transform, &plan->y, why);
    if (r == 0)
        r = transform_make_map(&transform->map_x, transform, plan->x.length, plan->width, mode,
                               why);
    if (r == 0)
        r = transform_make_map(&transform->map_y, transform, plan->y.length, plan->height, mode,
                               why);
    if (r == 0)
        r = transform_make_pairs(&transform->pairs, transform, plan, why);
    if (r == 0)
        r = make_frequencies(transform, why);
    if (r == 0)
        r = transform_make_crop(transform, why);
    return r;
}

static int make_buffers(cl_mem *ret_spectra, cl_mem *ret_lines, const struct transform *transform,
                        struct error *why)
{
    const size_t all = transform->image.count * transform_stored_bytes(transform);
    const size_t complete_bytes = transform->is_load ? all * transform_complete_size(transform) : 0;
    const int r = opencl_make_buffer(ret_spectra, transform->device->context, CL_MEM_READ_WRITE,
                                     all * spectrum_size(transform), NULL, why);
    return r < 0 || complete_bytes == 0
               ? r
               : opencl_make_buffer(ret_lines, transform->device->context, CL_MEM_READ_WRITE,
                                    complete_bytes, NULL, why);
}

/* ---- dispatches ---------------------------------------------------------------------------- */

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* One dimension of whole groups, and one of images. */
static void add_fused(struct transform *transform, struct dispatch dispatch, size_t group,
                      size_t groups)
{
    dispatch.dimensions = transform->image.count > 1 ? 2 : 1;
    dispatch.local[0] = group;
    dispatch.global[0] = groups * group;
    dispatch.local[1] = 1;
    dispatch.global[1] = transform->image.count;
    transform_add_dispatch(transform, dispatch);
}

/* The dispatch in the middle has the arguments of another one behind those of the transform whose
 * spectrum it reads. */
static struct dispatch middle_of_result(const struct transform *transform,
                                        const struct dispatch *middle)
{
    const struct line_layout lines = transform_larger_lines(transform);
    const struct argument larger[] = {
        ARGUMENT(LARGER), ARGUMENT_OF_TABLE(transform->origins), ARGUMENT_OF_TABLE(lines.twiddle),
        ARGUMENT_OF_TABLE(transform->crop), ARGUMENT_OF_LOCAL(lines.work_bytes)};
    static const struct argument complete[] = {ARGUMENT(COMPLETE), ARGUMENT(COMPLETED)};
    size_t count = transform_is_smaller(transform) ? sizeof larger / sizeof larger[0] : 1;
    struct dispatch ret = *middle;
    memcpy(ret.argument, larger, count * sizeof larger[0]);
    if (transform_completes(transform)) {
        memcpy(ret.argument + count, complete, sizeof complete);
        count += sizeof complete / sizeof complete[0];
    }
    memcpy(ret.argument + count, middle->argument, (MAX_ARGUMENTS - count) * sizeof larger[0]);
    return ret;
}

/* The arguments as fused.cl declares them. */
static void list_dispatches(struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    const struct line_layout u = transform_line_layout(transform, plan_first(plan));
    const struct line_layout v = transform_line_layout(transform, plan_second(plan));
    const size_t lanes = transform->tuning.lanes;
    const size_t lines = v.axis->length / 2, pairs = plan_pair_count(plan);
    const struct dispatch forward = {
        .kernel = "forward",
        .along_rows = u.along_rows,
        .argument = {ARGUMENT(IMAGE), ARGUMENT(SPECTRUM), ARGUMENT_OF_TABLE(transform->map_x),
                     ARGUMENT_OF_TABLE(transform->map_y), ARGUMENT_OF_TABLE(u.twiddle),
                     ARGUMENT_OF_TABLE(transform->frequencies), ARGUMENT(BAND),
                     ARGUMENT_OF_LOCAL(u.work_bytes), ARGUMENT(CORRECTION)},
    };
    const struct dispatch middle = {
        .kernel = "middle",
        .along_rows = v.along_rows,
        .pairs_per_group = v.lines * transform->tuning.lanes,
        .argument = {ARGUMENT(SPECTRUM), ARGUMENT_OF_TABLE(transform->pairs), ARGUMENT(BAND),
                     ARGUMENT(RESPONSE), ARGUMENT_OF_TABLE(v.twiddle),
                     ARGUMENT_OF_LOCAL(v.work_bytes)},
    };
    const struct dispatch inverse = {
        .kernel = "inverse",
        .along_rows = u.along_rows,
        .argument = {ARGUMENT(SPECTRUM),
                     ARGUMENT(IMAGE),
                     {.kind = transform_store_argument(transform)},
                     ARGUMENT_OF_TABLE(u.twiddle),
                     ARGUMENT_OF_TABLE(transform->frequencies),
                     ARGUMENT(BAND),
                     ARGUMENT_OF_LOCAL(u.work_bytes)},
    };
    const struct dispatch complete = {
        .kernel = "complete",
        .along_rows = v.along_rows,
        .pairs_per_group = v.lines * transform->tuning.lanes,
        .completes = true,
        .argument = {ARGUMENT(SPECTRUM), ARGUMENT_OF_TABLE(transform->pairs), ARGUMENT(COMPLETED),
                     ARGUMENT_OF_TABLE(v.twiddle), ARGUMENT(LINES),
                     ARGUMENT_OF_LOCAL(v.work_bytes)},
    };
    if (transform->larger == NULL)
        add_fused(transform, forward, u.group, divide_up(lines, lanes * u.lines));
    if (transform->is_load && transform_completes(transform))
        add_fused(transform, complete, v.group, divide_up(pairs, lanes * v.lines));
    if (transform_only_loads(transform))
        return;
    add_fused(transform, transform->larger != NULL ? middle_of_result(transform, &middle) : middle,
              v.group, divide_up(pairs, lanes * v.lines));
    if (!view_is_spectrum(transform->tuning.recipe.view))
        add_fused(transform, inverse, u.group, divide_up(lines, lanes * u.lines));
    transform_list_view(transform);
}

/* ---- source -------------------------------------------------------------------------------- */

static void put_fused_axis(FILE *out, const char *name, const struct line_layout *layout,
                           const char *file)
{
    for (unsigned i = 0; i < layout->axis->stage_count; i++) {
        transform_put_stage(out, name, layout->axis, i);
        transform_put_constant(out, "PREVIOUS", i > 0 ? i - 1 : 0);
        transform_put_constant(out, "UNIT", layout->axis->radix[layout->axis->stage_count - 1]);
        transform_put_constant(out, "GROUP", layout->group);
        transform_put_constant(out, "LINES", layout->lines);
        transform_put_constant(out, "HELD", layout->held);
        transform_put_constant(out, "ITEMS", line_layout_items(layout, i));
        transform_put_constant(out, "ROUNDS", line_layout_rounds(layout, i));
        transform_put_file(out, "fused_stage.cl");
        transform_put_file(out, file);
    }
}

/* The constants of the larger transform, and its spectrum's. */
static void put_larger(FILE *out, const struct transform *transform)
{
    const struct line_layout lines = transform_larger_lines(transform);
    const struct transform *larger = transform->larger;
    fprintf(out,
            "#define LARGER_LINES %u\n#define LARGER_PITCH %u\n#define LARGER_SIZE %zu\n"
            "#define LARGER_LANES %u\n",
            transform_line_layout(larger, plan_second(&larger->plan)).lines,
            transform_pitch(larger), spectrum_size(larger), larger->tuning.lanes);
    transform_put_axis(out, 'L', &lines);
}

static void put_source(FILE *out, const struct transform *transform)
{
    const struct line_layout u = transform_line_layout(transform, plan_first(&transform->plan));
    const struct line_layout v = transform_line_layout(transform, plan_second(&transform->plan));
    const bool is_smaller = transform_is_smaller(transform);
    const bool completes = transform_completes(transform);
    const bool has_larger = is_smaller || (completes && transform->is_load);
    if (is_smaller)
        put_larger(out, transform);
    else if (has_larger)
        transform_put_axis(out, 'L', &v);
    transform_put_file(out, "fused.cl");
    transform_put_file(out, "transpose.cl");
    transform_put_file(out, "fused_lanes.cl");
    if (completes)
        transform_put_file(out, "fused_complete.cl");
    put_fused_axis(out, "u_", &u, "fused_u.cl");
    if (has_larger) {
        const struct line_layout lines = is_smaller ? transform_larger_lines(transform) : v;
        put_fused_axis(out, "l_", &lines, "fused_larger.cl");
    }
    if (!transform_only_loads(transform))
        put_fused_axis(out, "v_", &v, "fused_v.cl");
    if (completes)
        transform_put_file(out, "fused_weigh.cl");
    transform_put_file(out, "fused_kernels.cl");
}

/* ---- what the tuner tries ------------------------------------------------------------------ */

static void vary_order(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    tuning.order = tuning.order == PLAN_ROWS_FIRST ? PLAN_COLUMNS_FIRST : PLAN_ROWS_FIRST;
    tuning.length_x = tuning.length_y = 0;
    if (tuning.lanes == 1)
        tuner_add(ret, &tuning);
}

/* With one lane stages can keep their numbers in registers. */
static void vary_columns(const struct tuner *tuner, struct tuner_values *ret)
{
    const bool one_lane = tuner->best.lanes == 1;
    const unsigned fewest = one_lane ? 2 : 1, most = one_lane ? 16 : 4;
    struct transform_tuning tuning = tuner->best;
    unsigned group[TUNER_MAX_GROUPS];
    const unsigned group_count = tuner_list_groups(tuner, group);
    for (unsigned columns = fewest; columns <= most; columns *= 2)
        for (unsigned held = 0; held <= (one_lane ? 1U : 0U); held++)
            for (unsigned i = 0; i < group_count; i++) {
                /* The quick search uses large groups only for many columns and small ones only for
                 * few. */
                if (!tuner->exhaustive && one_lane && group[i] != 32 * columns &&
                    group[i] != 64 * columns)
                    continue;
                tuning.columns = columns;
                tuning.columns_held = held;
                tuning.column_group = group[i];
                tuner_add(ret, &tuning);
            }
}

static void vary_rows(const struct tuner *tuner, struct tuner_values *ret)
{
    const bool one_lane = tuner->best.lanes == 1;
    struct transform_tuning tuning = tuner->best;
    unsigned group[TUNER_MAX_GROUPS];
    const unsigned group_count = tuner_list_groups(tuner, group);
    const unsigned most = tuner->exhaustive ? 4 : 2;
    for (unsigned rows = 1; rows <= most; rows *= 2)
        for (unsigned held = 0; held <= (one_lane ? 1U : 0U); held++)
            for (unsigned i = 0; i < group_count; i++) {
                if (!tuner->exhaustive && one_lane && (group[i] == 512 || rows == 2))
                    continue;
                tuning.rows = rows;
                tuning.rows_held = held;
                tuning.row_group = group[i];
                tuner_add(ret, &tuning);
            }
}

static void vary_twiddles(const struct tuner *tuner, struct tuner_values *ret)
{
    static const enum transform_twiddles kinds[] = {TWIDDLES_READ, TWIDDLES_COMBINED,
                                                    TWIDDLES_COMPUTED};
    struct transform_tuning tuning = tuner->best;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        tuning.twiddles = kinds[i];
        tuner_add(ret, &tuning);
    }
}

static void vary_skew(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    tuning.skew = !tuning.skew;
    tuner_add(ret, &tuning);
}

static vary_fn *const settings[] = {tuner_vary_lanes, tuner_vary_radix, vary_order,
                                    tuner_vary_size,  vary_columns,     vary_rows,
                                    vary_twiddles,    vary_skew,        NULL};

const struct technique technique_fused = {.name = "fused",
                                          .complex_file = "planar.cl",
                                          .makes_smaller = true,
                                          .cost = cost,
                                          .fit = fit,
                                          .lay_out_response = lay_out_response,
                                          .spectrum_size = spectrum_size,
                                          .memory = memory,
                                          .make_tables = make_tables,
                                          .make_buffers = make_buffers,
                                          .list_dispatches = list_dispatches,
                                          .put_source = put_source,
                                          .settings = settings};
