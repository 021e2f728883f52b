/* The correction of fixed patterns (daemon/filters/calibration.h), applied to each captured sample
 * as it is read, so that a border repeats corrected samples and a mosaic is corrected before it is
 * demosaiced. Kernels without CALIBRATED have nothing of this.
 *
 * Data: a table (captured.cl) has IMAGE_WIDTH x IMAGE_HEIGHT gains, row by row, and then as many
 * offsets, in units of a captured sample. A gain of 0 marks a bad pixel, which is replaced by the
 * mean of its corrected neighbours; the host has made sure that there is one. The table that moves
 * pixels follows (warp.cl). All images of a batch share it (batch.cl).
 * Work-items: as those of the kernels that load and store (fused.cl, staged.cl). */

/* ITU-R BT.601-7, 2.5.1 */
#define LUMA(r, g, b) (0.299f * (r) + 0.587f * (g) + 0.114f * (b))

#define OFFSETS       (IMAGE_WIDTH * IMAGE_HEIGHT) /* where the table's offsets begin */
#define WARP_TABLE_OF(image)                                                                       \
    ((global const short2 *)((image).table + (CALIBRATED ? 2 * IMAGE_WIDTH * IMAGE_HEIGHT : 0)))

#define ALL_COLOURS (-1)

/* The sample at column x + dx as it was captured, or one colour of RGB: the byte `colour` of the
 * pixel. */
static inline float captured_sample(captured image, uint x, uint dx, uint y, int colour)
{
    global const uchar *at = BYTES(image) + (size_t)y * IMAGE_STRIDE + IMAGE_OFFSET +
                             (size_t)x * IMAGE_STEP + (size_t)dx * IMAGE_STEP;
#if SAMPLE_RGB8
    return colour == ALL_COLOURS
               ? LUMA((float)at[R_OFFSET], (float)at[G_OFFSET], (float)at[B_OFFSET])
               : (float)at[colour];
#elif SAMPLE_F32
    return *(global const float *)at;
#elif SAMPLE_U16 || (SAMPLE_BAYER && IMAGE_STEP == 2)
    return (float)*(global const ushort *)at;
#else
    return (float)at[0];
#endif
}

#if CALIBRATED

#if SAMPLE_BAYER
#define CELL 2 /* px between samples of the same colour */
#else
#define CELL 1
#endif

/* What a bad pixel is replaced by. This is rare, and is compiled wherever a sample is read, so its
 * loop stays one. */
static inline float repaired(captured image, uint x, uint y, int colour)
{
    float sum = 0, count = 0;
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        const int column = (int)x + (i == 0 ? -CELL : i == 1 ? CELL : 0);
        const int row = (int)y + (i == 2 ? -CELL : i == 3 ? CELL : 0);
        if (column < 0 || row < 0 || column >= IMAGE_WIDTH || row >= IMAGE_HEIGHT)
            continue;
        global const float *gain = image.table + (row * IMAGE_WIDTH + column);
        if (gain[0] == 0)
            continue;
        sum += (captured_sample(image, column, 0, row, colour) - gain[OFFSETS]) * gain[0];
        count++;
    }
    return sum / count;
}

static inline float calibrate_colour(captured image, float sample, int colour, uint x, uint y)
{
    global const float *gain = image.table + (y * IMAGE_WIDTH + x);
    return gain[0] != 0 ? (sample - gain[OFFSETS]) * gain[0] : repaired(image, x, y, colour);
}

static inline float calibrate(captured image, float sample, uint x, uint y)
{
    return calibrate_colour(image, sample, ALL_COLOURS, x, y);
}

#if LANES > 1
/* The same for LANES samples from column x on. */
static inline real calibrate_group(captured image, real samples, uint x, uint y)
{
    global const float *gain = image.table + (y * IMAGE_WIDTH + x);
    const real gains = VLOAD(0, gain);
    const real corrected = (samples - VLOAD(0, gain + OFFSETS)) * gains;
    if (all(gains != 0))
        return corrected;
    float lane[LANES];
    VSTORE(corrected, 0, lane);
    for (uint i = 0; i < LANES; i++)
        if (gain[i] == 0)
            lane[i] = repaired(image, x + i, y, ALL_COLOURS);
    return VLOAD(0, lane);
}
#endif

#else

#define calibrate(image, sample, x, y)                (sample)
#define calibrate_colour(image, sample, colour, x, y) (sample)
#define calibrate_group(image, samples, x, y)         (samples)

#endif
