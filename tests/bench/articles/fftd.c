/* The daemon's own pipeline, through daemon/gpu, as a pipeline beside the others. */
#include "private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter.h"
#include "filters/filter_image.h"
#include "transform/transform.h"

struct fftd {
    struct transform *transform;
    struct transform_frame *frame;
    struct transform_buffers buffers;
    struct filter_chain chain;
    struct filter_image *kernel;
    cl_command_queue queue;
    double *expected;
};

static int enqueue(void *context, struct error *why)
{
    struct fftd *fftd = context;
    return transform_frame_enqueue(fftd->frame, fftd->queue, &fftd->buffers, NULL, NULL, why);
}

static void fftd_close(void *context)
{
    struct fftd *fftd = context;
    transform_frame_destroy(fftd->frame);
    transform_destroy(fftd->transform);
    filter_image_destroy(fftd->kernel);
    free(fftd->expected);
    free(fftd);
}

static void describe(struct transform_image *image, const struct fftd_variant *variant,
                     uint32_t width, uint32_t height)
{
    const uint32_t bytes = variant->bytes ? 1 : sizeof(float);
    *image = (struct transform_image){.count = variant->planes,
                                      .apart = width * height * bytes,
                                      .width = width,
                                      .height = height,
                                      .stride = width * bytes,
                                      .step = bytes,
                                      .kind = variant->bytes ? SAMPLE_U8 : SAMPLE_F32,
                                      .bits = 8};
}

/* The daemon's: twice the support, because each half of the pad serves one edge; at most half the
 * length. */
static uint32_t margin(const struct filter_chain *chain, uint32_t length)
{
    const double wanted = ceil(2 * filter_chain_support(chain));
    return wanted < length / 2. ? (uint32_t)wanted : length / 2;
}

static int create(struct fftd *fftd, struct pipeline *p, const struct fftd_variant *variant,
                  uint32_t width, uint32_t height, struct error *why)
{
    const struct gpu_device *device = p->group->bench->device;
    const bool kernel = variant->kernel != NULL;
    const struct transform_border border = {.mode = kernel ? PLAN_REPLICATE : PLAN_MIRROR,
                                            .margin_x = kernel ? margin(&fftd->chain, width) : 0,
                                            .margin_y = kernel ? margin(&fftd->chain, height) : 0};
    struct transform_tuning tuning;
    struct transform_image image;
    struct error warning;
    describe(&image, variant, width, height);
    transform_default_tuning(&tuning, device);
    tuning.recipe.precision = variant->half ? RECIPE_HALF : RECIPE_FLOAT;
    if (variant->staged)
        tuning.technique = TRANSFORM_STAGED;
    if (variant->unpadded) {
        tuning.length_x = width;
        tuning.length_y = height;
    }
    if (variant->twiddles >= 0)
        tuning.twiddles = (enum transform_twiddles)variant->twiddles;
    int r = transform_create(&fftd->transform, device, &image, &border, &tuning,
                             getenv("BENCH_CACHE"), &warning, why);
    if (r == 0)
        r = transform_frame_create(&fftd->frame, fftd->transform, why);
    return r;
}

/* The chain of a kernel has it as an image, because a kernel in a chain's text is at most 7x7. */
static int make_chain(struct fftd *fftd, const struct fftd_variant *variant, struct error *why)
{
    const uint32_t n = variant->kernel_size;
    char *text = NULL;
    size_t length = 0;
    if (variant->kernel == NULL)
        return filter_chain_parse(&fftd->chain, reference_chain, why);
    FILE *file = open_memstream(&text, &length);
    for (uint32_t i = 0; file != NULL && i < n * n; i++)
        fprintf(file, "%d%c", variant->kernel[i], i % n == n - 1 ? '\n' : ' ');
    if (file == NULL || fclose(file) != 0)
        return error_set(why, ENOMEM, "out of memory for a kernel");
    int r = filter_image_parse(&fftd->kernel, "kernel", text, length, why);
    free(text);
    fftd->chain.count = 1;
    filter_stage_init(&fftd->chain.stage[0], filter_kind_by_name("convolve"));
    fftd->chain.stage[0].image = fftd->kernel;
    if (r == 0)
        r = filter_stage_set(&fftd->chain.stage[0], "normalise", "sum", why);
    return r;
}

/* The band is the daemon's: lines of the spectrum in which H is negligible are left out. */
static int make_response(struct fftd *fftd, struct pipeline *p, struct error *why)
{
    const size_t bytes = transform_response_bytes(fftd->transform);
    void *values = pipeline_memory(p, bytes);
    int r =
        values != NULL ? 0 : error_set(why, ENOMEM, "out of memory while computing the response");
    if (r == 0)
        r = transform_response_fill(fftd->transform, values, &fftd->chain, 1, 1,
                                    &fftd->buffers.response.band, why);
    if (r == 0)
        fftd->buffers.response.numbers = pipeline_buffer(p, bytes, values);
    return r;
}

/* All planes are the same picture. */
static void make_images(struct fftd *fftd, struct pipeline *p, const struct fftd_variant *variant,
                        const uint8_t *picture, size_t count)
{
    const size_t bytes = count * variant->planes * (variant->bytes ? 1 : sizeof(float));
    uint8_t *samples = pipeline_memory(p, bytes);
    for (size_t i = 0; samples != NULL && i < count * variant->planes; i++)
        if (variant->bytes)
            samples[i] = picture[i % count];
        else
            ((float *)(void *)samples)[i] = picture[i % count];
    fftd->buffers.image = pipeline_buffer(p, bytes, samples);
    fftd->buffers.result = pipeline_buffer(p, bytes, NULL);
}

static void expect(struct fftd *fftd, struct pipeline *p, const struct fftd_variant *variant,
                   const uint8_t *picture, uint32_t width, uint32_t height)
{
    const struct plan *plan = transform_plan(fftd->transform);
    const size_t count = (size_t)width * height;
    double *filtered = variant->kernel != NULL ? NULL
                                               : reference_filtered(picture, width, height,
                                                                    plan->x.length, plan->y.length);
    const double *result = filtered != NULL ? filtered : variant->kernel_result;
    fftd->expected = malloc(count * variant->planes * sizeof *fftd->expected);
    if (fftd->expected == NULL)
        pipeline_fail(p, "out of memory");
    for (size_t i = 0; fftd->expected != NULL && i < count * variant->planes; i++)
        fftd->expected[i] = result[i % count];
    free(filtered);
    const double limit = variant->half ? variant->bytes ? 1.5 : 5e-3 : variant->bytes ? 0.51 : 1e-5;
    pipeline_result(p, variant->bytes ? RESULT_BYTES : RESULT_FLOATS, fftd->buffers.result,
                    count * variant->planes, fftd->expected, limit);
}

const struct fftd_variant fftd_form[FFTD_FORMS] = {
    {.name = "fftd, fused", .bytes = true, .planes = 1, .twiddles = -1},
    {.name = "fftd, staged", .bytes = true, .staged = true, .planes = 1, .twiddles = -1},
    {.name = "fftd, fused, half-precision spectrum",
     .bytes = true,
     .half = true,
     .planes = 1,
     .twiddles = -1},
};

void fftd_add(struct group *group, const struct fftd_variant *variant, const uint8_t *picture,
              uint32_t width, uint32_t height)
{
    struct pipeline *p = pipeline_new(group, "%s", variant->name);
    struct fftd *fftd = calloc(1, sizeof *fftd);
    struct error why = {""};
    if (fftd == NULL) {
        pipeline_fail(p, "out of memory");
        return;
    }
    fftd->queue = group->bench->queue;
    pipeline_call(p, enqueue, fftd_close, fftd);
    int r = make_chain(fftd, variant, &why);
    if (r == 0)
        r = create(fftd, p, variant, width, height, &why);
    if (r == 0)
        r = make_response(fftd, p, &why);
    if (r == -ERANGE) /* the technique cannot handle this size on this device */
        pipeline_refuse(p, "%s", why.text);
    else if (r < 0)
        pipeline_fail(p, "%s", why.text);
    if (r < 0)
        return;
    make_images(fftd, p, variant, picture, (size_t)width * height);
    if (!group->counting)
        expect(fftd, p, variant, picture, width, height);
    p->more_dispatches = transform_dispatches(fftd->transform);
    p->moved_bytes = transform_traffic(fftd->transform);
}
