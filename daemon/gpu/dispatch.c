/* Kernels as dispatches: which there are, their arguments, and how many items go in a group. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/program.h"
#include "gpu/transform_private.h"

static const char *const fused_files[] = {"complex.cl", "butterfly.cl", "mosaic.cl", "pixel.cl",
                                          "pack.cl",    "stage.cl",     "fused.cl"};
static const char *const staged_files[] = {"complex.cl", "butterfly.cl", "mosaic.cl", "pixel.cl",
                                           "pack.cl",    "stage.cl",     "staged.cl"};
#define FILE_COUNT (sizeof fused_files / sizeof fused_files[0])

/* Takes one kernel more; NULL if it can not be had. */
static struct dispatch *add_dispatch(struct transform *transform, const char *name, size_t groups,
                                     size_t local, struct error *why)
{
    cl_int code;
    struct dispatch *dispatch = &transform->dispatch[transform->dispatch_count];
    *dispatch = (struct dispatch){.global = groups * local,
                                  .local = local,
                                  .image = -1,
                                  .result = -1,
                                  .response = -1,
                                  .spectrum = -1};
    dispatch->kernel = clCreateKernel(transform->program, name, &code);
    if (code != CL_SUCCESS) {
        opencl_fail(why, code, name);
        return NULL;
    }
    transform->dispatch_count++;
    return dispatch;
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
    const size_t columns = transform_column_groups(plan, tuning);
    const size_t column_local = transform_column_local(plan, tuning);
    struct dispatch *d =
        add_dispatch(transform, "columns_forward", columns, tuning->column_group, why);
    int r = 0;
    if (d == NULL)
        return -EIO;
    d->image = 0;
    d->spectrum = 1;
    if ((r = set_buffer(d, 2, &transform->map_x, why)) < 0 ||
        (r = set_buffer(d, 3, &transform->map_y, why)) < 0 ||
        (r = set_buffer(d, 4, &transform->twiddle_y, why)) < 0 ||
        (r = set_local(d, 5, column_local, why)) < 0)
        return r;

    d = add_dispatch(transform, "rows", transform_row_groups(plan, tuning), tuning->row_group, why);
    if (d == NULL)
        return -EIO;
    d->response = 2;
    d->spectrum = 0;
    if ((r = set_buffer(d, 1, &transform->pairs, why)) < 0 ||
        (r = set_buffer(d, 3, &transform->twiddle_x, why)) < 0 ||
        (r = set_local(d, 4, transform_row_local(plan, tuning), why)) < 0)
        return r;

    d = add_dispatch(transform, "columns_inverse", columns, tuning->column_group, why);
    if (d == NULL)
        return -EIO;
    d->image = 1;
    d->result = 2;
    d->spectrum = 0;
    if ((r = set_buffer(d, 3, &transform->twiddle_y, why)) < 0 ||
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
    d = add_dispatch(transform, name, (items + local - 1) / local, local, why);
    int r = 0;
    if (d == NULL)
        return -EIO;
    if (forward) {
        d->image = 0;
        d->spectrum = 1;
        if ((r = set_buffer(d, 2, &transform->map_x, why)) < 0 ||
            (r = set_buffer(d, 3, &transform->map_y, why)) < 0)
            return r;
        return set_buffer(d, 4, &transform->twiddle_y, why);
    }
    d->image = 1;
    d->result = 2;
    d->spectrum = 0;
    return set_buffer(d, 3, &transform->twiddle_y, why);
}

static int add_staged_rows(struct transform *transform, const char *name, unsigned stage,
                           struct error *why)
{
    const struct plan *plan = &transform->plan;
    const size_t local = transform->tuning.row_group;
    const size_t items = (size_t)(plan->y.length / 2 + 1) * (plan->x.length / plan->x.radix[stage]);
    struct dispatch *d = add_dispatch(transform, name, (items + local - 1) / local, local, why);
    int r = 0;
    if (d == NULL)
        return -EIO;
    d->response = 2;
    d->spectrum = 0;
    if ((r = set_buffer(d, 1, &transform->pairs, why)) < 0)
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

void transform_release_kernels(struct transform *transform)
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

int transform_build(struct transform *transform, const struct transform_border *border,
                    const char *cache_dir, struct error *warning, struct error *why)
{
    int r;
    do {
        transform_release_kernels(transform);
        char *prologue = transform_prologue(transform, border);
        if (prologue == NULL)
            return error_set(why, ENOMEM, "no memory for a kernel's prologue");
        const bool fused = transform->tuning.technique == TRANSFORM_FUSED;
        r = program_build(&transform->program, transform->device, prologue,
                          fused ? fused_files : staged_files, FILE_COUNT, cache_dir, warning, why);
        free(prologue);
        if (r == 0)
            r = fused ? make_fused_dispatches(transform, why)
                      : make_staged_dispatches(transform, why);
    } while (r == 0 && shrink_groups(transform));
    return r;
}

int dispatch_enqueue(const struct dispatch *dispatch, cl_command_queue queue,
                     const struct transform_buffers *buffers, cl_event *event, struct error *why)
{
    const struct {
        int index;
        const cl_mem *buffer;
    } arguments[] = {{dispatch->image, &buffers->image},
                     {dispatch->result, &buffers->result},
                     {dispatch->response, &buffers->response},
                     {dispatch->spectrum, &buffers->spectrum}};
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        if (arguments[i].index < 0)
            continue;
        const int r = set_buffer(dispatch, (unsigned)arguments[i].index, arguments[i].buffer, why);
        if (r < 0)
            return r;
    }
    const cl_int code = clEnqueueNDRangeKernel(queue, dispatch->kernel, 1, NULL, &dispatch->global,
                                               &dispatch->local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueNDRangeKernel");
}
