#include "engine/engine_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/fade.h"

#define SOURCE_ALIGN_BYTES 64

/* ---- slots --------------------------------------------------------------------------------- */

/* Clears the frame, because no kernel writes the padding of rows and clients must not see old
 * memory there. */
static int clear(struct slot *slot, cl_mem buffer, struct error *why)
{
    const cl_uchar zero = 0;
    const cl_int code = clEnqueueFillBuffer(slot->queue, buffer, &zero, sizeof zero, 0,
                                            slot->engine->frame_bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueFillBuffer");
}

/* Engines whose components all have loads never upload. */
static size_t upload_bytes(const struct engine *engine)
{
    return engine_uploads(engine) ? engine->source_bytes : 1;
}

static int make_slot(struct slot *slot, struct engine *engine, struct error *why)
{
    const bool unified = engine->device->unified_memory;
    const cl_mem_flags host = unified ? CL_MEM_ALLOC_HOST_PTR : 0;
    slot->engine = engine;
    int r = opencl_make_queue(&slot->queue, engine->device, CL_QUEUE_PROFILING_ENABLE, why);
    if (r == 0)
        r = upload_init(&slot->upload, engine->device, slot->queue, upload_bytes(engine), why);
    if (r == 0)
        r = opencl_make_buffer(&slot->out, engine->device->context, CL_MEM_READ_WRITE | host,
                               engine->frame_bytes, NULL, why);
    if (r == 0)
        r = clear(slot, slot->out, why);
    if (r == 0 && !unified)
        r = opencl_make_pinned(&slot->host_out, &slot->host_out_at, engine->device->context,
                               slot->queue, CL_MAP_READ, engine->frame_bytes, why);
    if (r == 0 && engine_chroma_bytes(engine) > 0) {
        slot->chroma = malloc(engine_chroma_bytes(engine));
        if (slot->chroma == NULL)
            r = error_set(why, ENOMEM, "out of memory while creating the engine");
    }
    if (r == 0)
        r = engine_create_frame(slot, why);
    return r;
}

static void release_slot(struct slot *slot)
{
    if (slot->queue == NULL)
        return;
    if (slot->host_out_at != NULL)
        clEnqueueUnmapMemObject(slot->queue, slot->host_out, slot->host_out_at, 0, NULL, NULL);
    clFinish(slot->queue);
    engine_destroy_frame(slot);
    upload_finish(&slot->upload);
    free(slot->chroma);
    const cl_mem buffers[] = {slot->out, slot->host_out};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        opencl_release_buffer(buffers[i]);
    clReleaseCommandQueue(slot->queue);
}

static size_t plane_end(const struct fftd_plane *plane)
{
    return plane->offset + (size_t)plane->stride * plane->rows;
}

/* ---- life ---------------------------------------------------------------------------------- */

static int set_identity(struct engine *engine, struct error *why)
{
    const struct filter_chain none = {.count = 0};
    struct engine_response *response;
    const int r = engine_design(engine, &none, &response, why);
    if (r == 0)
        engine_apply(engine, response, 0);
    return r;
}

static int build(struct engine *engine, double support_px, const char *cache_dir,
                 const struct engine_observer *observer, struct error *why)
{
    int r = 0;
    engine->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (engine->event_fd < 0)
        return error_set(why, errno, "cannot create an eventfd: %s", strerror(errno));
    struct resampler_size chroma;
    if (chroma_resampled(engine, &chroma) && engine->device_planes == engine->filtered_planes)
        r = resampler_create(&engine->resampler, &chroma, why);
    if (engine->resampler != NULL)
        r = chroma_share(engine, &chroma, why);
    if (r == 0)
        r = engine_make_components(engine, support_px, cache_dir, observer, why);
    for (unsigned i = 0; i < engine->options.in_flight && r == 0; i++)
        r = make_slot(&engine->slot[i], engine, why);
    if (r == 0)
        r = set_identity(engine, why);
    return r < 0 ? r : engine_start_waiter(engine, why);
}

/* Chooses the layout of input frames: that of the output, or, for another pixel format or size, one
 * whose rows begin at cache lines. */
static int lay_out_source(struct fftd_format *ret, const struct fftd_format *format,
                          const struct engine_options *options, struct error *why)
{
    const uint32_t source =
        options->recipe.captured != 0 ? options->recipe.captured : format->fourcc;
    const bool is_smaller = recipe_is_smaller(&options->recipe);
    if (engine_published(&options->recipe, source) != format->fourcc)
        return error_set(why, EINVAL, "the engine cannot convert pixel format 0x%08x to 0x%08x",
                         source, format->fourcc);
    if (source == format->fourcc && !is_smaller) {
        *ret = *format;
        return 0;
    }
    return format_layout(ret, source, is_smaller ? options->recipe.captured_width : format->width,
                         is_smaller ? options->recipe.captured_height : format->height,
                         SOURCE_ALIGN_BYTES, why);
}

static void describe(struct engine *engine)
{
    const struct component *c = &engine->component[0];
    const struct transform *transform = component_transform(c);
    const struct plan *plan = transform_plan(transform);
    const struct transform_tuning *tuning = transform_tuning(transform);
    const struct step_cost cost = engine_cost(engine);
    char form[64], reach[40], needs[128], load[24] = "";
    recipe_describe(&c->recipe, needs, sizeof needs);
    transform_describe(transform, form, sizeof form);
    snprintf(reach, sizeof reach, ", for filters up to %u pixels", c->recipe.reach.radius);
    if (c->use.load != NULL)
        snprintf(load, sizeof load, ", load %u", load_number(c->use.load));
    snprintf(engine->description, sizeof engine->description,
             "%s%s, %ux%u in %ux%u, %u dispatches, %.1f bytes a pixel, lanes %u, "
             "groups %u and %u%s%s, %s",
             form, taps_reach_is_far(c->recipe.reach) ? "" : reach, plan->width, plan->height,
             plan->x.length, plan->y.length, cost.dispatches,
             cost.bytes / plan->width / plan->height, tuning->lanes, tuning->column_group,
             tuning->row_group, needs, load, engine_is_tuned(engine) ? "tuned" : "not tuned");
}

/* Returns whether the result has every byte of the frame if nothing changes it, and no kernel has
 * to read it to find motion. Kernels keep 10 and 12 bits in their range, whatever a camera has put
 * above them; and where each colour is filtered, the fourth byte of a pixel is 0. */
static bool may_pass(const struct engine *engine)
{
    const struct format_info *info = engine->info;
    const bool drops_byte =
        info->kind == SAMPLE_RGB8 && info->step == 4 && engine->options.recipe.planes == RECIPE_ALL;
    return engine->source.fourcc == engine->format.fourcc && info->bits % 8 == 0 && !drops_byte &&
           view_has_picture(engine->options.recipe.view) &&
           !recipe_is_smaller(&engine->options.recipe) && engine->options.recipe.motion == 0;
}

int engine_describe_frames(struct engine *ret, struct gpu_device *device,
                           const struct fftd_format *format, const struct engine_options *options,
                           struct error *why)
{
    const struct filter_chain none = {.count = 0};
    struct fftd_format source;
    int r = recipe_check_frames(&options->recipe, format, &none, why);
    if (r < 0)
        return r;
    if (options->in_flight < 1 || options->in_flight > ENGINE_MAX_IN_FLIGHT)
        return error_set(why, EINVAL, "%u frames in flight is out of range: expected 1 .. %d",
                         options->in_flight, ENGINE_MAX_IN_FLIGHT);
    r = lay_out_source(&source, format, options, why);
    if (r < 0)
        return r;
    *ret = (struct engine){.device = device,
                           .options = *options,
                           .format = *format,
                           .source = source,
                           .info = format_by_fourcc(source.fourcc),
                           .event_fd = -1};
    if (!view_has_picture(options->recipe.view) && options->recipe.planes == RECIPE_ALL)
        ret->options.recipe.planes = RECIPE_LUMA;
    ret->filtered_planes = ret->options.recipe.planes == RECIPE_ALL ? format->plane_count : 1;
    ret->device_planes = chroma_is_devices(ret) ? format->plane_count : ret->filtered_planes;
    ret->source_bytes = plane_end(&source.plane[ret->device_planes - 1]);
    ret->frame_bytes = plane_end(&format->plane[ret->device_planes - 1]);
    ret->may_pass = may_pass(ret);
    ret->may_multiply = ret->may_pass && gpu_device_is_cpu(device) && ret->filtered_planes == 1 &&
                        ret->info->kind == SAMPLE_U8 && ret->info->step == 1;
    return 0;
}

int engine_create(struct engine **ret, struct gpu_device *device, const struct fftd_format *format,
                  const struct engine_options *options, double support_px, const char *cache_dir,
                  const struct engine_observer *observer, struct error *why)
{
    struct engine *engine = malloc(sizeof *engine);
    if (engine == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the engine");
    int r = engine_describe_frames(engine, device, format, options, why);
    if (r < 0) {
        free(engine);
        return r;
    }
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->finished, NULL);
    pthread_cond_init(&engine->waiter.work, NULL);

    engine->asked_support_px = support_px;
    r = build(engine, support_px, cache_dir, observer, why);
    if (r < 0) {
        engine_destroy(engine);
        return r;
    }
    describe(engine);
    *ret = engine;
    return 0;
}

void engine_destroy(struct engine *engine)
{
    struct engine_done done;
    if (engine == NULL)
        return;
    while (engine->in_flight > 0)
        engine_collect(engine, true, &done, NULL);
    engine_stop_waiter(engine);
    for (unsigned i = 0; i < ENGINE_MAX_IN_FLIGHT; i++)
        release_slot(&engine->slot[i]);
    fade_destroy(engine->filter.fade);
    resampler_destroy(engine->resampler);
    chroma_leave(engine);
    for (unsigned i = 0; i < engine->component_count; i++)
        component_release(&engine->component[i]);
    if (engine->event_fd >= 0)
        close(engine->event_fd);
    pthread_cond_destroy(&engine->waiter.work);
    pthread_cond_destroy(&engine->finished);
    pthread_mutex_destroy(&engine->mutex);
    free(engine);
}

const char *engine_description(const struct engine *engine)
{
    return engine->description;
}

const char *engine_warning(const struct engine *engine)
{
    return engine->warning.text[0] != '\0' ? engine->warning.text : NULL;
}

const char *engine_motion_problem(const struct engine *engine)
{
    return engine->options.recipe.motion > 0 && engine->motion_problem.text[0] == '\0'
               ? NULL
               : engine->motion_problem.text;
}

const struct gpu_device *engine_device(const struct engine *engine)
{
    return engine->device;
}

double engine_support(const struct engine *engine)
{
    return engine->support_px;
}

int engine_fd(const struct engine *engine)
{
    return engine->event_fd;
}

unsigned engine_in_flight(const struct engine *engine)
{
    return engine->in_flight;
}

/* ---- loads that engines share ---- */

void engine_loads_set_sizes(struct engine_loads *loads, const uint32_t (*sizes)[2], unsigned count)
{
    pthread_mutex_lock(&loads->lock);
    loads->size_count = 0;
    for (unsigned i = 0; i < count && i < ENGINE_MAX_LOAD_SIZES; i++)
        if (sizes[i][0] > 0)
            loads->size[loads->size_count++] = (struct transform_size){sizes[i][0], sizes[i][1]};
    loads->changes++;
    pthread_mutex_unlock(&loads->lock);
}

int engine_loads_create(struct engine_loads **ret, const uint32_t (*sizes)[2], unsigned count,
                        struct error *why)
{
    struct engine_loads *loads = calloc(1, sizeof *loads);
    if (loads == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing the outputs");
    pthread_mutex_init(&loads->lock, NULL);
    engine_loads_set_sizes(loads, sizes, count);
    *ret = loads;
    return 0;
}

void engine_loads_destroy(struct engine_loads *loads)
{
    if (loads == NULL)
        return;
    pthread_mutex_destroy(&loads->lock);
    free(loads);
}

unsigned engine_loads_sizes(struct engine_loads *loads, uint32_t ret[ENGINE_MAX_LOAD_SIZES][2])
{
    pthread_mutex_lock(&loads->lock);
    const unsigned count = loads->size_count;
    for (unsigned i = 0; i < count; i++) {
        ret[i][0] = loads->size[i].width;
        ret[i][1] = loads->size[i].height;
    }
    pthread_mutex_unlock(&loads->lock);
    return count;
}

unsigned engine_loads_changes(struct engine_loads *loads)
{
    pthread_mutex_lock(&loads->lock);
    const unsigned changes = loads->changes;
    pthread_mutex_unlock(&loads->lock);
    return changes;
}

bool engine_has_better_load(const struct engine *engine, const struct engine_loads *loads)
{
    bool has = false;
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct component *component = &engine->component[i];
        if (loads == NULL)
            has |= component->use.load != NULL;
        else if (engine->options.loads == NULL)
            has |= transform_loads_plainly(component_transform(component));
        else
            has |= load_has_better(component);
    }
    return has;
}

/* Returns whether all that an engine does with a frame is to read it, and to store the result. */
static bool is_short(const struct engine *engine)
{
    unsigned dispatches = 0;
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct component *component = &engine->component[i];
        const struct transform *transform = component_transform(component);
        if (component->use.load != NULL || !transform_is_direct(transform))
            return false;
        dispatches += transform_dispatches(transform);
    }
    return engine_cost(engine).dispatches == dispatches; /* no other step has kernels */
}

/* engine_memory_lend lets a queue wait until the engine before has returned the frame, which is
 * after all of that engine's commands. Only CPU devices can do it, because the host reads the
 * chroma while the frame is lent. */
bool engine_reads_before(const struct engine *last, const struct engine *engine,
                         const struct frame_memory *memory)
{
    bool reads_otherwise = engine_is_simple(last) || !gpu_device_is_cpu(last->device) ||
                           !engine_memory_is_in_place(memory);
    for (unsigned i = 0; i < last->component_count; i++)
        reads_otherwise |= last->component[i].use.load != NULL;
    return !reads_otherwise && is_short(engine) && engine_memory_suits(memory, engine);
}
