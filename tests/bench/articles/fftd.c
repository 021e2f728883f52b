/* The daemon's own pipeline, through daemon/gpu, as a pipeline beside the others. */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter.h"
#include "transform/transform.h"

struct fftd {
    struct transform *transform;
    struct transform_frame *frame;
    struct transform_buffers buffers;
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

static int create(struct fftd *fftd, struct pipeline *p, const struct fftd_variant *variant,
                  uint32_t width, uint32_t height, struct error *why)
{
    const struct gpu_device *device = p->group->bench->device;
    const struct transform_border border = {.mode = PLAN_MIRROR};
    struct transform_tuning tuning;
    struct transform_image image;
    struct error warning;
    describe(&image, variant, width, height);
    transform_default_tuning(&tuning, device);
    tuning.recipe.precision = variant->half ? RECIPE_HALF : RECIPE_FLOAT;
    if (variant->staged)
        tuning.technique = TRANSFORM_STAGED;
    if (variant->stages_per_dispatch > 0)
        tuning.stages_per_dispatch = variant->stages_per_dispatch;
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

static int make_response(struct fftd *fftd, struct pipeline *p, bool identity, struct error *why)
{
    const size_t bytes = transform_response_bytes(fftd->transform);
    struct filter_chain chain;
    int r = filter_chain_parse(&chain, identity ? "" : reference_chain, why);
    void *values = pipeline_memory(p, bytes);
    if (r == 0 && values == NULL)
        r = error_set(why, ENOMEM, "out of memory while computing the response");
    if (r == 0)
        r = transform_response_fill(fftd->transform, values, &chain, 1, 1, NULL, why);
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
    double *filtered = variant->identity ? NULL
                                         : reference_filtered(picture, width, height,
                                                              plan->x.length, plan->y.length);
    fftd->expected = malloc(count * variant->planes * sizeof *fftd->expected);
    if (fftd->expected == NULL)
        pipeline_refuse(p, "out of memory");
    for (size_t i = 0; fftd->expected != NULL && i < count * variant->planes; i++)
        fftd->expected[i] = filtered != NULL ? filtered[i % count] : picture[i % count];
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
        pipeline_refuse(p, "out of memory");
        return;
    }
    fftd->queue = group->bench->queue;
    pipeline_call(p, enqueue, fftd_close, fftd);
    int r = create(fftd, p, variant, width, height, &why);
    if (r == 0)
        r = make_response(fftd, p, variant->identity, &why);
    if (r < 0) {
        pipeline_refuse(p, "%s", why.text);
        return;
    }
    make_images(fftd, p, variant, picture, (size_t)width * height);
    if (!group->counting)
        expect(fftd, p, variant, picture, width, height);
    p->more_dispatches = transform_dispatches(fftd->transform);
    p->moved_bytes = transform_traffic(fftd->transform);
}
