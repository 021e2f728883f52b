/* The step that finds the field of motion of what is captured (field/field.h), for the observer and
 * for clients. It follows the transform, and changes nothing of the picture. Samples are loaded as
 * they are captured, without the chain's corrections.
 *
 * Where the device cannot, the processor does it: the frames of such an engine have no field. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/denoiser/denoiser_source.h"
#include "engine/engine_private.h"
#include "engine/field/field.h"
#include "gpu/program.h"

struct motion_part {
    struct engine *engine;
    struct transform_image image;
    struct field *field; /* NULL: the processor finds motion */
    cl_program load;     /* NULL: not built yet */
};

struct motion_frame {
    cl_mem samples;
    cl_kernel load;
    struct field_frame *field; /* NULL: as that of the part */
};

static bool applies(const struct recipe *recipe)
{
    return recipe->motion > 0;
}

/* Colours that are filtered one by one have no luma. */
static bool has_luma(const struct component *component)
{
    return component->subject.image.count == 1;
}

static struct field_size size_of(const struct component *component)
{
    const struct transform_image *image = &component->subject.image;
    return (struct field_size){.width = image->width,
                               .height = image->height,
                               .pitch = denoiser_pitch(image),
                               .scale = 255.F / (float)((1u << image->bits) - 1),
                               .block = component->recipe.motion,
                               .in_flight = component->engine->options.in_flight};
}

static size_t sample_bytes(const struct transform_image *image)
{
    return denoiser_plane_size(image) * sizeof(cl_float);
}

static char *load_source(const struct motion_part *part)
{
    const struct recipe plain = {.planes = RECIPE_LUMA};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    denoiser_put_load(out, &part->image, &plain, gpu_device_lanes(part->engine->device));
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Leaves motion to the processor. */
static int give_up(struct motion_part *part, struct error *warning, const struct error *why)
{
    error_set(warning, EIO, "the device cannot find motion (%s); the processor does", why->text);
    part->engine->motion_problem = *why;
    field_destroy(part->field);
    part->field = NULL;
    return 0;
}

static int prepare(void **ret_part, struct component *component, struct error *why)
{
    struct engine *engine = component->engine;
    const struct field_size size = size_of(component);
    struct motion_part *part = calloc(1, sizeof *part);
    struct error problem;
    *ret_part = part;
    if (part == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing a field of motion");
    part->engine = engine;
    part->image = component->subject.image;
    if (!has_luma(component)) {
        error_set(&engine->motion_problem, EINVAL,
                  "colours that are filtered one by one have no "
                  "luma; set engine.planes = \"luma\"");
        return 0;
    }
    const int r = part->engine->device->max_group < FIELD_USUAL_GROUP
                      ? error_set(&problem, ERANGE, "its work-groups have fewer than %d items",
                                  FIELD_USUAL_GROUP)
                      : field_prepare(&part->field, engine->device, &size, &problem);
    return r < 0 ? give_up(part, &engine->warning, &problem) : 0;
}

static void destroy(void *part)
{
    struct motion_part *motion = part;
    field_destroy(motion->field);
    opencl_release_program(motion->load);
    free(motion);
}

static int build(void *part, bool compile, const char *cache_dir, struct error *warning,
                 struct error *why)
{
    struct motion_part *motion = part;
    struct error problem;
    (void)why;
    if (motion->field == NULL)
        return 0;
    const int missing = field_build(motion->field, compile, cache_dir, warning, &problem);
    const int r = missing < 0
                      ? missing
                      : program_get(&motion->load, motion->engine->device, load_source(motion),
                                    compile, cache_dir, warning, &problem);
    return r < 0 ? give_up(motion, warning, &problem) : missing + r;
}

static void destroy_frame(void *frame)
{
    struct motion_frame *motion = frame;
    opencl_release_buffer(motion->samples);
    opencl_release_kernel(motion->load);
    field_frame_destroy(motion->field);
    free(motion);
}

static int create_frame(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why)
{
    const struct motion_part *motion = part;
    struct motion_frame *frame = calloc(1, sizeof *frame);
    (void)component;
    *ret_frame = frame;
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    if (motion->field == NULL)
        return 0;
    int r = opencl_make_buffer(&frame->samples, motion->engine->device->context, CL_MEM_READ_WRITE,
                               sample_bytes(&motion->image), NULL, why);
    if (r == 0)
        r = opencl_make_kernel(&frame->load, motion->load, "load_plane", why);
    return r < 0 ? r : field_frame_create(&frame->field, motion->field, queue, why);
}

static int enqueue_load(const struct step_run *run, struct error *why)
{
    const struct motion_part *part = run->part;
    const struct motion_frame *frame = run->frame;
    const struct opencl_argument arguments[] = {VALUE(run->buffers->image), VALUE(frame->samples)};
    const int r = opencl_set_arguments(frame->load, arguments, 2, why);
    return r < 0 ? r
                 : denoiser_launch_rows(run->slot->queue, frame->load, part->engine->device,
                                        gpu_device_lanes(part->engine->device), part->image.height,
                                        1, NULL, run->first, why);
}

static int enqueue(struct step_run *run, struct error *why)
{
    const struct motion_part *part = run->part;
    struct motion_frame *frame = run->frame;
    if (part->field == NULL)
        return 0;
    const int r = enqueue_load(run, why);
    return r < 0 ? r
                 : field_frame_enqueue(frame->field, part->field, run->slot->queue, frame->samples,
                                       run->slot->job.is_first, run->last, why);
}

static void collect(const void *part, const void *frame, struct engine_done *ret)
{
    const struct motion_part *motion = part;
    if (motion->field == NULL)
        return;
    ret->motion.grid = field_grid(motion->field);
    ret->motion.vector = field_frame_vectors(((const struct motion_frame *)frame)->field);
}

static struct step_cost cost(const void *part)
{
    const struct motion_part *motion = part;
    struct step_cost ret = {0, 0};
    if (motion->field != NULL)
        ret = (struct step_cost){1 + field_dispatches(motion->field), field_traffic(motion->field)};
    return ret;
}

static struct step_memory memory(const struct component *component)
{
    const struct field_size size = size_of(component);
    struct step_memory ret = {.scratch = 0};
    if (!has_luma(component))
        return ret;
    field_bytes(&size, &ret.part.device, &ret.frame.device, &ret.frame.pinned);
    if (ret.frame.device > 0)
        ret.frame.device += sample_bytes(&component->subject.image);
    return ret;
}

const struct step step_motion = {.name = "motion",
                                 .applies = applies,
                                 .prepare = prepare,
                                 .destroy = destroy,
                                 .build = build,
                                 .create_frame = create_frame,
                                 .destroy_frame = destroy_frame,
                                 .enqueue = enqueue,
                                 .collect = collect,
                                 .cost = cost,
                                 .memory = memory};
