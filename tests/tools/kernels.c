/* Writes the source of all kernels as a driver gets it, for each kind of device and of sample, so
 * that tests/lint can compile it. It needs no OpenCL device.
 *
 *     build/tests/tools/kernels DIRECTORY
 *
 * Writes DIRECTORY/TECHNIQUE-LANES-... .cl and prints the name of each file. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/program.h"
#include "gpu/transform_private.h"

#define WIDTH  60
#define HEIGHT 40

struct shape {
    const char *name;
    enum transform_technique technique;
    enum plan_order order;
    unsigned lanes;
    bool held;
    enum transform_twiddles twiddles;
    unsigned stages_per_dispatch;
};

static const struct shape shapes[] = {
    {"columns-first", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 1, false, TWIDDLES_READ, 2},
    {"columns-first-held", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 1, true, TWIDDLES_COMBINED, 2},
    {"rows-first", TRANSFORM_FUSED, PLAN_ROWS_FIRST, 1, false, TWIDDLES_COMPUTED, 2},
    {"rows-first-held", TRANSFORM_FUSED, PLAN_ROWS_FIRST, 1, true, TWIDDLES_COMBINED, 2},
    {"4-lanes", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 4, false, TWIDDLES_READ, 2},
    {"8-lanes", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 8, false, TWIDDLES_COMBINED, 2},
    {"staged-one", TRANSFORM_STAGED, PLAN_COLUMNS_FIRST, 1, false, TWIDDLES_READ, 1},
    {"staged-two", TRANSFORM_STAGED, PLAN_COLUMNS_FIRST, 1, false, TWIDDLES_COMBINED, 2},
};

static const struct {
    const char *name;
    struct transform_image image;
} samples[] = {
    {"u8", {.kind = SAMPLE_U8, .step = 1, .bits = 8, .count = 3, .apart = WIDTH * HEIGHT}},
    {"u8-of-two", {.kind = SAMPLE_U8, .step = 2, .bits = 8, .count = 1, .keep_others = true}},
    {"u16", {.kind = SAMPLE_U16, .step = 2, .bits = 12, .count = 1}},
    {"u16-logarithm",
     {.kind = SAMPLE_U16, .step = 2, .bits = 12, .count = 1, .curve = {.kind = CURVE_LOG}}},
    {"u8-light",
     {.kind = SAMPLE_U8,
      .step = 1,
      .bits = 8,
      .count = 1,
      .curve = {.kind = CURVE_POWER, .power = 2.2, .slope = 1}}},
    {"f32", {.kind = SAMPLE_F32, .step = 4, .bits = 8, .count = 1}},
    {"rgb8",
     {.kind = SAMPLE_RGB8,
      .step = 4,
      .bits = 8,
      .count = 1,
      .rgb = {0, 1, 2},
      .keep_others = true}},
    {"mosaic",
     {.kind = SAMPLE_BAYER,
      .step = 2,
      .bits = 8,
      .count = 1,
      .rgb = {0, 1, 2},
      .keep_others = true,
      .mosaic = {.red_x = 1, .bits = 10, .colour = 3, .result_stride = 4 * WIDTH}}},
    {"mosaic-colours",
     {.kind = SAMPLE_BAYER,
      .step = 1,
      .bits = 8,
      .count = 3,
      .rgb = {0, 1, 2},
      .mosaic = {.bits = 8, .colour = 0, .result_stride = 4 * WIDTH}}},
};

static int write_file(const char *path, const char *constants, const char *source,
                      struct error *why)
{
    FILE *file = fopen(path, "we");
    if (source == NULL || file == NULL || fputs(constants, file) < 0 || fputs(source, file) < 0 ||
        fclose(file) != 0)
        return error_set(why, 5, "cannot write %s", path);
    puts(path);
    return 0;
}

static int write_source(const char *directory, const struct shape *shape, const char *sample,
                        const struct transform_image *image, bool half, struct error *why)
{
    const struct gpu_device device = {.local_bytes = 32768, .max_group = 256};
    struct transform transform = {
        .device = &device,
        .image = *image,
        .border = {.mode = half ? PLAN_CONSTANT : PLAN_MIRROR, .margin_x = 4, .margin_y = 4},
    };
    transform_default_tuning(&transform.tuning, &device);
    transform.tuning.technique = shape->technique;
    transform.tuning.order = shape->order;
    transform.tuning.lanes = shape->lanes;
    transform.tuning.half = transform.tuning.corrections = transform.tuning.calibrated = half;
    transform.tuning.columns_held = transform.tuning.rows_held = shape->held;
    transform.tuning.twiddles = shape->twiddles;
    transform.tuning.stages_per_dispatch = shape->stages_per_dispatch;
    transform.tuning.max_radix = 8;
    transform.image.width = WIDTH;
    transform.image.height = HEIGHT;
    transform.image.stride = WIDTH * image->step;
    int r = transform_fit(&transform, why);
    if (r < 0)
        return r;
    char path[512];
    snprintf(path, sizeof path, "%s/%s-%s-%s.cl", directory, shape->name, sample,
             half ? "half" : "float");
    char *source = transform_source(&transform);
    r = write_file(path, "", source, why);
    free(source);
    return r;
}

/* The program that is not a part of a transform's (daemon/gpu/fade.c). */
static int write_blend(const char *directory, bool half, struct error *why)
{
    char path[512];
    snprintf(path, sizeof path, "%s/blend-%s.cl", directory, half ? "half" : "float");
    return write_file(path, half ? "#define HALF_STORAGE 1\n" : "#define HALF_STORAGE 0\n",
                      program_file("blend.cl"), why);
}

int main(int argc, char **argv)
{
    struct error why;
    if (argc != 2) {
        fputs("usage: kernels DIRECTORY\n", stderr);
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t k = 0; k < sizeof samples / sizeof samples[0]; k++)
            for (unsigned half = 0; half <= 1; half++)
                if (write_source(argv[1], &shapes[i], samples[k].name, &samples[k].image, half,
                                 &why) < 0) {
                    fprintf(stderr, "kernels: %s: %s\n", shapes[i].name, why.text);
                    return EXIT_FAILURE;
                }
    for (unsigned half = 0; half <= 1; half++)
        if (write_blend(argv[1], half, &why) < 0) {
            fprintf(stderr, "kernels: %s\n", why.text);
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
