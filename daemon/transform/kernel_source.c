/* Writes the kernels' source: #define lines with the constants that the kernel files use, followed
 * by the files. A template is repeated for each stage or dispatch, and its constants precede each
 * copy (kernels/transform/stage.cl). A #line before each file makes compiler messages name the
 * file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text.h"
#include "gpu/program.h"
#include "transform/transform_private.h"

static const char *const shared_files[] = {"batch.cl",  "captured.cl", "calibrate.cl", "warp.cl",
                                           "mosaic.cl", "median.cl",   "grey.cl",      "view.cl",
                                           "edges.cl",  "pixel.cl",    "curve.cl"};
static const char *const transform_files[] = {"butterfly.cl", "pack.cl", "correct.cl", "stage.cl"};

void transform_put_file(FILE *out, const char *name)
{
    fprintf(out, "#line 1 \"%s\"\n%s", name, program_file(name));
}

void transform_put_constant(FILE *out, const char *name, uint32_t value)
{
    fprintf(out, "#undef %s\n#define %s %u\n", name, name, value);
}

static uint32_t last_radix(const struct plan_axis *axis)
{
    return axis->radix[axis->stage_count - 1];
}

/* Returns the most legs that an item holds in registers between two stages. It is at least 1,
 * because it is the length of an array. */
static uint32_t legs_held(const struct line_layout *layout)
{
    uint32_t most = 1;
    for (unsigned i = 0; layout->held && i < layout->axis->stage_count; i++) {
        const uint32_t legs = line_layout_rounds(layout, i) * layout->axis->radix[i];
        most = legs > most ? legs : most;
    }
    return most;
}

void transform_put_axis(FILE *out, char name, const struct line_layout *layout)
{
    const struct plan_axis *axis = layout->axis;
    fprintf(out,
            "#define %c_LENGTH %u\n#define %c_LAST %u\n#define %c_UNIT %u\n#define %c_GROUP %u\n"
            "#define %c_LINES %u\n#define %c_HELD %d\n#define %c_LEGS_HELD %u\n",
            name, axis->length, name, axis->stage_count - 1, name, last_radix(axis), name,
            layout->group, name, layout->lines, name, layout->held, name, legs_held(layout));
}

void transform_put_image(FILE *out, const struct transform_image *image,
                         const struct transform_border *border)
{
    static const char *const kinds[] = {[SAMPLE_U8] = "SAMPLE_U8",
                                        [SAMPLE_U16] = "SAMPLE_U16",
                                        [SAMPLE_RGB8] = "SAMPLE_RGB8",
                                        [SAMPLE_BAYER] = "SAMPLE_BAYER",
                                        [SAMPLE_F32] = "SAMPLE_F32"};
    const unsigned sample_max = (1u << image->bits) - 1;
    const unsigned result_max = (1u << transform_result_bits(image)) - 1;
    fprintf(out,
            "#define %s 1\n#define IMAGE_WIDTH %u\n#define IMAGE_HEIGHT %u\n"
            "#define IMAGE_STRIDE %u\n#define IMAGE_OFFSET %u\n#define IMAGE_STEP %u\n"
            "#define IMAGE_APART %u\n#define SAMPLE_MAX %u\n#define KEEP_OTHERS %d\n"
            "#define GREY_RESULT %d\n#define DEEP_RESULT %d\n#define RESULT_MAX %u\n"
            "#define RESULT_SCALE %.9ef\n",
            kinds[image->kind], image->width, image->height, image->stride, image->offset,
            image->step, image->apart, sample_max, image->keep_others, image->grey_result,
            image->deep_result, result_max, result_max / (double)sample_max);
    if (image->kind == SAMPLE_RGB8 || image->kind == SAMPLE_BAYER)
        fprintf(out,
                "#define R_OFFSET %u\n#define G_OFFSET %u\n#define B_OFFSET %u\n"
                "#define X_OFFSET %u\n",
                image->rgb[0], image->rgb[1], image->rgb[2],
                6u - image->rgb[0] - image->rgb[1] - image->rgb[2]);
    if (image->kind == SAMPLE_BAYER)
        fprintf(out,
                "#define RED_X %u\n#define RED_Y %u\n#define MOSAIC_SCALE %.9ef\n"
                "#define MOSAIC_COLOUR %u\n#define MOSAIC_GRADIENTS %d\n",
                image->mosaic.red_x, image->mosaic.red_y,
                ((1u << image->bits) - 1) / (double)((1u << image->mosaic.bits) - 1),
                image->mosaic.colour, image->mosaic.demosaic == DEMOSAIC_GRADIENTS);
    if (image->kind == SAMPLE_BAYER || image->grey_result)
        fprintf(out, "#define RESULT_STRIDE %u\n", image->result_stride);
    char value[TEXT_NUMBER_BYTES];
    text_from_number((double)(float)border->value, value, sizeof value);
    fprintf(out, "#define BORDER_CONSTANT %d\n#define BORDER_VALUE (float)(%s)\n",
            border->mode == PLAN_CONSTANT, value);
}

/* A power is ((s + offset) / (1 + offset))^power of s = sample / max (core/curve.h); the factors
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

/* A sample is rounded to at least the level if it is not more than half a step below that. */
static void put_level(FILE *out, double level, const struct transform_image *image)
{
    const double max = (1u << image->bits) - 1;
    fprintf(out, "#define BINARISES %d\n#define WHITE_FROM %.9ef\n", level > 0,
            ceil(level * max / 255) - 0.5);
}

/* The limits are compared with squares (edges.cl), which are whole numbers. */
static void put_edges(FILE *out, const struct recipe *recipe, const struct transform_image *image)
{
    const double max = (1u << transform_result_bits(image)) - 1, low = recipe->edges.low;
    const double high = fmax(low, recipe->edges.high);
    fprintf(out,
            "#define VIEW_EDGES %d\n#define VIEW_EDGE_MAX %d\n#define VIEW_TRACKS %d\n"
            "#define VIEW_LOW %.0ful\n#define VIEW_HIGH %.0ful\n",
            recipe->view == VIEW_EDGES, VIEW_EDGE_MAX, view_has_limits(&recipe->edges),
            ceil(VIEW_EDGE_MAX * max * max * low * low),
            ceil(VIEW_EDGE_MAX * max * max * high * high));
}

/* Writes the constants of a transform. */
static void put_transform(FILE *out, const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    static const char *const twiddle_names[] = {[TWIDDLES_READ] = "READ_TWIDDLES",
                                                [TWIDDLES_COMBINED] = "COMBINE_TWIDDLES",
                                                [TWIDDLES_COMPUTED] = "COMPUTE_TWIDDLES"};
    const struct line_layout u = transform_line_layout(transform, plan_first(&transform->plan));
    const struct line_layout v = transform_line_layout(transform, plan_second(&transform->plan));
    /* In half precision the largest sum along the first axis is 1/8 of the largest number. The rest
     * is headroom for filters that amplify. */
    const bool staged = transform->technique->by_stages; /* all stages but the last divide */
    const struct response_layout response = transform_response_layout(transform);
    const struct plan *loaded = transform_loaded(transform);
    const uint32_t loaded_u = plan_first(loaded)->length, loaded_v = plan_second(loaded)->length;
    const double load = 8192. / (((1u << transform->image.bits) - 1) * (double)loaded_u);
    fprintf(out,
            "#define HALF_STORAGE %d\n"
            "#define ROWS_FIRST %d\n#define SKEW %d\n#define SPECTRUM_PITCH %u\n"
            "#define SPECTRUM_SIZE %zu\n#define %s 1\n"
            "#define RESPONSE_PART %zu\n#define RESPONSE_COUNT %zu\n"
            "#define IS_LARGER %d\n#define IS_SMALLER %d\n#define IS_APART %d\n"
            "#define COMPLETES %d\n#define COMPLETE_SIZE %zu\n#define PADDED_SIZE %.9ef\n",
            tuning->recipe.precision == RECIPE_HALF, tuning->order == PLAN_ROWS_FIRST, tuning->skew,
            transform_pitch(transform), transform->technique->spectrum_size(transform),
            twiddle_names[tuning->twiddles], response_part_count(&response),
            response_count(&response), transform_only_loads(transform),
            transform_is_smaller(transform),
            transform->larger != NULL && !transform_is_smaller(transform),
            transform_completes(transform), transform_complete_size(transform),
            (double)loaded_u * loaded_v);
    fprintf(out,
            "#define LOAD_SCALE %.9ef\n#define PRODUCT_SCALE %.9ef\n#define STORE_SCALE %.9ef\n",
            load, 0.5 / (staged ? last_radix(v.axis) : loaded_v), 1 / (load * loaded_u));
    transform_put_axis(out, 'U', &u);
    transform_put_axis(out, 'V', &v);
}

/* Writes the constants that all files share. */
static void put_constants(FILE *out, const struct transform *transform)
{
    const struct recipe *recipe = &transform->tuning.recipe;
    char needs[RECIPE_CONSTANT_BYTES];
    recipe_constants(recipe, false, needs);
    fprintf(out,
            "#line 1 \"constants\"\n#define LANES %u\n"
            "#define HALF_VECTORS %d\n#define BATCH %u\n#define STAGED %d\n#define DIRECT %d\n"
            "%s#define DENOISED %d\n"
            "#define PLANE_PITCH %u\n#define PLANE_SIZE %zu\n#define VIEW_DIFFERENCE %d\n"
            "#define VIEW_SPECTRUM %d\n#define VIEW_FILTERED %d\n#define VIEW_GAIN %d\n#define "
            "VIEW_BLACK_DB %d\n"
            "#define VIEW_WHITE_DB %d\n",
            transform->tuning.lanes, transform->device->half_vectors, transform->image.count,
            transform->technique->by_stages, transform->technique->is_direct, needs,
            recipe_loads_before(recipe), denoiser_pitch(&transform->image),
            denoiser_plane_size(&transform->image), recipe->view == VIEW_DIFFERENCE,
            view_is_spectrum(recipe->view), recipe->view == VIEW_SPECTRUM, VIEW_GAIN, VIEW_BLACK_DB,
            VIEW_WHITE_DB);
    if (transform->technique->is_direct) /* nothing is scaled */
        fputs("#define HALF_STORAGE 0\n#define LOAD_SCALE 1.0f\n", out);
    else
        put_transform(out, transform);
    transform_put_image(out, &transform->image, &transform->border);
    put_curve(out, &recipe->curve, &transform->image);
    put_edges(out, recipe, &transform->image);
    put_level(out, recipe->binarise, &transform->image);
}

static void put_files(FILE *out, const char *const *name, size_t count)
{
    for (size_t i = 0; i < count; i++)
        transform_put_file(out, name[i]);
}

void transform_put_stage(FILE *out, const char *axis_name, const struct plan_axis *axis,
                         unsigned stage)
{
    fprintf(out, "#line 1 \"stage %u\"\n#undef AXIS\n#define AXIS %s\n", stage, axis_name);
    transform_put_constant(out, "STAGE", stage);
    transform_put_constant(out, "RADIX", axis->radix[stage]);
    transform_put_constant(out, "SPAN", plan_span(axis, stage));
    transform_put_constant(out, "TWIDDLES", plan_twiddle_offset(axis, stage));
    transform_put_constant(out, "BUTTERFLIES", axis->length / axis->radix[stage]);
    transform_put_constant(out, "IS_LAST", stage + 1 == axis->stage_count);
}

char *transform_source(const struct transform *transform)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    put_constants(out, transform);
    transform_put_file(out, "complex.cl");
    transform_put_file(out, transform->technique->complex_file);
    put_files(out, shared_files, sizeof shared_files / sizeof shared_files[0]);
    if (transform->technique->is_direct)
        transform_put_file(out, "correct.cl");
    else
        put_files(out, transform_files, sizeof transform_files / sizeof transform_files[0]);
    transform->technique->put_source(out, transform);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
