/* What specialises the kernels: lines of #define, in the terms of the kernel files. */
#include <stdlib.h>

#include "core/text.h"
#include "gpu/transform_private.h"

#define PROLOGUE_BYTES 8192

/* F(from) BETWEEN(from, from + step) F(from + step) ... up to F(to) */
static void print_stages(char *text, char axis, const char *name, unsigned from, unsigned to,
                         bool skip_first, bool skip_last)
{
    text_append(text, PROLOGUE_BYTES, "#define %c_%s(F, BETWEEN)", axis, name);
    for (unsigned i = from;; i = from < to ? i + 1 : i - 1) {
        if (!(i == from && skip_first) && !(i == to && skip_last))
            text_append(text, PROLOGUE_BYTES, " F(%u)", i);
        if (i == to)
            break;
        text_append(text, PROLOGUE_BYTES, " BETWEEN(%u, %u)", i, from < to ? i + 1 : i - 1);
    }
    text_append(text, PROLOGUE_BYTES, "\n");
}

/* ONE(i) or TWO(i, i + 1) for each pass of the staged technique. */
static void print_passes(char *text, char name, const struct plan_axis *axis,
                         const struct transform_tuning *tuning)
{
    struct pass pass[PLAN_MAX_STAGES];
    const unsigned count = transform_passes(pass, axis, tuning);
    text_append(text, PROLOGUE_BYTES, "#define %c_OUTER_PASSES(ONE, TWO)", name);
    for (unsigned i = 0; i < count; i++) {
        const unsigned first = pass[i].first;
        if (i == count - 1)
            text_append(text, PROLOGUE_BYTES, "\n#define %c_LAST_PASS(ONE, TWO)", name);
        if (pass[i].count == 1)
            text_append(text, PROLOGUE_BYTES, " ONE(%u)", first);
        else
            text_append(text, PROLOGUE_BYTES, " TWO(%u, %u)", first, first + 1);
    }
    text_append(text, PROLOGUE_BYTES, "\n");
}

static void print_axis(char *text, char name, const struct transform *transform,
                       const struct plan_axis *axis)
{
    const struct carriage carriage = transform_carriage(transform, axis);
    const unsigned count = axis->stage_count;
    text_append(text, PROLOGUE_BYTES,
                "#define %c_GROUP %u\n#define %c_LINES %u\n#define %c_HELD %d\n", name,
                carriage.group, name, carriage.lines, name, carriage.held);
    text_append(text, PROLOGUE_BYTES, "#define %c_LENGTH %u\n#define %c_STAGES %u\n", name,
                axis->length, name, count);
    for (unsigned i = 0; i < count; i++)
        text_append(
            text, PROLOGUE_BYTES, "#define %c_R%u %u\n#define %c_M%u %u\n#define %c_T%u %u\n", name,
            i, axis->radix[i], name, i, plan_span(axis, i), name, i, plan_twiddle_offset(axis, i));
    print_stages(text, name, "EACH_STAGE", 0, count - 1, false, false);
    print_stages(text, name, "EACH_STAGE_BACK", count - 1, 0, false, false);
    print_stages(text, name, "OUTER_STAGES", 0, count - 1, false, true);
    print_stages(text, name, "OUTER_STAGES_BACK", count - 1, 0, true, false);
    text_append(text, PROLOGUE_BYTES, "#define %c_LAST_STAGE(F) F(%u)\n#define %c_LAST %u\n", name,
                count - 1, name, count - 1);
    if (transform->tuning.technique == TRANSFORM_STAGED)
        print_passes(text, name, axis, &transform->tuning);
}

static void print_image(char *text, const struct transform_image *image,
                        const struct transform_border *border)
{
    static const char *const kinds[] = {[SAMPLE_U8] = "SAMPLE_U8",
                                        [SAMPLE_U16] = "SAMPLE_U16",
                                        [SAMPLE_RGB8] = "SAMPLE_RGB8",
                                        [SAMPLE_BAYER] = "SAMPLE_BAYER",
                                        [SAMPLE_F32] = "SAMPLE_F32"};
    text_append(text, PROLOGUE_BYTES,
                "#define %s 1\n#define IMAGE_WIDTH %u\n#define IMAGE_HEIGHT %u\n"
                "#define IMAGE_STRIDE %u\n#define IMAGE_OFFSET %u\n#define IMAGE_STEP %u\n"
                "#define IMAGE_APART %u\n#define SAMPLE_MAX %u\n#define KEEP_OTHERS %d\n",
                kinds[image->kind], image->width, image->height, image->stride, image->offset,
                image->step, image->apart, (1u << image->bits) - 1, image->keep_others);
    if (image->kind == SAMPLE_RGB8 || image->kind == SAMPLE_BAYER)
        text_append(text, PROLOGUE_BYTES,
                    "#define R_OFFSET %u\n#define G_OFFSET %u\n#define B_OFFSET %u\n"
                    "#define X_OFFSET %u\n",
                    image->rgb[0], image->rgb[1], image->rgb[2],
                    6u - image->rgb[0] - image->rgb[1] - image->rgb[2]);
    if (image->kind == SAMPLE_BAYER)
        text_append(text, PROLOGUE_BYTES,
                    "#define RED_X %u\n#define RED_Y %u\n#define MOSAIC_SCALE %.9ef\n"
                    "#define MOSAIC_COLOUR %u\n#define RESULT_STRIDE %u\n",
                    image->mosaic.red_x, image->mosaic.red_y,
                    ((1u << image->bits) - 1) / (double)((1u << image->mosaic.bits) - 1),
                    image->mosaic.colour, image->mosaic.result_stride);
    char value[TEXT_NUMBER_BYTES];
    text_from_number((double)(float)border->value, value, sizeof value);
    text_append(text, PROLOGUE_BYTES,
                "#define BORDER_CONSTANT %d\n#define BORDER_VALUE (float)(%s)\n",
                border->mode == PLAN_CONSTANT, value);
}

char *transform_prologue(const struct transform *transform, const struct transform_border *border)
{
    const struct transform_tuning *tuning = &transform->tuning;
    static const char *const twiddle_names[] = {[TWIDDLES_READ] = "READ_TWIDDLES",
                                                [TWIDDLES_COMBINED] = "COMBINE_TWIDDLES",
                                                [TWIDDLES_COMPUTED] = "COMPUTE_TWIDDLES"};
    char *text = malloc(PROLOGUE_BYTES);
    if (text == NULL)
        return NULL;
    text[0] = '\0';
    text_append(text, PROLOGUE_BYTES,
                "#line 1 \"prologue\"\n#define LANES %u\n#define HALF_STORAGE %d\n"
                "#define ROWS_FIRST %d\n#define SKEW %d\n#define SPECTRUM_PITCH %u\n"
                "#define BATCH %u\n#define SPECTRUM_SIZE %zu\n#define %s 1\n",
                tuning->lanes, tuning->half, tuning->order == PLAN_ROWS_FIRST, tuning->skew,
                transform_pitch(transform), transform->image.count,
                transform_spectrum_size(transform), twiddle_names[tuning->twiddles]);
    /* Half: the largest sum along the first axis, at 1/8 of the largest number for filters that
     * amplify. */
    const struct plan_axis *u = plan_first(&transform->plan), *v = plan_second(&transform->plan);
    const double load = 8192. / (((1u << transform->image.bits) - 1) * (double)u->length);
    text_append(
        text, PROLOGUE_BYTES,
        "#define LOAD_SCALE %.9ef\n#define PRODUCT_SCALE %.9ef\n#define STORE_SCALE %.9ef\n", load,
        0.5 / v->length, 1 / (load * u->length));
    print_axis(text, 'U', transform, u);
    print_axis(text, 'V', transform, v);
    print_image(text, &transform->image, border);
    return text;
}
