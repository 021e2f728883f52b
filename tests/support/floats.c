#include "support/floats.h"

struct transform_image floats_image(uint32_t width, uint32_t height, unsigned count)
{
    return (struct transform_image){.count = count,
                                    .apart = width * height * 4,
                                    .width = width,
                                    .height = height,
                                    .stride = width * 4,
                                    .step = 4,
                                    .kind = SAMPLE_F32,
                                    .bits = 8};
}

void floats_make_smaller(struct transform_image *image, uint32_t width, uint32_t height)
{
    image->smaller.width = width;
    image->smaller.height = height;
    image->smaller.stride = width * 4;
    image->smaller.step = 4;
    image->smaller.apart = width * height * 4;
}

void floats_forms(struct transform_tuning ret[FLOATS_FORMS], const struct transform_tuning *tuning)
{
    for (unsigned i = 0; i < FLOATS_FORMS; i++)
        ret[i] = *tuning;
    for (unsigned i = 1; i < 4; i++) {
        ret[i].lanes = 1;
        ret[i].order = i == 1 ? PLAN_COLUMNS_FIRST : PLAN_ROWS_FIRST;
        ret[i].columns = i == 3 ? 2 : 4;
        ret[i].rows = i == 1 ? 2 : 1;
        ret[i].column_group = ret[i].row_group = 16;
        ret[i].skew = i != 2;
        ret[i].columns_held = ret[i].rows_held = i == 2;
        ret[i].twiddles = i == 1 ? TWIDDLES_COMBINED : TWIDDLES_READ;
    }
    ret[4].lanes = 4;
    ret[4].order = PLAN_COLUMNS_FIRST;
    ret[4].column_group = ret[4].row_group = 1;
    ret[4].columns = ret[4].rows = 2;
    ret[4].recipe.precision = RECIPE_HALF;
    ret[5] = ret[3];
    ret[5].recipe.precision = RECIPE_HALF;
}
