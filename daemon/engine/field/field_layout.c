#include "engine/field/field_layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "estimators/motion/motion_constants.h"
#include "estimators/motion/motion_scale.h"
#include "gpu/program.h"

#define STILL    13u /* floats of a cell that stands still, and of one that is moved */
#define MOVED    7u
#define SEARCHED MOTION_SEARCH_SIDE

int field_layout_make(struct field_layout *ret, const struct field_size *size, struct error *why)
{
    struct motion_size picture[MOTION_MAX_SCALES];
    *ret = (struct field_layout){.size = *size};
    const int r = motion_grid_make(&ret->grid, size->width, size->height, size->block, why);
    if (r < 0)
        return r;
    ret->scales = motion_field_sizes(size->width, size->height, size->block, picture);
    for (unsigned k = 0; k < ret->scales; k++) {
        struct field_scale *scale = &ret->scale[k];
        const unsigned cells = picture[k].cells;
        scale->picture = picture[k];
        scale->cell_columns = picture[k].width / MOTION_CELL;
        scale->cell_rows = picture[k].height / MOTION_CELL;
        scale->columns = (scale->cell_columns - cells) / (cells / 2) + 1;
        scale->rows = (scale->cell_rows - cells) / (cells / 2) + 1;
        scale->picture_at = ret->pixels;
        scale->cell_at = ret->cells;
        scale->block_at = ret->blocks;
        ret->pixels += picture[k].width * picture[k].height;
        ret->cells += scale->cell_columns * scale->cell_rows;
        ret->blocks += scale->columns * scale->rows;
    }
    return 0;
}

size_t field_layout_bytes(const struct field_layout *layout, enum field_buffer buffer)
{
    const size_t number = sizeof(cl_float), vector = sizeof(cl_float4), blocks = layout->blocks;
    switch (buffer) {
    case FIELD_DERIVED:
        return 3 * layout->pixels * number;
    case FIELD_STILL:
        return layout->cells * STILL * number;
    case FIELD_MOVED:
        return layout->cells * MOVED * number;
    case FIELD_PEAKS:
        return blocks * MOTION_SEARCH_PEAKS * sizeof(cl_char2);
    case FIELD_VECTORS:
    case FIELD_VECTORS_2:
    case FIELD_AROUND:
    case FIELD_OWN:
    case FIELD_CERTAINTY:
    case FIELD_PREDICTED:
        return blocks * vector;
    case FIELD_LEFT:
    case FIELD_LEFT_2:
        return 2 * blocks * number;
    case FIELD_REST:
        return blocks * number;
    case FIELD_USUAL:
    case FIELD_NOISE:
        return MOTION_MAX_SCALES * number;
    case FIELD_RESULT:
        return (size_t)layout->grid.columns * layout->grid.rows * sizeof(struct motion_vector);
    case FIELD_BUFFERS:
        break;
    }
    return 0;
}

/* A constant with a number of each size. */
#define PUT_TABLE(out, layout, name, member)                                                       \
    do {                                                                                           \
        fprintf(out, "constant int %s[] = {", name);                                               \
        for (unsigned k = 0; k < MOTION_MAX_SCALES; k++)                                           \
            fprintf(out, "%s%u", k > 0 ? ", " : "", (layout)->scale[k].member);                    \
        fputs("};\n", out);                                                                        \
    } while (0)

/* A constant by its name here. */
#define NUMBER(name)                                                                               \
    {                                                                                              \
#name, name                                                                                \
    }

/* Constants of the maths, and of what host and kernels do together. */
static void put_numbers(FILE *out)
{
    static const struct {
        const char *name;
        int value;
    } whole[] = {NUMBER(CHOOSE_SEARCHED),
                 NUMBER(CHOOSE_COARSE),
                 NUMBER(CHOOSE_AGAIN),
                 NUMBER(CHOOSE_BESIDE),
                 NUMBER(STILL),
                 NUMBER(MOVED),
                 NUMBER(REACH),
                 NUMBER(MAX_TRIED),
                 NUMBER(MAX_CELLS),
                 NUMBER(PAIRS),
                 NUMBER(NEAR),
                 {"CELL", MOTION_CELL},
                 {"SIDE", MOTION_SEARCH_SIDE},
                 {"PEAKS", MOTION_SEARCH_PEAKS},
                 {"GROUP", FIELD_GROUP},
                 {"USUAL_GROUP", FIELD_USUAL_GROUP}};
    static const struct {
        const char *name;
        double value;
    } real[] = {NUMBER(LARGEST),
                NUMBER(CLOSE),
                NUMBER(DOUBT),
                NUMBER(MISFIT),
                NUMBER(FLOOR),
                NUMBER(SAME),
                NUMBER(AMBIGUOUS),
                NUMBER(BETWEEN),
                NUMBER(UNUSUAL),
                NUMBER(MAX_STEP),
                NUMBER(ROUNDING),
                NUMBER(CORRELATED),
                NUMBER(OUTLYING),
                NUMBER(MODEL_ERROR),
                NUMBER(MIN_SEEN),
                NUMBER(TOLERANCE2),
                NUMBER(LEAST_FLOW),
                NUMBER(EXCESS),
                NUMBER(WORST),
                NUMBER(ROUGH2),
                NUMBER(LONE2),
                NUMBER(REACH2),
                {"GRADIENT_NOISE", MOTION_GRADIENT_NOISE},
                {"DIFFERENCE_NOISE", MOTION_DIFFERENCE_NOISE}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        fprintf(out, "#define %s %d\n", whole[i].name, whole[i].value);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        fprintf(out, "#define %s %.9ef\n", real[i].name, real[i].value);
    fputs("constant char2 pairs[] = {", out);
    for (unsigned i = 0; i < PAIRS; i++)
        fprintf(out, "%s(char2)(%d, %d)", i > 0 ? ", " : "", motion_opposites[i].x,
                motion_opposites[i].y);
    fputs("};\n", out);
}

static void put_constants(FILE *out, const struct field_layout *layout)
{
    fprintf(out,
            "#define LEVELS %u\n#define PIXELS %u\n#define CELLS %u\n#define BLOCKS %u\n"
            "#define SAMPLE_PITCH %u\n#define LANES %u\n#define FULL_SIDE %u\n",
            layout->scales, layout->pixels, layout->cells, layout->blocks, layout->size.pitch,
            layout->size.lanes, layout->scale[0].picture.cells);
    put_numbers(out);
    PUT_TABLE(out, layout, "picture_width", picture.width);
    PUT_TABLE(out, layout, "picture_height", picture.height);
    PUT_TABLE(out, layout, "picture_at", picture_at);
    PUT_TABLE(out, layout, "cell_columns", cell_columns);
    PUT_TABLE(out, layout, "cell_rows", cell_rows);
    PUT_TABLE(out, layout, "cell_at", cell_at);
    PUT_TABLE(out, layout, "block_cells", picture.cells);
    PUT_TABLE(out, layout, "block_columns", columns);
    PUT_TABLE(out, layout, "block_rows", rows);
    PUT_TABLE(out, layout, "block_at", block_at);
    /* The root of Hann's window: the peak of a shift stays high. Roots of unity. */
    fputs("constant float window[] = {", out);
    for (unsigned i = 0; i < SEARCHED; i++)
        fprintf(out, "%s%.9ef", i > 0 ? ", " : "", sin(M_PI * (i + 0.5) / SEARCHED));
    fputs("};\nconstant float2 root[] = {", out);
    for (unsigned i = 0; i < SEARCHED / 2; i++)
        fprintf(out, "%s(float2)(%.9ef, %.9ef)", i > 0 ? ", " : "", cos(2 * M_PI * i / SEARCHED),
                -sin(2 * M_PI * i / SEARCHED));
    fputs("};\n", out);
}

char *field_layout_source(const struct field_layout *layout)
{
    static const char *const files[] = {"field_pictures.cl", "field_choose.cl", "field_fit.cl",
                                        "field_repair.cl", "field_lanes.cl"};
    const unsigned count = sizeof files / sizeof files[0] - (layout->size.lanes == 1 ? 1 : 0);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    put_constants(out, layout);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "#line 1 \"%s\"\n%s", files[i], program_file(files[i]));
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
