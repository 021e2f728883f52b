/* Lists the dispatches of a transform: their kernels, arguments and work-group sizes. It also gets
 * the program that holds the kernels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/program.h"
#include "transform/transform_private.h"

/* The arguments of a kernel, in its order. */
/* clang-format off */
#define IMAGE        {.kind = ARGUMENT_IMAGE}
#define RESULT       {.kind = ARGUMENT_RESULT}
#define RESPONSE     {.kind = ARGUMENT_RESPONSE}
#define BAND         {.kind = ARGUMENT_BAND}
#define SPECTRUM     {.kind = ARGUMENT_SPECTRUM}
#define LINES        {.kind = ARGUMENT_LINES}
#define POWERS       {.kind = ARGUMENT_POWERS}
#define FILTERED     {.kind = ARGUMENT_FILTERED}
/* What the last dispatch of the transform stores. */
#define STORED       {.kind = transform->tuning.recipe.view == VIEW_EDGES ? ARGUMENT_FILTERED : ARGUMENT_RESULT}
#define CORRECTION   {.kind = transform->tuning.recipe.corrections ? ARGUMENT_CORRECTION : ARGUMENT_NONE}
#define TABLE(name)  {.kind = ARGUMENT_TABLE, .table = transform->name}
#define LOCAL(bytes) {.kind = ARGUMENT_LOCAL, .local_bytes = (bytes)}
/* clang-format on */

#define VIEW_GROUP 64 /* work-items */

static bool reads(const struct dispatch *dispatch, enum argument_kind kind)
{
    for (unsigned i = 0; i < dispatch->argument_count; i++)
        if (dispatch->argument[i].kind == kind)
            return true;
    return false;
}

static void add_dispatch(struct transform *transform, struct dispatch dispatch)
{
    while (dispatch.argument_count < MAX_ARGUMENTS &&
           (dispatch.argument[dispatch.argument_count].kind != ARGUMENT_NONE))
        dispatch.argument_count++;
    if (recipe_load_bytes(&transform->tuning.recipe) > 0 && reads(&dispatch, ARGUMENT_IMAGE))
        dispatch.argument[dispatch.argument_count++].kind = ARGUMENT_CALIBRATION;
    if (transform->tuning.recipe.denoise.block > 0 && reads(&dispatch, ARGUMENT_IMAGE))
        dispatch.argument[dispatch.argument_count++].kind = ARGUMENT_DENOISED;
    if (view_is_spectrum(transform->tuning.recipe.view) && reads(&dispatch, ARGUMENT_RESPONSE))
        dispatch.argument[dispatch.argument_count++].kind = ARGUMENT_POWERS;
    transform->dispatch[transform->dispatch_count++] = dispatch;
}

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
    add_dispatch(transform, dispatch);
}

/* Draws the powers that the dispatch in the middle has stored, or the edges of what the last one
 * has, one item for each pixel. */
static void add_view(struct transform *transform)
{
    const struct transform_image *image = &transform->image;
    const size_t most = transform->device->max_group, group = most < VIEW_GROUP ? most : VIEW_GROUP;
    struct dispatch dispatch = {.kernel = "view",
                                .dimensions = 2,
                                .along_rows = true,
                                .global = {divide_up(image->width, group) * group, image->height},
                                .local = {group, 1},
                                .argument = {POWERS, TABLE(places), RESULT}};
    if (transform->tuning.recipe.view == VIEW_EDGES) {
        const struct argument edges[MAX_ARGUMENTS] = {FILTERED, RESULT};
        memcpy(dispatch.argument, edges, sizeof edges);
    }
    add_dispatch(transform, dispatch);
}

/* The arguments as fused.cl declares them. */
static void list_fused_dispatches(struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    const struct line_layout u = transform_line_layout(transform, plan_first(plan));
    const struct line_layout v = transform_line_layout(transform, plan_second(plan));
    const size_t lanes = transform->tuning.lanes;
    const size_t lines = v.axis->length / 2, pairs = plan_pair_count(plan);
    const struct argument u_twiddle = {.kind = ARGUMENT_TABLE, .table = u.twiddle};
    const struct argument v_twiddle = {.kind = ARGUMENT_TABLE, .table = v.twiddle};
    const struct dispatch forward = {
        .kernel = "forward",
        .along_rows = u.along_rows,
        .argument = {IMAGE, SPECTRUM, TABLE(map_x), TABLE(map_y), u_twiddle, TABLE(frequencies),
                     BAND, LOCAL(u.work_bytes), CORRECTION},
    };
    const struct dispatch middle = {
        .kernel = "middle",
        .along_rows = v.along_rows,
        .pairs_per_group = v.lines * transform->tuning.lanes,
        .argument = {SPECTRUM, TABLE(pairs), BAND, RESPONSE, v_twiddle, LOCAL(v.work_bytes)},
    };
    const struct dispatch inverse = {
        .kernel = "inverse",
        .along_rows = u.along_rows,
        .argument = {SPECTRUM, IMAGE, STORED, u_twiddle, TABLE(frequencies), BAND,
                     LOCAL(u.work_bytes)},
    };
    add_fused(transform, forward, u.group, divide_up(lines, lanes * u.lines));
    add_fused(transform, middle, v.group, divide_up(pairs, lanes * v.lines));
    if (view_is_spectrum(transform->tuning.recipe.view))
        add_view(transform);
    else
        add_fused(transform, inverse, u.group, divide_up(lines, lanes * u.lines));
    if (transform->tuning.recipe.view == VIEW_EDGES)
        add_view(transform);
}

/* The arguments as staged_dispatch.cl declares them. */
static void add_staged(struct transform *transform, const char *direction,
                       const struct plan_axis *axis, const struct pass *pass)
{
    const bool along_rows = axis == &transform->plan.x;
    const struct staged_range range = transform_staged_range(transform, axis, pass);
    struct dispatch dispatch = {
        .dimensions = 3,
        .along_rows = along_rows,
        .pairs_per_group = along_rows ? 2 * (unsigned)range.local[0] : 0,
        .band_dimension = range.lines,
        .argument = {SPECTRUM, LINES, RESPONSE, BAND, IMAGE, STORED, CORRECTION}};
    memcpy(dispatch.global, range.global, sizeof dispatch.global);
    memcpy(dispatch.local, range.local, sizeof dispatch.local);
    if (direction == NULL)
        snprintf(dispatch.kernel, sizeof dispatch.kernel, "rows_middle");
    else
        snprintf(dispatch.kernel, sizeof dispatch.kernel, "%s_%s_%u",
                 along_rows ? "rows" : "columns", direction, pass->first);
    add_dispatch(transform, dispatch);
}

static void list_staged_dispatches(struct transform *transform)
{
    const struct plan_axis *x = &transform->plan.x, *y = &transform->plan.y;
    struct pass rows[PLAN_MAX_STAGES], columns[PLAN_MAX_STAGES];
    const unsigned column_count = transform_passes(columns, transform, y);
    const unsigned last = transform_passes(rows, transform, x) - 1;
    for (unsigned i = 0; i < column_count; i++)
        add_staged(transform, "forward", y, &columns[i]);
    for (unsigned i = 0; i < last; i++)
        add_staged(transform, "forward", x, &rows[i]);
    add_staged(transform, NULL, x, &rows[last]);
    if (view_is_spectrum(transform->tuning.recipe.view)) {
        add_view(transform);
        return;
    }
    for (unsigned i = last; i-- > 0;)
        add_staged(transform, "inverse", x, &rows[i]);
    for (unsigned i = column_count; i-- > 0;)
        add_staged(transform, "inverse", y, &columns[i]);
    if (transform->tuning.recipe.view == VIEW_EDGES)
        add_view(transform);
}

/* Gets the largest work-group that a built kernel accepts. This depends on its registers and may be
 * below the device's limit. NVIDIA's driver always reports 256, but limits the registers so that
 * the required size works. */
static int kernel_group_limit(const struct transform *transform, const struct dispatch *dispatch,
                              size_t *ret, struct error *why)
{
    const struct gpu_device *device = transform->device;
    size_t limit = 0, required[3] = {0};
    cl_int code;
    const cl_kernel kernel = clCreateKernel(transform->program, dispatch->kernel, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, dispatch->kernel);
    clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit,
                             NULL);
    clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required,
                             required, NULL);
    clReleaseKernel(kernel);
    if (device->builds_for_required_group && required[0] == dispatch->local[0])
        limit = dispatch->local[0];
    *ret = limit > 0 ? limit : 1;
    return 0;
}

/* Reduces groups to the limits of the built kernels. Returns 1 if the program must be built again.
 */
static int shrink_groups(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    int shrunk = 0;
    for (unsigned i = 0; i < transform->dispatch_count; i++) {
        const struct dispatch *dispatch = &transform->dispatch[i];
        unsigned *group = dispatch->along_rows ? &tuning->row_group : &tuning->column_group;
        size_t limit = 0;
        const int r = kernel_group_limit(transform, dispatch, &limit, why);
        if (r < 0)
            return r;
        while (*group > limit) {
            *group /= 2;
            shrunk = 1;
        }
    }
    return shrunk;
}

/* Lists the dispatches and gets a program whose kernels accept their groups. Without `compile`, the
 * program is NULL if it is not in the cache. */
static int make_program(struct transform *transform, bool compile, const char *cache_dir,
                        struct error *warning, struct error *why)
{
    int r;
    do {
        if (transform->program != NULL)
            clReleaseProgram(transform->program);
        transform->program = NULL;
        transform->dispatch_count = 0;
        if (transform->tuning.technique == TRANSFORM_FUSED)
            list_fused_dispatches(transform);
        else
            list_staged_dispatches(transform);
        char *source = transform_source(transform);
        if (source == NULL)
            return error_set(why, ENOMEM, "out of memory while writing the kernels' source");
        r = program_load(&transform->program, transform->device, source, cache_dir, warning);
        if (r < 0 && compile)
            r = program_build(&transform->program, transform->device, source, cache_dir, warning,
                              why);
        free(source);
        if (r < 0)
            return compile ? r : 0;
        r = shrink_groups(transform, why);
    } while (r > 0);
    return r;
}

int transform_load(struct transform *transform, const char *cache_dir, struct error *warning,
                   struct error *why)
{
    return make_program(transform, false, cache_dir, warning, why);
}

int transform_compile(struct transform *transform, const char *cache_dir, struct error *warning,
                      struct error *why)
{
    return make_program(transform, true, cache_dir, warning, why);
}
