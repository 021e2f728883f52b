/* Where the samples around an image come from, in the techniques that have no image beyond RADIUS
 * around their own: direct.cl and tiles.cl.
 *
 * map_x and map_y are those of a transform of PADDED_X x PADDED_Y (daemon/transform/plan.c):
 * coordinates before the image are behind the others. */

/* Returns the coordinates in the image of a place of the padded one; -1: the constant. Beyond what
 * any sample needs it returns any. */
static inline int column_of(global const int *map_x, int x)
{
    x = clamp(x, -RADIUS, (int)(IMAGE_WIDTH + RADIUS - 1));
    return x < 0 ? map_x[x + PADDED_X] : x < IMAGE_WIDTH ? x : map_x[x];
}

static inline int row_of(global const int *map_y, int y)
{
    y = clamp(y, -RADIUS, (int)(IMAGE_HEIGHT + RADIUS - 1));
    return y < 0 ? map_y[y + PADDED_Y] : y < IMAGE_HEIGHT ? y : map_y[y];
}

/* Loads the sample at coordinates that these have returned. */
static inline float one_load(captured image, int x, int y CORRECTION_PARAMETER)
{
    float value = sample_load_mapped(image, x, 0, y);
    if (x >= 0 && y >= 0) {
        CORRECT(float, value, x, y, READ_ONE)
    }
    return value;
}
