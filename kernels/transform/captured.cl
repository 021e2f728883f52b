/* What the load of the first dispatch reads besides the frame, and the store of the last one where
 * it reads captured samples again.
 *
 * Data: `captured` is an image in a frame. With CALIBRATED or WARP_TABLE it comes with the table of
 * calibrate.cl and warp.cl, with SIMILARITIES with the six numbers of warp.cl, with DENOISED with a
 * plane of IMAGE_WIDTH x IMAGE_HEIGHT floats whose noise was reduced (denoise.cl), rows PLANE_PITCH
 * floats apart, planes of a batch PLANE_SIZE floats apart. These are calibrated and moved already.
 * The load reads the plane instead of the frame. Work-items: as those of the kernels that load and
 * store (fused.cl, staged.cl). */

#define WARPED (WARP_TABLE || SIMILARITIES) /* samples come from other places */

#if CALIBRATED || WARPED || DENOISED

typedef struct {
    global const uchar *bytes;
#if CALIBRATED || WARP_TABLE
    global const float *table;
#endif
#if SIMILARITIES
    global const float *similarity;
#endif
#if DENOISED
    global const float *plane;
#endif
} captured;

#define BYTES(image) (image).bytes
#define CAPTURED(at) ((captured){at TABLE_PART SIMILARITY_PART DENOISED_PART})

#else

typedef global const uchar *captured;

#define BYTES(image) (image)
#define CAPTURED(at) (at)

#endif

#if CALIBRATED || WARP_TABLE
#define TABLE_PART      , calibration
#define TABLE_PARAMETER , global const float *restrict calibration
#else
#define TABLE_PART
#define TABLE_PARAMETER
#endif

#if SIMILARITIES
#define SIMILARITY_PART      , similarity
#define SIMILARITY_PARAMETER , global const float *restrict similarity
#else
#define SIMILARITY_PART
#define SIMILARITY_PARAMETER
#endif

#if DENOISED
#define DENOISED_PART      , denoised + image_number() * (size_t)PLANE_SIZE
#define DENOISED_PARAMETER , global const float *restrict denoised
#else
#define DENOISED_PART
#define DENOISED_PARAMETER
#endif

#define CAPTURED_PARAMETERS TABLE_PARAMETER SIMILARITY_PARAMETER DENOISED_PARAMETER
