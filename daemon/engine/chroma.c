#include "engine/chroma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"
#include "gpu/program.h"

/* ---- by the host ---------------------------------------------------------------------------- */

bool chroma_resampled(const struct engine *engine, struct resampler_size *ret)
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

uint64_t chroma_bytes(const struct resampler_size *size)
{
    return sizeof(struct shared_chroma) + 2 * plane_bytes(size) / size->channels;
}

int chroma_share(struct engine *engine, const struct resampler_size *size, struct error *why)
{
    struct engine_loads *loads = engine->options.loads;
    if (loads == NULL)
        return 0;
    pthread_mutex_lock(&loads->lock);
    struct shared_chroma *chroma = loads->chroma;
    while (chroma != NULL && memcmp(&chroma->size, size, sizeof *size) != 0)
        chroma = chroma->next;
    if (chroma == NULL && (chroma = malloc(chroma_bytes(size))) != NULL) {
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

void chroma_leave(struct engine *engine)
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

/* Returns where the chroma of a job is kept for other engines; NULL: there is no other one. */
static struct shared_chroma *kept_chroma(const struct engine *engine, const struct engine_job *job)
{
    struct shared_chroma *chroma = job->number != 0 ? engine->chroma : NULL;
    if (chroma == NULL)
        return NULL;
    pthread_mutex_lock(&engine->options.loads->lock);
    const bool is_alone = chroma->users == 1;
    pthread_mutex_unlock(&engine->options.loads->lock);
    return is_alone ? NULL : chroma;
}

/* Makes plane i of the slot's frame smaller, or copies what another engine has made of it. */
static void make_smaller(const struct slot *slot, struct shared_chroma *chroma, unsigned i,
                         uint8_t *to, size_t stride)
{
    const struct engine_job *job = &slot->job;
    struct resampler *resampler = slot->engine->resampler;
    const unsigned step = i == 0 ? 2 : 1; /* plane 0 has luma beside it */
    const uint8_t *from = job->in[i] + (i == 0 ? slot->engine->info->offset ^ 1u : 0);
    if (chroma == NULL) {
        resampler_run(resampler, to, stride, from, job->in_stride[i], step);
        return;
    }
    const size_t row_bytes = (size_t)chroma->size.to_columns * chroma->size.channels;
    uint8_t *made = chroma->bytes + (i > 1 ? plane_bytes(&chroma->size) : 0);
    if (chroma->number != job->number)
        resampler_run(resampler, made, row_bytes, from, job->in_stride[i], step);
    for (uint32_t y = 0; y < chroma->size.to_rows; y++)
        memcpy(to + y * stride, made + y * row_bytes, row_bytes);
}

uint64_t chroma_resample(struct slot *slot)
{
    const struct engine *engine = slot->engine;
    const struct engine_job *job = &slot->job;
    const uint32_t width = engine->format.width; /* two samples of chroma for two of luma */
    struct shared_chroma *chroma = kept_chroma(engine, job);
    uint64_t bytes = 0;
    if (slot->chroma != NULL) {
        make_smaller(slot, chroma, 0, slot->chroma, width);
        bytes = (uint64_t)width * engine->format.height;
    }
    for (unsigned i = 1; i < engine->format.plane_count; i++) {
        const struct fftd_plane *plane = &engine->format.plane[i];
        make_smaller(slot, chroma, i, job->out + plane->offset, plane->stride);
        bytes += (uint64_t)plane->row_bytes * plane->rows;
    }
    if (chroma != NULL)
        chroma->number = job->number;
    return bytes;
}

void chroma_put(const struct slot *slot)
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

/* ---- by the device -------------------------------------------------------------------------- */

/* A work-group's part of the result (kernels/engine/resample.cl), and its items. */
#define BLOCK_COLUMNS 16
#define BLOCK_ROWS    4
#define GROUP_ITEMS   256u
#define NUMBERS       15

struct chroma_part {
    cl_kernel kernel;
    cl_mem numbers, first, taps;
    size_t global[3], local[3];
    size_t line_bytes; /* local memory of a work-group */
    double bytes;      /* that a frame reads and writes */
};

/* Returns the bytes of local memory of a work-group; 0: the host makes this chroma smaller. */
static size_t line_bytes(const struct engine *engine, struct resampler_size *size)
{
    if (engine->device->unified_memory || engine->info->plane_count == 1 ||
        !chroma_resampled(engine, size))
        return 0;
    const double ratio = (double)size->columns / size->to_columns;
    const double columns = (BLOCK_COLUMNS + 2 * RESAMPLER_REACH) * ratio + 16; /* rounded up */
    return (size_t)columns * size->channels * BLOCK_ROWS * sizeof(cl_short);
}

bool chroma_is_devices(const struct engine *engine)
{
    struct resampler_size size;
    const size_t bytes = line_bytes(engine, &size);
    return bytes > 0 && bytes <= engine->device->local_bytes;
}

static bool applies(const struct recipe *recipe)
{
    return recipe_is_smaller(recipe) && recipe->planes == RECIPE_LUMA;
}

static size_t first_bytes(const struct resampler_size *size)
{
    return ((size_t)size->to_columns + size->to_rows) * sizeof(cl_uint);
}

static size_t tap_bytes(const struct resampler_size *size)
{
    return resampler_tap_count(size) * sizeof(cl_short);
}

static int make_tables(struct chroma_part *chroma, const struct engine *engine,
                       const struct resampler_size *size, struct error *why)
{
    const struct fftd_plane *from = engine->source.plane, *to = engine->format.plane;
    const cl_context context = engine->device->context;
    const unsigned last = engine->info->plane_count - 1;
    struct resampler *resampler;
    int r = resampler_create(&resampler, size, why);
    if (r < 0)
        return r;
    const struct resampler_axis *axis = resampler_axes(resampler);
    const cl_uint numbers[NUMBERS] = {
        size->columns,     size->rows,   size->to_columns, size->to_rows, size->channels,
        from[1].stride,    to[1].stride, axis[0].taps,     axis[1].taps,  from[1].offset,
        from[last].offset, to[1].offset, to[last].offset,  BLOCK_COLUMNS, BLOCK_ROWS};
    r = opencl_make_table(&chroma->numbers, context, numbers, sizeof numbers, why);
    if (r == 0)
        r = opencl_make_table(&chroma->first, context, axis->first, first_bytes(size), why);
    if (r == 0)
        r = opencl_make_table(&chroma->taps, context, axis->tap, tap_bytes(size), why);
    resampler_destroy(resampler);
    return r;
}

static int prepare(void **ret_part, struct component *component, struct error *why)
{
    const struct engine *engine = component->engine;
    struct resampler_size size;
    cl_program program;
    if (!chroma_is_devices(engine))
        return 0;
    const unsigned planes = engine->info->plane_count - 1;
    struct chroma_part *chroma = calloc(1, sizeof *chroma);
    *ret_part = chroma;
    if (chroma == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing smaller planes of chroma");
    chroma->line_bytes = line_bytes(engine, &size);
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
        r = make_tables(chroma, engine, &size, why);
    return r;
}

static void destroy(void *part)
{
    struct chroma_part *chroma = part;
    opencl_release_kernel(chroma->kernel);
    opencl_release_buffer(chroma->numbers);
    opencl_release_buffer(chroma->first);
    opencl_release_buffer(chroma->taps);
    free(chroma);
}

static int enqueue(struct step_run *run, struct error *why)
{
    const struct chroma_part *chroma = run->part;
    if (chroma == NULL)
        return 0; /* the host has done it */
    const struct opencl_argument arguments[] = {
        VALUE(run->buffers->image), VALUE(run->buffers->result), VALUE(chroma->numbers),
        VALUE(chroma->first),       VALUE(chroma->taps),         {chroma->line_bytes, NULL}};
    int r = opencl_set_arguments(chroma->kernel, arguments, 6, why);
    if (r == 0)
        r = opencl_launch(run->slot->queue, chroma->kernel, 3, chroma->global, chroma->local, NULL,
                          run->first, why);
    if (r == 0)
        step_run_set_only_event(run);
    return r;
}

static struct step_cost cost(const void *part)
{
    const struct chroma_part *chroma = part;
    return chroma == NULL ? (struct step_cost){0, 0} : (struct step_cost){1, chroma->bytes};
}

static struct step_memory memory(const struct component *component)
{
    struct resampler_size size;
    if (!chroma_is_devices(component->engine))
        return (struct step_memory){.data = 0};
    chroma_resampled(component->engine, &size);
    return (struct step_memory){.part.device = NUMBERS * sizeof(cl_uint) + first_bytes(&size) +
                                               tap_bytes(&size),
                                .scratch = resampler_bytes(&size)};
}

const struct step step_chroma = {.name = "chroma",
                                 .applies = applies,
                                 .prepare = prepare,
                                 .destroy = destroy,
                                 .enqueue = enqueue,
                                 .cost = cost,
                                 .memory = memory};
