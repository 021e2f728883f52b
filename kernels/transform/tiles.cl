/* The tiles technique: filters of medium reach by transforms of small tiles, in one dispatch. A
 * work-group transforms two tiles of the image, multiplies them by H, transforms them back, and
 * stores those of their samples that the seam of the cyclic convolution does not reach
 * (overlap-save). All in between stays in its local memory.
 *
 * Two tiles, A and B, form the complex image A + i B of TILE x TILE numbers. The impulse response
 * is real, so both are filtered at once, and nothing has to be separated. TILE is RADIX_A RADIX_B:
 * each axis has two stages (stage.cl), of radix RADIX_A and of radix RADIX_B. Columns come first.
 *
 * Place u, v of a tile is row u and column v of its results, which are the first VALID_Y rows and
 * VALID_X columns. What comes before these in the image is at the far end, as in any cyclic
 * convolution.
 *
 * Files, in the order of the source:
 *   tiles.cl         this file: loads and stores
 *   tiles_lanes.cl   the transforms of one item with several lanes, on a CPU
 *   tiles_items.cl   those of a group of items with one lane each, on a GPU
 *
 * Data:
 *   image, result  pixel.cl
 *   map_x, map_y   the border, as for a transform of PADDED_X x PADDED_Y (daemon/transform/plan.c):
 *                  coordinates before the image are behind the others
 *   twiddle        exp(-2 pi i j p / TILE) for leg j of butterfly p of the first stage: TILE real
 *                  parts, at j RADIX_B + p, and then as many imaginary ones
 *   response       H / TILE^2 at all places: real parts, and with COMPLEX_RESPONSE then imaginary
 *                  parts. Place q of an axis has the frequency whose digits are reversed
 *                  (stage.cl). LANES > 1: [u / LANES][v][u % LANES]; LANES == 1: [v][u]
 *   work           local memory of a group
 *
 * Work-items: a group of GROUP items makes tiles 2 g and 2 g + 1 of an image, counted row by row.
 * The second dimension counts images (batch.cl), as the third one does. Launched by
 * transform_frame_enqueue (daemon/transform/frame.c) as listed by tiles.c. */

#define TILE       (RADIX_A * RADIX_B)
#define DFT_A      PASTE(dft_, RADIX_A)
#define DFT_B      PASTE(dft_, RADIX_B)
#define TILES_X    ((IMAGE_WIDTH + VALID_X - 1) / VALID_X)
#define TILES_Y    ((IMAGE_HEIGHT + VALID_Y - 1) / VALID_Y)
#define TILE_COUNT (TILES_X * TILES_Y)

#if LANES == 4
#define LANE_NUMBERS (int4)(0, 1, 2, 3)
#elif LANES == 8
#define LANE_NUMBERS (int8)(0, 1, 2, 3, 4, 5, 6, 7)
#elif LANES == 16
#define LANE_NUMBERS (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#endif

/* A tile: the first column and row of its results, and whether it has any. */
struct tile {
    int x, y;
    bool is_real;
};

/* Both tiles of a group, and what their loads and stores need. */
struct pair {
    struct tile a, b;
    captured image;
    global const int *map_x, *map_y;
#if CORRECTIONS
    global const float *correction;
#endif
};

#if CORRECTIONS
#define PAIR_CORRECTION , pair->correction
#else
#define PAIR_CORRECTION
#endif

static inline struct tile tile_of(uint number)
{
    const uint at = min(number, (uint)TILE_COUNT - 1);
    struct tile tile;
    tile.x = at % TILES_X * VALID_X;
    tile.y = at / TILES_X * VALID_Y;
    tile.is_real = number < TILE_COUNT;
    return tile;
}

/* ---- loads --------------------------------------------------------------------------------- */

/* Returns the distance of a place from the first result along an axis. */
static inline int from_first(int place, int valid)
{
    return place < valid + RADIUS ? place : place - TILE;
}

/* Loads LANES samples from column x on. The row is one of the image. */
static inline real group_load(const struct pair *pair, int x, int y)
{
#if LANES == 1
    return one_load(pair->image, column_of(pair->map_x, x), y PAIR_CORRECTION);
#else
    real value;
    if (x >= 0 && x + LANES <= IMAGE_WIDTH && y >= 0) {
        value = samples_load(pair->image, pair->map_x, x, 0, true, y);
#if CORRECTIONS
        global const float *correction = pair->correction;
        CORRECT(real, value, x, y, READ_LANES)
#endif
    } else {
        float lane[LANES];
#pragma unroll 1 /* a load may have much to do */
        for (int i = 0; i < LANES; i++)
            lane[i] = one_load(pair->image, column_of(pair->map_x, x + i), y PAIR_CORRECTION);
        value = VLOAD(0, lane);
    }
    return value;
#endif
}

/* Loads the samples at place u, v and those beside it. Where the far end begins within them, they
 * come from both sides. */
static inline real tile_load(const struct pair *pair, struct tile tile, int u, int v)
{
    const int y = row_of(pair->map_y, tile.y + from_first(u, VALID_Y));
    const int x = tile.x + from_first(v, VALID_X);
    real value = group_load(pair, x, y);
#if LANES > 1 && (VALID_X + RADIUS) % LANES != 0
    if (v < VALID_X + RADIUS && v + LANES > VALID_X + RADIUS) {
        const real far = group_load(pair, x - TILE, y);
        value = select(value, far, LANE_NUMBERS >= VALID_X + RADIUS - v);
    }
#endif
#if HAS_CURVE
    value = curve_of(value);
#endif
    return value;
}

static inline cplx pair_load(const struct pair *pair, int u, int v)
{
    return c_make(tile_load(pair, pair->a, u, v), tile_load(pair, pair->b, u, v));
}

/* ---- stores -------------------------------------------------------------------------------- */

static inline void tile_store(global uchar *result, const struct pair *pair, struct tile tile,
                              int u, int v, real value)
{
    const int x = tile.x + v, y = tile.y + u;
    if (tile.is_real && x < IMAGE_WIDTH && y < IMAGE_HEIGHT)
        samples_store(result, pair->image, x, 0, x + LANES <= IMAGE_WIDTH, y, to_result(value));
}

/* Stores swapped numbers (c_swap): B is in the real parts. */
static inline void pair_store(global uchar *result, const struct pair *pair, int u, int v, cplx z)
{
    if (u >= VALID_Y || v >= VALID_X)
        return;
    tile_store(result, pair, pair->a, u, v, c_im(z));
    tile_store(result, pair, pair->b, u, v, c_re(z));
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

/* Multiplies by H and swaps; `at` counts groups of LANES values. */
static inline cplx weigh(cplx z, global const float *response, uint at)
{
    const real re = response_load(response, at);
#if COMPLEX_RESPONSE
    return c_swap(c_multiply(z, re, response_load(response + TILE * TILE, at)));
#else
    return c_swap(c_weigh(z, re));
#endif
}
