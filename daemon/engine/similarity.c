/* The step that moves, turns and enlarges each frame by a similarity of its own, as its samples are
 * loaded (kernels/transform/warp.cl): it only writes the six numbers that say where they come
 * from. */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_private.h"

#define FLOATS TRANSFORM_SIMILARITY_FLOATS

struct similarity_frame {
    cl_mem numbers;
    cl_float value[FLOATS]; /* being written, until the frame is finished */
};

static bool applies(const struct recipe *recipe)
{
    return recipe->similarities;
}

static int create_frame(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why)
{
    struct similarity_frame *frame = calloc(1, sizeof *frame);
    (void)part, (void)queue;
    *ret_frame = frame;
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing to turn frames");
    return opencl_make_buffer(&frame->numbers, component->engine->device->context, CL_MEM_READ_ONLY,
                              sizeof frame->value, NULL, why);
}

static void destroy_frame(void *frame)
{
    opencl_release_buffer(((struct similarity_frame *)frame)->numbers);
    free(frame);
}

/* Turns the place of a sample of the component into one in the frame, in pixels from its middle;
 * and back. Samples of chroma are in the middle of the pixels that share them (filters/warp.h). */
static void to_frame(double place[2], const struct component *component)
{
    const struct fftd_format *source = &component->engine->source;
    place[0] = (place[0] + 0.5) * component->sub_x - 0.5 * source->width;
    place[1] = (place[1] + 0.5) * component->sub_y - 0.5 * source->height;
}

static void from_frame(double place[2], const struct component *component)
{
    const struct fftd_format *source = &component->engine->source;
    place[0] = (place[0] + 0.5 * source->width) / component->sub_x - 0.5;
    place[1] = (place[1] + 0.5 * source->height) / component->sub_y - 0.5;
}

/* The map is linear, so that three places give all of its numbers. */
static void fill(cl_float ret[FLOATS], const struct component *component,
                 const struct similarity *moved)
{
    const struct similarity back = similarity_inverse(moved);
    double place[3][2] = {{1, 0}, {0, 1}, {0, 0}};
    for (unsigned i = 0; i < 3; i++) {
        to_frame(place[i], component);
        similarity_move(&back, place[i]);
        from_frame(place[i], component);
    }
    for (unsigned axis = 0; axis < 2; axis++) {
        ret[3 * axis] = (cl_float)(place[0][axis] - place[2][axis]);
        ret[3 * axis + 1] = (cl_float)(place[1][axis] - place[2][axis]);
        ret[3 * axis + 2] = (cl_float)place[2][axis];
    }
}

static int enqueue(struct step_run *run, struct error *why)
{
    struct similarity_frame *frame = run->frame;
    fill(frame->value, run->component, &run->slot->job.similarity);
    run->buffers->similarity = frame->numbers;
    return opencl_write(run->slot->queue, frame->numbers, frame->value, sizeof frame->value, why);
}

static struct step_memory memory(const struct component *component)
{
    (void)component;
    return (struct step_memory){.frame.device = sizeof(cl_float[FLOATS])};
}

const struct step step_similarity = {.name = "similarity",
                                     .applies = applies,
                                     .create_frame = create_frame,
                                     .destroy_frame = destroy_frame,
                                     .enqueue = enqueue,
                                     .memory = memory};
