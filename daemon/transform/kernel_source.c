/* Writes the kernels' source: #define lines with the constants that the kernel files use, followed
 * by the files. A template is repeated for each stage or dispatch, and its constants precede each
 * copy (kernels/stage.cl). A #line before each file makes compiler messages name the file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text.h"
#include "transform/denoiser_plane.h"
#include "gpu/program.h"
#include "transform/transform_private.h"

static const char *const shared_files[] = {
    "butterfly.cl", "batch.cl", "captured.cl", "calibrate.cl", "warp.cl",    "mosaic.cl",
    "view.cl",      "pixel.cl", "curve.cl",    "pack.cl",      "correct.cl", "stage.cl"};

static void put_file(FILE *out, const char *name)
{
    fprintf(out, "#line 1 \"%s\"\n%s", name, program_file(name));
}

/* A constant that another copy of a template may have defined differently. */
static void put_constant(FILE *out, const char *name, uint32_t value)
{
    fprintf(out, "#undef %s\n#define %s %u\n", name, name, value);
}

static uint32_t last_radix(const struct plan_axis *axis)
{
    return axis->radix[axis->stage_count - 1];
}

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

/* Returns the butterflies of a stage in all lines of a group. */
static uint32_t group_items(const struct line_layout *layout, unsigned stage)
{
    return layout->axis->length / layout->axis->radix[stage] * layout->lines;
}

/* Returns the most legs that an item holds in registers between two stages. It is at least 1,
 * because it is the length of an array. */
static uint32_t legs_held(const struct line_layout *layout)
{
    uint32_t most = 1;
    for (unsigned i = 0; layout->held && i < layout->axis->stage_count; i++) {
        const uint32_t legs =
            divide_up(group_items(layout, i), layout->group) * layout->axis->radix[i];
        most = legs > most ? legs : most;
    }
    return most;
}

static void put_axis(FILE *out, char name, const struct line_layout *layout)
{
    const struct plan_axis *axis = layout->axis;
    fprintf(out,
            "#define %c_LENGTH %u\n#define %c_LAST %u\n#define %c_UNIT %u\n#define %c_GROUP %u\n"
            "#define %c_LINES %u\n#define %c_HELD %d\n#define %c_LEGS_HELD %u\n",
            name, axis->length, name, axis->stage_count - 1, name, last_radix(axis), name,
            layout->group, name, layout->lines, name, layout->held, name, legs_held(layout));
}

void transform_put_image(void *stdio_file, const struct transform_image *image,
                         const struct transform_border *border)
{
    static const char *const kinds[] = {[SAMPLE_U8] = "SAMPLE_U8",
                                        [SAMPLE_U16] = "SAMPLE_U16",
                                        [SAMPLE_RGB8] = "SAMPLE_RGB8",
                                        [SAMPLE_BAYER] = "SAMPLE_BAYER",
                                        [SAMPLE_F32] = "SAMPLE_F32"};
    FILE *out = stdio_file;
    fprintf(out,
            "#define %s 1\n#define IMAGE_WIDTH %u\n#define IMAGE_HEIGHT %u\n"
            "#define IMAGE_STRIDE %u\n#define IMAGE_OFFSET %u\n#define IMAGE_STEP %u\n"
            "#define IMAGE_APART %u\n#define SAMPLE_MAX %u\n#define KEEP_OTHERS %d\n"
            "#define GREY_RESULT %d\n",
            kinds[image->kind], image->width, image->height, image->stride, image->offset,
            image->step, image->apart, (1u << image->bits) - 1, image->keep_others,
            image->grey_result);
    if (image->kind == SAMPLE_RGB8 || image->kind == SAMPLE_BAYER)
        fprintf(out,
                "#define R_OFFSET %u\n#define G_OFFSET %u\n#define B_OFFSET %u\n"
                "#define X_OFFSET %u\n",
                image->rgb[0], image->rgb[1], image->rgb[2],
                6u - image->rgb[0] - image->rgb[1] - image->rgb[2]);
    if (image->kind == SAMPLE_BAYER)
        fprintf(out,
                "#define RED_X %u\n#define RED_Y %u\n#define MOSAIC_SCALE %.9ef\n"
                "#define MOSAIC_COLOUR %u\n",
                image->mosaic.red_x, image->mosaic.red_y,
                ((1u << image->bits) - 1) / (double)((1u << image->mosaic.bits) - 1),
                image->mosaic.colour);
    if (image->kind == SAMPLE_BAYER || image->grey_result)
        fprintf(out, "#define RESULT_STRIDE %u\n", image->result_stride);
    char value[TEXT_NUMBER_BYTES];
    text_from_number((double)(float)border->value, value, sizeof value);
    fprintf(out, "#define BORDER_CONSTANT %d\n#define BORDER_VALUE (float)(%s)\n",
            border->mode == PLAN_CONSTANT, value);
}

/* A power is ((s + offset) / (1 + offset))^power of s = sample / max (filters/curve.h); the factors
 * and sums that follow are for samples in their own units. */
static void put_curve(FILE *out, const struct curve *curve, const struct transform_image *image)
{
    const double max = (1u << image->bits) - 1;
    switch (curve->kind) {
    case CURVE_NONE:
        break;
    case CURVE_LOG:
        fprintf(out, "#define CURVE_LOG 1\n#define CURVE_SCALE %.9ef\n", max / log1p(max));
        break;
    case CURVE_POWER:
        fprintf(out,
                "#define CURVE_POWER 1\n#define CURVE_EXPONENT %.9ef\n"
                "#define CURVE_CUT %.9ef\n#define CURVE_CUT_AT %.9ef\n#define CURVE_SLOPE %.9ef\n"
                "#define CURVE_DECODE_SCALE %.9ef\n#define CURVE_DECODE_OFFSET %.9ef\n"
                "#define CURVE_ENCODE_SCALE %.9ef\n#define CURVE_ENCODE_OFFSET %.9ef\n",
                curve->power, curve->cut * max, curve->cut * max * curve->slope, curve->slope,
                1 / (max * (1 + curve->offset)), curve->offset / (1 + curve->offset),
                max * (1 + curve->offset), max * curve->offset);
        break;
    }
}

/* Writes the constants that all files share. */
static void put_constants(FILE *out, const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    static const char *const twiddle_names[] = {[TWIDDLES_READ] = "READ_TWIDDLES",
                                                [TWIDDLES_COMBINED] = "COMBINE_TWIDDLES",
                                                [TWIDDLES_COMPUTED] = "COMPUTE_TWIDDLES"};
    const struct line_layout u = transform_line_layout(transform, plan_first(&transform->plan));
    const struct line_layout v = transform_line_layout(transform, plan_second(&transform->plan));
    /* In half precision the largest sum along the first axis is 1/8 of the largest number. The rest
     * is headroom for filters that amplify. */
    const bool staged = tuning->technique == TRANSFORM_STAGED; /* all stages but the last divide */
    const struct response_layout response = transform_response_layout(transform);
    char needs[RECIPE_CONSTANT_BYTES];
    recipe_constants(&tuning->recipe, false, needs);
    const double load = 8192. / (((1u << transform->image.bits) - 1) * (double)u.axis->length);
    fprintf(out,
            "#line 1 \"constants\"\n#define LANES %u\n#define HALF_STORAGE %d\n"
            "#define HALF_VECTORS %d\n"
            "#define ROWS_FIRST %d\n#define SKEW %d\n#define SPECTRUM_PITCH %u\n"
            "#define BATCH %u\n#define SPECTRUM_SIZE %zu\n#define %s 1\n#define STAGED %d\n"
            "%s#define RESPONSE_PART %zu\n#define RESPONSE_COUNT %zu\n#define DENOISED %d\n"
            "#define PLANE_PITCH %u\n#define PLANE_SIZE %zu\n#define VIEW_DIFFERENCE %d\n"
            "#define VIEW_SPECTRUM %d\n#define VIEW_FILTERED %d\n#define VIEW_GAIN %d\n#define "
            "VIEW_BLACK_DB %d\n"
            "#define VIEW_WHITE_DB %d\n#define VIEW_EDGES %d\n#define VIEW_EDGE_MAX %d\n",
            tuning->lanes, tuning->recipe.precision == RECIPE_HALF, transform->device->half_vectors,
            tuning->order == PLAN_ROWS_FIRST, tuning->skew, transform_pitch(transform),
            transform->image.count, transform_spectrum_size(transform),
            twiddle_names[tuning->twiddles], staged, needs, response_part_count(&response),
            response_count(&response), tuning->recipe.denoise.block > 0,
            denoiser_pitch(&transform->image), denoiser_plane_size(&transform->image),
            tuning->recipe.view == VIEW_DIFFERENCE, view_is_spectrum(tuning->recipe.view),
            tuning->recipe.view == VIEW_SPECTRUM, VIEW_GAIN, VIEW_BLACK_DB, VIEW_WHITE_DB,
            tuning->recipe.view == VIEW_EDGES, VIEW_EDGE_MAX);
    fprintf(
        out, "#define LOAD_SCALE %.9ef\n#define PRODUCT_SCALE %.9ef\n#define STORE_SCALE %.9ef\n",
        load, 0.5 / (staged ? last_radix(v.axis) : v.axis->length), 1 / (load * u.axis->length));
    put_axis(out, 'U', &u);
    put_axis(out, 'V', &v);
    transform_put_image(out, &transform->image, &transform->border);
    put_curve(out, &tuning->recipe.curve, &transform->image);
}

/* Writes the constants of a stage that the templates of both techniques use. */
static void put_stage(FILE *out, const char *axis_name, const struct plan_axis *axis,
                      unsigned stage)
{
    fprintf(out, "#line 1 \"stage %u\"\n#undef AXIS\n#define AXIS %s\n", stage, axis_name);
    put_constant(out, "STAGE", stage);
    put_constant(out, "RADIX", axis->radix[stage]);
    put_constant(out, "SPAN", plan_span(axis, stage));
    put_constant(out, "TWIDDLES", plan_twiddle_offset(axis, stage));
    put_constant(out, "BUTTERFLIES", axis->length / axis->radix[stage]);
    put_constant(out, "IS_LAST", stage + 1 == axis->stage_count);
}

static void put_fused_axis(FILE *out, const char *name, const struct line_layout *layout,
                           const char *file)
{
    for (unsigned i = 0; i < layout->axis->stage_count; i++) {
        put_stage(out, name, layout->axis, i);
        put_constant(out, "PREVIOUS", i > 0 ? i - 1 : 0);
        put_constant(out, "UNIT", last_radix(layout->axis));
        put_constant(out, "GROUP", layout->group);
        put_constant(out, "LINES", layout->lines);
        put_constant(out, "HELD", layout->held);
        put_constant(out, "ITEMS", group_items(layout, i));
        put_constant(out, "ROUNDS", divide_up(group_items(layout, i), layout->group));
        put_file(out, "fused_stage.cl");
        put_file(out, file);
    }
}

static void put_fused(FILE *out, const struct transform *transform)
{
    const struct line_layout u = transform_line_layout(transform, plan_first(&transform->plan));
    const struct line_layout v = transform_line_layout(transform, plan_second(&transform->plan));
    put_file(out, "fused.cl");
    put_file(out, "transpose.cl");
    put_file(out, "fused_lanes.cl");
    put_fused_axis(out, "u_", &u, "fused_u.cl");
    put_fused_axis(out, "v_", &v, "fused_v.cl");
    put_file(out, "fused_kernels.cl");
}

static void put_staged_axis(FILE *out, const struct transform *transform,
                            const struct plan_axis *axis)
{
    const bool along_v = axis == plan_second(&transform->plan);
    const char *name = along_v ? "v_" : "u_";
    struct pass pass[PLAN_MAX_STAGES];
    const unsigned count = transform_passes(pass, transform, axis);
    fprintf(out, "#undef KERNEL_AXIS\n#define KERNEL_AXIS %s\n", along_v ? "rows_" : "columns_");
    put_constant(out, "ALONG_V", along_v);
    for (unsigned i = 0; i < axis->stage_count; i++) {
        put_stage(out, name, axis, i);
        put_file(out, "staged_stage.cl");
    }
    for (unsigned i = 0; i < count; i++) {
        const struct staged_range range = transform_staged_range(transform, axis, &pass[i]);
        const unsigned last = pass[i].first + pass[i].count - 1;
        const char *const radix_names[] = {"RADIX_1", "RADIX_2", "RADIX_3"};
        fprintf(out, "#line 1 \"dispatch %u\"\n", i);
        put_constant(out, "FIRST", pass[i].first);
        put_constant(out, "SECOND", pass[i].first + 1);
        put_constant(out, "THIRD", pass[i].first + 2);
        put_constant(out, "COUNT", pass[i].count);
        for (unsigned k = 0; k < MAX_PASS_STAGES; k++)
            put_constant(out, radix_names[k],
                         k < pass[i].count ? axis->radix[pass[i].first + k] : 1);
        put_constant(out, "LEAST_RADIX", transform_least_radix(axis, &pass[i]));
        put_constant(out, "SPAN", plan_span(axis, last));
        put_constant(out, "IS_MIDDLE", along_v && i + 1 == count);
        put_constant(out, "CROSSING", along_v && i == 0);
        put_constant(out, "IS_WIDE", range.local[1] > 1);
        put_file(out, "staged_dispatch.cl");
    }
}

static void put_staged(FILE *out, const struct transform *transform)
{
    const struct staged_layout layout = transform_staged_layout(transform);
    fprintf(out,
            "#define LINES %u\n#define LINES_SIZE %zu\n#define SPECTRUM_TWIDDLES %zuu\n"
            "#define MAP_X %zuu\n#define MAP_Y %zuu\n#define FREQUENCIES_AT %zuu\n"
            "#define ZEROS_AT %zuu\n#define LINES_TWIDDLES %zuu\n"
            "#define PAIRS_AT %zuu\n",
            layout.lines, layout.lines_bytes / transform_stored_bytes(transform),
            layout.spectrum_twiddles, layout.map_x, layout.map_y, layout.frequencies, layout.zeros,
            layout.lines_twiddles, layout.pairs);
    put_file(out, "staged.cl");
    put_file(out, "staged_image.cl");
    put_staged_axis(out, transform, plan_first(&transform->plan));
    put_staged_axis(out, transform, plan_second(&transform->plan));
}

char *transform_source(const struct transform *transform)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    const bool fused = transform->tuning.technique == TRANSFORM_FUSED;
    put_constants(out, transform);
    put_file(out, "complex.cl");
    put_file(out, fused ? "planar.cl" : "interleaved.cl");
    for (size_t i = 0; i < sizeof shared_files / sizeof shared_files[0]; i++)
        put_file(out, shared_files[i]);
    if (fused)
        put_fused(out, transform);
    else
        put_staged(out, transform);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
