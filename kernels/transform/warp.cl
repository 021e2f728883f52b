/* Moves pixels (daemon/filters/warp.h): a sample of the image is interpolated between the four
 * captured ones around its place, with CUBIC between sixteen. With WARP_TABLE a table gives the
 * place, with SIMILARITIES a map of the whole frame moves it (daemon/engine/similarity.c). Kernels
 * without WARPED have nothing of this.
 *
 * Data: the table has two short numbers for each of IMAGE_WIDTH x IMAGE_HEIGHT samples, row by row:
 * how far to the right and down its place is, in units of 1 / WARP_UNIT. The place is in the image.
 * The map has six numbers: place (x, y) is moved to (m[0] x + m[1] y + m[2], m[3] x + m[4] y +
 * m[5]), and from beyond the image to its edge. All images of a batch share both (batch.cl).
 * Work-items: as those of the kernels that load and store (fused.cl, staged.cl). */

#if WARPED

#define WARP_SHIFT 5
#define WARP_UNIT  (1 << WARP_SHIFT)

/* The four samples around a place are at left and left + 1, above and above + 1, and the place is
 * x and y between them, 0 .. 1. */
struct origin {
    int left, above;
    float x, y;
};

#if SIMILARITIES

static inline struct origin origin_at(captured image, int x, int y)
{
    global const float *m = image.similarity;
#if WARP_TABLE
    const short2 moved = WARP_TABLE_OF(image)[y * IMAGE_WIDTH + x];
    const float u = x + (float)moved.x / WARP_UNIT, v = y + (float)moved.y / WARP_UNIT;
#else
    const float u = x, v = y;
#endif
    const float column = clamp(m[0] * u + m[1] * v + m[2], 0.0f, IMAGE_WIDTH - 1.0f);
    const float row = clamp(m[3] * u + m[4] * v + m[5], 0.0f, IMAGE_HEIGHT - 1.0f);
    struct origin from;
    from.left = min((int)column, IMAGE_WIDTH - 2);
    from.above = min((int)row, IMAGE_HEIGHT - 2);
    from.x = column - from.left;
    from.y = row - from.above;
    return from;
}

#else

static inline struct origin origin_at(captured image, int x, int y)
{
    const short2 moved = WARP_TABLE_OF(image)[y * IMAGE_WIDTH + x];
    const int column = WARP_UNIT * x + moved.x, row = WARP_UNIT * y + moved.y;
    struct origin from;
    from.left = min(column >> WARP_SHIFT, IMAGE_WIDTH - 2);
    from.above = min(row >> WARP_SHIFT, IMAGE_HEIGHT - 2);
    from.x = (float)(column - WARP_UNIT * from.left) / WARP_UNIT;
    from.y = (float)(row - WARP_UNIT * from.above) / WARP_UNIT;
    return from;
}

#endif

#if CUBIC

/* The weight of sample `i` of -1 .. 2 at the place t between samples 0 and 1. */
static inline float cubic_weight(int i, float t)
{
    const float a = -0.75f, d = fabs(t - i);
    return d < 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* Adds what `read` gives at the sixteen places to `sum`, each by its weight. Beyond the image they
 * are its outermost samples. */
#define WARP_IN_TURN(sum, read, image, from)                                                       \
    for (int warp_place = 0; warp_place < 16; warp_place++) {                                      \
        const int right = (warp_place & 3) - 1, down = (warp_place >> 2) - 1;                      \
        sum += cubic_weight(right, (from).x) * cubic_weight(down, (from).y) *                      \
               read(image, clamp((from).left + right, 0, IMAGE_WIDTH - 1),                         \
                    clamp((from).above + down, 0, IMAGE_HEIGHT - 1));                              \
    }

#else

/* Adds what `read` gives at the four places to `sum`, each by its weight. A colour of a mosaic is
 * made of nine samples, and each may be replaced. So this is a loop, which compiles in a tenth of
 * the time of WARP. */
#define WARP_IN_TURN(sum, read, image, from)                                                       \
    for (int warp_place = 0; warp_place < 4; warp_place++) {                                       \
        const int right = warp_place & 1, down = warp_place >> 1;                                  \
        sum += (right ? (from).x : 1 - (from).x) * (down ? (from).y : 1 - (from).y) *              \
               read(image, (from).left + right, (from).above + down);                              \
    }

/* Interpolates between what `read` gives at the four places. */
#define WARP(read, image, from)                                                                    \
    mix(mix(read(image, (from).left, (from).above), read(image, (from).left + 1, (from).above),    \
            (from).x),                                                                             \
        mix(read(image, (from).left, (from).above + 1),                                            \
            read(image, (from).left + 1, (from).above + 1), (from).x),                             \
        (from).y)

#endif

#endif
