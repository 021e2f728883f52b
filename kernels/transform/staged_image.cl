/* The image, for the staged technique: columns x and x + 1 of half A and of half B (pack.cl) of one
 * row. x is even.
 *
 * The border along y is looked up where a leg may be in it, and the border along x for the half
 * that meets it: two loads instead of one, but no branch. Included by staged.cl's kernels; the
 * constants are those of pixel.cl. */

#define A_IS_INSIDE (V_HALF <= IMAGE_WIDTH)
#define B_IS_INSIDE (V_LENGTH == IMAGE_WIDTH)

/* Samples as they are in memory, or as floats if they have to be computed. */
#if (SAMPLE_U8 || SAMPLE_U16) && !WARPED && !DENOISED && !MEDIAN
#define IS_RAW 1
#else
#define IS_RAW 0
#endif

#if !IS_RAW
#define RAW(n) PASTE(float, n)
#elif SAMPLE_U8
#define RAW(n) PASTE(uchar, n)
#else
#define RAW(n) PASTE(ushort, n)
#endif

#if SAMPLE_U8
#define RAW_BYTES   1
#define IS_ADJACENT (IMAGE_STEP == 1)
#elif SAMPLE_U16
#define RAW_BYTES   2
#define IS_ADJACENT 1
#else
#define RAW_BYTES   4
#define IS_ADJACENT 0
#endif
#define IS_WORD                                                                                    \
    (!VIEW_DIFFERENCE && IS_ADJACENT &&                                                            \
     (IMAGE_STRIDE | IMAGE_OFFSET | IMAGE_APART) % (2 * RAW_BYTES) == 0)

/* 1 if two results are one access, as IS_WORD is for samples. */
#if GREY_RESULT
#define RESULT_BYTES    (1 + DEEP_RESULT)
#define RESULT_AT(x, y) (RESULT_STRIDE * (y) + RESULT_BYTES * (x))
#define IS_RESULT_WORD  (!VIEW_DIFFERENCE && !VIEW_EDGES && RESULT_STRIDE % (2 * RESULT_BYTES) == 0)
#else
#define RESULT_BYTES    RAW_BYTES
#define RESULT_AT(x, y) sample_at(x, y)
#define IS_RESULT_WORD  (IS_WORD && !VIEW_EDGES)
#endif

/* `always`: that is known in advance. */
static inline bool is_inside(uint place, uint size, bool always)
{
    return always || place < size;
}

static inline uint sample_at(uint x, uint y)
{
    return y * IMAGE_STRIDE + (x * IMAGE_STEP + IMAGE_OFFSET);
}

static inline RAW() raw_load(captured image, uint x, uint y)
{
#if IS_RAW
    return *AT(const RAW(), BYTES(image), sample_at(x, y));
#else
    return sample_load(image, x, 0, y);
#endif
}

/* Loads from columns x and x + 1 of the padded image, of which `from` are the columns of the image.
 */
static inline RAW(2) raw_load_pair(captured image, uint x, int2 from, bool inside, uint y)
{
    if (inside && IS_WORD && IS_RAW)
        return *AT(const RAW(2), BYTES(image), sample_at(x, y));
    return (RAW(2))(raw_load(image, from.x, y), raw_load(image, from.y, y));
}

/* Converts samples of columns `from`; those that are floats already have been calibrated. */
static inline cplx raw_to_samples(captured image, RAW(4) raw, int4 from, uint y)
{
    const float4 samples = convert_float4(raw);
#if CALIBRATED && IS_RAW
    return (float4)(calibrate(image, samples.x, from.x, y), calibrate(image, samples.y, from.y, y),
                    calibrate(image, samples.z, from.z, y), calibrate(image, samples.w, from.w, y));
#else
    return samples;
#endif
}

static inline int2 columns_from(const struct frame *frame, uint x, bool inside)
{
    return inside ? (int2)(x, x + 1)
                  : *AT(const int2, frame->spectrum, MAP_X + x * (uint)sizeof(int));
}

static inline cplx image_load(const struct frame *frame, uint x, uint row, bool row_is_inside)
{
    const int y =
        row_is_inside ? (int)row : *AT(const int, frame->spectrum, MAP_Y + row * (uint)sizeof(int));
    const int2 from_a = columns_from(frame, x, A_IS_INSIDE);
    const int2 from_b = columns_from(frame, x + V_HALF, B_IS_INSIDE);
#if BORDER_CONSTANT
    const int4 place = (int4)(from_a, from_b).xzyw;
    const RAW(2) a = raw_load_pair(frame->image, x, max(from_a, (int2)(0)), A_IS_INSIDE, max(y, 0));
    const RAW(2) b =
        raw_load_pair(frame->image, x + V_HALF, max(from_b, (int2)(0)), B_IS_INSIDE, max(y, 0));
    const cplx z = select(raw_to_samples(frame->image, (RAW(4))(a.x, b.x, a.y, b.y),
                                         max(place, (int4)(0)), max(y, 0)),
                          (float4)(BORDER_VALUE), place < 0 || (int4)(y) < 0);
#else
    const RAW(2) a = raw_load_pair(frame->image, x, from_a, A_IS_INSIDE, y);
    const RAW(2) b = raw_load_pair(frame->image, x + V_HALF, from_b, B_IS_INSIDE, y);
    const cplx z =
        raw_to_samples(frame->image, (RAW(4))(a.x, b.x, a.y, b.y), (int4)(from_a, from_b).xzyw, y);
#endif
    return HALF_STORAGE ? c_scale(z, LOAD_SCALE) : z;
}

/* Values on their way to memory. The numbers are swapped (c_swap): B is in the real parts. */
#if IS_RESULT_WORD
typedef uint2 finished;

/* Rounds; .x has both samples of B in its lowest bytes, .y those of A. Floats from 2^23 on are
 * integers: adding 2^23 rounds to nearest even and leaves the integer in the lowest bits. */
static inline finished finish(cplx z)
{
    const float4 scaled = to_result(HALF_STORAGE ? c_scale(z, STORE_SCALE) : z);
    const uint4 bits = as_uint4(clamp(scaled, 0.0f, (float)RESULT_MAX) + 8388608.0f);
    return (RESULT_BYTES == 1 ? bits.xy : bits.xy & 0xffff) + (bits.zw << (8 * RESULT_BYTES));
}

typedef uint finished_pair;

static inline uint half_a(finished value)
{
    return value.y;
}

static inline uint half_b(finished value)
{
    return value.x;
}

#else
typedef float4 finished;
typedef float2 finished_pair;

static inline finished finish(cplx z)
{
    return to_result(HALF_STORAGE ? c_scale(z, STORE_SCALE) : z);
}

static inline float2 half_a(finished value)
{
    return value.yw;
}

static inline float2 half_b(finished value)
{
    return value.xz;
}
#endif

/* Stores a pair of samples, or the first of them if the second is beyond the image. */
static inline void image_store(const struct frame *frame, uint x, bool inside, uint y,
                               finished_pair value)
{
    const bool both = inside || IMAGE_WIDTH % 2 == 0 || x + 1 < IMAGE_WIDTH;
#if IS_RESULT_WORD && RESULT_BYTES == 1
    if (both)
        *AT(ushort, frame->result, RESULT_AT(x, y)) = (ushort)value;
    else
        *AT(uchar, frame->result, RESULT_AT(x, y)) = (uchar)value;
#elif IS_RESULT_WORD
    if (both)
        *AT(uint, frame->result, RESULT_AT(x, y)) = value;
    else
        *AT(ushort, frame->result, RESULT_AT(x, y)) = (ushort)value;
#else
    sample_store(frame->result, frame->image, x, 0, y, value.x);
    if (both)
        sample_store(frame->result, frame->image, x, 1, y, value.y);
#endif
}
