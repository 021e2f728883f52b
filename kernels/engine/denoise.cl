/* Noise reduction in overlapping blocks (daemon/filters/denoise.h), before the whole-frame
 * transform: what the files of both passes share.
 *
 *   load_plane       image -> samples          converts and calibrates (load_plane.cl)
 *   noise_count, noise_fit           estimate the noise, if it is not given (denoise_noise.cl)
 *   denoise_first    samples -> first          weighs each block's Fourier transform
 *   denoise_second   samples, first -> second  weighs its cosine transform by the first result
 *
 * With `temporal`, denoise_join.cl joins the samples to those of the past first, along the motion
 * that denoise_motion.cl finds; both passes then read the result, and take from
 * denoise_remaining.cl how much noise it has left. Both then also filter smaller blocks
 * (denoise_fine.cl), for which their tiles have SPARE more samples along each axis, and weights
 * after the sums.
 *
 * A block has BLOCK x BLOCK samples, and the next one begins HOP samples further. Samples are
 * multiplied by a sine window before the transform and after it; the squares of overlapping windows
 * add up to a constant, which `synthesis` contains together with the factors of the inverse.
 *
 * Data: planes of IMAGE_WIDTH x IMAGE_HEIGHT floats in the units of samples, rows PLANE_PITCH
 * floats apart, planes of a batch PLANE_SIZE floats apart. Beyond the image a plane is mirrored
 * about its outermost samples. `noise` has NOISE_NUMBERS for each image: the constant and the
 * slope of the variance, and a factor (filters/denoise.h).
 *
 * Work-items: a group computes a tile of TILE_X x TILE_Y samples from all blocks that touch it, one
 * block after another, and adds them up in local memory, so that no group writes what another one
 * writes. The first tile begins SHIFT samples to the left of the image and above it, where a block
 * also begins. A group has BLOCK items, one for each column of a block. With lanes it has one item,
 * for which a block is PARTS = BLOCK / LANES parts of LANES columns; number j of part p is row j. A
 * third dimension counts images (batch.cl). Launched by denoiser_enqueue
 * (daemon/engine/denoiser/denoiser.c).
 */

#define PARTS       (LANES > 1 ? BLOCK / LANES : 1)
#define EDGE        (BLOCK - HOP) /* samples around a tile that its blocks reach, on each side */
#define SUM_PITCH   (TILE_X + 2 * EDGE + SPARE)
#define SUM_ROWS    (TILE_Y + 2 * EDGE + SPARE)

/* Items exchange numbers through rows of BLOCK + 1 floats, which are in different memory banks. */
#define SCRATCH_ROW (BLOCK + 1)

#if SECOND /* denoise_cosine.cl */
#define TRANSFORM PASTE(cosine_, BLOCK)
#define INVERSE   PASTE(cosine_inverse_, BLOCK)
#else /* denoise_dft.cl */
#define TRANSFORM PASTE(real_dft_, BLOCK)
#define INVERSE   PASTE(real_inverse_, BLOCK)
#endif

static inline void sync_items(void)
{
#if LANES == 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

/* The first of the item's columns of a block that are in part p. */
#define COLUMN(p) (LANES == 1 ? (uint)get_local_id(0) : (p)*LANES)

/* Entries of a table for these columns. */
static inline real column_entry(constant const float *table, uint p)
{
    return VLOAD(0, table + COLUMN(p));
}

/* ---- blocks in planes ---- */

static inline int mirrored(int i, int length)
{
    const int reflected = i < 0 ? -i : i >= length ? 2 * length - 2 - i : i;
    return clamp(reflected, 0, length - 1);
}

/* LANES samples of a row, which may be beyond the image. */
static inline real samples_from(global const float *row, int x, int width, bool is_inside)
{
#if LANES == 1
    return row[mirrored(x, width)];
#else
    if (is_inside)
        return VLOAD(0, row + x);
    float lane[LANES];
    for (int i = 0; i < LANES; i++)
        lane[i] = row[mirrored(x + i, width)];
    return VLOAD(0, lane);
#endif
}

/* Loads a block, whose first sample may be beyond the image, and applies a window. */
static inline void block_load_by(real *x, global const float *plane, int left, int top,
                                 constant const float *factor)
{
    const bool is_inside = LANES > 1 && left >= 0 && left + BLOCK <= IMAGE_WIDTH;
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(factor, p);
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            const real sample =
                samples_from(plane + mirrored(top + (int)j, IMAGE_HEIGHT) * PLANE_PITCH,
                             left + (int)COLUMN(p), IMAGE_WIDTH, is_inside);
            x[p * BLOCK + j] = sample * (across * factor[j]);
        }
    }
}

static inline void block_load(real *x, global const float *plane, int left, int top)
{
    block_load_by(x, plane, left, top, window);
}

/* Adds a block to the tile's sums. Items own columns of a block, and blocks follow each other after
 * a barrier. */
static inline void block_add(const real *x, local float *sums, uint left, uint top)
{
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(synthesis, p);
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            const real value = x[p * BLOCK + j] * (across * synthesis[j]);
            local float *at = sums + (top + j) * SUM_PITCH + left + COLUMN(p);
            VSTORE(VLOAD(0, at) + value, 0, at);
        }
    }
    sync_items();
}

/* ---- both axes ---- */

/* Exchanges rows and columns of a block. */
static inline void block_transpose(real *x, local float *scratch)
{
#if LANES == 1
    const uint item = get_local_id(0);
#pragma unroll
    for (uint j = 0; j < BLOCK; j++)
        scratch[j * SCRATCH_ROW + item] = x[j];
    sync_items();
#pragma unroll
    for (uint j = 0; j < BLOCK; j++)
        x[j] = scratch[item * SCRATCH_ROW + j];
    sync_items();
#else
    for (uint p = 0; p < PARTS; p++)
        transpose(x + p * BLOCK + p * LANES);
    for (uint p = 0; p < PARTS; p++)
        for (uint q = p + 1; q < PARTS; q++) {
            real a[LANES];
#pragma unroll
            for (uint i = 0; i < LANES; i++)
                a[i] = x[p * BLOCK + q * LANES + i];
            transpose(a);
            transpose(x + q * BLOCK + p * LANES);
#pragma unroll
            for (uint i = 0; i < LANES; i++) {
                x[p * BLOCK + q * LANES + i] = x[q * BLOCK + p * LANES + i];
                x[q * BLOCK + p * LANES + i] = a[i];
            }
        }
#endif
}

#if LANES == 1
/* Exchanges `count` numbers within pairs of items whose indices differ by `distance`, a power of
 * two. Items whose index is a multiple of `distance` get zeros. */
static inline void exchange(real *other, const real *x, uint count, uint distance,
                            local float *scratch)
{
    const uint item = get_local_id(0), partner = item ^ distance;
    const float has_other = item % distance != 0;
#pragma unroll
    for (uint j = 0; j < count; j++)
        scratch[j * SCRATCH_ROW + item] = x[j];
    sync_items();
#pragma unroll
    for (uint j = 0; j < count; j++)
        other[j] = scratch[j * SCRATCH_ROW + partner] * has_other;
    sync_items();
}
#endif

/* Transforms a block along both axes: number j of lane l then belongs to place j of the transform
 * along x and to place l along y. */
static inline void block_forward(real *x, local float *scratch)
{
    for (uint p = 0; p < PARTS; p++)
        TRANSFORM(x + p * BLOCK);
    block_transpose(x, scratch);
    for (uint p = 0; p < PARTS; p++)
        TRANSFORM(x + p * BLOCK);
}

/* Loads a block and transforms it. */
static inline void block_transform(real *x, global const float *plane, local float *scratch,
                                   int left, int top)
{
    block_load(x, plane, left, top);
    block_forward(x, scratch);
}

static inline void block_inverse(real *x, local float *scratch)
{
    for (uint p = 0; p < PARTS; p++)
        INVERSE(x + p * BLOCK);
    block_transpose(x, scratch);
    for (uint p = 0; p < PARTS; p++)
        INVERSE(x + p * BLOCK);
}

/* Returns number 0 of the first column, which is in one item or lane, to all. */
static inline float block_first(const real *x, local float *scratch)
{
#if LANES == 1
    if (get_local_id(0) == 0)
        scratch[0] = x[0];
    sync_items();
    const float first = scratch[0];
    sync_items();
    return first;
#else
    return x[0].s0;
#endif
}

/* Returns the level of a transformed block. */
static inline float block_level(const real *x, local float *scratch)
{
    return block_first(x, scratch) / (window_transform[0] * window_transform[0]);
}

/* Adds `level` times the transform of the window, which is a product along both axes. */
static inline void add_level(real *x, float level)
{
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(window_transform, p) * level;
#pragma unroll
        for (uint j = 0; j < BLOCK; j++)
            x[p * BLOCK + j] += across * window_transform[j];
    }
}

static inline float variance_at(global const float *noise, float level)
{
    return max(noise[0] + noise[1] * max(level, 0.0f), 0.0f);
}

/* ---- tiles ---- */

#define TILE_LEFT ((int)get_group_id(0) * TILE_X - SHIFT)
#define TILE_TOP  ((int)get_group_id(1) * TILE_Y - SHIFT)

static inline void sums_clear(local float *sums)
{
    for (uint i = get_local_id(0); i < (1 + FINE) * SUM_PITCH * SUM_ROWS; i += get_local_size(0))
        sums[i] = 0;
    sync_items();
}

#if FINE
/* Divides the sums by those of the weights. */
static inline void sums_divide(local float *sums)
{
    for (uint y = EDGE; y < EDGE + TILE_Y; y++)
        for (uint x = EDGE + get_local_id(0); x < EDGE + TILE_X; x += get_local_size(0)) {
            const uint at = y * SUM_PITCH + x;
            sums[at] /= sums[SUM_PITCH * SUM_ROWS + at];
        }
    sync_items();
}
#endif

static inline void sums_store(global float *plane, local const float *sums)
{
    const int left = TILE_LEFT, top = TILE_TOP;
    const int width = min(TILE_X, IMAGE_WIDTH - left), height = min(TILE_Y, IMAGE_HEIGHT - top);
    for (int y = max(-top, 0); y < height; y++)
        for (int x = max(-left, 0) + (int)get_local_id(0); x < width; x += (int)get_local_size(0))
            plane[(top + y) * PLANE_PITCH + left + x] = sums[(EDGE + y) * SUM_PITCH + EDGE + x];
}

/* Calls `block`(left, top) for the corner of each block of the tile, in the tile's sums. Blocks
 * that begin below or to the right of the image are left out. */
#define EACH_BLOCK(block)                                                                          \
    {                                                                                              \
        const int tile_left = TILE_LEFT, tile_top = TILE_TOP;                                      \
        const uint width = min(TILE_X, IMAGE_WIDTH - tile_left) + EDGE;                            \
        const uint height = min(TILE_Y, IMAGE_HEIGHT - tile_top) + EDGE;                           \
        for (uint top = 0; top < height; top += HOP)                                               \
            for (uint left = 0; left < width; left += HOP)                                         \
                block(left, top, tile_left + (int)left - EDGE, tile_top + (int)top - EDGE);        \
    }
