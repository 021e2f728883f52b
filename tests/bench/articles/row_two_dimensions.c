/* Row 6: ARM's transform in two dimensions, step by step; its transpositions alone; mixed radix
 * beside radix 2 on a padded picture; and then, one change at a time, from its pipeline to ours.
 * Every technique but a transposition takes a picture of 8 bits on the device to a filtered picture
 * of 8 bits there: forward transform, product, inverse transform. arm.cl and stockham.cl describe
 * the kernels. */
#include "plane.h"

#include <stdio.h>
#include <stdlib.h>

/* As published, each step on top of the one before; twiddles are computed in the butterflies. */
static const struct step_variant steps[] = {
    {.name = "CPU, one thread, plain C", .host = true, .slow = true},
    {.name = "GPU, a launch per row, host transposes", .row_by_row = true, .slow = true},
    {.name = "all rows in a launch, host transposes", .slow = true},
    {.name = "transposed on the GPU, element by element", .transposition = ELEMENTS},
    {.name = "blocks of 2x2, out of place", .transposition = BLOCKS},
    {.name = "blocks of 2x2, in place", .transposition = IN_PLACE},
    {.name = "blocks of 2x2, in place, groups by hand", .transposition = IN_PLACE, .groups = true},
};

static void build_steps(struct group *group, const void *context)
{
    const struct scene *scene = context;
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].slow && scene->large)
            continue;
        if (steps[i].host)
            plane_add_host(group, steps[i].name, scene);
        else
            plane_add(group, &steps[i], scene);
    }
    for (unsigned i = 0; i < 2; i++)
        fftd_add(group, &fftd_form[i], scene->picture, scene->width, scene->height);
}

static void build_odd(struct group *group, const void *context)
{
    static const struct step_variant odd = {.name = "rows padded by one number",
                                            .transposition = BLOCKS};
    plane_add(group, &odd, context);
}

static void build_radices(struct group *group, const void *context)
{
    static const struct step_variant radices[] = {
        {.name = "mixed radix", .transposition = BLOCKS, .tables = true},
        {.name = "radix 2, padded to powers of two",
         .transposition = BLOCKS,
         .tables = true,
         .radix_2 = true}};
    for (unsigned i = 0; i < 2; i++)
        plane_add(group, &radices[i], context);
}

/* ---- the transposition alone ---- */

struct numbers {
    uint32_t width, height;
    float complex *in;
    double *transposed; /* of width x height, interleaved */
};

static const struct step_variant transpositions[] = {
    {.name = "element by element", .transposition = ELEMENTS},
    {.name = "blocks of 2x2, out of place", .transposition = BLOCKS},
    {.name = "blocks of 2x2, out of place, groups by hand",
     .transposition = BLOCKS,
     .groups = true},
    {.name = "blocks of 4x4, out of place", .transposition = BLOCKS_OF_4, .fours_only = true},
    {.name = "blocks of 2x2, in place", .transposition = IN_PLACE, .square_only = true},
    {.name = "blocks of 2x2, in place, groups by hand",
     .transposition = IN_PLACE,
     .square_only = true,
     .groups = true},
    {.name = "blocks of 2x2, in place, packed index",
     .transposition = IN_PLACE_PACKED,
     .square_only = true},
};

static void build_transpositions(struct group *group, const void *context)
{
    const struct numbers *numbers = context;
    const uint32_t width = numbers->width, height = numbers->height;
    for (unsigned i = 0; i < sizeof transpositions / sizeof transpositions[0]; i++) {
        const struct step_variant *v = &transpositions[i];
        if ((v->square_only && width != height) ||
            (v->fours_only && (width % 4 != 0 || height % 4 != 0)))
            continue;
        struct pipeline *p = pipeline_new(group, "%s", v->name);
        const size_t count = (size_t)width * height, bytes = count * sizeof *numbers->in;
        struct published f = {.work[0] = pipeline_buffer(p, bytes, numbers->in),
                              .work[1] = pipeline_buffer(p, bytes, NULL)};
        plane_add_transposition(p, pipeline_program(p, "arm.cl", "%s", ""), &f, v, width, height);
        pipeline_traffic(p, 2. * (double)bytes);
        pipeline_result(p, RESULT_FLOATS, f.work[f.now], 2 * count, numbers->transposed, 0);
    }
}

/* Odd sizes: rows and columns that are padded to even sizes, or branches at the edges. */
static void build_edges(struct group *group, const void *context)
{
    static const struct step_variant v[] = {
        {.name = "padded by one number, blocks of 2x2", .transposition = BLOCKS},
        {.name = "branches at odd edges, blocks of 2x2", .transposition = BRANCHES}};
    const struct numbers *numbers = context; /* of the even size */
    const uint32_t width = numbers->width - 1, height = numbers->height - 1;
    const size_t bytes = (size_t)numbers->width * numbers->height * sizeof *numbers->in;
    for (unsigned i = 0; i < 2; i++) {
        struct pipeline *p = pipeline_new(group, "%s", v[i].name);
        const cl_program program = pipeline_program(p, "arm.cl", "%s", "");
        struct published f = {.work[1] = pipeline_buffer(p, bytes, NULL)};
        float complex *tight = pipeline_memory(p, bytes);
        double *expected = pipeline_memory(p, 2 * (size_t)width * height * sizeof *expected);
        if (tight == NULL || expected == NULL)
            return;
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++) {
                const float complex z = numbers->in[(size_t)y * numbers->width + x];
                tight[(size_t)y * width + x] = z;
                expected[2 * ((size_t)x * height + y)] = crealf(z);
                expected[2 * ((size_t)x * height + y) + 1] = cimagf(z);
            }
        f.work[0] = pipeline_buffer(p, bytes, i == 0 ? numbers->in : tight);
        plane_add_transposition(p, program, &f, &v[i], i == 0 ? numbers->width : width,
                                i == 0 ? numbers->height : height);
        pipeline_traffic(p, 2. * (double)bytes);
        if (i == 0)
            pipeline_result(p, RESULT_FLOATS, f.work[1],
                            2 * (size_t)numbers->width * numbers->height, numbers->transposed, 0);
        else
            pipeline_result(p, RESULT_FLOATS, f.work[1], 2 * (size_t)width * height, expected, 0);
    }
}

static void transpose_alone(struct bench *bench, const char *name, uint32_t width, uint32_t height,
                            void (*build)(struct group *group, const void *context))
{
    struct numbers numbers = {.width = width, .height = height};
    const size_t count = (size_t)width * height;
    uint8_t *noise = reference_picture(2 * width, height);
    numbers.in = malloc(count * sizeof *numbers.in);
    numbers.transposed = malloc(2 * count * sizeof *numbers.transposed);
    if (numbers.in == NULL || numbers.transposed == NULL)
        abort();
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const uint8_t *pair = noise + 2 * ((size_t)y * width + x);
            const size_t turned = 2 * ((size_t)x * height + y);
            numbers.in[(size_t)y * width + x] = pair[0] + pair[1] * I;
            numbers.transposed[turned] = pair[0];
            numbers.transposed[turned + 1] = pair[1];
        }
    const struct group_head head = {.row = 6, .name = name, .x = (double)count, .simulated = true};
    bench_group(bench, &head, build, &numbers);
    free(noise);
    free(numbers.in);
    free(numbers.transposed);
}

/* ---- groups ---- */

#define RADICES "mixed radix and radix 2, pixels a side"

/* Groups of one kind have their size in their name, but for the radices, whose trend over sizes is
 * asked for. */
static void measure(struct bench *bench, const char *kind, uint32_t width, uint32_t height,
                    void (*build)(struct group *group, const void *context))
{
    const bool trend = build == build_radices;
    uint8_t *picture = reference_picture(width, height);
    char name[64];
    struct scene scene = {.width = width,
                          .height = height,
                          .picture = picture,
                          .expected = reference_filtered(picture, width, height, width, height),
                          .large = (size_t)width * height > 2000000};
    if (trend)
        scene.expected_padded = reference_filtered(
            picture, width, height, plane_power_of_two(width), plane_power_of_two(height));
    snprintf(name, sizeof name, "%s, %ux%u", kind, width, height);
    const struct group_head head = {
        .row = 6, .name = trend ? kind : name, .x = trend ? width : (double)width * height};
    bench_group(bench, &head, build, &scene);
    free(scene.expected);
    free(scene.expected_padded);
    free(picture);
}

static void run_quick(struct bench *bench)
{
    measure(bench, "steps", 48, 48, build_steps);
    measure(bench, "odd sizes", 35, 21, build_odd);
    measure(bench, RADICES, 60, 60, build_radices);
    measure(bench, "ablation", 60, 48, plane_build_ablation);
    transpose_alone(bench, "transposition alone", 32, 32, build_transpositions);
    transpose_alone(bench, "transposition alone", 36, 22, build_transpositions);
    transpose_alone(bench, "transposition of odd sizes", 36, 22, build_edges);
}

void row_two_dimensions(struct bench *bench)
{
    static const uint32_t sides[] = {120, 1000, 3000};
    static const uint32_t trend[] = {120, 240, 360, 600, 1000, 1440, 2000, 3000};
    static const uint32_t odd[][2] = {
        [SIZES_SMALL] = {226, 176}, [SIZES_PUBLISHED] = {1126, 876}, [SIZES_LARGE] = {3376, 2626}};
    static const uint32_t ablation[][2] = {{640, 480}, {1000, 1000}, {1920, 1080}};
    const enum sizes sizes = bench_sizes(bench);
    const bool small = sizes == SIZES_SMALL;
    if (bench_is_quick(bench)) {
        run_quick(bench);
        return;
    }
    for (unsigned i = 0; i < (small ? 1 : sizes == SIZES_LARGE ? 3 : 2); i++)
        measure(bench, "steps", sides[i], sides[i], build_steps);
    for (unsigned i = 0; i < (small ? 5 : 8); i++)
        measure(bench, RADICES, trend[i], trend[i], build_radices);
    for (unsigned i = 0; i < (small ? 2 : 3); i++)
        transpose_alone(bench, "transposition alone", sides[i], sides[i], build_transpositions);
    transpose_alone(bench, "transposition of odd sizes", odd[sizes][0], odd[sizes][1], build_edges);
    for (unsigned i = 0; i < (small ? 1 : 3); i++)
        measure(bench, "ablation", ablation[i][0], ablation[i][1], plane_build_ablation);
}
