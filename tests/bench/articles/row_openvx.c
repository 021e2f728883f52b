/* Row 8: OpenVX. Whether every device gives the same result in 8 bits, and a demosaicing of higher
 * order beside the bilinear one of its example, in PSNR and time. demosaic.cl describes the
 * kernels. */
#include "articles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scene {
    uint32_t width, height;
    const uint8_t *picture; /* grey, for fftd */
    uint8_t *truth;         /* four bytes a pixel; the fourth is 0 */
    uint8_t *mosaic;
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
                            bool small)
{
    uint8_t *picture = reference_picture(width, height);
    const struct scene scene = {.width = width, .height = height, .picture = picture};
    const struct group_head head = {.row = 8, .name = name, .small = small};
    bench_group(bench, &head, build_results, &scene);
    free(picture);
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
                   scene->mosaic[row * scene->width + (size_t)mirrored(x + u, (int)scene->width)];
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

static double psnr(const struct scene *scene, unsigned method)
{
    const size_t count = (size_t)scene->width * scene->height;
    double sum = 0;
    for (size_t i = 0; i < 4 * count; i++) {
        const double d = nearbyint(scene->expected[method][i]) - scene->truth[i];
        sum += d * d;
    }
    return 10 * log10(255. * 255 / (sum / (3. * (double)count)));
}

static void build_demosaicing(struct group *group, const void *context)
{
    static const char *const names[] = {"bilinear", "gradients"};
    const struct scene *scene = context;
    const size_t count = (size_t)scene->width * scene->height;
    for (unsigned method = 0; method < 2; method++) {
        struct pipeline *p = pipeline_new(group, "%s", names[method]);
        const cl_mem in = pipeline_buffer(p, count, scene->mosaic);
        const cl_mem out = pipeline_buffer(p, 4 * count, NULL);
        const cl_program program = pipeline_program(p, "demosaic.cl", "-DWIDTH=%u -DHEIGHT=%u",
                                                    scene->width, scene->height);
        pipeline_launch(p, program, names[method],
                        (struct shape){scene->width, scene->height, 0, 0}, "bb", in, out);
        pipeline_result(p, RESULT_BYTES, out, 4 * count, scene->expected[method], 0.51);
        pipeline_psnr(p, psnr(scene, method));
        pipeline_traffic(p, 5. * (double)count);
    }
}

/* A drawn scene: rings that become finer, on colours that change slowly, and edges. */
static void draw(struct scene *scene)
{
    for (uint32_t y = 0; y < scene->height; y++)
        for (uint32_t x = 0; x < scene->width; x++) {
            const double u = (double)x / scene->width, v = (double)y / scene->height;
            const double rings = 50 * cos(120 * (u * u + v * v));
            const bool light = (x / 40 + y / 40) % 2 != 0;
            const double edge = light ? 20 : -20;
            uint8_t *pixel = scene->truth + 4 * ((size_t)y * scene->width + x);
            pixel[0] = (uint8_t)(110 + rings + edge + 40 * u);
            pixel[1] = (uint8_t)(120 + rings + edge);
            pixel[2] = (uint8_t)(110 + rings + edge + 40 * v);
            scene->mosaic[(size_t)y * scene->width + x] = pixel[y % 2 + x % 2];
        }
}

void row_openvx(struct bench *bench)
{
    const bool quick = bench_is_quick(bench);
    struct scene scene = {.width = quick ? 64 : 640, .height = quick ? 48 : 480};
    const size_t count = (size_t)scene.width * scene.height;
    scene.truth = calloc(count, 4);
    scene.mosaic = malloc(count);
    scene.expected[0] = calloc(4 * count, sizeof(double));
    scene.expected[1] = calloc(4 * count, sizeof(double));
    if (scene.truth == NULL || scene.mosaic == NULL || scene.expected[0] == NULL ||
        scene.expected[1] == NULL)
        abort();
    draw(&scene);
    demosaic(&scene, 0);
    demosaic(&scene, 1);
    if (!quick)
        compare_results(bench, "results of 8 bits, 640x480", 640, 480, false);
    compare_results(bench, "results of 8 bits, 160x120", 160, 120, true);
    bench_group(bench, &(struct group_head){.row = 8, .name = "demosaicing, 640x480"},
                build_demosaicing, &scene);
    free(scene.truth);
    free(scene.mosaic);
    free(scene.expected[0]);
    free(scene.expected[1]);
}
