/* A sensor's mosaic (SAMPLE_BAYER): the load of the first dispatch interpolates the missing
 * colours, and the store of the last one does so again, so that they are never written to memory in
 * between.
 *
 * Data: IMAGE_WIDTH x IMAGE_HEIGHT samples of IMAGE_STEP bytes, rows IMAGE_STRIDE bytes apart, red
 * at column RED_X, row RED_Y of every 2 x 2 cell, blue diagonally opposite, green elsewhere. The
 * result has four bytes per pixel, rows RESULT_STRIDE bytes apart, unless GREY_RESULT (pixel.cl).
 * MOSAIC_SCALE scales a sample to 0 .. 255. MOSAIC_COLOUR 0 .. 2: each image of the batch filters
 * and stores one colour, beginning with this one. MOSAIC_COLOUR 3: luma is filtered, and its change
 * is added to all three colours. Work-items: as those of the kernels that load and store (fused.cl,
 * staged.cl).
 *
 * Each row holds green and one other colour, `own`, which is red or blue. The third colour is only
 * in the rows above and below. Around a sample of `own`, the third colour is at the corners and
 * green at the edges. Around a green sample, `own` is to the left and right, and the third colour
 * above and below. MOSAIC_GRADIENTS adds to these means how the colour that is known here changes
 * around it, by the samples two pixels away and at the corners (Malvar, He and Cutler, ICASSP 2004;
 * the daemon's core/mosaic.c computes the same). A neighbour outside the image is replaced by
 * the one that mirrors it, which has the same colour. */

#if SAMPLE_BAYER

static inline uint mosaic_colour(void)
{
    return MOSAIC_COLOUR + image_number();
}

static inline float mosaic_at(captured image, int x, int y)
{
    global const uchar *row = BYTES(image) + (size_t)y * IMAGE_STRIDE;
#if IMAGE_STEP == 1
    return calibrate(image, (float)row[x], x, y);
#else
    return calibrate(image, (float)((global const ushort *)row)[x], x, y);
#endif
}

/* i is at most two pixels outside. */
static inline int mosaic_mirror(int i, int length)
{
    return min((int)abs(i), 2 * length - 2 - (int)abs(i));
}

#if MOSAIC_GRADIENTS
#define OWN_GRADIENT(here, corners, far_own, far_other)                                            \
    (0.625f * (here)-0.5f * (corners)-0.25f * (far_own) + 0.125f * (far_other))
#endif

static inline float3 mosaic_colours(captured image, int x, int y)
{
    const int left = mosaic_mirror(x - 1, IMAGE_WIDTH), right = mosaic_mirror(x + 1, IMAGE_WIDTH);
    const int above = mosaic_mirror(y - 1, IMAGE_HEIGHT),
              below = mosaic_mirror(y + 1, IMAGE_HEIGHT);
    const float here = mosaic_at(image, x, y);
    const float sides = 0.5f * (mosaic_at(image, left, y) + mosaic_at(image, right, y));
    const float ends = 0.5f * (mosaic_at(image, x, above) + mosaic_at(image, x, below));
    const float corners = 0.25f * (mosaic_at(image, left, above) + mosaic_at(image, right, above) +
                                   mosaic_at(image, left, below) + mosaic_at(image, right, below));
    const int red_row = ((y ^ RED_Y) & 1) == 0;
    const int green_place = ((x ^ RED_X) & 1) == red_row;
    float own = green_place ? sides : here;
    float third = green_place ? ends : corners;
    float green = green_place ? here : 0.5f * (sides + ends);
#if MOSAIC_GRADIENTS
    const float far_sides = 0.5f * (mosaic_at(image, mosaic_mirror(x - 2, IMAGE_WIDTH), y) +
                                    mosaic_at(image, mosaic_mirror(x + 2, IMAGE_WIDTH), y));
    const float far_ends = 0.5f * (mosaic_at(image, x, mosaic_mirror(y - 2, IMAGE_HEIGHT)) +
                                   mosaic_at(image, x, mosaic_mirror(y + 2, IMAGE_HEIGHT)));
    const float change = 2 * here - far_sides - far_ends;
    own += green_place ? OWN_GRADIENT(here, corners, far_sides, far_ends) : 0;
    third += green_place ? OWN_GRADIENT(here, corners, far_ends, far_sides) : 0.375f * change;
    green += green_place ? 0 : 0.25f * change;
#endif
    return MOSAIC_SCALE * (red_row ? (float3)(own, green, third) : (float3)(third, green, own));
}

static inline float mosaic_load(captured image, int x, int y)
{
    const float3 c = mosaic_colours(image, x, y);
    return mosaic_colour() == 0   ? c.x
           : mosaic_colour() == 1 ? c.y
           : mosaic_colour() == 2 ? c.z
                                  : LUMA(c.x, c.y, c.z);
}

static inline float3 mosaic_colours_load(captured image, int x, int y)
{
#if WARPED
    const struct origin from = origin_at(image, x, y);
    float3 sum = 0;
#pragma unroll 1
    WARP_IN_TURN(sum, mosaic_colours, image, from)
    return sum;
#else
    return mosaic_colours(image, x, y);
#endif
}

#define TO_WORD(r, g, b)                                                                           \
    ((r) << 8 * R_OFFSET | (g) << 8 * G_OFFSET | (b) << 8 * B_OFFSET | 0xffu << 8 * X_OFFSET)

#if !GREY_RESULT
static inline void mosaic_store(global uchar *result, captured image, int x, int y, float value)
{
    global uchar *at = result + (size_t)y * RESULT_STRIDE + 4 * x;
#if MOSAIC_COLOUR == 3
    const float3 c = mosaic_colours_load(image, x, y);
    const uint3 bytes = convert_uint3(convert_uchar3_sat_rte(c + (value - LUMA(c.x, c.y, c.z))));
    *(global uint *)at = TO_WORD(bytes.x, bytes.y, bytes.z);
#else
    at[mosaic_colour() == 0   ? R_OFFSET
       : mosaic_colour() == 1 ? G_OFFSET
                              : B_OFFSET] = convert_uchar_sat_rte(value);
    if (mosaic_colour() == 0)
        at[X_OFFSET] = 0xff;
#endif
}
#endif

#if LANES > 1

/* The same for LANES pixels from x on, which is a multiple of LANES. Their neighbours must be in
 * the image. */

constant int odd_lanes[16] = {0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1};

struct mosaic_group {
    real r, g, b;
};

static inline bool mosaic_is_inside(int x, int y)
{
    const int reach = MOSAIC_GRADIENTS ? 2 : 1;
    return x >= reach && y >= reach && x + LANES - 1 + reach < IMAGE_WIDTH &&
           y + reach < IMAGE_HEIGHT;
}

static inline real mosaic_group_at(captured image, int x, int y)
{
    global const uchar *row = BYTES(image) + (size_t)y * IMAGE_STRIDE;
#if IMAGE_STEP == 1
    return calibrate_group(image, TO_REAL(VLOAD(0, row + x)), x, y);
#else
    return calibrate_group(image, TO_REAL(VLOAD(0, (global const ushort *)row + x)), x, y);
#endif
}

static inline struct mosaic_group mosaic_group_colours(captured image, int x, int y)
{
    const real here = mosaic_group_at(image, x, y);
    const real sides = 0.5f * (mosaic_group_at(image, x - 1, y) + mosaic_group_at(image, x + 1, y));
    const real ends = 0.5f * (mosaic_group_at(image, x, y - 1) + mosaic_group_at(image, x, y + 1));
    const real corners =
        0.25f * (mosaic_group_at(image, x - 1, y - 1) + mosaic_group_at(image, x + 1, y - 1) +
                 mosaic_group_at(image, x - 1, y + 1) + mosaic_group_at(image, x + 1, y + 1));
    const int red_row = ((y ^ RED_Y) & 1) == 0;
    const PASTE(int, LANES) green_place = VLOAD(0, odd_lanes) ^ (RED_X == red_row ? -1 : 0);
    real own = select(here, sides, green_place);
    real third = select(corners, ends, green_place);
    real green = select(0.5f * (sides + ends), here, green_place);
#if MOSAIC_GRADIENTS
    const real far_sides =
        0.5f * (mosaic_group_at(image, x - 2, y) + mosaic_group_at(image, x + 2, y));
    const real far_ends =
        0.5f * (mosaic_group_at(image, x, y - 2) + mosaic_group_at(image, x, y + 2));
    const real change = 2 * here - far_sides - far_ends;
    own += select((real)0, OWN_GRADIENT(here, corners, far_sides, far_ends), green_place);
    third += select(0.375f * change, OWN_GRADIENT(here, corners, far_ends, far_sides), green_place);
    green += select(0.25f * change, (real)0, green_place);
#endif
    struct mosaic_group c;
    c.r = MOSAIC_SCALE * (red_row ? own : third);
    c.g = MOSAIC_SCALE * green;
    c.b = MOSAIC_SCALE * (red_row ? third : own);
    return c;
}

static inline real mosaic_group_load(captured image, int x, int y)
{
    const struct mosaic_group c = mosaic_group_colours(image, x, y);
    return mosaic_colour() == 0   ? c.r
           : mosaic_colour() == 1 ? c.g
           : mosaic_colour() == 2 ? c.b
                                  : LUMA(c.r, c.g, c.b);
}

#if MOSAIC_COLOUR == 3 && !GREY_RESULT
static inline void mosaic_group_store(global uchar *result, captured image, int x, int y,
                                      real value)
{
    const struct mosaic_group c = mosaic_group_colours(image, x, y);
    const real change = value - LUMA(c.r, c.g, c.b);
    VSTORE(TO_WORD(real_round(c.r + change, 255), real_round(c.g + change, 255),
                   real_round(c.b + change, 255)),
           0, (global uint *)(result + (size_t)y * RESULT_STRIDE) + x);
}
#endif

#endif

#endif
