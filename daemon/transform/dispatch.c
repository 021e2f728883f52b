/* A dispatch of a transform: its arguments. It also gets the program that holds the kernels. */
#include "gpu/program.h"
#include "transform/transform_private.h"

static bool reads(const struct dispatch *dispatch, enum argument_kind kind)
{
    for (unsigned i = 0; i < dispatch->argument_count; i++)
        if (dispatch->argument[i].kind == kind)
            return true;
    return false;
}

void transform_add_dispatch(struct transform *transform, struct dispatch dispatch)
{
    const struct recipe *recipe = &transform->tuning.recipe;
    const enum argument_kind end = recipe->corrections ? ARGUMENT_NONE : ARGUMENT_CORRECTION;
    while (dispatch.argument_count < MAX_ARGUMENTS &&
           dispatch.argument[dispatch.argument_count].kind != ARGUMENT_NONE &&
           dispatch.argument[dispatch.argument_count].kind != end)
        dispatch.argument_count++;
    if (recipe_load_bytes(recipe) > 0 && reads(&dispatch, ARGUMENT_IMAGE))
        dispatch.argument[dispatch.argument_count++].kind = ARGUMENT_CALIBRATION;
    if (recipe->similarities && reads(&dispatch, ARGUMENT_IMAGE))
        dispatch.argument[dispatch.argument_count++].kind = ARGUMENT_SIMILARITY;
    if (recipe_loads_before(recipe) && reads(&dispatch, ARGUMENT_IMAGE))
        dispatch.argument[dispatch.argument_count++].kind = ARGUMENT_DENOISED;
    if (view_is_spectrum(recipe->view) && reads(&dispatch, ARGUMENT_RESPONSE))
        dispatch.argument[dispatch.argument_count++].kind = ARGUMENT_DRAWN;
    transform->dispatch[transform->dispatch_count++] = dispatch;
}

void transform_add_blocks(struct transform *transform, const char *kernel, size_t block_x,
                          size_t block_y, size_t local_bytes)
{
    const struct transform_image *image = &transform->image;
    const bool is_smaller = image->smaller.width > 0;
    const uint32_t width = is_smaller ? image->smaller.width : image->width;
    const uint32_t height = is_smaller ? image->smaller.height : image->height;
    const size_t group = transform->tuning.column_group;
    struct dispatch blocks = {
        .dimensions = image->count > 1 ? 3 : 2,
        .global = {(width + block_x - 1) / block_x * group, (height + block_y - 1) / block_y,
                   image->count},
        .local = {group, 1, 1},
        .argument = {ARGUMENT(IMAGE),
                     {.kind = transform_store_argument(transform)},
                     ARGUMENT_OF_TABLE(transform->map_x),
                     ARGUMENT_OF_TABLE(transform->map_y),
                     ARGUMENT(RESPONSE),
                     ARGUMENT_OF_LOCAL(local_bytes),
                     ARGUMENT(CORRECTION)},
    };
    snprintf(blocks.kernel, sizeof blocks.kernel, "%s", kernel);
    transform_add_dispatch(transform, blocks);
}

void transform_put_blocks(FILE *out, const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    transform_put_constant(out, "GROUP", tuning->column_group);
    transform_put_constant(out, "COLUMNS", tuning->columns);
    transform_put_constant(out, "ROWS", tuning->rows);
    transform_put_constant(out, "STRIP", tuning->row_group);
    transform_put_constant(out, "PADDED_X", transform->plan.x.length);
    transform_put_constant(out, "PADDED_Y", transform->plan.y.length);
    transform_put_file(out, "border.cl");
    transform_put_file(out, "direct_load.cl");
}

struct taps_samples transform_taps_samples(const struct transform *transform, double sub_x,
                                           double sub_y)
{
    return (struct taps_samples){.sub_x = (unsigned)sub_x,
                                 .sub_y = (unsigned)sub_y,
                                 .bits = transform_result_bits(&transform->image),
                                 .stride = transform_stride(&transform->image),
                                 .edge = transform->tuning.recipe.crop_edge};
}

uint64_t transform_taps_bytes(const struct transform *transform, const struct filter_chain *chain,
                              double sub_x, double sub_y)
{
    const struct taps_samples samples = transform_taps_samples(transform, sub_x, sub_y);
    return samples.stride > 0 ? taps_half_bytes(chain, &samples) : taps_bytes(chain, &samples);
}

enum argument_kind transform_store_argument(const struct transform *transform)
{
    return transform->tuning.recipe.view == VIEW_EDGES ? ARGUMENT_DRAWN : ARGUMENT_RESULT;
}

/* Gets the largest work-group that a built kernel accepts. This depends on its registers and may be
 * below the device's limit. NVIDIA's driver always reports 256, but limits the registers so that
 * the required size works. */
static int kernel_group_limit(const struct transform *transform, const struct dispatch *dispatch,
                              size_t *ret, struct error *why)
{
    const struct gpu_device *device = transform->device;
    size_t limit = 0, required[3] = {0};
    cl_kernel kernel;
    const int r = opencl_make_kernel(&kernel, transform->program, dispatch->kernel, why);
    if (r < 0)
        return r;
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

int transform_get_program(struct transform *transform, bool compile, const char *cache_dir,
                          struct error *warning, struct error *why)
{
    int r;
    do {
        opencl_release_program(transform->program);
        transform->program = NULL;
        transform->dispatch_count = 0;
        transform->technique->list_dispatches(transform);
        r = program_get(&transform->program, transform->device, transform_source(transform),
                        compile, cache_dir, warning, why);
        if (r < 0 || transform->program == NULL)
            return r < 0 ? r : 0;
        r = shrink_groups(transform, why);
    } while (r > 0);
    return r;
}
