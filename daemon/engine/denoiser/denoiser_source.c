#include "engine/denoiser/denoiser_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "transform/transform_private.h"

#define PI               3.14159265358979323846
#define OVER_SUBTRACTION 2.5 /* filters/denoise.h */
#define MAX_BLOCK        32
#define FINE_BLOCK       8 /* the largest of a pass's smaller blocks */
#define MAX_COLUMNS      (MAX_BLOCK * MAX_BLOCK / FINE_BLOCK)
#define JOIN_HOP         8u
#define ROW_GROUP        64 /* work-items, with one lane */

static void put_table(FILE *out, const char *name, const double *value, unsigned count)
{
    fprintf(out, "constant float %s[%u] = {", name, count);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "%s%.9ef", i > 0 ? ", " : "", value[i]);
    fprintf(out, "};\n");
}

/* Writes a table whose first `ones` numbers are 1, and the others 0. */
static void put_first(FILE *out, const char *name, unsigned ones, unsigned count)
{
    double first[MAX_BLOCK] = {0};
    for (unsigned i = 0; i < ones; i++)
        first[i] = 1;
    put_table(out, name, first, count);
}

static double window_at(unsigned i, unsigned block)
{
    return sin(PI * (i + 0.5) / block);
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

/* The squares of windows that overlap add up to block / (2 hop) along each axis, and an inverse
 * transform multiplies by `block`; `synthesis` divides by both. The second pass's transform
 * multiplies the power of noise by a quarter of block^2, of which the window leaves a quarter. */
static void put_tables(FILE *out, const struct denoiser_layout *layout,
                       enum denoiser_program program)
{
    const bool is_second = program != DENOISER_FIRST;
    const unsigned block = layout->block;
    double window[MAX_BLOCK] = {0}, synthesis[MAX_BLOCK], transformed[MAX_BLOCK] = {0};
    double rotation[MAX_BLOCK];
    double quarter_turn[MAX_BLOCK / 4 + 1];
    for (unsigned i = 0; i < block; i++) {
        window[i] = window_at(i, block);
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
    if (program != DENOISER_JOIN)
        return;
    put_first(out, "first_quarter", block / 4, block);
    put_first(out, "first_half", block / 2, block);
    fprintf(out, "#define NUMBER_VARIANCE %.9ef\n", area / 16);
}

static void put_numbers(FILE *out, const char *name, const uint32_t value[DENOISER_LEVELS])
{
    fprintf(out, "constant uint %s[%d] = {", name, DENOISER_LEVELS);
    for (unsigned i = 0; i < DENOISER_LEVELS; i++)
        fprintf(out, "%s%u", i > 0 ? ", " : "", value[i]);
    fprintf(out, "};\n");
}

/* Returns the side of the smallest blocks of a pass. */
static unsigned least_block(enum denoiser_program program)
{
    return program == DENOISER_FIRST ? FINE_BLOCK : FINE_BLOCK / 2;
}

static void put_named(FILE *out, const char *name, unsigned side, const double *value,
                      unsigned count)
{
    char whole[32];
    snprintf(whole, sizeof whole, "%s_%u", name, side);
    put_table(out, whole, value, count);
}

/* Writes the tables of blocks of one side, which are side by side in a block of the pass, and the
 * functions that filter them. overlap: how many of them cover a sample, along each axis. */
static void put_squares(FILE *out, const struct denoiser_layout *layout, unsigned side,
                        double overlap, bool is_cosine)
{
    double window[MAX_BLOCK] = {0}, transformed[MAX_BLOCK] = {0}, synthesis[MAX_BLOCK];
    double share[MAX_BLOCK], columns[MAX_COLUMNS] = {0};
    const unsigned block = layout->block;
    for (unsigned i = 0; i < block; i++) {
        window[i] = window_at(i % side, side);
        synthesis[i] = window[i] * 2 / overlap / side;
        share[i] = window[i] * window[i] * 2 / overlap;
        columns[i / side * block + i] = 1;
    }
    transform_window(transformed, window, side, is_cosine);
    for (unsigned i = side; i < block; i++)
        transformed[i] = transformed[i % side];
    put_named(out, "window", side, window, block);
    put_named(out, "synthesis", side, synthesis, block);
    put_named(out, "share", side, share, block);
    put_named(out, "transform", side, transformed, block);
    put_named(out, "columns", side, columns, block / side * block);
    fprintf(out, "#undef N\n#define N %u\n", side);
    transform_put_file(out, "denoise_fine.cl");
}

static void put_fine(FILE *out, const struct denoiser_layout *layout, enum denoiser_program program)
{
    const bool is_cosine = program != DENOISER_FIRST;
    put_squares(out, layout, layout->block, (double)layout->block / layout->hop, is_cosine);
    for (unsigned side = FINE_BLOCK; side >= least_block(program); side /= 2)
        put_squares(out, layout, side, 2, is_cosine);
}

/* What a history has, and the blocks of the search. */
static void put_levels(FILE *out, const struct transform_image *image)
{
    struct denoiser_levels levels;
    denoiser_levels_for(&levels, image);
    fprintf(out,
            "#define HISTORY_REST %u\n#define REMAINING_AT %u\n#define BIAS_AT %u\n"
            "#define MISFIT_AT %u\n#define BANDS %d\n#define COUNTS %d\n"
            "#define REMAINING_HOP %u\n"
            "#define REMAINING_COLUMNS %u\n#define REMAINING_ROWS %u\n#define VECTORS %u\n",
            levels.rest, levels.remaining_at, levels.bias_at, levels.misfit_at, DENOISER_BANDS,
            DENOISER_COUNTS, JOIN_HOP, levels.remaining_columns, levels.remaining_rows,
            levels.vectors);
    put_numbers(out, "level_width", levels.width);
    put_numbers(out, "level_height", levels.height);
    put_numbers(out, "level_at", levels.at);
    put_numbers(out, "level_spacing", levels.spacing);
    put_numbers(out, "level_side", levels.side);
    put_numbers(out, "level_columns", levels.columns);
    put_numbers(out, "level_rows", levels.rows);
}

void denoiser_levels_for(struct denoiser_levels *ret, const struct transform_image *image)
{
    static const uint32_t spacing[DENOISER_LEVELS] = {16, 16, 16, 32};
    static const uint32_t side[DENOISER_LEVELS] = {32, 32, 16, 16};
    *ret = (struct denoiser_levels){.width = {image->width}, .height = {image->height}};
    for (unsigned i = 0; i < DENOISER_LEVELS; i++) {
        if (i > 0) {
            ret->width[i] = ret->width[i - 1] > 1 ? ret->width[i - 1] / 2 : 1;
            ret->height[i] = ret->height[i - 1] > 1 ? ret->height[i - 1] / 2 : 1;
            ret->at[i] = ret->rest;
            ret->rest += ret->width[i] * ret->height[i];
        }
        ret->spacing[i] = spacing[i];
        ret->side[i] = side[i];
        ret->columns[i] = image->width / spacing[i] + 1;
        ret->rows[i] = image->height / spacing[i] + 1;
    }
    ret->vectors = ret->columns[0] * ret->rows[0];
    ret->remaining_at = ret->rest;
    ret->remaining_columns = (image->width + JOIN_HOP - 1) / JOIN_HOP + 1;
    ret->remaining_rows = (image->height + JOIN_HOP - 1) / JOIN_HOP + 1;
    ret->bias_at = ret->remaining_at + ret->remaining_columns * ret->remaining_rows;
    ret->misfit_at = ret->bias_at + ret->remaining_columns * ret->remaining_rows;
    ret->rest = ret->misfit_at + DENOISER_BANDS * ret->remaining_columns * ret->remaining_rows;
}

/* Squares of smaller blocks begin up to half of such a block before a tile, and each `block`
 * samples after that. Where `block` divides the tile's length, the last one reaches `block` less
 * this half beyond the tile, and blocks of the pass only `block - hop`. Where it does not, the rest
 * is at most `block - hop` and at least `hop`, so the last square ends before those blocks do. */
uint32_t denoiser_spare(const struct denoiser_layout *layout, enum denoiser_program program)
{
    const uint32_t reach = least_block(program) / 2;
    const bool divides = layout->tile_x % layout->block == 0 || layout->tile_y % layout->block == 0;
    return layout->is_fine && divides && layout->hop > reach ? layout->hop - reach : 0;
}

size_t denoiser_sums_bytes(const struct denoiser_layout *layout)
{
    const size_t around = 2 * (layout->block - layout->hop) + layout->spare;
    return (layout->is_fine ? 2 : 1) * (layout->tile_x + around) * (layout->tile_y + around) *
           sizeof(float);
}

size_t denoiser_scratch_bytes(const struct denoiser_layout *layout)
{
    return (layout->lanes == 1 ? layout->block * (layout->block + 1) : DENOISER_LINE) *
           sizeof(float);
}

void denoiser_count_tiles(const struct denoiser_layout *layout, const struct transform_image *image,
                          size_t ret[3])
{
    ret[0] = denoiser_divide_up(image->width + layout->shift, layout->tile_x);
    ret[1] = denoiser_divide_up(image->height + layout->shift, layout->tile_y);
    ret[2] = image->count;
}

int denoiser_launch_rows(cl_command_queue queue, cl_kernel kernel, const struct gpu_device *device,
                         unsigned lanes, size_t rows, size_t images, cl_event after,
                         cl_event *event, struct error *why)
{
    const size_t one_lane = device->max_group < ROW_GROUP ? device->max_group : ROW_GROUP;
    const size_t group = lanes > 1 ? 1 : one_lane;
    const size_t global[3] = {group, rows, images}, local[3] = {group, 1, 1};
    return opencl_launch(queue, kernel, 3, global, local, after, event, why);
}

void denoiser_put_load(FILE *out, const struct transform_image *image, const struct recipe *recipe,
                       unsigned lanes)
{
    static const char *const files[] = {"complex.cl", "batch.cl",   "captured.cl",  "calibrate.cl",
                                        "warp.cl",    "mosaic.cl",  "median.cl",    "grey.cl",
                                        "pixel.cl",   "correct.cl", "load_plane.cl"};
    const struct transform_border none = {.mode = PLAN_MIRROR};
    char load[RECIPE_CONSTANT_BYTES];
    recipe_constants(recipe, true, load);
    fprintf(out,
            "#line 1 \"constants\"\n#define LANES %u\n#define HALF_STORAGE 0\n#define STAGED 1\n"
            "#define BATCH %u\n#define SPECTRUM_SIZE 0\n%s"
            "#define DENOISED 0\n#define PLANE_PITCH %u\n#define PLANE_SIZE %zu\n",
            lanes, image->count, load, denoiser_pitch(image), denoiser_plane_size(image));
    transform_put_image(out, image, &none);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        transform_put_file(out, files[i]);
}

static void put_constants(FILE *out, const struct recipe *recipe,
                          const struct denoiser_layout *layout)
{
    fprintf(
        out,
        "#define BLOCK %u\n#define HOP %u\n#define SHIFT %u\n#define TILE_X %u\n"
        "#define TILE_Y %u\n#define GROUP %zu\n#define NOISE_NUMBERS %d\n#define NOISE_LEVELS %d\n"
        "#define NOISE_BINS %d\n#define NOISE_COUNTS %d\n#define PAST %u\n#define FINE %d\n#define "
        "SPARE %u\n",
        layout->block, layout->hop, layout->shift, layout->tile_x, layout->tile_y,
        denoiser_group(layout), DENOISER_NOISE_NUMBERS, DENOISER_NOISE_LEVELS, DENOISER_NOISE_BINS,
        DENOISER_NOISE_COUNTS, recipe->denoise.past, layout->is_fine, layout->spare);
}

void denoiser_put_blocks(FILE *out, const struct recipe *recipe,
                         const struct denoiser_layout *layout, enum denoiser_program program)
{
    put_constants(out, recipe, layout);
    transform_put_file(out, "transpose.cl");
    put_tables(out, layout, program);
    for (unsigned n = 2; n <= layout->block; n *= 2) {
        fprintf(out, "#undef N\n#define N %u\n#undef HALF_N\n#define HALF_N %u\n", n, n / 2);
        transform_put_file(out, "denoise_dft.cl");
        if (program != DENOISER_FIRST && (n == layout->block || (layout->is_fine && n > 2)))
            transform_put_file(out, "denoise_cosine.cl");
    }
    fprintf(out, "#define SECOND %d\n", program != DENOISER_FIRST);
    transform_put_file(out, "denoise.cl");
}

char *denoiser_source(const struct transform_image *image, const struct recipe *recipe,
                      const struct denoiser_layout *layout, enum denoiser_program program)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    denoiser_put_load(out, image, recipe, layout->lanes);
    denoiser_put_blocks(out, recipe, layout, program);
    if (recipe->denoise.past > 0)
        put_levels(out, image);
    fprintf(out, "#define SEARCH_GROUP %zu\n", denoiser_search_group(layout));
    transform_put_file(out, "denoise_remaining.cl");
    if (program != DENOISER_JOIN) {
        const bool is_last = (program == DENOISER_SECOND) == (recipe->denoise.passes == 2);
        fprintf(out, "#define CLIPPED %d\n",
                recipe->denoise.unclips && is_last && image->kind != SAMPLE_F32 &&
                    !recipe->calibrated);
        transform_put_file(out, "denoise_clipped.cl");
        transform_put_file(out, "denoise_gains.cl");
    }
    if (layout->is_fine)
        put_fine(out, layout, program);
    if (recipe->denoise.estimated && program == DENOISER_FIRST)
        transform_put_file(out, "denoise_noise.cl");
    if (program == DENOISER_JOIN)
        transform_put_file(out, "denoise_motion.cl");
    transform_put_file(out, program == DENOISER_FIRST    ? "denoise_first.cl"
                            : program == DENOISER_SECOND ? "denoise_second.cl"
                                                         : "denoise_join.cl");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
