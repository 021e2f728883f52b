/* Samples of the image: the load of the first dispatch converts camera bytes to floats, and the
 * store of the last one converts floats to camera bytes.
 *
 * Data: IMAGE_WIDTH x IMAGE_HEIGHT samples of one component, rows IMAGE_STRIDE bytes apart. One of
 * these kinds is defined: SAMPLE_U8, SAMPLE_U16 or SAMPLE_F32 (the first sample at byte
 * IMAGE_OFFSET, the next ones IMAGE_STEP bytes apart), SAMPLE_RGB8 (luma of the bytes R_OFFSET,
 * G_OFFSET and B_OFFSET of each pixel of IMAGE_STEP bytes), or SAMPLE_BAYER (mosaic.cl).
 * Work-items: as those of the kernels that load and store (fused.cl, staged.cl).
 *
 * DENOISED: the load reads floats instead (captured.cl). MEDIAN: the load takes medians
 * (median.cl).
 *
 * Columns are given as x + dx with a constant dx, so that samples at constant distances share one
 * address computation.
 *
 * The host computes the border (daemon/transform/plan.c): map[i] is the coordinate in the image
 * that padded coordinate i repeats, or -1 for BORDER_VALUE.
 *
 * KEEP_OTHERS: the plane also holds samples that are not filtered (YUYV: chroma; RGB: three
 * colours), and the store copies or adjusts them from the input.
 * GREY_RESULT: the result is a plane of luma without these, rows RESULT_STRIDE bytes apart.
 * DEEP_RESULT: samples of the result have 16 bits; RESULT_MAX is RESULT_SCALE times SAMPLE_MAX
 * (to_result). */

static inline float sample_read(captured image, uint x, uint dx, uint y)
{
#if SAMPLE_BAYER
    return mosaic_load(image, x + dx, y);
#else
    return calibrate(image, captured_sample(image, x, dx, y, ALL_COLOURS), x + dx, y);
#endif
}

/* The sample as it was captured, calibrated and moved. */
#if WARPED

static inline float sample_from(captured image, uint x, uint y)
{
    return sample_read(image, x, 0, y);
}

static inline float sample_captured(captured image, uint x, uint dx, uint y)
{
    const struct origin from = origin_at(image, x + dx, y);
#if SAMPLE_BAYER || CUBIC
    float sum = 0;
#pragma unroll 1
    WARP_IN_TURN(sum, sample_from, image, from)
    return sum;
#else
    return WARP(sample_from, image, from);
#endif
}

#else

static inline float sample_captured(captured image, uint x, uint dx, uint y)
{
    return sample_read(image, x, dx, y);
}

#endif

#if MEDIAN && !DENOISED
/* Beyond the image its outermost samples are repeated. */
static inline float sample_median(captured image, int x, int y)
{
    float v[9];
#if WARPED || CALIBRATED || SAMPLE_BAYER
#pragma unroll 1
#else
#pragma unroll
#endif
    for (int i = 0; i < 9; i++)
        v[i] = sample_captured(image, clamp(x + i % 3 - 1, 0, IMAGE_WIDTH - 1), 0,
                               clamp(y + i / 3 - 1, 0, IMAGE_HEIGHT - 1));
    MEDIAN_OF_NINE(float, v)
    return v[4];
}
#endif

static inline float sample_load(captured image, uint x, uint dx, uint y)
{
#if DENOISED
    return image.plane[y * PLANE_PITCH + x + dx];
#elif MEDIAN
    return sample_median(image, x + dx, y);
#else
    return sample_captured(image, x, dx, y);
#endif
}

#if SAMPLE_RGB8

static inline float3 colours_from(captured image, uint x, uint y)
{
    global const uchar *at =
        BYTES(image) + (size_t)y * IMAGE_STRIDE + IMAGE_OFFSET + (size_t)x * IMAGE_STEP;
    return (float3)(calibrate_colour(image, (float)at[R_OFFSET], R_OFFSET, x, y),
                    calibrate_colour(image, (float)at[G_OFFSET], G_OFFSET, x, y),
                    calibrate_colour(image, (float)at[B_OFFSET], B_OFFSET, x, y));
}

static inline float3 colours_load(captured image, uint x, uint y)
{
#if WARPED
    const struct origin from = origin_at(image, x, y);
#if CUBIC
    float3 sum = 0;
#pragma unroll 1
    WARP_IN_TURN(sum, colours_from, image, from)
    return sum;
#else
    return WARP(colours_from, image, from);
#endif
#else
    return colours_from(image, x, y);
#endif
}

#endif

static inline float sample_load_mapped(captured image, int x, uint dx, int y)
{
#if BORDER_CONSTANT
    /* A branch to a constant, beside converted bytes or shorts, is wrong with Mesa (22.3 and 25.0):
     * it makes a half of the constant, and takes the bits of that for an integer. */
    return select(sample_load(image, max(x, 0), dx, max(y, 0)), BORDER_VALUE, x < 0 || y < 0);
#else
    return sample_load(image, x, dx, y);
#endif
}

static inline uchar to_byte(float value)
{
    return convert_uchar_sat_rte(value);
}

static inline void sample_store(global uchar *result, captured image, uint x, uint dx, uint y,
                                float value)
{
#if VIEW_DIFFERENCE
    view_store(result, x + dx, y, view_difference(sample_captured(image, x, dx, y), value));
#elif VIEW_EDGES
    view_keep(result, x + dx, y, value);
#elif GREY_RESULT
    grey_store(result, x + dx, y, value);
#elif SAMPLE_BAYER
    mosaic_store(result, image, x + dx, y, value);
#else
    const size_t at =
        (size_t)y * IMAGE_STRIDE + IMAGE_OFFSET + (size_t)x * IMAGE_STEP + (size_t)dx * IMAGE_STEP;
#if SAMPLE_U8
    result[at] = to_byte(value);
#if KEEP_OTHERS /* the other of two bytes per pixel */
    result[at ^ 1] = BYTES(image)[at ^ 1];
#endif
#elif SAMPLE_U16
    *(global ushort *)(result + at) = convert_ushort_rte(clamp(value, 0.0f, (float)RESULT_MAX));
#elif SAMPLE_F32
    *(global float *)(result + at) = value;
#else
    const float3 c = colours_load(image, x + dx, y);
    const float change = value - LUMA(c.x, c.y, c.z);
    result[at + R_OFFSET] = to_byte(c.x + change);
    result[at + G_OFFSET] = to_byte(c.y + change);
    result[at + B_OFFSET] = to_byte(c.z + change);
#if IMAGE_STEP == 4
    result[at + X_OFFSET] = BYTES(image)[at + X_OFFSET];
#endif
#endif
#endif
}

#if LANES == 1

/* Loads the sample at padded column x + dx, which may be known to be in the image. `row` is already
 * mapped. */
static inline real samples_load(captured image, global const int *map_x, uint x, uint dx,
                                bool inside, int row)
{
    const int column = x + dx;
    if (inside)
        return sample_load_mapped(image, x, dx, row);
    return sample_load_mapped(image, column < IMAGE_WIDTH ? column : map_x[column], 0, row);
}

static inline void samples_store(global uchar *result, captured image, uint x, uint dx, bool inside,
                                 uint y, real value)
{
    if (inside || x + dx < IMAGE_WIDTH)
        sample_store(result, image, x, dx, y, value);
}

#else

#define TO_BYTES(value)         PASTE(convert_uchar, LANES)(real_round(value, 255))
#define TO_SHORTS(value)        PASTE(convert_ushort, LANES)(real_round(value, RESULT_MAX))

/* Vectors at any address. PoCL makes single stores of a vstore of small numbers. */
typedef struct __attribute__((packed)) {
    PASTE(uchar, LANES) all;
} packed_bytes;
typedef struct __attribute__((packed)) {
    PASTE(ushort, LANES) all;
} packed_shorts;
#define STORE_BYTES(value, to)  ((global packed_bytes *)(to))->all = TO_BYTES(value)
#define STORE_SHORTS(value, to) ((global packed_shorts *)(to))->all = TO_SHORTS(value)

#if WARPED && !SAMPLE_BAYER && !CUBIC
/* The samples around LANES places, from column x on, are read one by one, because places of
 * neighbours need not be neighbours. The arithmetic is that of vectors. */
static inline real samples_warp(captured image, int x, int y)
{
    float a[LANES], b[LANES], c[LANES], d[LANES], right[LANES], down[LANES];
#if CALIBRATED
#pragma unroll 1 /* each sample may be repaired: unrolled, this compiles for minutes */
#else
#pragma unroll
#endif
    for (int i = 0; i < LANES; i++) {
        const struct origin from = origin_at(image, x + i, y);
        a[i] = sample_from(image, from.left, from.above);
        b[i] = sample_from(image, from.left + 1, from.above);
        c[i] = sample_from(image, from.left, from.above + 1);
        d[i] = sample_from(image, from.left + 1, from.above + 1);
        right[i] = from.x;
        down[i] = from.y;
    }
    const real above = mix(VLOAD(0, a), VLOAD(0, b), VLOAD(0, right));
    const real below = mix(VLOAD(0, c), VLOAD(0, d), VLOAD(0, right));
    return mix(above, below, VLOAD(0, down));
}
#endif

/* Returns LANES samples as captured, from column x on. Only for consecutive bytes or shorts. */
#if IMAGE_STEP == 1 || SAMPLE_U16 || (SAMPLE_U8 && (KEEP_OTHERS || GREY_RESULT))
#define HAS_CAPTURED_GROUP 1
static inline real captured_group(captured image, int x, int row)
{
    global const uchar *line = BYTES(image) + (size_t)row * IMAGE_STRIDE;
#if IMAGE_STEP == 1
    return TO_REAL(VLOAD(0, line + IMAGE_OFFSET + x));
#elif SAMPLE_U16
    return TO_REAL(VLOAD(0, (global const ushort *)(line + IMAGE_OFFSET) + x));
#else /* one of two bytes per pixel */
    return TO_REAL((VLOAD(0, (global const ushort *)line + x) >> (ushort)(8 * IMAGE_OFFSET)) &
                   (ushort)0xff);
#endif
}
#endif

#define IS_GROUP_MEDIAN (MEDIAN && !DENOISED && !WARPED && (IMAGE_STEP == 1 || SAMPLE_U16))

#if IS_GROUP_MEDIAN
/* The medians of LANES samples whose neighbours are in the image. */
static inline real group_median(captured image, int x, int y)
{
    real v[9];
#pragma unroll
    for (int i = 0; i < 9; i++) {
        const int column = x + i % 3 - 1, row = y + i / 3 - 1;
        v[i] = calibrate_group(image, captured_group(image, column, row), column, row);
    }
    MEDIAN_OF_NINE(real, v)
    return v[4];
}
#endif

/* Loads LANES samples from padded column `column + dx` on. */
static inline real samples_load(captured image, global const int *map_x, uint column, uint dx,
                                bool inside, int row)
{
    const int x = column + dx;
#if DENOISED
    if ((inside || x + LANES <= IMAGE_WIDTH) && row >= 0)
        return VLOAD(0, image.plane + row * PLANE_PITCH + x);
#elif IS_GROUP_MEDIAN
    if (x > 0 && x + LANES < IMAGE_WIDTH && row > 0 && row + 1 < IMAGE_HEIGHT)
        return group_median(image, x, row);
#elif WARPED || MEDIAN /* below */
#elif SAMPLE_BAYER
    if (mosaic_is_inside(x, row))
        return mosaic_group_load(image, x, row);
#elif HAS_CAPTURED_GROUP
    if ((inside || x + LANES <= IMAGE_WIDTH) && row >= 0)
        return calibrate_group(image, captured_group(image, x, row), x, row);
#endif
#if WARPED && !DENOISED && !SAMPLE_BAYER && !MEDIAN && !CUBIC
    if ((inside || x + LANES <= IMAGE_WIDTH) && row >= 0)
        return samples_warp(image, x, row);
#endif
    float lane[LANES];
#if (WARPED || MEDIAN) && (SAMPLE_BAYER || CALIBRATED || MEDIAN || CUBIC)
#pragma unroll 1
#endif
    for (int i = 0; i < LANES; i++) {
        const int mapped = x + i < IMAGE_WIDTH ? x + i : map_x[x + i];
        lane[i] = sample_load_mapped(image, mapped, 0, row);
    }
    return VLOAD(0, lane);
}

static inline void samples_store(global uchar *result, captured image, uint column, uint dx,
                                 bool inside, int y, real value)
{
    const int x = column + dx;
    const size_t row = (size_t)y * IMAGE_STRIDE;
#if VIEW_DIFFERENCE
    /* Each pixel alone: it has to be loaded again. */
#elif VIEW_EDGES
    if (inside || x + LANES <= IMAGE_WIDTH) {
        STORE_SHORTS(value, (global ushort *)result + y * IMAGE_WIDTH + x);
        return;
    }
#elif GREY_RESULT
    if (inside || x + LANES <= IMAGE_WIDTH) {
#if DEEP_RESULT
        STORE_SHORTS(value, (global ushort *)(result + (size_t)y * RESULT_STRIDE) + x);
#else
        STORE_BYTES(value, result + (size_t)y * RESULT_STRIDE + x);
#endif
        return;
    }
#elif SAMPLE_BAYER
#if MOSAIC_COLOUR == 3 && !WARPED
    if (mosaic_is_inside(x, y)) {
        mosaic_group_store(result, image, x, y, value);
        return;
    }
#endif
#elif IMAGE_STEP == 1
    if (inside || x + LANES <= IMAGE_WIDTH) {
        STORE_BYTES(value, result + row + IMAGE_OFFSET + x);
        return;
    }
#elif SAMPLE_U16
    if (inside || x + LANES <= IMAGE_WIDTH) {
        STORE_SHORTS(value, (global ushort *)(result + row + IMAGE_OFFSET) + x);
        return;
    }
#elif SAMPLE_U8 && KEEP_OTHERS
    if (inside || x + LANES <= IMAGE_WIDTH) {
        const PASTE(ushort, LANES) pixel =
            VLOAD(0, (global const ushort *)(BYTES(image) + row) + x);
        const PASTE(ushort, LANES) mine = PASTE(convert_ushort, LANES)(TO_BYTES(value))
                                          << (ushort)(8 * IMAGE_OFFSET);
        ((global packed_shorts *)((global ushort *)(result + row) + x))->all =
            (pixel & (ushort)(0xff00 >> (8 * IMAGE_OFFSET))) | mine;
        return;
    }
#endif
    float lane[LANES];
    VSTORE(value, 0, lane);
#if WARPED && (SAMPLE_BAYER || CALIBRATED || CUBIC)
#pragma unroll 1
#endif
    for (int i = 0; i < LANES && x + i < IMAGE_WIDTH; i++)
        sample_store(result, image, x, i, y, lane[i]);
}

#endif
