#include "engine/denoiser_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "transform/transform_private.h"

#define PI               3.14159265358979323846
#define OVER_SUBTRACTION 2.5 /* filters/denoise.h */
#define MAX_BLOCK        32

static void put_table(FILE *out, const char *name, const double *value, unsigned count)
{
    fprintf(out, "constant float %s[%u] = {", name, count);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "%s%.9ef", i > 0 ? ", " : "", value[i]);
    fprintf(out, "};\n");
}

/* Adds the transform of the window in the order of denoise_dft.cl, or its cosine transform as in
 * denoise_second.cl. */
static void transform_window(double *ret, const double *window, unsigned block, bool is_cosine)
{
    for (unsigned i = 0; i < block; i++) {
        for (unsigned n = 0; n < block; n++) {
            const double turn = 2 * PI * (i <= block / 2 ? i : i - block / 2) * n / block;
            ret[i] += window[n] * (is_cosine        ? cos(PI * (2 * n + 1) * i / (2 * block))
                                   : i <= block / 2 ? cos(turn)
                                                    : -sin(turn));
        }
    }
    if (is_cosine)
        ret[0] *= sqrt(0.5);
}

/* Of noise, in the places of a transform along an axis: the inverse of its variance, and the same
 * only for frequencies of at most 1/8. */
static void put_precision(FILE *out, unsigned block, bool is_second)
{
    double precision[MAX_BLOCK] = {0}, if_low[MAX_BLOCK] = {0};
    unsigned low = 0;
    for (unsigned i = 0; i < block; i++) {
        const double frequency = is_second        ? i / (2. * block)
                                 : i <= block / 2 ? i / (double)block
                                                  : i / (double)block - 0.5;
        precision[i] = is_second || i % (block / 2) == 0 ? 1 : 2;
        if_low[i] = frequency <= 0.125 ? precision[i] : 0;
        low += frequency <= 0.125;
    }
    put_table(out, "precision", precision, block);
    put_table(out, "precision_if_low", if_low, block);
    fprintf(out, "#define LOW_COUNT %u.0f\n#define NUMBER_VARIANCE %.9ef\n", low * low,
            (double)block * block / (is_second ? 16 : 4));
}

/* The squares of windows that overlap add up to block / (2 hop) along each axis, and an inverse
 * transform multiplies by `block`; `synthesis` divides by both. The second pass's transform
 * multiplies the power of noise by a quarter of block^2, of which the window leaves a quarter. */
static void put_tables(FILE *out, const struct denoiser_layout *layout, bool is_second)
{
    const unsigned block = layout->block;
    double window[MAX_BLOCK] = {0}, synthesis[MAX_BLOCK], transformed[MAX_BLOCK] = {0};
    double rotation[MAX_BLOCK];
    double quarter_turn[MAX_BLOCK / 4 + 1];
    for (unsigned i = 0; i < block; i++) {
        window[i] = sin(PI * (i + 0.5) / block);
        synthesis[i] = window[i] * 2 * layout->hop / block / block;
        rotation[i] = cos(PI * i / (2 * block));
    }
    transform_window(transformed, window, block, is_second);
    put_table(out, "window", window, block);
    put_table(out, "synthesis", synthesis, block);
    put_table(out, "window_transform", transformed, block);
    put_table(out, "rotation", rotation, block);
    for (unsigned k = 0; k <= MAX_BLOCK / 4; k++)
        quarter_turn[k] = k < MAX_BLOCK / 4 ? cos(2 * PI * k / MAX_BLOCK) : 0;
    put_table(out, "quarter_turn", quarter_turn, MAX_BLOCK / 4 + 1);
    const double area = (double)block * block;
    fprintf(out, "#define FLOOR %.9ef\n", is_second ? area / 16 : OVER_SUBTRACTION * area / 4);
    put_precision(out, block, is_second);
}

static void put_constants(FILE *out, const struct transform_image *image,
                          const struct recipe *recipe, const struct denoiser_layout *layout)
{
    const struct transform_border none = {.mode = PLAN_MIRROR};
    char load[RECIPE_CONSTANT_BYTES];
    recipe_constants(recipe, true, load);
    fprintf(out,
            "#line 1 \"constants\"\n#define LANES %u\n#define HALF_STORAGE 0\n#define STAGED 1\n"
            "#define BATCH %u\n#define SPECTRUM_SIZE 0\n%s"
            "#define DENOISED 0\n#define PLANE_PITCH %u\n#define PLANE_SIZE %zu\n"
            "#define BLOCK %u\n#define HOP %u\n#define TILE_X %u\n#define TILE_Y %u\n"
            "#define GROUP %zu\n#define NOISE_NUMBERS %d\n#define NOISE_LEVELS %d\n"
            "#define NOISE_BINS %d\n#define PAST %u\n",
            layout->lanes, image->count, load, denoiser_pitch(image), denoiser_plane_size(image),
            layout->block, layout->hop, layout->tile_x, layout->tile_y, denoiser_group(layout),
            DENOISER_NOISE_NUMBERS, DENOISER_NOISE_LEVELS, DENOISER_NOISE_BINS,
            recipe->denoise.past);
    transform_put_image(out, image, &none);
}

char *denoiser_source(const struct transform_image *image, const struct recipe *recipe,
                      const struct denoiser_layout *layout, bool is_second)
{
    static const char *const shared[] = {"complex.cl", "batch.cl",    "captured.cl", "calibrate.cl",
                                         "warp.cl",    "mosaic.cl",   "median.cl",   "pixel.cl",
                                         "correct.cl", "transpose.cl"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    put_constants(out, image, recipe, layout);
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        transform_put_file(out, shared[i]);
    put_tables(out, layout, is_second);
    for (unsigned n = 2; n <= layout->block; n *= 2) {
        fprintf(out, "#undef N\n#define N %u\n#undef HALF_N\n#define HALF_N %u\n", n, n / 2);
        transform_put_file(out, "denoise_dft.cl");
    }
    fprintf(out, "#define SECOND %d\n", is_second);
    if (is_second)
        transform_put_file(out, "denoise_cosine.cl");
    transform_put_file(out, "denoise.cl");
    transform_put_file(out, "denoise_past.cl");
    if (recipe->denoise.estimated && !is_second)
        transform_put_file(out, "denoise_noise.cl");
    transform_put_file(out, is_second ? "denoise_second.cl" : "denoise_first.cl");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
