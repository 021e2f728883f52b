#include "engine/denoiser/denoiser.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/denoiser/denoiser_motion.h"
#include "engine/denoiser/denoiser_source.h"
#include "gpu/frame_ring.h"
#include "gpu/program.h"

#define MAX_PASSES 2
#define JOIN_BLOCK 16

/* A pass, or the join: its program and its dispatch. */
struct pass {
    struct denoiser_layout layout;
    cl_program program; /* NULL: not built yet */
};

struct denoiser {
    const struct gpu_device *device;
    struct transform_image image;
    unsigned pass_count;
    struct recipe recipe;
    struct pass pass[DENOISER_PROGRAMS];
};

struct denoiser_frame {
    const struct denoiser *denoiser;
    cl_mem samples;
    cl_mem result[MAX_PASSES];
    cl_kernel load, kernel[MAX_PASSES];
    cl_mem counts, noise; /* what the estimate needs; NULL: noise is not estimated */
    cl_kernel count, fit;
    struct denoiser_motion *motion; /* NULL: past frames are not joined */
};

static bool has_program(const struct denoiser *denoiser, enum denoiser_program i)
{
    return i == DENOISER_JOIN ? denoiser->recipe.denoise.past > 0 : i < denoiser->pass_count;
}

/* ---- layout ---- */

/* Cuts a length into equal tiles of at most `most` samples and a multiple of `step`. */
static uint32_t tile_length(uint32_t length, uint32_t most, uint32_t step)
{
    const uint32_t each = denoiser_divide_up(length, denoiser_divide_up(length, most));
    return denoiser_divide_up(each, step) * step;
}

static size_t local_bytes(const struct denoiser_layout *layout)
{
    return denoiser_sums_bytes(layout) + denoiser_scratch_bytes(layout);
}

/* Large tiles compute few blocks twice. Small ones are many, which a GPU needs, and fit into its
 * local memory. */
static int lay_out(struct denoiser_layout *ret, const struct denoiser *denoiser, unsigned program,
                   unsigned lanes, struct error *why)
{
    const struct denoise_settings *settings = &denoiser->recipe.denoise;
    const uint32_t block = program == DENOISER_JOIN     ? JOIN_BLOCK
                           : program == DENOISER_SECOND ? DENOISE_SECOND_BLOCK
                                                        : settings->block;
    const uint32_t hop = block / (program == DENOISER_JOIN ? 2 : settings->overlap);
    const uint32_t shift = denoiser_shift(program, hop);
    uint32_t most_x = lanes == 1 ? 32 : 256, most_y = lanes == 1 ? 32 : 128;
    *ret = (struct denoiser_layout){.block = block,
                                    .hop = hop,
                                    .shift = shift,
                                    .lanes = lanes,
                                    .is_fine = program != DENOISER_JOIN && settings->past > 0};
    for (;;) {
        ret->tile_x = tile_length(denoiser->image.width + shift, most_x, hop);
        ret->tile_y = tile_length(denoiser->image.height + shift, most_y, hop);
        ret->spare = denoiser_spare(ret, program);
        if (local_bytes(ret) <= denoiser->device->local_bytes)
            return 0;
        if (most_x <= hop && most_y <= hop)
            return error_set(why, ERANGE,
                             "noise reduction in blocks of %u needs %zu bytes of local memory, but "
                             "%s has %llu",
                             block, local_bytes(ret), denoiser->device->name,
                             (unsigned long long)denoiser->device->local_bytes);
        if (most_x >= most_y)
            most_x /= 2;
        else
            most_y /= 2;
    }
}

/* ---- programs ---- */

int denoiser_prepare(struct denoiser **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct recipe *recipe,
                     unsigned lanes, struct error *why)
{
    struct denoiser *denoiser = calloc(1, sizeof *denoiser);
    int r = 0;
    if (denoiser == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing noise reduction");
    denoiser->device = device;
    denoiser->image = *image;
    denoiser->pass_count = recipe->denoise.passes;
    denoiser->recipe = *recipe;
    for (unsigned i = 0; i < DENOISER_PROGRAMS && r == 0; i++)
        if (has_program(denoiser, i))
            r = lay_out(&denoiser->pass[i].layout, denoiser, i,
                        lanes > 0 ? lanes : gpu_device_lanes(device), why);
    if (r < 0) {
        denoiser_destroy(denoiser);
        return r;
    }
    *ret = denoiser;
    return 0;
}

int denoiser_build(struct denoiser *denoiser, bool compile, const char *cache_dir,
                   struct error *warning, struct error *why)
{
    int missing = 0;
    for (unsigned i = 0; i < DENOISER_PROGRAMS; i++) {
        struct pass *pass = &denoiser->pass[i];
        if (!has_program(denoiser, i))
            continue;
        const int r =
            program_get(&pass->program, denoiser->device,
                        denoiser_source(&denoiser->image, &denoiser->recipe, &pass->layout, i),
                        compile, cache_dir, warning, why);
        if (r < 0)
            return r;
        missing += r;
    }
    return missing;
}

void denoiser_destroy(struct denoiser *denoiser)
{
    if (denoiser == NULL)
        return;
    for (unsigned i = 0; i < DENOISER_PROGRAMS; i++)
        opencl_release_program(denoiser->pass[i].program);
    free(denoiser);
}

unsigned denoiser_dispatches(const struct denoiser *denoiser)
{
    return denoiser->pass_count + (denoiser->recipe.denoise.estimated ? 3 : 1) +
           (denoiser->recipe.denoise.past > 0 ? denoiser_motion_dispatches() : 0);
}

/* The load reads a plane of samples and writes one of floats. The first pass reads one and writes
 * one, the second pass reads two and writes one. An estimate reads one. A search for motion reads
 * the frame and its past three times, at full size or smaller ones; the join reads both and writes
 * one. */
double denoiser_traffic(const struct denoiser *denoiser)
{
    const struct transform_image *image = &denoiser->image;
    const double samples = (double)image->count * image->width * image->height;
    const double planes = (denoiser->pass_count == 1 ? 3 : 6) +
                          (denoiser->recipe.denoise.estimated ? 1 : 0) +
                          (denoiser->recipe.denoise.past > 0 ? 9 : 0);
    return samples * (image->step + planes * sizeof(float));
}

int denoiser_noise(cl_mem *ret, const struct denoiser *denoiser, const struct noise_model *noise,
                   double level, struct error *why)
{
    const double unit = ((1u << denoiser->image.bits) - 1) / 255.;
    const bool is_brightness = level < 0;
    const double constant = noise->constant + (is_brightness ? 0 : noise->slope * level);
    const size_t size = denoiser_noise_bytes(&denoiser->image);
    float *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while describing noise");
    for (unsigned i = 0; i < denoiser->image.count; i++) {
        values[i * DENOISER_NOISE_NUMBERS] = (float)(constant * unit * unit);
        values[i * DENOISER_NOISE_NUMBERS + 1] = is_brightness ? (float)(noise->slope * unit) : 0;
        values[i * DENOISER_NOISE_NUMBERS + 2] = (float)noise->factor;
    }
    const int r = opencl_make_table(ret, denoiser->device->context, values, size, why);
    free(values);
    return r;
}

static size_t plane_bytes(const struct transform_image *image)
{
    return image->count * denoiser_plane_size(image) * sizeof(float);
}

static size_t counts_bytes(const struct transform_image *image)
{
    return (size_t)image->count * DENOISER_NOISE_COUNTS * sizeof(cl_uint);
}

uint64_t denoiser_noise_bytes(const struct transform_image *image)
{
    return (uint64_t)image->count * DENOISER_NOISE_NUMBERS * sizeof(float);
}

uint64_t denoiser_past_bytes(const struct transform_image *image,
                             const struct denoise_settings *settings, unsigned in_flight)
{
    return settings->past == 0 ? 0 : denoiser_history_bytes(image) * (in_flight + 1);
}

uint64_t denoiser_frame_bytes(const struct transform_image *image,
                              const struct denoise_settings *settings)
{
    return (uint64_t)plane_bytes(image) * (settings->passes + 1) +
           (settings->past > 0 ? denoiser_motion_bytes(image) : 0) +
           (settings->estimated ? counts_bytes(image) + denoiser_noise_bytes(image) : 0);
}

int denoiser_past_for(struct frame_ring **ret, const struct denoiser *denoiser, unsigned in_flight,
                      struct error *why)
{
    *ret = NULL;
    return denoiser->recipe.denoise.past == 0
               ? 0
               : frame_ring_create(ret, denoiser->device, denoiser_history_bytes(&denoiser->image),
                                   in_flight, why);
}

/* ---- frames ---- */

static int make_plane(cl_mem *ret, const struct denoiser *denoiser, struct error *why)
{
    return opencl_make_buffer(ret, denoiser->device->context, CL_MEM_READ_WRITE,
                              plane_bytes(&denoiser->image), NULL, why);
}

/* The counts begin with zeros. */
static int make_estimate(struct denoiser_frame *frame, struct error *why)
{
    const struct denoiser *denoiser = frame->denoiser;
    const cl_context context = denoiser->device->context;
    const size_t bytes = counts_bytes(&denoiser->image);
    cl_uint *zeros = calloc(1, bytes);
    if (zeros == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    int r = opencl_make_buffer(&frame->counts, context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                               bytes, zeros, why);
    free(zeros);
    if (r == 0)
        r = opencl_make_buffer(&frame->noise, context, CL_MEM_READ_WRITE,
                               denoiser_noise_bytes(&denoiser->image), NULL, why);
    if (r == 0)
        r = opencl_make_kernel(&frame->count, denoiser->pass[0].program, "noise_count", why);
    return r < 0 ? r : opencl_make_kernel(&frame->fit, denoiser->pass[0].program, "noise_fit", why);
}

int denoiser_frame_create(struct denoiser_frame **ret, const struct denoiser *denoiser,
                          struct error *why)
{
    struct denoiser_frame *frame = calloc(1, sizeof *frame);
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    frame->denoiser = denoiser;
    int r = make_plane(&frame->samples, denoiser, why);
    if (r == 0)
        r = opencl_make_kernel(&frame->load, denoiser->pass[0].program, "load_plane", why);
    for (unsigned i = 0; i < denoiser->pass_count && r == 0; i++) {
        r = make_plane(&frame->result[i], denoiser, why);
        if (r == 0)
            r = opencl_make_kernel(&frame->kernel[i], denoiser->pass[i].program,
                                   i == 0 ? "denoise_first" : "denoise_second", why);
    }
    if (r == 0 && denoiser->recipe.denoise.estimated)
        r = make_estimate(frame, why);
    if (r == 0 && has_program(denoiser, DENOISER_JOIN))
        r = denoiser_motion_create(&frame->motion, denoiser->device, &denoiser->image,
                                   &denoiser->pass[DENOISER_JOIN].layout,
                                   denoiser->pass[DENOISER_JOIN].program, why);
    if (r < 0) {
        denoiser_frame_destroy(frame);
        return r;
    }
    *ret = frame;
    return 0;
}

void denoiser_frame_destroy(struct denoiser_frame *frame)
{
    if (frame == NULL)
        return;
    const cl_mem buffers[] = {frame->samples, frame->result[0], frame->result[1], frame->counts,
                              frame->noise};
    const cl_kernel kernels[] = {frame->load, frame->kernel[0], frame->kernel[1], frame->count,
                                 frame->fit};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        opencl_release_buffer(buffers[i]);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        opencl_release_kernel(kernels[i]);
    denoiser_motion_destroy(frame->motion);
    free(frame);
}

cl_mem denoiser_frame_noise(const struct denoiser_frame *frame)
{
    return frame->noise;
}

cl_mem denoiser_frame_vectors(const struct denoiser_frame *frame)
{
    return denoiser_motion_vectors(frame->motion);
}

cl_mem denoiser_frame_counts(const struct denoiser_frame *frame)
{
    return denoiser_motion_counts(frame->motion);
}

static int launch_rows(const struct denoiser *denoiser, cl_command_queue queue, cl_kernel kernel,
                       size_t rows, cl_event *event, struct error *why)
{
    return denoiser_launch_rows(queue, kernel, denoiser->device, denoiser->pass[0].layout.lanes,
                                rows, denoiser->image.count, NULL, event, why);
}

static int enqueue_load(struct denoiser_frame *frame, cl_command_queue queue,
                        const struct transform_buffers *from, cl_event *event, struct error *why)
{
    const struct denoiser *denoiser = frame->denoiser;
    const struct opencl_argument arguments[] = {
        VALUE(from->image), VALUE(frame->samples), OPTIONAL(from->calibration),
        OPTIONAL(from->similarity), OPTIONAL(from->correction)};
    const int r = opencl_set_arguments(frame->load, arguments, 5, why);
    return r < 0 ? r
                 : launch_rows(denoiser, queue, frame->load, denoiser->image.height, event, why);
}

#define NOISE_BLOCK 8 /* rows: denoise_noise.cl */

static int enqueue_estimate(struct denoiser_frame *frame, cl_command_queue queue, cl_mem samples,
                            cl_mem wanted, struct error *why)
{
    const struct transform_image *image = &frame->denoiser->image;
    const size_t images[3] = {1, 1, image->count};
    const struct opencl_argument counted[] = {VALUE(samples), VALUE(frame->counts)};
    const struct opencl_argument fitted[] = {VALUE(frame->counts), OPTIONAL(wanted),
                                             VALUE(frame->noise)};
    int r = opencl_set_arguments(frame->count, counted, 2, why);
    if (r == 0)
        r = launch_rows(frame->denoiser, queue, frame->count, image->height / NOISE_BLOCK, NULL,
                        why);
    return r < 0 ? r
                 : opencl_launch_groups(queue, frame->fit, fitted, 3, images, 1, NULL, NULL, why);
}

/* What the passes of a frame read. */
struct inputs {
    cl_mem samples, noise;
    cl_mem history; /* NULL: past frames are not joined */
};

static int enqueue_pass(struct denoiser_frame *frame, cl_command_queue queue, unsigned pass,
                        const struct inputs *inputs, cl_event *event, struct error *why)
{
    const struct denoiser *denoiser = frame->denoiser;
    const struct denoiser_layout *layout = &denoiser->pass[pass].layout;
    const cl_mem first = pass == 1 ? frame->result[0] : NULL;
    const struct opencl_argument arguments[] = {OPTIONAL(inputs->samples),
                                                OPTIONAL(first),
                                                OPTIONAL(frame->result[pass]),
                                                OPTIONAL(inputs->noise),
                                                OPTIONAL(inputs->history),
                                                {denoiser_sums_bytes(layout), NULL},
                                                {denoiser_scratch_bytes(layout), NULL}};
    size_t groups[3];
    denoiser_count_tiles(layout, &denoiser->image, groups);
    return opencl_launch_groups(queue, frame->kernel[pass], arguments, 7, groups,
                                denoiser_group(layout), NULL, event, why);
}

/* Joins the frame to its past; its joined planes then take the place of its samples. */
static int enqueue_join(struct denoiser_frame *frame, cl_command_queue queue,
                        struct frame_ring *past, struct inputs *inputs, struct error *why)
{
    cl_event before = NULL, joined = NULL;
    inputs->history = frame_ring_begin(past);
    const cl_mem last = frame_ring_previous(past, &before);
    const int r = denoiser_motion_enqueue(frame->motion, queue, frame->samples, inputs->history,
                                          last, before, inputs->noise, &joined, why);
    if (r == 0)
        frame_ring_end(past, joined);
    opencl_release_event(joined);
    inputs->samples = inputs->history;
    return r;
}

int denoiser_frame_enqueue(struct denoiser_frame *frame, cl_command_queue queue,
                           struct transform_buffers *buffers, cl_mem noise, struct frame_ring *past,
                           cl_event *first, cl_event *last, struct error *why)
{
    const unsigned passes = frame->denoiser->pass_count;
    const bool estimated = frame->denoiser->recipe.denoise.estimated;
    struct inputs inputs = {.samples = frame->samples, .noise = estimated ? frame->noise : noise};
    int r = enqueue_load(frame, queue, buffers, first, why);
    if (r == 0 && estimated)
        r = enqueue_estimate(frame, queue, frame->samples, noise, why);
    if (r == 0 && past != NULL)
        r = enqueue_join(frame, queue, past, &inputs, why);
    for (unsigned i = 0; i < passes && r == 0; i++)
        r = enqueue_pass(frame, queue, i, &inputs, i + 1 == passes ? last : NULL, why);
    if (r < 0)
        frame_ring_forget(past);
    else
        buffers->denoised = frame->result[passes - 1];
    return r;
}
