/* The staged technique: a dispatch for each stage or for a few of them
 * (kernels/transform/staged.cl). It has no length limit but the planner's, and suits GPUs whose
 * local memory is main memory. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transform/tuner_private.h"

/* In the table of `make mali-counts` it takes 0.5 to 0.6 of the time of the fastest fused one at
 * 640x480 and 1280x720, in float and in half precision. At 1920x1080 the fused kernels spill
 * hundreds of times (docs/PERFORMANCE.md). Elsewhere it moves several times the bytes. */
static double cost(const struct tuner_subject *subject)
{
    return subject->device->midgard ? 0.6 : 2 * technique_fused.cost(subject);
}

/* ---- layout -------------------------------------------------------------------------------- */

/* So that groups divide the lines, which are accessed in pairs, and begin at whole lines of cache.
 */
#define LINES_STEP      16
#define TABLE_STEP      16 /* bytes: the largest vector in a table */
#define IMAGE_ALIGNMENT 64 /* bytes */

/* Reserves bytes at the end of a buffer and returns where they begin. */
static size_t reserve(size_t *end, size_t bytes)
{
    const size_t at = (*end + TABLE_STEP - 1) / TABLE_STEP * TABLE_STEP;
    *end = at + bytes;
    return at;
}

static size_t whole_images(size_t bytes)
{
    return (bytes + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
}

struct staged_layout transform_staged_layout(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    const size_t number = 2 * transform_stored_bytes(transform);
    const uint32_t pairs = plan_pair_count(plan);
    struct staged_layout ret = {.lines = (pairs + LINES_STEP - 1) / LINES_STEP * LINES_STEP};
    const size_t rows =
        plan->y.length + ret.lines - pairs; /* with a spare one for each line beyond */
    size_t spectrum = rows * transform_pitch(transform) * 2 * number;
    size_t lines = (size_t)plan->x.length * ret.lines * number;
    ret.spectrum_twiddles = reserve(&spectrum, plan_twiddle_count(&plan->y) * 2 * sizeof(float));
    ret.map_x = reserve(&spectrum, plan->x.length * sizeof(int32_t));
    ret.map_y = reserve(&spectrum, plan->y.length * sizeof(int32_t));
    ret.frequencies = reserve(&spectrum, plan->y.length * sizeof(uint16_t));
    ret.zeros = reserve(&spectrum, 2 * number);
    ret.lines_twiddles = reserve(&lines, plan_twiddle_count(&plan->x) * 2 * sizeof(float));
    ret.pairs = reserve(&lines, ret.lines * 2 * sizeof(uint32_t));
    ret.spectrum_bytes = whole_images(spectrum);
    ret.lines_bytes = whole_images(lines);
    return ret;
}

static unsigned pass_legs(const struct plan_axis *axis, const struct pass *pass)
{
    unsigned legs = 1;
    for (unsigned i = pass->first; i < pass->first + pass->count; i++)
        legs *= axis->radix[i];
    return legs;
}

unsigned transform_least_radix(const struct plan_axis *axis, const struct pass *pass)
{
    unsigned least = axis->radix[pass->first];
    for (unsigned i = pass->first; i < pass->first + pass->count; i++)
        if (axis->radix[i] < least)
            least = axis->radix[i];
    return least;
}

/* Items of a group for each pair of lines: the butterflies of the stage that has most of them. */
static unsigned pass_items(const struct plan_axis *axis, const struct pass *pass)
{
    return pass->count == 1 ? 1 : pass_legs(axis, pass) / transform_least_radix(axis, pass);
}

/* The middle pass computes its stages forward and inverse. A third stage raised its kernel from 78
 * to 118 words of arithmetic on a Mali-T760. */
#define MAX_MIDDLE_STAGES 2

/* The pairs of lines that a group should span: 8 numbers of 16 bytes in float. Half of that, 64
 * bytes, is a cache line. */
#define GROUP_WIDTH       8

/* Spreads the stages over as few passes of at most `most` stages as possible; the earlier ones have
 * one more if they are not all alike. Returns 0 if a pass needs more items than a group has. */
static unsigned spread(struct pass ret[PLAN_MAX_STAGES], const struct plan_axis *axis,
                       bool has_middle, unsigned most, unsigned group)
{
    const unsigned stages = axis->stage_count;
    const unsigned most_last = has_middle && most > MAX_MIDDLE_STAGES ? MAX_MIDDLE_STAGES : most;
    const unsigned count = stages <= most_last ? 1 : (stages - most_last + most - 1) / most + 1;
    unsigned first = 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned passes_left = count - i, stages_left = stages - first;
        ret[i].first = first;
        ret[i].count = (stages_left + passes_left - 1) / passes_left;
        if (passes_left == 2 && stages_left - ret[i].count > most_last)
            ret[i].count = stages_left - most_last;
        first += ret[i].count;
        if (ret[i].count > 1 && pass_items(axis, &ret[i]) * (GROUP_WIDTH / 2) > group)
            return 0;
    }
    return count;
}

unsigned transform_passes(struct pass ret[PLAN_MAX_STAGES], const struct transform *transform,
                          const struct plan_axis *axis)
{
    const bool has_middle = axis == plan_second(&transform->plan);
    unsigned count = 0;
    for (unsigned most = transform->tuning.stages_per_dispatch; count == 0; most--)
        count = spread(ret, axis, has_middle, most, transform_line_layout(transform, axis).group);
    return count;
}

static size_t largest_divisor(size_t number, size_t limit)
{
    size_t divisor = number < limit ? number : limit;
    while (number % divisor != 0)
        divisor--;
    return divisor;
}

struct staged_range transform_staged_range(const struct transform *transform,
                                           const struct plan_axis *axis, const struct pass *pass)
{
    const bool along_v = axis == plan_second(&transform->plan);
    const size_t group = transform_line_layout(transform, axis).group,
                 items = pass_items(axis, pass);
    const size_t across = along_v ? transform_staged_layout(transform).lines / 2
                                  : plan_second(&transform->plan)->length / 4;
    const uint32_t span = plan_span(axis, pass->first + pass->count - 1);
    const size_t blocks = (size_t)axis->length / span / pass_legs(axis, pass);
    const bool moves_lines = along_v && pass->first == 0;
    struct staged_range range = {.global = {across, span, blocks * transform->image.count},
                                 .local = {1, 1, 1}};
    if (pass->count > 1) {
        range.local[0] = largest_divisor(across, group / items);
        range.local[1] = items;
        range.global[1] *= items;
        if (moves_lines) { /* neighbouring groups are neighbouring places */
            range.global[0] = range.local[0] * span;
            range.global[1] = across / range.local[0] * items;
            range.lines = 1;
        }
        return range;
    }
    /* Lines are written along the first dimension and read along the second one. */
    range.local[0] =
        largest_divisor(across, moves_lines && group > GROUP_WIDTH ? GROUP_WIDTH : group);
    if (moves_lines || range.local[0] <= group / 4)
        range.local[1] = largest_divisor(span, group / range.local[0]);
    return range;
}

#define STAGED_GROUP 64

static unsigned at_least(unsigned value, unsigned least)
{
    return value < least ? least : value;
}

/* Groups of one item, which suit `fused` on a CPU, could not share stages. */
static int fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    tuning->lanes = 2;
    tuning->column_group = at_least(tuning->column_group, STAGED_GROUP);
    tuning->row_group = at_least(tuning->row_group, STAGED_GROUP);
    tuning->columns_held = tuning->rows_held = false;
    tuning->order = PLAN_COLUMNS_FIRST;
    return transform_choose_plan(transform, why);
}

static void lay_out_response(struct response_layout *ret, const struct transform *transform)
{
    ret->lanes = transform_staged_layout(transform).lines;
}

static size_t spectrum_size(const struct transform *transform)
{
    return transform_staged_layout(transform).spectrum_bytes / transform_stored_bytes(transform);
}

/* ---- buffers ------------------------------------------------------------------------------- */

/* Fills in the tables at the ends of one image's buffers. The buffers have been cleared, because
 * one of the tables is zeros. */
static void fill_tables(const struct transform *transform, void *spectrum, void *lines)
{
    const struct staged_layout layout = transform_staged_layout(transform);
    const struct plan *plan = &transform->plan;
    const enum plan_border mode = transform->border.mode;
    const uint32_t count = plan_pair_count(plan);
    const uint32_t row =
        transform_pitch(transform) * 4 * (uint32_t)transform_stored_bytes(transform);
    const uint32_t spare = plan->y.length; /* the first spare row */
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    uint32_t *place = (void *)((char *)lines + layout.pairs);
    plan_twiddles(&plan->y, (void *)((char *)spectrum + layout.spectrum_twiddles));
    plan_border_map((void *)((char *)spectrum + layout.map_x), plan->x.length, plan->width, mode);
    plan_border_map((void *)((char *)spectrum + layout.map_y), plan->y.length, plan->height, mode);
    plan_frequencies(&plan->y, (void *)((char *)spectrum + layout.frequencies));
    plan_twiddles(&plan->x, (void *)((char *)lines + layout.lines_twiddles));
    plan_pairs(plan, pair);
    for (uint32_t k = 0; k < layout.lines; k++) {
        *place++ = (k < count ? pair[k].place : spare + k - count) * row;
        *place++ = (k < count ? pair[k].negative : spare + k - count) * row;
    }
}

static int make_buffer(cl_mem *ret, const struct transform *transform, size_t bytes, void *contents,
                       struct error *why)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (contents != NULL ? CL_MEM_COPY_HOST_PTR : 0);
    return opencl_make_buffer(ret, transform->device->context, flags, bytes, contents, why);
}

/* The buffers of a frame are filled in memory of the host. */
static struct transform_bytes memory(const struct transform *transform)
{
    const struct staged_layout layout = transform_staged_layout(transform);
    const uint64_t bytes = (uint64_t)transform->image.count * layout.spectrum_bytes +
                           (uint64_t)transform->image.count * layout.lines_bytes;
    return (struct transform_bytes){.frame = bytes, .making = bytes};
}

/* Zeros, with the tables at the end of each image's part. */
static int make_buffers(cl_mem *ret_spectra, cl_mem *ret_lines, const struct transform *transform,
                        struct error *why)
{
    const struct staged_layout layout = transform_staged_layout(transform);
    const unsigned count = transform->image.count;
    char *spectra = calloc(count, layout.spectrum_bytes);
    char *lines = calloc(count, layout.lines_bytes);
    int r = spectra != NULL && lines != NULL
                ? 0
                : error_set(why, ENOMEM, "out of memory while creating a frame");
    for (unsigned i = 0; r == 0 && i < count; i++)
        fill_tables(transform, spectra + i * layout.spectrum_bytes, lines + i * layout.lines_bytes);
    if (r == 0)
        r = make_buffer(ret_spectra, transform, count * layout.spectrum_bytes, spectra, why);
    if (r == 0)
        r = make_buffer(ret_lines, transform, count * layout.lines_bytes, lines, why);
    free(spectra);
    free(lines);
    return r;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

/* The arguments as staged_dispatch.cl declares them. */
static void add_pass(struct transform *transform, const char *direction,
                     const struct plan_axis *axis, const struct pass *pass)
{
    const bool along_rows = axis == &transform->plan.x;
    const struct staged_range range = transform_staged_range(transform, axis, pass);
    struct dispatch dispatch = {.dimensions = 3,
                                .along_rows = along_rows,
                                .pairs_per_group = along_rows ? 2 * (unsigned)range.local[0] : 0,
                                .band_dimension = range.lines,
                                .argument = {ARGUMENT(SPECTRUM),
                                             ARGUMENT(LINES),
                                             ARGUMENT(RESPONSE),
                                             ARGUMENT(BAND),
                                             ARGUMENT(IMAGE),
                                             {.kind = transform_store_argument(transform)},
                                             ARGUMENT(CORRECTION)}};
    memcpy(dispatch.global, range.global, sizeof dispatch.global);
    memcpy(dispatch.local, range.local, sizeof dispatch.local);
    if (direction == NULL)
        snprintf(dispatch.kernel, sizeof dispatch.kernel, "rows_middle");
    else
        snprintf(dispatch.kernel, sizeof dispatch.kernel, "%s_%s_%u",
                 along_rows ? "rows" : "columns", direction, pass->first);
    transform_add_dispatch(transform, dispatch);
}

static void list_dispatches(struct transform *transform)
{
    const struct plan_axis *x = &transform->plan.x, *y = &transform->plan.y;
    struct pass rows[PLAN_MAX_STAGES], columns[PLAN_MAX_STAGES];
    const unsigned column_count = transform_passes(columns, transform, y);
    const unsigned last = transform_passes(rows, transform, x) - 1;
    for (unsigned i = 0; i < column_count; i++)
        add_pass(transform, "forward", y, &columns[i]);
    for (unsigned i = 0; i < last; i++)
        add_pass(transform, "forward", x, &rows[i]);
    add_pass(transform, NULL, x, &rows[last]);
    const bool goes_back = !view_is_spectrum(transform->tuning.recipe.view);
    for (unsigned i = last; goes_back && i-- > 0;)
        add_pass(transform, "inverse", x, &rows[i]);
    for (unsigned i = column_count; goes_back && i-- > 0;)
        add_pass(transform, "inverse", y, &columns[i]);
    transform_list_view(transform);
}

/* ---- source -------------------------------------------------------------------------------- */

static void put_staged_axis(FILE *out, const struct transform *transform,
                            const struct plan_axis *axis)
{
    const bool along_v = axis == plan_second(&transform->plan);
    const char *name = along_v ? "v_" : "u_";
    struct pass pass[PLAN_MAX_STAGES];
    const unsigned count = transform_passes(pass, transform, axis);
    fprintf(out, "#undef KERNEL_AXIS\n#define KERNEL_AXIS %s\n", along_v ? "rows_" : "columns_");
    transform_put_constant(out, "ALONG_V", along_v);
    for (unsigned i = 0; i < axis->stage_count; i++) {
        transform_put_stage(out, name, axis, i);
        transform_put_file(out, "staged_stage.cl");
    }
    for (unsigned i = 0; i < count; i++) {
        const struct staged_range range = transform_staged_range(transform, axis, &pass[i]);
        const unsigned last = pass[i].first + pass[i].count - 1;
        const char *const radix_names[] = {"RADIX_1", "RADIX_2", "RADIX_3"};
        fprintf(out, "#line 1 \"dispatch %u\"\n", i);
        transform_put_constant(out, "FIRST", pass[i].first);
        transform_put_constant(out, "SECOND", pass[i].first + 1);
        transform_put_constant(out, "THIRD", pass[i].first + 2);
        transform_put_constant(out, "COUNT", pass[i].count);
        for (unsigned k = 0; k < MAX_PASS_STAGES; k++)
            transform_put_constant(out, radix_names[k],
                                   k < pass[i].count ? axis->radix[pass[i].first + k] : 1);
        transform_put_constant(out, "LEAST_RADIX", transform_least_radix(axis, &pass[i]));
        transform_put_constant(out, "SPAN", plan_span(axis, last));
        transform_put_constant(out, "IS_MIDDLE", along_v && i + 1 == count);
        transform_put_constant(out, "CROSSING", along_v && i == 0);
        transform_put_constant(out, "IS_WIDE", range.local[1] > 1);
        transform_put_file(out, "staged_dispatch.cl");
    }
}

static void put_source(FILE *out, const struct transform *transform)
{
    const struct staged_layout layout = transform_staged_layout(transform);
    fprintf(out,
            "#define LINES %u\n#define LINES_SIZE %zu\n#define SPECTRUM_TWIDDLES %zuu\n"
            "#define MAP_X %zuu\n#define MAP_Y %zuu\n#define FREQUENCIES_AT %zuu\n"
            "#define ZEROS_AT %zuu\n#define LINES_TWIDDLES %zuu\n"
            "#define PAIRS_AT %zuu\n",
            layout.lines, layout.lines_bytes / transform_stored_bytes(transform),
            layout.spectrum_twiddles, layout.map_x, layout.map_y, layout.frequencies, layout.zeros,
            layout.lines_twiddles, layout.pairs);
    transform_put_file(out, "staged.cl");
    transform_put_file(out, "staged_image.cl");
    put_staged_axis(out, transform, plan_first(&transform->plan));
    put_staged_axis(out, transform, plan_second(&transform->plan));
}

/* ---- what it starts with, and what the tuner tries ----------------------------------------- */

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
            arithmetic += plan_midgard_cycles(axis, k, is_first,
                                              transform->tuning.recipe.precision == RECIPE_HALF);
        cycles += fmax(arithmetic, moved * number_bytes / PLAN_MIDGARD_BYTES);
    }
    return numbers * cycles;
}

/* Kernels of radix 8 and more spill registers; 7 has not been counted in dispatches of several
 * stages. */
#define MIDGARD_LEAST_RADIX 4
#define MIDGARD_MOST_RADIX  6

/* Begins with the fastest plan on Midgard. */
static void start(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    const struct transform_tuning defaults = *ret;
    if (!subject->device->midgard)
        return;
    double least = HUGE_VAL;
    for (unsigned stages = 1; stages <= MAX_PASS_STAGES; stages++)
        for (unsigned radix = MIDGARD_LEAST_RADIX; radix <= MIDGARD_MOST_RADIX; radix++) {
            struct transform transform = {.device = subject->device,
                                          .image = subject->image,
                                          .border = subject->border,
                                          .tuning = defaults};
            struct error why;
            transform.tuning.stages_per_dispatch = stages;
            transform.tuning.max_radix = radix;
            if (fit(&transform, &why) < 0)
                continue;
            const double cycles = axis_cycles(&transform, true) + axis_cycles(&transform, false);
            if (cycles < least) {
                least = cycles;
                *ret = transform.tuning;
            }
        }
}

static void vary_column_group(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    unsigned group[TUNER_MAX_GROUPS];
    const unsigned count = tuner_list_groups(tuner, group);
    tuning.columns = 1;
    for (unsigned i = 0; i < count; i++) {
        tuning.column_group = group[i];
        tuner_add(ret, &tuning);
    }
}

static void vary_row_group(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    unsigned group[TUNER_MAX_GROUPS];
    const unsigned count = tuner_list_groups(tuner, group);
    tuning.rows = 1;
    for (unsigned i = 0; i < count; i++) {
        tuning.row_group = group[i];
        tuner_add(ret, &tuning);
    }
}

static void add_passes(struct tuner_values *ret, struct transform_tuning tuning)
{
    tuning.technique = TRANSFORM_STAGED;
    for (unsigned stages = 1; stages <= MAX_PASS_STAGES; stages++)
        for (unsigned group = 64; group <= 256; group *= 2) {
            tuning.stages_per_dispatch = stages;
            tuning.column_group = tuning.row_group = group;
            tuner_add(ret, &tuning);
        }
}

/* On a CPU it gains nothing, because local memory is ordinary cached memory. */
static void offer(const struct tuner *tuner, struct tuner_values *ret)
{
    const struct gpu_device *device = tuner->subject.device;
    struct transform_tuning tuning = tuner->best;
    if (gpu_device_is_cpu(device) && !tuner->exhaustive)
        return;
    add_passes(ret, tuning);
    if (device->midgard && tuning.max_radix > TUNER_LEAST_RADIX) {
        tuning.max_radix = TUNER_LEAST_RADIX;
        tuning.length_x = tuning.length_y = 0;
        add_passes(ret, tuning);
    }
}

static vary_fn *const settings[] = {tuner_vary_radix, tuner_vary_size, vary_column_group,
                                    vary_row_group, NULL};

const struct technique technique_staged = {.name = "staged",
                                           .complex_file = "interleaved.cl",
                                           .by_stages = true,
                                           .cost = cost,
                                           .start = start,
                                           .fit = fit,
                                           .lay_out_response = lay_out_response,
                                           .spectrum_size = spectrum_size,
                                           .memory = memory,
                                           .make_buffers = make_buffers,
                                           .list_dispatches = list_dispatches,
                                           .put_source = put_source,
                                           .settings = settings,
                                           .offer = offer};
