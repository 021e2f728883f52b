/* Compiles the kernels of several forms of the transform for counts.py. It builds each form on the
 * OpenCL device and enqueues one frame, because some drivers compile a kernel at its first launch.
 * No result is read, and without --time nothing is measured, so a device that only compiles is
 * enough.
 *
 *     build/tests/mali/forms WIDTHxHEIGHT...
 *     build/tests/mali/forms --stages
 *     build/tests/mali/forms --time WIDTHxHEIGHT...
 *
 * The second one builds plans that have each radix at each place, one stage a dispatch. The third
 * one measures those in float of the staged technique, which it plans as for a Mali-T760.
 *
 * Writes a line with what the board does in a second, a line for each form, and one for each of its
 * dispatches, tabs between the fields:
 *     rates   WORDS  ACCESSES  BYTES
 *     form    NAME  WIDTHxHEIGHT  PADDED  RADICES  WORDS  ACCESSES
 *     kernel  NAME  ITEMS  BYTES  TRIPS  SHARES  STAGE  SECONDS
 * WORDS and ACCESSES are what mali/cost.h says of a frame; 0: it does not know the plan. BYTES
 * are those that the dispatch moves to and from main memory. TRIPS are the trip counts of the loops
 * in the kernel that are not unrolled, in the order of the source and separated by spaces: of a
 * mean item, each time it comes to the loop. SHARES are the shares of items that execute the
 * branches before the first barrier, after it, and so on. STAGE says which item of cost_device the
 * kernel is, in the words of mali/cost.h; empty: several, or it is fused. SECONDS are those of
 * the fastest of some launches. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "mali/estimate.h"
#include "mali/profile.h"
#include "transform/tuner.h"

#define MARGIN 16

#define FRAMES 20 /* measured */

struct target {
    const struct gpu_device *device;
    struct gpu_device pretended; /* with --time: plans as for a Mali-T760 */
    cl_command_queue queue;
    bool measures;
};

struct form {
    enum transform_technique technique;
    unsigned lanes, group; /* fused: lanes of 1 have the device's own groups */
    unsigned max_radix;
    unsigned stages_per_dispatch; /* staged */
    bool half;
};

/* Omits the forms that need more registers than there are, or take longer than a transform:
 * products in one dispatch, taps of 7x7 and more, and tiles. */
struct short_form {
    const char *name;
    enum transform_technique technique;
    struct taps_reach reach;
};

static const struct short_form short_forms[] = {
    {"direct, a factor", TRANSFORM_DIRECT, {.is_short = true}},
    {"direct, 3x3", TRANSFORM_DIRECT, {.is_short = true, .radius = 1}},
    {"direct, 5x5", TRANSFORM_DIRECT, {.is_short = true, .radius = 2}},
    {"twice, 15 + 15",
     TRANSFORM_TWICE,
     {.is_short = true, .radius = 7, .products = 1, .line = TAPS_EVEN}},
    {"twice, 21 + 21",
     TRANSFORM_TWICE,
     {.is_short = true, .radius = 10, .products = 1, .line = TAPS_EVEN}},
};

/* For the fused kernels with lanes of 4, one size of group is enough: it hardly changes their
 * counts. */
static const struct form forms[] = {
    {TRANSFORM_FUSED, 1, 0, 4, 2, false},  {TRANSFORM_FUSED, 1, 0, 8, 2, false},
    {TRANSFORM_FUSED, 1, 0, 16, 2, false}, {TRANSFORM_FUSED, 4, 32, 4, 2, false},
    {TRANSFORM_STAGED, 2, 0, 4, 1, false}, {TRANSFORM_STAGED, 2, 0, 8, 1, false},
    {TRANSFORM_STAGED, 2, 0, 4, 2, false}, {TRANSFORM_STAGED, 2, 0, 6, 2, false},
    {TRANSFORM_STAGED, 2, 0, 8, 2, false}, {TRANSFORM_STAGED, 2, 0, 4, 3, false},
    {TRANSFORM_STAGED, 2, 0, 5, 3, false}, {TRANSFORM_STAGED, 2, 0, 6, 3, false},
    {TRANSFORM_FUSED, 1, 0, 16, 2, true},  {TRANSFORM_STAGED, 2, 0, 4, 1, true},
    {TRANSFORM_STAGED, 2, 0, 4, 2, true},  {TRANSFORM_STAGED, 2, 0, 6, 2, true},
    {TRANSFORM_STAGED, 2, 0, 5, 3, true},  {TRANSFORM_STAGED, 2, 0, 6, 3, true},
};

/* Buffers are filled, because denormal numbers or NaNs in uninitialised memory could distort the
 * times. */
static cl_mem make_buffer(const struct target *on, size_t size, cl_uchar value)
{
    cl_int code;
    const cl_mem buffer = clCreateBuffer(on->device->context, CL_MEM_READ_WRITE, size, NULL, &code);
    clEnqueueFillBuffer(on->queue, buffer, &value, sizeof value, 0, size, 0, NULL, NULL);
    return buffer;
}

/* Enqueues frames and waits for them; the shortest time of each dispatch. */
static int run_frames(const struct target *on, struct transform_frame *frame,
                      const struct transform_buffers *buffers, double seconds[PROFILE_MAX],
                      struct error *why)
{
    for (unsigned i = 0; i < PROFILE_MAX; i++)
        seconds[i] = on->measures ? HUGE_VAL : 0;
    for (unsigned frames = on->measures ? FRAMES : 1; frames > 0; frames--) {
        double last[PROFILE_MAX];
        const int r = transform_frame_enqueue(frame, on->queue, buffers, NULL, NULL, why);
        if (r < 0)
            return r;
        if (clFinish(on->queue) != CL_SUCCESS)
            return error_set(why, EIO, "clFinish fails");
        const unsigned count = profile_take(last);
        for (unsigned i = 0; i < count; i++)
            seconds[i] = fmin(seconds[i], last[i]);
    }
    return 0;
}

static int run(const struct transform *transform, const struct target *on,
               double seconds[PROFILE_MAX], struct error *why)
{
    const struct transform_image *image = &transform->image;
    const size_t image_bytes = (size_t)image->width * image->height;
    const struct transform_buffers buffers = {
        .image = make_buffer(on, image_bytes, 128),
        .result = make_buffer(on, image_bytes, 0),
        .response = {.numbers = make_buffer(on, transform_response_bytes(transform), 0)},
    };
    struct transform_frame *frame = NULL;
    int r = transform_frame_create(&frame, transform, why);
    if (r == 0)
        r = run_frames(on, frame, &buffers, seconds, why);
    transform_frame_destroy(frame);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
    return r;
}

/* The settings that a form has: those that the transform has chosen where the wanted ones do not
 * fit the device, as with lanes of long lines. */
static void print_form(const struct transform *transform, const char *short_name)
{
    const struct transform_tuning *tuning = transform_tuning(transform);
    const struct plan *plan = transform_plan(transform);
    struct cost_work model = {0};
    char name[128] = "";
    if (short_name != NULL)
        text_append(name, sizeof name, "%s, %u lanes, groups of %u", short_name, tuning->lanes,
                    tuning->column_group);
    else if (tuning->technique == TRANSFORM_STAGED) {
        static const char *const stages[] = {"one stage", "two stages", "three stages"};
        estimate_staged(&model, transform, &cost_midgard, 0);
        text_append(name, sizeof name, "staged, radix to %u, %s a dispatch", tuning->max_radix,
                    stages[tuning->stages_per_dispatch - 1]);
    } else if (tuning->lanes == 1)
        text_append(name, sizeof name, "fused, radix to %u", tuning->max_radix);
    else
        text_append(name, sizeof name, "fused, radix to %u, %u lanes, groups of %u",
                    tuning->max_radix, tuning->lanes, tuning->column_group);
    char radices[64] = "";
    for (unsigned i = 0; i < plan->x.stage_count; i++)
        text_append(radices, sizeof radices, "%u ", plan->x.radix[i]);
    text_append(radices, sizeof radices, "x");
    for (unsigned i = 0; i < plan->y.stage_count; i++)
        text_append(radices, sizeof radices, " %u", plan->y.radix[i]);
    printf("form\t%s%s\t%ux%u\t%ux%u\t%s\t%.0f\t%.0f\n", name,
           tuning->recipe.precision == RECIPE_HALF ? ", half" : "", plan->width, plan->height,
           plan->x.length, plan->y.length, radices, model.words, model.accesses);
}

/* ---- trip counts --------------------------------------------------------------------------- */

/* Butterflies of the group, shared among its items; none if they are held, because these loops are
 * unrolled. */
static void add_round(double *trips, unsigned *count, const struct line_layout *layout,
                      unsigned stage)
{
    const struct plan_axis *axis = layout->axis;
    if (!layout->held)
        trips[(*count)++] =
            (double)axis->length / axis->radix[stage] * layout->lines / layout->group;
}

static void add_forward(double *trips, unsigned *count, const struct line_layout *layout)
{
    for (unsigned i = 0; i < layout->axis->stage_count; i++)
        add_round(trips, count, layout, i);
}

/* The inverses of the stages before `end`. */
static void add_inverse(double *trips, unsigned *count, const struct line_layout *layout,
                        unsigned end)
{
    for (unsigned i = end; i-- > 0;)
        add_round(trips, count, layout, i);
}

/* fused_lanes.cl: one item in the group transfers a line of all lanes, block by block. */
static void add_lines(double *trips, unsigned *count, const struct line_layout *layout,
                      unsigned lanes)
{
    if (lanes == 1)
        return;
    trips[(*count)++] = (double)layout->lines / layout->group;
    trips[(*count)++] = layout->axis->length / 2. / lanes;
}

static unsigned fused_trips(double *trips, const struct transform *transform, unsigned dispatch)
{
    const struct line_layout u = transform_line_layout(transform, plan_first(&transform->plan));
    const struct line_layout v = transform_line_layout(transform, plan_second(&transform->plan));
    unsigned count = 0;
    if (dispatch == 0)
        add_forward(trips, &count, &u);
    else if (dispatch == 2)
        add_inverse(trips, &count, &u, u.axis->stage_count);
    else {
        add_lines(trips, &count, &v, transform->tuning.lanes);
        add_forward(trips, &count, &v);
        add_inverse(trips, &count, &v, v.axis->stage_count - 1);
        add_lines(trips, &count, &v, transform->tuning.lanes);
    }
    return count;
}

/* direct_cached.cl: an item makes strips one after the other. Those at an edge load row by row, and
 * samples one by one. Rows of a radius of 2 are too much for the compiler to unroll. */
static unsigned direct_trips(double *trips, const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    const double strip = tuning->row_group, radius = tuning->recipe.reach.radius;
    const double across = (double)transform->image.width / tuning->lanes;
    const double down = transform->image.height / strip;
    const double edges = radius > 0 ? 1 - (1 - 2 / across) * (1 - 2 / down) : 0;
    const double outside = radius > 0 ? 2. / (across * 3) : 0; /* of the vectors of a row */
    unsigned count = 0;
    trips[count++] = (double)tuning->columns * tuning->rows / tuning->column_group;
    if (radius == 2)
        trips[count++] = (1 - edges) * (strip + 2 * radius);
    trips[count++] = edges * (strip + 2 * radius);
    trips[count++] = outside * tuning->lanes;
    return count;
}

/* staged_dispatch.cl: between two barriers a group computes a stage, the one in the middle goes
 * back through the others. A stage of a larger radix than another one has fewer butterflies than
 * the group has items. */
static unsigned staged_shares(double *shares, const struct transform *transform, unsigned dispatch)
{
    struct pass pass[2 * PLAN_MAX_STAGES];
    const struct plan *plan = &transform->plan;
    const unsigned columns = transform_passes(pass, transform, &plan->y);
    const unsigned middle = columns + transform_passes(pass + columns, transform, &plan->x) - 1;
    const unsigned at = dispatch <= middle ? dispatch : 2 * middle - dispatch;
    const struct plan_axis *axis = at < columns ? &plan->y : &plan->x;
    const unsigned first = pass[at].first, end = first + pass[at].count;
    const double least = transform_least_radix(axis, &pass[at]);
    unsigned count = 0;
    for (unsigned i = first; dispatch <= middle && i < end; i++)
        shares[count++] = least / axis->radix[i];
    for (unsigned i = dispatch == middle ? end - 1 : end; dispatch >= middle && i-- > first;)
        shares[count++] = least / axis->radix[i];
    return count;
}

static void print_numbers(const double *numbers, unsigned count)
{
    printf("\t");
    for (unsigned i = 0; i < count; i++)
        printf("%s%.9g", i > 0 ? " " : "", numbers[i]);
}

/* The stage of a dispatch that has one. */
static void print_stage(const struct transform *transform, unsigned dispatch)
{
    static const char *const places[] = {
        [COST_FIRST] = "FIRST", [COST_INNER] = "INNER", [COST_LAST] = "LAST"};
    const struct plan *plan = &transform->plan;
    const unsigned columns = plan->y.stage_count, middle = columns + plan->x.stage_count - 1;
    const bool is_inverse = dispatch > middle;
    const unsigned i = is_inverse ? 2 * middle - dispatch : dispatch;
    const enum cost_axis axis = i < columns ? COST_COLUMNS : COST_ROWS;
    const struct plan_axis *stages = axis == COST_COLUMNS ? &plan->y : &plan->x;
    const unsigned stage = axis == COST_COLUMNS ? i : i - columns;
    if (transform->tuning.technique == TRANSFORM_STAGED &&
        transform->tuning.stages_per_dispatch == 1)
        printf("%s %s %s %s %u",
               transform->tuning.recipe.precision == RECIPE_HALF ? "HALF" : "FLOAT",
               axis == COST_COLUMNS ? "COLUMNS" : "ROWS",
               places[cost_place(axis, stage, stages->stage_count)],
               is_inverse ? "INVERSE" : "FORWARD", stages->radix[stage]);
}

static void print_kernel(const struct transform *transform, unsigned i, double seconds)
{
    const struct dispatch *dispatch = &transform->dispatch[i];
    double trips[2 * PLAN_MAX_STAGES + 4], shares[2 * MAX_PASS_STAGES];
    const bool is_fused = transform->tuning.technique == TRANSFORM_FUSED;
    const bool is_staged = transform->tuning.technique == TRANSFORM_STAGED;
    const bool has_loops = transform->tuning.technique == TRANSFORM_DIRECT;
    const unsigned trip_count = is_fused    ? fused_trips(trips, transform, i)
                                : has_loops ? direct_trips(trips, transform)
                                            : 0;
    const unsigned share_count = is_staged ? staged_shares(shares, transform, i) : 0;
    size_t items = 1;
    for (unsigned d = 0; d < dispatch->dimensions; d++)
        items *= dispatch->global[d];
    printf("kernel\t%s\t%zu\t%.0f", dispatch->kernel, items,
           transform_dispatch_traffic(transform, i));
    print_numbers(trips, trip_count);
    print_numbers(shares, share_count);
    printf("\t");
    print_stage(transform, i);
    printf("\t%.9g\n", seconds);
}

static int show(const struct transform_tuning *tuning, const char *short_name, uint32_t width,
                uint32_t height, const struct target *on, struct error *why)
{
    const struct transform_image image = {.width = width,
                                          .height = height,
                                          .stride = width,
                                          .step = 1,
                                          .kind = SAMPLE_U8,
                                          .bits = 8,
                                          .count = 1};
    const uint32_t margin = tuning->length_x == 0 ? MARGIN : 0;
    const struct transform_border border = {.margin_x = margin, .margin_y = margin};
    struct transform *transform;
    struct error warning;
    int r = transform_create(&transform, on->device, &image, &border, tuning, NULL, &warning, why);
    if (r < 0)
        return r;
    double seconds[PROFILE_MAX] = {0};
    r = run(transform, on, seconds, why);
    print_form(transform, short_name);
    for (unsigned i = 0; i < transform->dispatch_count; i++)
        print_kernel(transform, i, seconds[i]);
    transform_destroy(transform);
    return r;
}

static int show_form(const struct form *form, uint32_t width, uint32_t height,
                     const struct target *on, struct error *why)
{
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, on->device);
    tuning.technique = form->technique;
    tuning.lanes = form->lanes;
    if (form->group != 0) {
        tuning.column_group = tuning.row_group = form->group;
        tuning.columns = tuning.rows = 1;
    }
    tuning.max_radix = form->max_radix;
    tuning.stages_per_dispatch = form->stages_per_dispatch;
    tuning.recipe.precision = form->half ? RECIPE_HALF : RECIPE_FLOAT;
    return show(&tuning, NULL, width, height, on, why);
}

static int show_short_form(const struct short_form *form, uint32_t width, uint32_t height,
                           const struct target *on, struct error *why)
{
    const struct tuner_subject subject = {
        .device = on->device,
        .image = {.width = width, .height = height, .bits = 8, .count = 1},
        .technique = form->technique,
        .reach = form->reach};
    struct transform_tuning tuning;
    tuner_start(&tuning, &subject);
    tuning.recipe.reach = form->reach;
    return show(&tuning, form->name, width, height, on, why);
}

/* Fused kernels of longer lines spill so often that their compilation takes minutes. */
#define LONGEST_FUSED 1280

static bool is_wanted(const struct form *form, const struct target *on, unsigned long width)
{
    if (form->technique == TRANSFORM_FUSED)
        return !on->measures && width <= LONGEST_FUSED;
    return !on->measures || !form->half;
}

static int show_all(const char *size, const struct target *on, struct error *why)
{
    char *x, *end = NULL;
    const unsigned long width = strtoul(size, &x, 10);
    const unsigned long height = *x == 'x' ? strtoul(x + 1, &end, 10) : 0;
    if (end == NULL || *end != '\0' || width - 1 >= PLAN_MAX_LENGTH ||
        height - 1 >= PLAN_MAX_LENGTH)
        return error_set(why, EINVAL, "%s is not WIDTHxHEIGHT, of 1 to %d", size, PLAN_MAX_LENGTH);
    int r = 0;
    for (size_t i = 0; r == 0 && !on->measures && i < sizeof short_forms / sizeof short_forms[0];
         i++)
        r = show_short_form(&short_forms[i], (uint32_t)width, (uint32_t)height, on, why);
    for (size_t i = 0; r == 0 && i < sizeof forms / sizeof forms[0]; i++)
        if (is_wanted(&forms[i], on, width))
            r = show_form(&forms[i], (uint32_t)width, (uint32_t)height, on, why);
    return r;
}

/* The cheapest factors of these lengths within the limit are powers of one radix, three of them at
 * least. The halved axis, whose length is a multiple of four, may begin with another, even one. */
static int show_stages(const struct target *target, struct error *why)
{
    static const struct {
        unsigned max_radix;
        uint32_t length_x, length_y;
    } powers[] = {{2, 64, 64},      {4, 972, 243},    {4, 256, 256},    {5, 2500, 625},
                  {6, 216, 216},    {7, 1372, 343},   {8, 512, 512},    {9, 5832, 729},
                  {10, 1000, 1000}, {12, 1728, 1728}, {15, 3600, 3375}, {16, 4096, 4096}};
    /* The planner must not use the costs that are counted here. */
    struct gpu_device unknown = *target->device;
    const struct target on = {.device = &unknown, .queue = target->queue};
    struct transform_tuning tuning;
    int r = 0;
    transform_default_tuning(&tuning, target->device);
    unknown.midgard = false;
    tuning.technique = TRANSFORM_STAGED;
    tuning.stages_per_dispatch = 1;
    for (unsigned half = 0; half <= 1; half++)
        for (size_t i = 0; r == 0 && i < sizeof powers / sizeof powers[0]; i++) {
            tuning.recipe.precision = half ? RECIPE_HALF : RECIPE_FLOAT;
            tuning.max_radix = powers[i].max_radix;
            tuning.length_x = powers[i].length_x;
            tuning.length_y = powers[i].length_y;
            /* As in most plans, the image fills most of the lengths. */
            r = show(&tuning, NULL, tuning.length_x * 15 / 16, tuning.length_y * 15 / 16, &on, why);
        }
    return r;
}

static int show_arguments(int argc, char **argv, struct target *on, struct error *why)
{
    int r = 0;
    for (int i = 1; r == 0 && i < argc; i++)
        if (strcmp(argv[i], "--time") == 0) {
            on->pretended = *on->device;
            on->pretended.type = CL_DEVICE_TYPE_GPU;
            on->pretended.midgard = true;
            on->device = &on->pretended;
            on->measures = true;
            profile_begin();
        } else if (strcmp(argv[i], "--stages") == 0)
            r = show_stages(on, why);
        else
            r = show_all(argv[i], on, why);
    return r;
}

int main(int argc, char **argv)
{
    const char *selector = getenv("FFTD_DEVICE");
    struct gpu_device *device = NULL;
    struct target on = {0};
    struct error why;
    cl_int code;
    int r = gpu_device_open(&device, selector != NULL ? selector : "auto", &why);
    if (r == 0) {
        on.device = device;
        on.queue =
            clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
        r = code == CL_SUCCESS ? 0 : opencl_fail(&why, code, "clCreateCommandQueue");
    }
    printf("rates\t%.9g\t%.9g\t%.9g\n", cost_midgard.rates.words, cost_midgard.rates.accesses,
           cost_midgard.rates.bytes);
    if (r == 0)
        r = show_arguments(argc, argv, &on, &why);
    if (r < 0)
        fprintf(stderr, "forms: %s\n", why.text);
    if (on.queue != NULL)
        clReleaseCommandQueue(on.queue);
    gpu_device_close(device);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
