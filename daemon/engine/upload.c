#include "engine/upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"
#include "gpu/program.h"

int upload_init(struct upload *ret, const struct gpu_device *device, cl_command_queue queue,
                size_t bytes, struct error *why)
{
    const bool unified = device->unified_memory;
    *ret = (struct upload){.device = device, .queue = queue, .bytes = bytes};
    int r = opencl_make_buffer(&ret->in, device->context,
                               CL_MEM_READ_ONLY | (unified ? CL_MEM_ALLOC_HOST_PTR : 0), bytes,
                               NULL, why);
    if (r == 0 && !unified)
        r = opencl_make_pinned(&ret->host_in, &ret->host_in_at, device->context, queue,
                               CL_MAP_WRITE, bytes, why);
    return r;
}

void upload_finish(struct upload *upload)
{
    if (upload->host_in_at != NULL) {
        clEnqueueUnmapMemObject(upload->queue, upload->host_in, upload->host_in_at, 0, NULL, NULL);
        clFinish(upload->queue);
    }
    opencl_release_buffer(upload->host_in);
    opencl_release_buffer(upload->in);
    upload_release(upload);
}

void upload_release(struct upload *upload)
{
    opencl_release_buffer(upload->sent);
    upload->sent = NULL;
}

struct upload_planes upload_planes_of(const struct fftd_format *format, uint64_t first,
                                      uint64_t last)
{
    struct upload_planes ret = {.format = format};
    for (unsigned p = 0; p < format->plane_count; p++) {
        if (format->plane[p].offset <= first)
            ret.first = p;
        if (format->plane[p].offset <= last)
            ret.end = p + 1;
    }
    return ret;
}

static void copy_rows(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride,
                      size_t row_bytes, unsigned rows)
{
    if (to_stride == from_stride && to_stride == row_bytes) {
        memcpy(to, from, row_bytes * rows);
        return;
    }
    for (unsigned i = 0; i < rows; i++)
        memcpy(to + i * to_stride, from + i * from_stride, row_bytes);
}

uint64_t upload_copy_planes(const struct upload_planes *planes, const struct engine_job *job,
                            uint8_t *frame)
{
    uint64_t bytes = 0;
    for (unsigned i = planes->first; i < planes->end; i++) {
        const struct fftd_plane *plane = &planes->format->plane[i];
        copy_rows(frame + plane->offset, plane->stride, job->in[i], job->in_stride[i],
                  plane->row_bytes, plane->rows);
        bytes += (uint64_t)plane->row_bytes * plane->rows;
    }
    return bytes;
}

/* ---- chroma that becomes smaller ------------------------------------------------------------ */

bool engine_resampled(const struct engine *engine, struct resampler_size *ret)
{
    const struct fftd_format *from = &engine->source, *to = &engine->format;
    const struct format_info *info = engine->info;
    const bool is_packed = info->plane_count == 1;
    const unsigned sub_x = is_packed ? 2 : info->plane[1].sub_x;
    const unsigned sub_y = is_packed ? 1 : info->plane[1].sub_y;
    if (!recipe_is_smaller(&engine->options.recipe) || info->family != FAMILY_YUV ||
        engine->options.recipe.planes != RECIPE_LUMA)
        return false;
    *ret = (struct resampler_size){.columns = from->width / sub_x,
                                   .rows = from->height / sub_y,
                                   .to_columns = to->width / sub_x,
                                   .to_rows = to->height / sub_y,
                                   .channels = is_packed ? 2 : info->plane[1].bytes_per_pixel};
    return true;
}

/* The smaller chroma of the newest frame, for all engines that need this size. A frame number means
 * the same picture for all of them, so they can copy it. */
struct shared_chroma {
    struct shared_chroma *next;
    struct resampler_size size;
    unsigned users;
    uint64_t number; /* number of the frame; 0: none */
    uint8_t bytes[]; /* planes without padding */
};

static size_t plane_bytes(const struct resampler_size *size)
{
    return (size_t)size->to_columns * size->channels * size->to_rows;
}

uint64_t upload_chroma_bytes(const struct resampler_size *size)
{
    return sizeof(struct shared_chroma) + 2 * plane_bytes(size) / size->channels;
}

static bool has_size(const struct shared_chroma *chroma, const struct resampler_size *size)
{
    return chroma->size.columns == size->columns && chroma->size.rows == size->rows &&
           chroma->size.to_columns == size->to_columns && chroma->size.to_rows == size->to_rows &&
           chroma->size.channels == size->channels;
}

int upload_share_chroma(struct engine *engine, const struct resampler_size *size, struct error *why)
{
    struct engine_loads *loads = engine->options.loads;
    if (loads == NULL)
        return 0;
    pthread_mutex_lock(&loads->lock);
    struct shared_chroma *chroma = loads->chroma;
    while (chroma != NULL && !has_size(chroma, size))
        chroma = chroma->next;
    if (chroma == NULL && (chroma = malloc(upload_chroma_bytes(size))) != NULL) {
        *chroma = (struct shared_chroma){.next = loads->chroma, .size = *size};
        loads->chroma = chroma;
    }
    if (chroma != NULL)
        chroma->users++;
    pthread_mutex_unlock(&loads->lock);
    engine->chroma = chroma;
    return chroma != NULL
               ? 0
               : error_set(why, ENOMEM, "out of memory while preparing smaller planes of chroma");
}

void upload_leave_chroma(struct engine *engine)
{
    struct shared_chroma *chroma = engine->chroma;
    if (chroma == NULL)
        return;
    pthread_mutex_lock(&engine->options.loads->lock);
    if (--chroma->users == 0) {
        struct shared_chroma **at = &engine->options.loads->chroma;
        while (*at != chroma)
            at = &(*at)->next;
        *at = chroma->next;
        free(chroma);
    }
    pthread_mutex_unlock(&engine->options.loads->lock);
}

/* Makes plane i of the slot's frame smaller, or copies what another engine has made of it. */
static void make_smaller(const struct slot *slot, unsigned i, uint8_t *to, size_t stride)
{
    const struct engine_job *job = &slot->job;
    struct resampler *resampler = slot->engine->resampler;
    struct shared_chroma *chroma = slot->engine->chroma;
    const unsigned step = i == 0 ? 2 : 1; /* plane 0 has luma beside it */
    const uint8_t *from = job->in[i] + (i == 0 ? slot->engine->info->offset ^ 1u : 0);
    if (chroma == NULL || job->number == 0) {
        resampler_run(resampler, to, stride, from, job->in_stride[i], step);
        return;
    }
    const size_t row_bytes = (size_t)chroma->size.to_columns * chroma->size.channels;
    uint8_t *made = chroma->bytes + (i > 1 ? plane_bytes(&chroma->size) : 0);
    if (chroma->number != job->number)
        resampler_run(resampler, made, row_bytes, from, job->in_stride[i], step);
    copy_rows(to, stride, made, row_bytes, row_bytes, chroma->size.to_rows);
}

uint64_t upload_resample(struct slot *slot)
{
    const struct engine *engine = slot->engine;
    const struct engine_job *job = &slot->job;
    const uint32_t width = engine->format.width; /* two samples of chroma for two of luma */
    uint64_t bytes = 0;
    if (slot->chroma != NULL) {
        make_smaller(slot, 0, slot->chroma, width);
        bytes = (uint64_t)width * engine->format.height;
    }
    for (unsigned i = 1; i < engine->format.plane_count; i++) {
        const struct fftd_plane *plane = &engine->format.plane[i];
        make_smaller(slot, i, job->out + plane->offset, plane->stride);
        bytes += (uint64_t)plane->row_bytes * plane->rows;
    }
    if (engine->chroma != NULL && job->number != 0)
        engine->chroma->number = job->number;
    return bytes;
}

void upload_put_chroma(const struct slot *slot)
{
    const struct fftd_format *format = &slot->engine->format;
    const struct fftd_plane *plane = &format->plane[0];
    for (uint32_t y = 0; y < format->height; y++) {
        uint8_t *to = slot->job.out + plane->offset + (size_t)y * plane->stride;
        const uint8_t *from = slot->chroma + (size_t)y * format->width;
        to += slot->engine->info->offset ^ 1u;
        for (uint32_t x = 0; x < format->width; x++)
            to[2 * (size_t)x] = from[x];
    }
}

/* ---- the same by a device ------------------------------------------------------------------- */

/* A work-group's part of the result (kernels/engine/resample.cl), and its items. */
#define BLOCK_COLUMNS 16
#define BLOCK_ROWS    4
#define GROUP_ITEMS   256u
#define NUMBERS       15 /* before the first samples */

struct chroma {
    cl_kernel kernel;
    cl_mem numbers, taps;
    size_t global[3], local[3];
    double bytes; /* that a frame reads and writes */
};

/* Returns the bytes of local memory of a work-group; 0: the host makes this chroma smaller. */
static size_t line_bytes(const struct engine *engine, struct resampler_size *size)
{
    if (engine->device->unified_memory || engine->info->plane_count == 1 ||
        !engine_resampled(engine, size))
        return 0;
    const double ratio = (double)size->columns / size->to_columns;
    const double columns = (BLOCK_COLUMNS + 2 * RESAMPLER_REACH) * ratio + 16; /* rounded up */
    return (size_t)columns * size->channels * BLOCK_ROWS * sizeof(cl_short);
}

bool upload_resamples(const struct engine *engine)
{
    struct resampler_size size;
    const size_t bytes = line_bytes(engine, &size);
    return bytes > 0 && bytes <= engine->device->local_bytes;
}

static bool applies(const struct recipe *recipe)
{
    return recipe_is_smaller(recipe) && recipe->planes == RECIPE_LUMA;
}

/* What tables are made of. */
struct tables {
    struct resampler *resampler;
    cl_uint *numbers;
    cl_short *taps;
};

static void free_tables(struct tables *tables)
{
    resampler_destroy(tables->resampler);
    free(tables->numbers);
    free(tables->taps);
}

static size_t number_count(const struct resampler_size *size)
{
    return NUMBERS + (size_t)size->to_columns + size->to_rows;
}

static int make_tables(struct chroma *chroma, const struct engine *engine,
                       const struct resampler_size *size, struct tables *tables, struct error *why)
{
    const struct fftd_plane *from = engine->source.plane, *to = engine->format.plane;
    const unsigned last = engine->info->plane_count - 1;
    int r = resampler_create(&tables->resampler, size, why);
    if (r < 0)
        return r;
    const struct resampler_axis *across = resampler_across(tables->resampler);
    const struct resampler_axis *down = resampler_down(tables->resampler);
    const size_t across_taps = (size_t)size->to_columns * across->taps;
    const size_t taps = across_taps + (size_t)size->to_rows * down->taps;
    tables->numbers = malloc(number_count(size) * sizeof *tables->numbers);
    tables->taps = malloc(taps * sizeof *tables->taps);
    if (tables->numbers == NULL || tables->taps == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing smaller planes of chroma");
    const cl_uint numbers[NUMBERS] = {
        size->columns,     size->rows,   size->to_columns, size->to_rows, size->channels,
        from[1].stride,    to[1].stride, across->taps,     down->taps,    from[1].offset,
        from[last].offset, to[1].offset, to[last].offset,  BLOCK_COLUMNS, BLOCK_ROWS};
    memcpy(tables->numbers, numbers, sizeof numbers);
    memcpy(tables->numbers + NUMBERS, across->first, size->to_columns * sizeof(cl_uint));
    memcpy(tables->numbers + NUMBERS + size->to_columns, down->first,
           size->to_rows * sizeof(cl_uint));
    memcpy(tables->taps, across->tap, across_taps * sizeof(cl_short));
    memcpy(tables->taps + across_taps, down->tap, (taps - across_taps) * sizeof(cl_short));
    r = opencl_make_table(&chroma->numbers, engine->device->context, tables->numbers,
                          number_count(size) * sizeof(cl_uint), why);
    return r < 0 ? r
                 : opencl_make_table(&chroma->taps, engine->device->context, tables->taps,
                                     taps * sizeof(cl_short), why);
}

static int set_arguments(const struct chroma *chroma, size_t bytes, struct error *why)
{
    cl_int code = clSetKernelArg(chroma->kernel, 2, sizeof(cl_mem), &chroma->numbers);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(chroma->kernel, 3, sizeof(cl_mem), &chroma->taps);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(chroma->kernel, 4, bytes, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clSetKernelArg");
}

static int prepare(void **ret_part, struct component *component, const char *cache_dir,
                   struct error *why)
{
    const struct engine *engine = component->engine;
    struct tables tables = {NULL, NULL, NULL};
    struct resampler_size size;
    cl_program program;
    (void)cache_dir;
    if (!upload_resamples(engine))
        return 0;
    const size_t bytes = line_bytes(engine, &size);
    const unsigned planes = engine->info->plane_count - 1;
    struct chroma *chroma = calloc(1, sizeof *chroma);
    *ret_part = chroma;
    if (chroma == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing smaller planes of chroma");
    chroma->local[0] =
        GROUP_ITEMS < engine->device->max_group ? GROUP_ITEMS : engine->device->max_group;
    chroma->local[1] = chroma->local[2] = 1;
    chroma->global[0] = (size.to_columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS * chroma->local[0];
    chroma->global[1] = (size.to_rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    chroma->global[2] = planes;
    chroma->bytes = (double)planes * size.channels *
                    ((double)size.columns * size.rows + (double)size.to_columns * size.to_rows);
    int r = program_small(&program, engine->device, "resample.cl", false, why);
    if (r == 0)
        r = opencl_make_kernel(&chroma->kernel, program, "resample", why);
    if (r == 0)
        r = make_tables(chroma, engine, &size, &tables, why);
    if (r == 0)
        r = set_arguments(chroma, bytes, why);
    free_tables(&tables);
    return r;
}

static void destroy(void *part)
{
    struct chroma *chroma = part;
    if (chroma->kernel != NULL)
        clReleaseKernel(chroma->kernel);
    opencl_release_buffer(chroma->numbers);
    opencl_release_buffer(chroma->taps);
    free(chroma);
}

static int enqueue(struct step_run *run, struct error *why)
{
    const struct chroma *chroma = run->part;
    cl_event event;
    if (chroma == NULL)
        return 0; /* the host has done it */
    cl_int code = clSetKernelArg(chroma->kernel, 0, sizeof(cl_mem), &run->buffers->image);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(chroma->kernel, 1, sizeof(cl_mem), &run->buffers->result);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clSetKernelArg");
    code = clEnqueueNDRangeKernel(run->slot->queue, chroma->kernel, 3, NULL, chroma->global,
                                  chroma->local, 0, NULL, run->first != NULL ? &event : NULL);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueNDRangeKernel");
    if (run->first != NULL)
        step_run_is_one(run, event);
    return 0;
}

static struct step_cost cost(const void *part)
{
    const struct chroma *chroma = part;
    return chroma == NULL ? (struct step_cost){0, 0} : (struct step_cost){1, chroma->bytes};
}

static struct step_memory memory(const struct component *component,
                                 const struct filter_chain *chain)
{
    struct resampler_size size;
    (void)chain;
    if (!upload_resamples(component->engine))
        return (struct step_memory){.data = 0};
    engine_resampled(component->engine, &size);
    return (struct step_memory){.part.device = number_count(&size) * sizeof(cl_uint) +
                                               resampler_tap_count(&size) * sizeof(cl_short),
                                .scratch = 2 * resampler_bytes(&size)};
}

const struct step step_chroma = {.name = "chroma",
                                 .applies = applies,
                                 .prepare = prepare,
                                 .destroy = destroy,
                                 .enqueue = enqueue,
                                 .cost = cost,
                                 .memory = memory};

/* ---- a frame ------------------------------------------------------------------------------- */

/* Returns how many planes lie in the memory of the source as kernels expect them: those for which
 * it was made, and others that it happens to have. */
static unsigned count_lent(const struct upload_planes *planes, const struct engine_job *job)
{
    const struct fftd_plane *plane = planes->format->plane;
    unsigned p = job->memory->plane_count;
    while (p < planes->end && job->in_stride[p] == plane[p].stride &&
           job->in[p] == job->in[0] + (plane[p].offset - plane[0].offset))
        p++;
    return p;
}

/* Sends the other planes. Where their rows are another distance apart, they are copied first. */
static int send_others(const struct upload *upload, const struct upload_planes *planes,
                       const struct engine_job *job, uint64_t *copied_bytes, struct error *why)
{
    for (unsigned p = count_lent(planes, job); p < planes->end; p++) {
        const struct fftd_plane *plane = &planes->format->plane[p];
        const uint8_t *from = job->in[p];
        if (job->in_stride[p] != plane->stride) {
            const struct upload_planes one = {planes->format, p, p + 1};
            *copied_bytes += upload_copy_planes(&one, job, upload->host_in_at);
            from = (const uint8_t *)upload->host_in_at + plane->offset;
        }
        const size_t bytes = (size_t)plane->stride * (plane->rows - 1) + plane->row_bytes;
        const cl_int code = clEnqueueWriteBuffer(upload->queue, upload->in, CL_FALSE, plane->offset,
                                                 bytes, from, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clEnqueueWriteBuffer");
    }
    return 0;
}

int upload_frame(struct upload *upload, const struct upload_planes *planes, struct slot *slot,
                 cl_mem *ret, struct error *why)
{
    const struct engine_job *job = &slot->job;
    uint64_t *copied_bytes = &slot->result.copies.in_bytes;
    cl_int code;
    *ret = upload->in;
    if (job->memory != NULL) {
        const struct upload_planes lent = {planes->format, 0, count_lent(planes, job)};
        const int r = engine_memory_lend(job->memory, job->frame, upload->queue, upload_end(&lent),
                                         &upload->sent, ret, why);
        return r < 0 || upload->sent == NULL ? r
                                             : send_others(upload, planes, job, copied_bytes, why);
    }
    if (!upload->device->unified_memory) {
        *copied_bytes += upload_copy_planes(planes, job, upload->host_in_at);
        slot_account(slot, OVERHEAD_COPY);
        code = clEnqueueWriteBuffer(upload->queue, upload->in, CL_FALSE, 0, upload->bytes,
                                    upload->host_in_at, 0, NULL, NULL);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueWriteBuffer");
    }
    uint8_t *at =
        clEnqueueMapBuffer(upload->queue, upload->in, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                           upload->bytes, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueMapBuffer");
    slot_account(slot, OVERHEAD_MAP);
    *copied_bytes += upload_copy_planes(planes, job, at);
    slot_account(slot, OVERHEAD_COPY);
    code = clEnqueueUnmapMemObject(upload->queue, upload->in, at, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueUnmapMemObject");
}
