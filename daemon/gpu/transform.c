#include "gpu/transform.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/response.h"
#include "core/text.h"
#include "gpu/program.h"

#define PROLOGUE_BYTES 8192
#define MAX_DISPATCHES (4 * PLAN_MAX_STAGES) /* staged: two axes, forward and back */
#define COMPLEX_BYTES  8                     /* in local memory, always float */

/* One kernel with its fixed arguments set; those that change with every frame are named by their
 * index, -1: it has none. */
struct dispatch {
    cl_kernel kernel;
    size_t global, local; /* local 0: the driver's choice */
    int image, result, response;
};

struct transform {
    const struct gpu_device *device;
    struct transform_image image;
    struct transform_tuning tuning;
    struct plan plan;
    cl_program program;
    cl_mem spectrum, map_x, map_y, pairs, twiddle_x, twiddle_y;
    struct dispatch dispatch[MAX_DISPATCHES];
    unsigned dispatch_count;
};

/* ---- shape --------------------------------------------------------------------------------- */

static uint32_t row_groups(const struct plan *plan, const struct transform_tuning *tuning)
{
    const uint32_t pairs = plan->y.length / 2 + 1, each = tuning->lanes * tuning->rows;
    return (pairs + each - 1) / each;
}

static uint32_t column_groups(const struct plan *plan, const struct transform_tuning *tuning)
{
    const uint32_t lanes = plan->x.length / 2 / tuning->lanes;
    return (lanes + tuning->columns - 1) / tuning->columns;
}

static size_t skewed(uint32_t length, unsigned skew)
{
    return length - 1 + (skew < 31 ? (length - 1) >> skew : 0) + 1;
}

static size_t column_local_bytes(const struct plan *plan, const struct transform_tuning *tuning)
{
    return skewed(plan->y.length, tuning->skew) * tuning->columns * tuning->lanes * COMPLEX_BYTES;
}

static size_t row_local_bytes(const struct plan *plan, const struct transform_tuning *tuning)
{
    return skewed(plan->x.length, tuning->skew) * tuning->rows * tuning->lanes * COMPLEX_BYTES;
}

static size_t stored_bytes(const struct transform *transform)
{
    return transform->tuning.half ? 2 : 4;
}

/* Groups of lanes from one row of the spectrum to the next. Rows a multiple of 4 KiB apart would
 * share few sets of the cache, and columns walk down rows: those get one group more. */
static uint32_t spectrum_pitch(const struct transform *transform)
{
    const uint32_t lanes = transform->tuning.lanes;
    const uint32_t groups = transform->plan.x.length / 2 / lanes;
    return groups + (groups * lanes * 2 * stored_bytes(transform) % 4096 == 0 ? 1 : 0);
}

/* With the spare rows of the staged technique. */
static size_t spectrum_bytes(const struct transform *transform)
{
    return (size_t)spectrum_pitch(transform) * transform->tuning.lanes * 2 *
           stored_bytes(transform) * (transform->plan.y.length + 2);
}

void transform_default_tuning(struct transform_tuning *ret, const struct gpu_device *device)
{
    *ret = (struct transform_tuning){.technique = TRANSFORM_FUSED, .max_radix = 16};
    if (device->type & CL_DEVICE_TYPE_CPU) {
        /* A work-group is a loop on one core: one item that computes in vector registers. */
        ret->lanes = device->vector_width >= 16 ? 16 : device->vector_width >= 8 ? 8 : 4;
        ret->column_group = ret->row_group = 1;
        ret->columns = ret->rows = 1;
        ret->skew = 31;
    } else {
        ret->lanes = 1;
        ret->column_group = ret->row_group = 128;
        ret->columns = 8;
        ret->rows = 1;
        ret->skew = 4;
    }
}

/* Shrinks what a work-group carries until it fits the device's local memory. */
static int fit_local_memory(struct transform_tuning *tuning, struct plan *ret_plan,
                            const struct gpu_device *device, const struct transform_image *image,
                            const struct transform_border *border, struct error *why)
{
    struct plan_limits limits = {.width = image->width,
                                 .height = image->height,
                                 .margin_x = border->margin_x,
                                 .margin_y = border->margin_y,
                                 .max_radix = (uint8_t)tuning->max_radix};
    for (;;) {
        limits.lanes = tuning->lanes;
        const int r = plan_choose(ret_plan, &limits, why);
        if (r < 0)
            return r;
        if (tuning->technique == TRANSFORM_STAGED)
            return 0;
        const bool columns_fit = column_local_bytes(ret_plan, tuning) <= device->local_bytes;
        const bool rows_fit = row_local_bytes(ret_plan, tuning) <= device->local_bytes;
        if (columns_fit && rows_fit)
            return 0;
        if (!columns_fit && tuning->columns > 1)
            tuning->columns /= 2;
        else if (!rows_fit && tuning->rows > 1)
            tuning->rows /= 2;
        else if (tuning->skew < 31)
            tuning->skew = 31;
        else if (tuning->lanes > 1)
            tuning->lanes /= 2;
        else
            return error_set(why, ERANGE,
                             "a transform of %ux%u needs %zu bytes of local memory, %s has %llu",
                             ret_plan->x.length, ret_plan->y.length,
                             (size_t)COMPLEX_BYTES * (ret_plan->x.length > ret_plan->y.length
                                                          ? ret_plan->x.length
                                                          : ret_plan->y.length),
                             device->name, (unsigned long long)device->local_bytes);
    }
}

/* ---- prologue ------------------------------------------------------------------------------ */

static void print_axis(char *text, char name, const struct plan_axis *axis)
{
    const unsigned count = axis->stage_count;
    text_append(text, PROLOGUE_BYTES, "#define %c_LENGTH %u\n#define %c_STAGES %u\n", name,
                axis->length, name, count);
    for (unsigned i = 0; i < count; i++)
        text_append(
            text, PROLOGUE_BYTES, "#define %c_R%u %u\n#define %c_M%u %u\n#define %c_T%u %u\n", name,
            i, axis->radix[i], name, i, plan_span(axis, i), name, i, plan_twiddle_offset(axis, i));
    text_append(text, PROLOGUE_BYTES, "#define %c_EACH_STAGE(F)", name);
    for (unsigned i = 0; i < count; i++)
        text_append(text, PROLOGUE_BYTES, " F(%u)", i);
    text_append(text, PROLOGUE_BYTES, "\n#define %c_EACH_STAGE_BACK(F)", name);
    for (unsigned i = count; i-- > 0;)
        text_append(text, PROLOGUE_BYTES, " F(%u)", i);
    text_append(text, PROLOGUE_BYTES,
                "\n#define %c_LAST_STAGE(F) F(%u)\n#define %c_LAST_RADIX %u\n", name, count - 1,
                name, axis->radix[count - 1]);
}

static void print_image(char *text, const struct transform_image *image,
                        const struct transform_border *border)
{
    static const char *const kinds[] = {[SAMPLE_U8] = "SAMPLE_U8",
                                        [SAMPLE_U16] = "SAMPLE_U16",
                                        [SAMPLE_RGB8] = "SAMPLE_RGB8",
                                        [SAMPLE_F32] = "SAMPLE_F32"};
    text_append(text, PROLOGUE_BYTES,
                "#define %s 1\n#define IMAGE_WIDTH %u\n#define IMAGE_HEIGHT %u\n"
                "#define IMAGE_STRIDE %u\n#define IMAGE_OFFSET %u\n#define IMAGE_STEP %u\n"
                "#define SAMPLE_MAX %u\n#define KEEP_OTHERS %d\n",
                kinds[image->kind], image->width, image->height, image->stride, image->offset,
                image->step, (1u << image->bits) - 1, image->keep_others);
    if (image->kind == SAMPLE_RGB8)
        text_append(text, PROLOGUE_BYTES,
                    "#define R_OFFSET %u\n#define G_OFFSET %u\n#define B_OFFSET %u\n"
                    "#define X_OFFSET %u\n",
                    image->rgb[0], image->rgb[1], image->rgb[2],
                    6u - image->rgb[0] - image->rgb[1] - image->rgb[2]);
    char value[TEXT_NUMBER_BYTES];
    text_from_number((double)(float)border->value, value, sizeof value);
    text_append(text, PROLOGUE_BYTES,
                "#define BORDER_CONSTANT %d\n#define BORDER_VALUE (float)(%s)\n",
                border->mode == PLAN_CONSTANT, value);
}

static void print_prologue(char *text, const struct transform *transform,
                           const struct transform_border *border)
{
    const struct transform_tuning *tuning = &transform->tuning;
    text[0] = '\0';
    text_append(text, PROLOGUE_BYTES,
                "#line 1 \"prologue\"\n#define LANES %u\n#define HALF_STORAGE %d\n"
                "#define COLUMN_GROUP %u\n#define COLS %u\n#define ROW_GROUP %u\n"
                "#define ROWS %u\n#define SKEW %u\n#define SPECTRUM_PITCH %u\n",
                tuning->lanes, tuning->half, tuning->column_group, tuning->columns,
                tuning->row_group, tuning->rows, tuning->skew, spectrum_pitch(transform));
    /* Half: the largest sum down a column, at 1/8 of the largest number for filters that amplify.
     */
    const double nx = transform->plan.x.length, ny = transform->plan.y.length;
    const double load = 8192. / (((1u << transform->image.bits) - 1) * ny);
    text_append(text, PROLOGUE_BYTES,
                "#define LOAD_SCALE %.9ef\n#define ROW_SCALE %.9ef\n#define STORE_SCALE %.9ef\n",
                load, 0.5 / nx, 1 / (load * ny));
    print_axis(text, 'X', &transform->plan.x);
    print_axis(text, 'Y', &transform->plan.y);
    print_image(text, &transform->image, border);
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

/* The rows of the spectrum that hold ky and -ky, and where the right half stays (pack.cl). */
static int make_pairs(cl_mem *ret, struct transform *transform, struct error *why)
{
    cl_uint pairs[PLAN_MAX_LENGTH / 2 + 1][4];
    const struct plan_axis *y = &transform->plan.y;
    const uint32_t count = y->length / 2 + 1;
    uint32_t spare = y->length;
    for (uint32_t k = 0; k < count; k++) {
        pairs[k][0] = plan_position(y, k);
        pairs[k][1] = plan_position(y, (y->length - k) % y->length);
        pairs[k][2] = pairs[k][1] != pairs[k][0] ? pairs[k][1] : spare++;
        pairs[k][3] = 0;
    }
    return make_table(ret, transform, pairs, count * sizeof pairs[0], why);
}

static int make_buffers(struct transform *transform, const struct transform_border *border,
                        struct error *why)
{
    const struct plan *plan = &transform->plan;
    cl_int code;
    int r = make_twiddles(&transform->twiddle_x, transform, &plan->x, why);
    if (r == 0)
        r = make_twiddles(&transform->twiddle_y, transform, &plan->y, why);
    if (r == 0)
        r = make_map(&transform->map_x, transform, plan->x.length, plan->width, border->mode, why);
    if (r == 0)
        r = make_map(&transform->map_y, transform, plan->y.length, plan->height, border->mode, why);
    if (r == 0)
        r = make_pairs(&transform->pairs, transform, why);
    if (r < 0)
        return r;
    transform->spectrum = clCreateBuffer(transform->device->context, CL_MEM_READ_WRITE,
                                         spectrum_bytes(transform), NULL, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateBuffer");
}

/* ---- kernels ------------------------------------------------------------------------------- */

static const char *const fused_files[] = {"complex.cl", "butterfly.cl", "pixel.cl",
                                          "pack.cl",    "stage.cl",     "fused.cl"};
static const char *const staged_files[] = {"complex.cl", "butterfly.cl", "pixel.cl",
                                           "pack.cl",    "stage.cl",     "staged.cl"};
#define FILE_COUNT (sizeof fused_files / sizeof fused_files[0])

static int add_dispatch(struct transform *transform, const char *name, size_t groups, size_t local,
                        struct dispatch **ret, struct error *why)
{
    cl_int code;
    struct dispatch *dispatch = &transform->dispatch[transform->dispatch_count];
    *dispatch = (struct dispatch){
        .global = groups * local, .local = local, .image = -1, .result = -1, .response = -1};
    dispatch->kernel = clCreateKernel(transform->program, name, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, name);
    transform->dispatch_count++;
    *ret = dispatch;
    return 0;
}

static int set_buffer(const struct dispatch *dispatch, unsigned index, const cl_mem *buffer,
                      struct error *why)
{
    const cl_int code = clSetKernelArg(dispatch->kernel, index, sizeof *buffer, buffer);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clSetKernelArg");
}

static int set_local(const struct dispatch *dispatch, unsigned index, size_t size,
                     struct error *why)
{
    const cl_int code = clSetKernelArg(dispatch->kernel, index, size, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clSetKernelArg");
}

/* The arguments as fused.cl declares them. */
static int make_fused_dispatches(struct transform *transform, struct error *why)
{
    const struct transform_tuning *tuning = &transform->tuning;
    const struct plan *plan = &transform->plan;
    const size_t columns = column_groups(plan, tuning);
    const size_t column_local = column_local_bytes(plan, tuning);
    struct dispatch *d = NULL;
    int r = add_dispatch(transform, "columns_forward", columns, tuning->column_group, &d, why);
    if (r < 0)
        return r;
    d->image = 0;
    if ((r = set_buffer(d, 1, &transform->spectrum, why)) < 0 ||
        (r = set_buffer(d, 2, &transform->map_x, why)) < 0 ||
        (r = set_buffer(d, 3, &transform->map_y, why)) < 0 ||
        (r = set_buffer(d, 4, &transform->twiddle_y, why)) < 0 ||
        (r = set_local(d, 5, column_local, why)) < 0)
        return r;

    r = add_dispatch(transform, "rows", row_groups(plan, tuning), tuning->row_group, &d, why);
    if (r < 0)
        return r;
    d->response = 2;
    if ((r = set_buffer(d, 0, &transform->spectrum, why)) < 0 ||
        (r = set_buffer(d, 1, &transform->pairs, why)) < 0 ||
        (r = set_buffer(d, 3, &transform->twiddle_x, why)) < 0 ||
        (r = set_local(d, 4, row_local_bytes(plan, tuning), why)) < 0)
        return r;

    r = add_dispatch(transform, "columns_inverse", columns, tuning->column_group, &d, why);
    if (r < 0)
        return r;
    d->image = 1;
    d->result = 2;
    if ((r = set_buffer(d, 0, &transform->spectrum, why)) < 0 ||
        (r = set_buffer(d, 3, &transform->twiddle_y, why)) < 0 ||
        (r = set_local(d, 4, column_local, why)) < 0)
        return r;
    return 0;
}

/* The arguments as staged.cl declares them. */
static int add_staged_columns(struct transform *transform, bool forward, unsigned stage,
                              struct error *why)
{
    const struct plan *plan = &transform->plan;
    const size_t local = transform->tuning.column_group;
    const size_t items = (size_t)plan->x.length / 2 * (plan->y.length / plan->y.radix[stage]);
    char name[32];
    struct dispatch *d = NULL;
    snprintf(name, sizeof name, "columns_%s_%u", forward ? "forward" : "inverse", stage);
    int r = add_dispatch(transform, name, (items + local - 1) / local, local, &d, why);
    if (r < 0)
        return r;
    if (forward) {
        d->image = 0;
        if ((r = set_buffer(d, 1, &transform->spectrum, why)) < 0 ||
            (r = set_buffer(d, 2, &transform->map_x, why)) < 0 ||
            (r = set_buffer(d, 3, &transform->map_y, why)) < 0)
            return r;
        return set_buffer(d, 4, &transform->twiddle_y, why);
    }
    d->image = 1;
    d->result = 2;
    r = set_buffer(d, 0, &transform->spectrum, why);
    return r < 0 ? r : set_buffer(d, 3, &transform->twiddle_y, why);
}

static int add_staged_rows(struct transform *transform, const char *name, unsigned stage,
                           struct error *why)
{
    const struct plan *plan = &transform->plan;
    const size_t local = transform->tuning.row_group;
    const size_t items = (size_t)(plan->y.length / 2 + 1) * (plan->x.length / plan->x.radix[stage]);
    struct dispatch *d = NULL;
    int r = add_dispatch(transform, name, (items + local - 1) / local, local, &d, why);
    if (r < 0)
        return r;
    d->response = 2;
    if ((r = set_buffer(d, 0, &transform->spectrum, why)) < 0 ||
        (r = set_buffer(d, 1, &transform->pairs, why)) < 0)
        return r;
    return set_buffer(d, 3, &transform->twiddle_x, why);
}

static int make_staged_dispatches(struct transform *transform, struct error *why)
{
    const unsigned columns = transform->plan.y.stage_count;
    const unsigned last = transform->plan.x.stage_count - 1;
    char name[32];
    int r = 0;
    for (unsigned i = 0; i < columns && r == 0; i++)
        r = add_staged_columns(transform, true, i, why);
    for (unsigned i = 0; i < last && r == 0; i++) {
        snprintf(name, sizeof name, "rows_forward_%u", i);
        r = add_staged_rows(transform, name, i, why);
    }
    if (r == 0)
        r = add_staged_rows(transform, "rows_middle", last, why);
    for (unsigned i = last; i-- > 0 && r == 0;) {
        snprintf(name, sizeof name, "rows_inverse_%u", i);
        r = add_staged_rows(transform, name, i, why);
    }
    for (unsigned i = columns; i-- > 0 && r == 0;)
        r = add_staged_columns(transform, false, i, why);
    return r;
}

static void release_kernels(struct transform *transform)
{
    for (unsigned i = 0; i < transform->dispatch_count; i++)
        clReleaseKernel(transform->dispatch[i].kernel);
    transform->dispatch_count = 0;
    if (transform->program != NULL)
        clReleaseProgram(transform->program);
    transform->program = NULL;
}

/* The device's own limit says little: only the built kernel's counts, for it depends on the
 * registers it takes. */
static size_t kernel_group_limit(const struct transform *transform, const struct dispatch *dispatch)
{
    size_t limit = 0;
    if (clGetKernelWorkGroupInfo(dispatch->kernel, transform->device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                 sizeof limit, &limit, NULL) != CL_SUCCESS ||
        limit == 0)
        return 1;
    return limit;
}

static bool shrink_groups(struct transform *transform)
{
    struct transform_tuning *tuning = &transform->tuning;
    bool shrunk = false;
    for (unsigned i = 0; i < transform->dispatch_count; i++) {
        const struct dispatch *d = &transform->dispatch[i];
        unsigned *group = d->response >= 0 ? &tuning->row_group : &tuning->column_group;
        const size_t limit = kernel_group_limit(transform, d);
        while (*group > limit) {
            *group /= 2;
            shrunk = true;
        }
    }
    return shrunk;
}

static int build(struct transform *transform, const struct transform_border *border,
                 const char *cache_dir, struct error *warning, struct error *why)
{
    char *prologue = malloc(PROLOGUE_BYTES);
    if (prologue == NULL)
        return error_set(why, ENOMEM, "no memory for a kernel's prologue");
    int r;
    do {
        release_kernels(transform);
        print_prologue(prologue, transform, border);
        const bool fused = transform->tuning.technique == TRANSFORM_FUSED;
        r = program_build(&transform->program, transform->device, prologue,
                          fused ? fused_files : staged_files, FILE_COUNT, cache_dir, warning, why);
        if (r == 0)
            r = fused ? make_fused_dispatches(transform, why)
                      : make_staged_dispatches(transform, why);
    } while (r == 0 && shrink_groups(transform));
    free(prologue);
    return r;
}

/* ---- life ---------------------------------------------------------------------------------- */

int transform_create(struct transform **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct transform_border *border,
                     const struct transform_tuning *tuning, const char *cache_dir,
                     struct error *warning, struct error *why)
{
    struct transform *transform = calloc(1, sizeof *transform);
    if (transform == NULL)
        return error_set(why, ENOMEM, "no memory for a transform");
    transform->device = device;
    transform->image = *image;
    transform->tuning = *tuning;
    if (tuning->technique == TRANSFORM_STAGED)
        transform->tuning.lanes = 1;
    if (transform->tuning.column_group > device->max_group)
        transform->tuning.column_group = (unsigned)device->max_group;
    if (transform->tuning.row_group > device->max_group)
        transform->tuning.row_group = (unsigned)device->max_group;

    int r = fit_local_memory(&transform->tuning, &transform->plan, device, image, border, why);
    if (r == 0)
        r = make_buffers(transform, border, why);
    if (r == 0)
        r = build(transform, border, cache_dir, warning, why);
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
    release_kernels(transform);
    const cl_mem buffers[] = {transform->spectrum, transform->map_x,     transform->map_y,
                              transform->pairs,    transform->twiddle_x, transform->twiddle_y};
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
        [SAMPLE_U8] = 1, [SAMPLE_U16] = 2, [SAMPLE_RGB8] = 3, [SAMPLE_F32] = 4};
    const double plane = (double)image->width * image->height *
                         (image->keep_others ? image->step : sample_bytes[image->kind]);
    const double spectrum = (double)transform->plan.x.length * transform->plan.y.length *
                            (double)stored_bytes(transform);
    /* Image in; the spectrum out of every dispatch but the last and into the next; the response;
     * what is kept; the result. */
    return plane + 2 * (transform->dispatch_count - 1) * spectrum +
           (double)transform_response_bytes(transform) + (image->keep_others ? plane : 0) + plane;
}

/* ---- response ------------------------------------------------------------------------------ */

double transform_response_scale(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    return transform->tuning.half ? 1 : 0.5 / plan->x.length / plan->y.length;
}

size_t transform_response_bytes(const struct transform *transform)
{
    return response_count(&transform->plan, transform->tuning.lanes) * stored_bytes(transform);
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

void transform_response_pack(const struct transform *transform, void *packed, const float *values)
{
    const size_t count = response_count(&transform->plan, transform->tuning.lanes);
    if (!transform->tuning.half) {
        memcpy(packed, values, count * sizeof *values);
        return;
    }
    uint16_t *half = packed;
    for (size_t i = 0; i < count; i++)
        half[i] = to_half(values[i]);
}

/* ---- frames -------------------------------------------------------------------------------- */

static int enqueue_one(const struct dispatch *d, cl_command_queue queue, const cl_mem *image,
                       const cl_mem *result, const cl_mem *response, cl_event after,
                       cl_event *event, struct error *why)
{
    int r = 0;
    if (d->image >= 0)
        r = set_buffer(d, (unsigned)d->image, image, why);
    if (r == 0 && d->result >= 0)
        r = set_buffer(d, (unsigned)d->result, result, why);
    if (r == 0 && d->response >= 0)
        r = set_buffer(d, (unsigned)d->response, response, why);
    if (r < 0)
        return r;
    const cl_int code = clEnqueueNDRangeKernel(queue, d->kernel, 1, NULL, &d->global,
                                               d->local > 0 ? &d->local : NULL, after != NULL,
                                               after != NULL ? &after : NULL, event);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueNDRangeKernel");
}

int transform_enqueue(struct transform *transform, cl_command_queue queue, cl_mem image,
                      cl_mem result, cl_mem response, cl_event after, cl_event *first,
                      cl_event *last, struct error *why)
{
    cl_event begun = NULL;
    for (unsigned i = 0; i < transform->dispatch_count; i++) {
        const bool is_last = i + 1 == transform->dispatch_count;
        cl_event *event = i == 0 ? &begun : is_last ? last : NULL;
        const int r = enqueue_one(&transform->dispatch[i], queue, &image, &result, &response,
                                  i == 0 ? after : NULL, event, why);
        if (r < 0) {
            if (begun != NULL)
                clReleaseEvent(begun);
            return r;
        }
    }
    *first = begun;
    return 0;
}
