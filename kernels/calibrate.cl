/* The correction of fixed patterns (daemon/core/calibration.h), applied to each captured sample as
 * it is read, so that a border repeats corrected samples and a mosaic is corrected before it is
 * demosaiced. Kernels without CALIBRATED have nothing of this.
 *
 * Data: `captured` is an image in a frame; with CALIBRATED, together with its table. A table has
 * IMAGE_WIDTH x IMAGE_HEIGHT gains, row by row, and then as many offsets, in units of a captured
 * sample. All images of a batch share it (batch.cl).
 * Work-items: as those of the kernels that load and store (fused.cl, staged.cl). */

#if CALIBRATED

typedef struct {
    global const uchar *bytes;
    global const float *table;
} captured;

#define BYTES(image)          (image).bytes
#define CAPTURED(at)          ((captured){at, calibration})
#define CALIBRATION_PARAMETER , global const float *restrict calibration

#define OFFSETS               (IMAGE_WIDTH * IMAGE_HEIGHT) /* where the table's offsets begin */

static inline float calibrate(captured image, float sample, uint x, uint y)
{
    global const float *gain = image.table + (y * IMAGE_WIDTH + x);
    return (sample - gain[OFFSETS]) * gain[0];
}

#if LANES > 1
/* The same for LANES samples from column x on. */
static inline real calibrate_group(captured image, real samples, uint x, uint y)
{
    global const float *gain = image.table + (y * IMAGE_WIDTH + x);
    return (samples - PASTE(vload, LANES)(0, gain + OFFSETS)) * PASTE(vload, LANES)(0, gain);
}
#endif

#else

typedef global const uchar *captured;

#define BYTES(image) (image)
#define CAPTURED(at) (at)
#define CALIBRATION_PARAMETER
#define calibrate(image, sample, x, y)        (sample)
#define calibrate_group(image, samples, x, y) (samples)

#endif
