/* Row 8: OpenVX. Whether every device gives the same result in 8 bits, and the time of a
 * demosaicing of higher order beside the bilinear one of its example, and of its remap by kernels
 * and by the texture unit. demosaic.cl and warp.cl describe the kernels, and photographs.py
 * measures the PSNR of demosaicing. */
#include "articles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scene {
    uint32_t width, height;
    uint8_t *picture; /* grey, or a mosaic */
    double *expected[2];
};

/* Unpadded, because the border depends on the padded size, which devices choose by themselves. */
static void build_results(struct group *group, const void *context)
{
    const struct scene *scene = context;
    for (unsigned i = 0; i < FFTD_FORMS; i++) {
        struct fftd_variant variant = fftd_form[i];
        variant.unpadded = true;
        fftd_add(group, &variant, scene->picture, scene->width, scene->height);
    }
}

static void compare_results(struct bench *bench, const char *name, uint32_t width, uint32_t height,
                            bool simulated)
{
    const struct scene scene = {
        .width = width, .height = height, .picture = reference_picture(width, height)};
    const struct group_head head = {
        .row = 8, .name = name, .simulated = simulated, .untimed = true};
    bench_group(bench, &head, build_results, &scene);
    free(scene.picture);
}

/* ---- demosaicing in double precision, by 5x5 weights in eighths ---- */

enum pattern { HERE, ACROSS, DOWN, EDGES, CORNERS };

/* For each method and pattern: the weights of the pixel, of its neighbours across and down, of
 * those at the corners, and of those two away across and down. */
static const double weights[2][5][6] = {
    {{8, 0, 0, 0, 0, 0},
     {0, 4, 0, 0, 0, 0},
     {0, 0, 4, 0, 0, 0},
     {0, 2, 2, 0, 0, 0},
     {0, 0, 0, 2, 0, 0}},
    {{8, 0, 0, 0, 0, 0},
     {5, 4, 0, -1, -1, 0.5},
     {5, 0, 4, -1, 0.5, -1},
     {4, 2, 2, 0, -1, -1},
     {6, 0, 0, 2, -1.5, -1.5}},
};

static int mirrored(int i, int length)
{
    return i < 0 ? -i : i < length ? i : 2 * length - 2 - i;
}

static double sum_of(const struct scene *scene, int x, int y, const double *weight)
{
    double sum = 0;
    for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++) {
            const int far = abs(u) + abs(v);
            const unsigned kind = far == 0                     ? 0
                                  : far == 1                   ? (v == 0 ? 1 : 2)
                                  : abs(u) == 1 && abs(v) == 1 ? 3
                                  : v == 0                     ? 4
                                                               : 5;
            if (far > 2)
                continue;
            const size_t row = (size_t)mirrored(y + v, (int)scene->height);
            sum += weight[kind] *
                   scene->picture[row * scene->width + (size_t)mirrored(x + u, (int)scene->width)];
        }
    return fmin(fmax(sum / 8, 0), 255);
}

/* The colours at red, at green in a red row, at green in a blue row, and at blue. */
static const enum pattern patterns[4][3] = {
    {HERE, EDGES, CORNERS}, {ACROSS, HERE, DOWN}, {DOWN, HERE, ACROSS}, {CORNERS, EDGES, HERE}};

static void demosaic(struct scene *scene, unsigned method)
{
    double *result = scene->expected[method];
    for (uint32_t y = 0; y < scene->height; y++)
        for (uint32_t x = 0; x < scene->width; x++, result += 4)
            for (unsigned colour = 0; colour < 3; colour++)
                result[colour] = sum_of(scene, (int)x, (int)y,
                                        weights[method][patterns[y % 2 * 2 + x % 2][colour]]);
}

static void build_demosaicing(struct group *group, const void *context)
{
    static const char *const names[] = {"bilinear", "gradients"};
    const struct scene *scene = context;
    const size_t count = (size_t)scene->width * scene->height;
    for (unsigned method = 0; method < 2; method++) {
        struct pipeline *p = pipeline_new(group, "%s", names[method]);
        const cl_mem in = pipeline_buffer(p, count, scene->picture);
        const cl_mem out = pipeline_buffer(p, 4 * count, NULL);
        const cl_program program = pipeline_program(p, "demosaic.cl", "-DWIDTH=%u -DHEIGHT=%u",
                                                    scene->width, scene->height);
        pipeline_launch(p, program, names[method],
                        (struct shape){scene->width, scene->height, 0, 0, 0}, "bb", in, out);
        pipeline_result(p, RESULT_BYTES, out, 4 * count, scene->expected[method], 0.51);
        pipeline_traffic(p, 5. * (double)count);
    }
}

static void measure_demosaicing(struct bench *bench, uint32_t width, uint32_t height)
{
    struct scene scene = {
        .width = width, .height = height, .picture = reference_picture(width, height)};
    for (unsigned method = 0; method < 2; method++) {
        scene.expected[method] = calloc(4 * (size_t)width * height, sizeof(double));
        if (scene.expected[method] == NULL)
            abort();
        demosaic(&scene, method);
    }
    bench_group(bench,
                &(struct group_head){.row = 8, .name = "demosaicing", .x = (double)width * height},
                build_demosaicing, &scene);
    free(scene.picture);
    free(scene.expected[0]);
    free(scene.expected[1]);
}

/* ---- remap ---- */

#define PLACES_PER_PIXEL 32

struct remap {
    uint32_t width, height;
    uint8_t *picture;
    int16_t (*table)[2];
    double *expected;
};

/* A place that a lens moves towards the middle, the more the farther it is, in 1/32 of a pixel. */
static int place_of(double from, double middle, double bend, uint32_t length)
{
    const double place = middle + (from - middle) * (1 - bend);
    return (int)lrint(PLACES_PER_PIXEL * fmin(fmax(place, 0), length - 1.));
}

static double between(const struct remap *remap, int column, int row)
{
    const double x = (double)column / PLACES_PER_PIXEL, y = (double)row / PLACES_PER_PIXEL;
    const size_t left = (size_t)fmin(floor(x), remap->width - 2.);
    const size_t above = (size_t)fmin(floor(y), remap->height - 2.);
    const uint8_t *from = remap->picture + above * remap->width + left;
    const double right = x - (double)left, down = y - (double)above;
    return (1 - down) * ((1 - right) * from[0] + right * from[1]) +
           down * ((1 - right) * from[remap->width] + right * from[remap->width + 1]);
}

static void bend(struct remap *remap)
{
    const double x0 = (remap->width - 1.) / 2, y0 = (remap->height - 1.) / 2;
    const double far = x0 * x0 + y0 * y0;
    for (uint32_t y = 0; y < remap->height; y++)
        for (uint32_t x = 0; x < remap->width; x++) {
            const size_t i = (size_t)y * remap->width + x;
            const double bent = 0.1 * ((x - x0) * (x - x0) + (y - y0) * (y - y0)) / far;
            const int column = place_of(x, x0, bent, remap->width);
            const int row = place_of(y, y0, bent, remap->height);
            remap->table[i][0] = (int16_t)(column - PLACES_PER_PIXEL * (int)x);
            remap->table[i][1] = (int16_t)(row - PLACES_PER_PIXEL * (int)y);
            remap->expected[i] = between(remap, column, row);
        }
}

static void build_remaps(struct group *group, const void *context)
{
    static const struct {
        const char *name, *kernel;
        unsigned pixels;
        bool texture, copied;
        double limit; /* texture units compute with fewer bits */
    } forms[] = {
        {"by the kernel, a pixel an item", "single", 1, false, false, 0.51},
        {"by the kernel, 4 pixels an item", "four", 4, false, false, 0.51},
        {"by the texture unit, a pixel an item", "texture_single", 1, true, false, 1.01},
        {"by the texture unit, 4 pixels an item", "texture_four", 4, true, false, 1.01},
        {"by the texture unit, the frame copied to it", "texture_single", 1, true, true, 1.01},
    };
    const struct remap *remap = context;
    const uint32_t width = remap->width, height = remap->height;
    const size_t count = (size_t)width * height;
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct pipeline *p = pipeline_new(group, "%s", forms[i].name);
        cl_mem in = forms[i].texture ? pipeline_image(p, width, height, remap->picture)
                                     : pipeline_buffer(p, count, remap->picture);
        const cl_mem table = pipeline_buffer(p, count * sizeof remap->table[0], remap->table);
        const cl_mem out = pipeline_buffer(p, count, NULL);
        if (forms[i].copied)
            pipeline_copy_to_image(p, pipeline_buffer(p, count, remap->picture), in, width, height);
        const cl_program program =
            pipeline_program(p, "warp.cl", "-DWIDTH=%u -DHEIGHT=%u", width, height);
        pipeline_launch(p, program, forms[i].kernel,
                        (struct shape){width / forms[i].pixels, height, 0, 0, 0}, "bbb", in, table,
                        out);
        pipeline_result(p, RESULT_BYTES, out, count, remap->expected, forms[i].limit);
        pipeline_traffic(p, 6. * (double)count);
    }
}

static void measure_remaps(struct bench *bench, uint32_t width, uint32_t height)
{
    const size_t count = (size_t)width * height;
    struct remap remap = {.width = width,
                          .height = height,
                          .picture = reference_picture(width, height),
                          .table = malloc(count * sizeof *remap.table),
                          .expected = malloc(count * sizeof *remap.expected)};
    if (remap.table == NULL || remap.expected == NULL)
        abort();
    bend(&remap);
    bench_group(bench, &(struct group_head){.row = 8, .name = "remap", .x = (double)count},
                build_remaps, &remap);
    free(remap.picture);
    free(remap.table);
    free(remap.expected);
}

void row_openvx(struct bench *bench)
{
    static const uint32_t sizes[][2] = {{64, 48}, {640, 480}, {640, 480}, {3840, 2160}};
    const uint32_t *size = sizes[bench_sizes(bench)];
    if (!bench_is_quick(bench))
        compare_results(bench, "results of 8 bits, 640x480", 640, 480, false);
    compare_results(bench, "results of 8 bits, 160x120", 160, 120, true);
    measure_demosaicing(bench, size[0], size[1]);
    measure_remaps(bench, size[0], size[1]);
}
