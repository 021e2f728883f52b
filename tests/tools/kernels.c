/* Writes the source of all kernels as a driver gets it, for each kind of device and of sample, so
 * that tests/lint can compile it. It needs no OpenCL device.
 *
 *     build/tests/tools/kernels DIRECTORY
 *
 * Writes DIRECTORY/TECHNIQUE-LANES-... .cl and prints the name of each file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/denoiser/denoiser_source.h"
#include "engine/field/field_layout.h"
#include "gpu/program.h"
#include "transform/transform_private.h"

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
    struct taps_reach reach; /* direct, tiles */
};

static const struct shape shapes[] = {
    {"columns-first", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 1, false, TWIDDLES_READ, 2, {0}},
    {"columns-first-held", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 1, true, TWIDDLES_COMBINED, 2, {0}},
    {"rows-first", TRANSFORM_FUSED, PLAN_ROWS_FIRST, 1, false, TWIDDLES_COMPUTED, 2, {0}},
    {"rows-first-held", TRANSFORM_FUSED, PLAN_ROWS_FIRST, 1, true, TWIDDLES_COMBINED, 2, {0}},
    {"4-lanes", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 4, false, TWIDDLES_READ, 2, {0}},
    {"8-lanes", TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 8, false, TWIDDLES_COMBINED, 2, {0}},
    {"staged-one", TRANSFORM_STAGED, PLAN_COLUMNS_FIRST, 1, false, TWIDDLES_READ, 1, {0}},
    {"staged-two", TRANSFORM_STAGED, PLAN_COLUMNS_FIRST, 1, false, TWIDDLES_COMBINED, 2, {0}},
    {"factor",
     TRANSFORM_DIRECT,
     PLAN_COLUMNS_FIRST,
     16,
     false,
     TWIDDLES_READ,
     1,
     {true, 0, 0, TAPS_ANY, false, 0}},
    {"taps",
     TRANSFORM_DIRECT,
     PLAN_COLUMNS_FIRST,
     4,
     false,
     TWIDDLES_READ,
     1,
     {true, 2, 0, TAPS_ANY, false, 0}},
    {"products",
     TRANSFORM_DIRECT,
     PLAN_COLUMNS_FIRST,
     8,
     false,
     TWIDDLES_READ,
     1,
     {true, 7, 2, TAPS_EVEN, false, 0}},
    {"odd-products",
     TRANSFORM_DIRECT,
     PLAN_COLUMNS_FIRST,
     8,
     false,
     TWIDDLES_READ,
     1,
     {true, 15, 1, TAPS_ANY, false, 0}},
    {"small-taps",
     TRANSFORM_DIRECT,
     PLAN_COLUMNS_FIRST,
     16,
     false,
     TWIDDLES_READ,
     1,
     {true, 7, 1, TAPS_SMALL, false, 0}},
    {"small-taps-and-middle",
     TRANSFORM_DIRECT,
     PLAN_COLUMNS_FIRST,
     16,
     false,
     TWIDDLES_READ,
     1,
     {true, 7, 1, TAPS_SMALL, true, 0}},
    {"equal-taps",
     TRANSFORM_DIRECT,
     PLAN_COLUMNS_FIRST,
     16,
     false,
     TWIDDLES_READ,
     1,
     {true, 5, 1, TAPS_EQUAL, false, 0}},
    {"half-rate",
     TRANSFORM_HALF_RATE,
     PLAN_COLUMNS_FIRST,
     4,
     false,
     TWIDDLES_READ,
     1,
     {false, 0, 0, TAPS_ANY, false, 8}},
    {"twice",
     TRANSFORM_TWICE,
     PLAN_COLUMNS_FIRST,
     4,
     false,
     TWIDDLES_READ,
     1,
     {true, 7, 1, TAPS_EVEN, false, 0}},
    {"tiles",
     TRANSFORM_TILES,
     PLAN_COLUMNS_FIRST,
     1,
     false,
     TWIDDLES_READ,
     1,
     {false, 12, 0, TAPS_ANY, false, 0}},
    {"tiles-8-lanes",
     TRANSFORM_TILES,
     PLAN_COLUMNS_FIRST,
     8,
     false,
     TWIDDLES_READ,
     1,
     {false, 7, 0, TAPS_ANY, false, 0}},
};

static const struct {
    const char *name;
    struct transform_image image;
    struct curve curve;
} samples[] = {
    {.name = "u8",
     .image = {.kind = SAMPLE_U8, .step = 1, .bits = 8, .count = 3, .apart = WIDTH * HEIGHT}},
    {.name = "u8-of-two",
     .image = {.kind = SAMPLE_U8, .step = 2, .bits = 8, .count = 1, .keep_others = true}},
    {.name = "u16", .image = {.kind = SAMPLE_U16, .step = 2, .bits = 12, .count = 1}},
    {.name = "u16-logarithm",
     .image = {.kind = SAMPLE_U16, .step = 2, .bits = 12, .count = 1},
     .curve = {.kind = CURVE_LOG}},
    {.name = "u8-light",
     .image = {.kind = SAMPLE_U8, .step = 1, .bits = 8, .count = 1},
     .curve = {.kind = CURVE_POWER, .power = 2.2, .slope = 1}},
    {.name = "f32", .image = {.kind = SAMPLE_F32, .step = 4, .bits = 8, .count = 1}},
    {.name = "rgb8",
     .image = {.kind = SAMPLE_RGB8,
               .step = 4,
               .bits = 8,
               .count = 1,
               .rgb = {0, 1, 2},
               .keep_others = true}},
    {.name = "mosaic",
     .image = {.kind = SAMPLE_BAYER,
               .step = 2,
               .bits = 8,
               .count = 1,
               .rgb = {0, 1, 2},
               .keep_others = true,
               .result_stride = 4 * WIDTH,
               .mosaic = {.red_x = 1, .bits = 10, .colour = 3, .demosaic = DEMOSAIC_GRADIENTS}}},
    {.name = "mosaic-colours",
     .image = {.kind = SAMPLE_BAYER,
               .step = 1,
               .bits = 8,
               .count = 3,
               .rgb = {0, 1, 2},
               .result_stride = 4 * WIDTH,
               .mosaic = {.bits = 8, .colour = 0}}},
    {.name = "u8-of-two-to-grey",
     .image = {.kind = SAMPLE_U8,
               .step = 2,
               .bits = 8,
               .count = 1,
               .grey_result = true,
               .result_stride = WIDTH}},
    {.name = "rgb8-to-grey",
     .image = {.kind = SAMPLE_RGB8,
               .step = 3,
               .bits = 8,
               .count = 1,
               .rgb = {0, 1, 2},
               .grey_result = true,
               .result_stride = WIDTH}},
    {.name = "mosaic-to-grey",
     .image = {.kind = SAMPLE_BAYER,
               .step = 2,
               .bits = 8,
               .count = 1,
               .grey_result = true,
               .result_stride = WIDTH,
               .mosaic = {.bits = 12, .colour = 3, .demosaic = DEMOSAIC_GRADIENTS}}},
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

static int write_source(const char *directory, const struct shape *shape, size_t sample, bool half,
                        enum view_kind view, struct error *why)
{
    const struct gpu_device device = {.local_bytes = 32768,
                                      .max_group = 256,
                                      .type = shape->reach.products > 0 ? CL_DEVICE_TYPE_CPU
                                                                        : CL_DEVICE_TYPE_GPU};
    struct transform transform = {
        .device = &device,
        .image = samples[sample].image,
        .border = {.mode = half ? PLAN_CONSTANT : PLAN_MIRROR, .margin_x = 4, .margin_y = 4},
    };
    transform_default_tuning(&transform.tuning, &device);
    transform.tuning.technique = shape->technique;
    transform.tuning.order = shape->order;
    transform.tuning.lanes = shape->lanes;
    transform.tuning.recipe = (struct recipe){.precision = half ? RECIPE_HALF : RECIPE_FLOAT,
                                              .corrections = half,
                                              .calibrated = half,
                                              .warped = half,
                                              .similarities = sample % 3 == 1,
                                              .cubic = half && sample % 2 == 0,
                                              .thresholds = half,
                                              .reach = shape->reach,
                                              .curve = samples[sample].curve,
                                              .median = sample % 2 == 1,
                                              .binarise = sample % 2 == 1 ? 128 : 0,
                                              .edges.low = half ? 0.1 : 0,
                                              .view = view};
    const bool has_spectrum = taps_reach_is_far(shape->reach) && shape->reach.half_radius == 0;
    if (!has_spectrum && view_is_spectrum(view))
        return 0;
    transform.tuning.columns_held = transform.tuning.rows_held = shape->held;
    transform.tuning.twiddles = shape->twiddles;
    transform.tuning.stages_per_dispatch = shape->stages_per_dispatch;
    transform.tuning.max_radix = 8;
    transform.image.width = WIDTH;
    transform.image.height = HEIGHT;
    transform.image.stride = WIDTH * transform.image.step;
    int r = transform_fit(&transform, why);
    if (r < 0)
        return r;
    char path[512];
    snprintf(path, sizeof path, "%s/%s-%s-%s-%s.cl", directory, shape->name, samples[sample].name,
             half ? "half" : "float", view_names[view]);
    char *source = transform_source(&transform);
    r = write_file(path, "", source, why);
    free(source);
    return r;
}

/* A program that is not a part of a transform's (daemon/engine/fade.c, ramp.c). */
static int write_alone(const char *directory, const char *name, bool half, struct error *why)
{
    char path[512], file[32];
    snprintf(path, sizeof path, "%s/%s-%s.cl", directory, name, half ? "half" : "float");
    snprintf(file, sizeof file, "%s.cl", name);
    return write_file(path, half ? "#define HALF_STORAGE 1\n" : "#define HALF_STORAGE 0\n",
                      program_file(file), why);
}

/* The passes of noise reduction, with vectors that hold a part of a block's row and with none. */
static int write_denoiser(const char *directory, const char *sample,
                          const struct transform_image *given, unsigned lanes,
                          enum denoiser_program program, struct error *why)
{
    static const char *const names[DENOISER_PROGRAMS] = {"first", "second", "join"};
    const uint32_t block = program == DENOISER_FIRST ? 32 : 16, hop = block / 2;
    const unsigned past = lanes == 4 && program != DENOISER_JOIN ? 0 : 15;
    struct denoiser_layout layout = {.block = block,
                                     .hop = hop,
                                     .shift = denoiser_shift(program, hop),
                                     .lanes = lanes,
                                     .tile_x = 2 * hop,
                                     .tile_y = hop,
                                     .is_fine = past > 0 && program != DENOISER_JOIN};
    const struct recipe recipe = {.corrections = lanes != 4,
                                  .calibrated = lanes > 1,
                                  .warped = lanes == 4,
                                  .similarities = lanes == 8,
                                  .cubic = lanes == 4,
                                  .median = lanes != 16,
                                  .denoise = {.estimated = true, .past = past}};
    struct transform_image image = *given;
    char path[512];
    layout.spare = denoiser_spare(&layout, program);
    image.width = WIDTH;
    image.height = HEIGHT;
    image.stride = WIDTH * image.step;
    snprintf(path, sizeof path, "%s/denoise-%s-%u-lanes-%s.cl", directory, names[program], lanes,
             sample);
    char *source = denoiser_source(&image, &recipe, &layout, program);
    const int r = write_file(path, "", source, why);
    free(source);
    return r;
}

/* The first pass loads samples of any kind; the others do not. */
static int write_denoisers(const char *directory, struct error *why)
{
    static const unsigned lanes[] = {1, 4, 8, 16};
    int r = 0;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0] && r == 0; i++)
        r = write_denoiser(directory, samples[i].name, &samples[i].image, i % 2 == 0 ? 1 : 8,
                           DENOISER_FIRST, why);
    for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++)
        for (unsigned program = 0; program < DENOISER_PROGRAMS && r == 0; program++)
            r = write_denoiser(directory, "layout", &samples[0].image, lanes[i], program, why);
    return r;
}

/* Fields of motion: of pictures at all sizes, and of small ones. */
static int write_fields(const char *directory, struct error *why)
{
    static const struct field_size sizes[] = {
        {.width = 1280, .height = 720, .pitch = 1280, .scale = 1, .block = 32, .in_flight = 1},
        {.width = 64, .height = 64, .pitch = 80, .scale = 1, .block = 64, .in_flight = 1},
        {.width = 33, .height = 300, .pitch = 48, .scale = 1, .block = 16, .in_flight = 1}};
    int r = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && r == 0; i++) {
        struct field_layout layout;
        char path[512];
        snprintf(path, sizeof path, "%s/field-%ux%u.cl", directory, sizes[i].width,
                 sizes[i].height);
        r = field_layout_make(&layout, &sizes[i], why);
        if (r < 0)
            break;
        char *source = field_layout_source(&layout);
        r = write_file(path, "", source, why);
        free(source);
    }
    return r;
}

/* Views differ in the stores of samples and in the product, so some shapes are enough for them. */
static int write_sources(const char *directory, size_t shape, size_t sample, struct error *why)
{
    static const char *const shapes_of_views[] = {"rows-first-held", "8-lanes", "staged-two"};
    const struct transform_image *image = &samples[sample].image;
    unsigned views = 1;
    for (size_t i = 0; i < sizeof shapes_of_views / sizeof shapes_of_views[0]; i++)
        if (image->count == 1 && strcmp(shapes_of_views[i], shapes[shape].name) == 0)
            views = VIEW_COUNT;
    int r = 0;
    for (unsigned half = 0; half <= 1; half++)
        for (unsigned view = 0; r == 0 && view < views; view++)
            r = write_source(directory, &shapes[shape], sample, half, (enum view_kind)view, why);
    return r;
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
            if (write_sources(argv[1], i, k, &why) < 0) {
                fprintf(stderr, "kernels: %s: %s\n", shapes[i].name, why.text);
                return EXIT_FAILURE;
            }
    if (write_denoisers(argv[1], &why) < 0) {
        fprintf(stderr, "kernels: denoise: %s\n", why.text);
        return EXIT_FAILURE;
    }
    if (write_fields(argv[1], &why) < 0) {
        fprintf(stderr, "kernels: field: %s\n", why.text);
        return EXIT_FAILURE;
    }
    for (unsigned half = 0; half <= 1; half++)
        if (write_alone(argv[1], "blend", half, &why) < 0 ||
            write_alone(argv[1], "ramp", half, &why) < 0) {
            fprintf(stderr, "kernels: %s\n", why.text);
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
