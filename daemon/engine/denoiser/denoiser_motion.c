#include "engine/denoiser/denoiser_motion.h"

#include <errno.h>
#include <stdlib.h>

#define TURNS        2 /* rounds of the search at each level */
#define VECTOR_BYTES (4 * sizeof(float))

struct denoiser_motion {
    const struct transform_image *image;
    const struct denoiser_layout *layout;
    struct denoiser_levels levels;
    cl_mem vectors[2]; /* the search reads one and writes the other; at the end it has written 0 */
    cl_mem counts;
    cl_kernel shrink, search, join;
};

uint64_t denoiser_history_bytes(const struct transform_image *image)
{
    struct denoiser_levels levels;
    denoiser_levels_for(&levels, image);
    return (uint64_t)image->count * (denoiser_plane_size(image) + levels.rest) * sizeof(float);
}

static size_t vector_bytes(const struct transform_image *image,
                           const struct denoiser_levels *levels)
{
    return (size_t)image->count * levels->vectors * VECTOR_BYTES;
}

uint64_t denoiser_motion_bytes(const struct transform_image *image)
{
    struct denoiser_levels levels;
    denoiser_levels_for(&levels, image);
    return 2 * vector_bytes(image, &levels) + DENOISER_COUNTS * image->count * sizeof(cl_uint);
}

unsigned denoiser_motion_dispatches(void)
{
    return DENOISER_LEVELS - 1 + TURNS * DENOISER_LEVELS + 1;
}

int denoiser_motion_create(struct denoiser_motion **ret, const struct gpu_device *device,
                           const struct transform_image *image,
                           const struct denoiser_layout *layout, cl_program program,
                           struct error *why)
{
    struct denoiser_motion *motion = calloc(1, sizeof *motion);
    int r = 0;
    if (motion == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    motion->image = image;
    motion->layout = layout;
    denoiser_levels_for(&motion->levels, image);
    for (unsigned i = 0; i < 2 && r == 0; i++)
        r = opencl_make_buffer(&motion->vectors[i], device->context, CL_MEM_READ_WRITE,
                               vector_bytes(image, &motion->levels), NULL, why);
    if (r == 0)
        r = opencl_make_buffer(&motion->counts, device->context, CL_MEM_READ_WRITE,
                               DENOISER_COUNTS * image->count * sizeof(cl_uint), NULL, why);
    if (r == 0)
        r = opencl_make_kernel(&motion->shrink, program, "motion_shrink", why);
    if (r == 0)
        r = opencl_make_kernel(&motion->search, program, "motion_search", why);
    if (r == 0)
        r = opencl_make_kernel(&motion->join, program, "denoise_join", why);
    if (r < 0) {
        denoiser_motion_destroy(motion);
        return r;
    }
    *ret = motion;
    return 0;
}

void denoiser_motion_destroy(struct denoiser_motion *motion)
{
    if (motion == NULL)
        return;
    opencl_release_buffer(motion->vectors[0]);
    opencl_release_buffer(motion->vectors[1]);
    opencl_release_buffer(motion->counts);
    opencl_release_kernel(motion->shrink);
    opencl_release_kernel(motion->search);
    opencl_release_kernel(motion->join);
    free(motion);
}

cl_mem denoiser_motion_vectors(const struct denoiser_motion *motion)
{
    return motion->vectors[0];
}

cl_mem denoiser_motion_counts(const struct denoiser_motion *motion)
{
    return motion->counts;
}

static int enqueue_levels(struct denoiser_motion *motion, cl_command_queue queue, cl_mem samples,
                          cl_mem history, struct error *why)
{
    const struct denoiser_levels *levels = &motion->levels;
    int r = 0;
    for (cl_uint level = 1; level < DENOISER_LEVELS && r == 0; level++) {
        const struct opencl_argument arguments[] = {VALUE(samples), VALUE(history),
                                                    VALUE(motion->counts), VALUE(level)};
        const size_t groups[3] = {1, levels->height[level], motion->image->count};
        r = opencl_launch_groups(queue, motion->shrink, arguments, 4, groups,
                                 denoiser_search_group(motion->layout), NULL, NULL, why);
    }
    return r;
}

static int enqueue_search(struct denoiser_motion *motion, cl_command_queue queue, cl_mem samples,
                          cl_mem history, cl_mem past, cl_event past_ready, cl_mem noise,
                          struct error *why)
{
    const struct denoiser_levels *levels = &motion->levels;
    const size_t group = denoiser_search_group(motion->layout);
    unsigned from = 0;
    int r = 0;
    for (cl_uint level = DENOISER_LEVELS; level-- > 0;)
        for (cl_uint turn = 0; turn < TURNS && r == 0; turn++, from = !from) {
            const struct opencl_argument arguments[] = {
                VALUE(samples),
                VALUE(history),
                VALUE(past),
                VALUE(noise),
                VALUE(motion->vectors[from]),
                VALUE(motion->vectors[!from]),
                VALUE(motion->counts),
                VALUE(level),
                VALUE(turn),
                {DENOISER_SEARCH_GROUP * sizeof(float), NULL}};
            const size_t groups[3] = {levels->columns[level], levels->rows[level],
                                      motion->image->count};
            const bool is_first = level == DENOISER_LEVELS - 1 && turn == 0;
            r = opencl_launch_groups(queue, motion->search, arguments, 10, groups, group,
                                     is_first ? past_ready : NULL, NULL, why);
        }
    return r;
}

int denoiser_motion_enqueue(struct denoiser_motion *motion, cl_command_queue queue, cl_mem samples,
                            cl_mem history, cl_mem past, cl_event past_ready, cl_mem noise,
                            cl_event *ret_joined, struct error *why)
{
    const struct denoiser_layout *layout = motion->layout;
    const cl_uint has_past = past != NULL;
    const cl_mem before = has_past ? past : history;
    const struct opencl_argument arguments[] = {VALUE(samples),
                                                VALUE(history),
                                                VALUE(before),
                                                VALUE(noise),
                                                VALUE(motion->vectors[0]),
                                                VALUE(motion->counts),
                                                VALUE(has_past),
                                                {denoiser_sums_bytes(layout), NULL},
                                                {denoiser_scratch_bytes(layout), NULL}};
    size_t groups[3];
    denoiser_count_tiles(layout, motion->image, groups);
    int r = enqueue_levels(motion, queue, samples, history, why);
    /* Without a past the result does not count, but drivers that compile a kernel when it is first
     * launched should do so in the first frame, which has time for it. */
    if (r == 0)
        r = enqueue_search(motion, queue, samples, history, before, past_ready, noise, why);
    return r < 0 ? r
                 : opencl_launch_groups(queue, motion->join, arguments, 9, groups,
                                        denoiser_group(layout), NULL, ret_joined, why);
}
