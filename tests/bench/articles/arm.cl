/* The mixed-radix FFT as ARM's articles on the Mali GPU describe it, complex throughout, for
 * peer_articles.c, which launches all of this.
 *
 * Data: rows of n complex numbers, interleaved. A transform of all rows takes a gather into another
 * buffer (digit_reverse) and one in-place kernel for each radix stage. In two dimensions the order
 * is rows, transpose, rows, transpose. Work-items: dimension 0 goes along a row, dimension 1 over
 * the rows. With INVERSE the transform is the unscaled conjugate. With SINCOS twiddles are computed
 * instead of read. */

#ifdef INVERSE
#define TURN(a) (float2)(-(a).y, (a).x) /* by a quarter: times i */
#else
#define TURN(a) (float2)((a).y, -(a).x)
#endif

/* a times exp(-+ i phi), where turn is (cos phi, sin phi). */
static inline float2 turn_by(float2 a, float2 turn)
{
    return a * turn.x + TURN(a) * turn.y;
}

/* ---- butterflies ---- */

static inline void dft_2(float2 *x)
{
    const float2 a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
}

static inline void dft_3(float2 *x)
{
    const float2 sum = x[1] + x[2], turned = TURN(x[1] - x[2]) * 0.86602540378443865f;
    const float2 middle = x[0] - 0.5f * sum;
    x[0] += sum;
    x[1] = middle + turned;
    x[2] = middle - turned;
}

static inline void dft_4(float2 *x)
{
    const float2 a = x[0] + x[2], b = x[0] - x[2];
    const float2 c = x[1] + x[3], d = TURN(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
}

#define COS_1_5 0.30901699437494742f /* cos(2 pi / 5) */
#define COS_2_5 -0.80901699437494742f
#define SIN_1_5 0.95105651629515357f
#define SIN_2_5 0.58778525229247313f

static inline void dft_5(float2 *x)
{
    const float2 s1 = x[1] + x[4], s2 = x[2] + x[3];
    const float2 d1 = x[1] - x[4], d2 = x[2] - x[3];
    const float2 m1 = x[0] + COS_1_5 * s1 + COS_2_5 * s2, t1 = SIN_1_5 * d1 + SIN_2_5 * d2;
    const float2 m2 = x[0] + COS_2_5 * s1 + COS_1_5 * s2, t2 = SIN_2_5 * d1 - SIN_1_5 * d2;
    x[0] += s1 + s2;
    x[1] = m1 + TURN(t1);
    x[4] = m1 - TURN(t1);
    x[2] = m2 + TURN(t2);
    x[3] = m2 - TURN(t2);
}

#define COS_1_7 0.62348980185873353f /* cos(2 pi / 7) */
#define COS_2_7 -0.22252093395631440f
#define COS_3_7 -0.90096886790241913f
#define SIN_1_7 0.78183148246802981f
#define SIN_2_7 0.97492791218182361f
#define SIN_3_7 0.43388373911755812f

static inline void dft_7(float2 *x)
{
    const float2 s1 = x[1] + x[6], s2 = x[2] + x[5], s3 = x[3] + x[4];
    const float2 d1 = x[1] - x[6], d2 = x[2] - x[5], d3 = x[3] - x[4];
    const float2 m1 = x[0] + COS_1_7 * s1 + COS_2_7 * s2 + COS_3_7 * s3;
    const float2 m2 = x[0] + COS_2_7 * s1 + COS_3_7 * s2 + COS_1_7 * s3;
    const float2 m3 = x[0] + COS_3_7 * s1 + COS_1_7 * s2 + COS_2_7 * s3;
    const float2 t1 = SIN_1_7 * d1 + SIN_2_7 * d2 + SIN_3_7 * d3;
    const float2 t2 = SIN_2_7 * d1 - SIN_3_7 * d2 - SIN_1_7 * d3;
    const float2 t3 = SIN_3_7 * d1 - SIN_1_7 * d2 + SIN_2_7 * d3;
    x[0] += s1 + s2 + s3;
    x[1] = m1 + TURN(t1);
    x[6] = m1 - TURN(t1);
    x[2] = m2 + TURN(t2);
    x[5] = m2 - TURN(t2);
    x[3] = m3 + TURN(t3);
    x[4] = m3 - TURN(t3);
}

static inline void dft_8(float2 *x)
{
    const float half_root = 0.70710678118654752f;
    float2 even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    dft_4(even);
    dft_4(odd);
    odd[1] = (odd[1] + TURN(odd[1])) * half_root;
    odd[2] = TURN(odd[2]);
    odd[3] = (TURN(odd[3]) - odd[3]) * half_root;
    x[0] = even[0] + odd[0];
    x[1] = even[1] + odd[1];
    x[2] = even[2] + odd[2];
    x[3] = even[3] + odd[3];
    x[4] = even[0] - odd[0];
    x[5] = even[1] - odd[1];
    x[6] = even[2] - odd[2];
    x[7] = even[3] - odd[3];
}

/* ---- passes ---- */

/* Each work-item moves one complex number. */
kernel void digit_reverse(global const float2 *in, global float2 *out, global const uint *index,
                          uint n)
{
    const size_t row = get_global_id(1) * n;
    out[row + get_global_id(0)] = in[row + index[get_global_id(0)]];
}

/* The first stage has adjacent legs, which are loaded and stored as vectors, and no twiddles. */
#define LOAD_2(x, at)                                                                              \
    {                                                                                              \
        const float4 v = vload4(0, at);                                                            \
        x[0] = v.lo;                                                                               \
        x[1] = v.hi;                                                                               \
    }
#define LOAD_3(x, at)                                                                              \
    LOAD_2(x, at)                                                                                  \
    x[2] = vload2(2, at);
#define LOAD_4(x, at)                                                                              \
    {                                                                                              \
        const float8 v = vload8(0, at);                                                            \
        x[0] = v.s01;                                                                              \
        x[1] = v.s23;                                                                              \
        x[2] = v.s45;                                                                              \
        x[3] = v.s67;                                                                              \
    }
#define LOAD_5(x, at)                                                                              \
    LOAD_4(x, at)                                                                                  \
    x[4] = vload2(4, at);
#define LOAD_7(x, at)                                                                              \
    LOAD_4(x, at)                                                                                  \
    {                                                                                              \
        const float4 v = vload4(2, at);                                                            \
        x[4] = v.lo;                                                                               \
        x[5] = v.hi;                                                                               \
    }                                                                                              \
    x[6] = vload2(6, at);
#define LOAD_8(x, at)                                                                              \
    LOAD_4(x, at)                                                                                  \
    LOAD_4((x + 4), at + 8)

#define STORE_2(x, at) vstore4((float4)(x[0], x[1]), 0, at);
#define STORE_3(x, at)                                                                             \
    STORE_2(x, at)                                                                                 \
    vstore2(x[2], 2, at);
#define STORE_4(x, at) vstore8((float8)(x[0], x[1], x[2], x[3]), 0, at);
#define STORE_5(x, at)                                                                             \
    STORE_4(x, at)                                                                                 \
    vstore2(x[4], 4, at);
#define STORE_7(x, at)                                                                             \
    STORE_4(x, at)                                                                                 \
    vstore4((float4)(x[4], x[5]), 2, at);                                                          \
    vstore2(x[6], 6, at);
#define STORE_8(x, at)                                                                             \
    STORE_4(x, at)                                                                                 \
    STORE_4((x + 4), at + 8)

#define FIRST_STAGE(R)                                                                             \
    kernel void first_##R(global float2 *data, uint n)                                             \
    {                                                                                              \
        global float *at = (global float *)(data + get_global_id(1) * n + get_global_id(0) * R);   \
        float2 x[R];                                                                               \
        LOAD_##R(x, at);                                                                           \
        dft_##R(x);                                                                                \
        STORE_##R(x, at);                                                                          \
    }

FIRST_STAGE(2)
FIRST_STAGE(3)
FIRST_STAGE(4)
FIRST_STAGE(5)
FIRST_STAGE(7)
FIRST_STAGE(8)

/* A later stage has legs `span` apart and merged twiddles. */
#ifdef SINCOS
#define TWIDDLE_ARGUMENTS , float phi_step
static inline float2 twiddle(float phi)
{
    float c;
    const float s = sincos(phi, &c);
    return (float2)(c, s);
}
#define TWIDDLE(j) twiddle((float)(nx * (j)) * phi_step)
#else
#define TWIDDLE_ARGUMENTS , global const float2 *table
#define TWIDDLE(j)        table[nx - span + span * (j)]
#endif

#define LEGS_2(F) F(1)
#define LEGS_3(F) LEGS_2(F) F(2)
#define LEGS_4(F) LEGS_3(F) F(3)
#define LEGS_5(F) LEGS_4(F) F(4)
#define LEGS_7(F) LEGS_5(F) F(5) F(6)
#define LEGS_8(F) LEGS_7(F) F(7)

#define GET(j)    x[j] = turn_by(at[span * (j)], TWIDDLE(j));
#define PUT(j)    at[span * (j)] = x[j];

#define STAGE(R)                                                                                   \
    kernel void stage_##R(global float2 *data, uint n, uint span TWIDDLE_ARGUMENTS)                \
    {                                                                                              \
        const uint kx = get_global_id(0), nx = kx % span;                                          \
        global float2 *at = data + get_global_id(1) * n + nx + kx / span * (span * R);             \
        float2 x[R];                                                                               \
        x[0] = at[0];                                                                              \
        LEGS_##R(GET) dft_##R(x);                                                                  \
        at[0] = x[0];                                                                              \
        LEGS_##R(PUT)                                                                              \
    }

STAGE(2)
STAGE(3)
STAGE(4)
STAGE(5)
STAGE(7)
STAGE(8)

/* Each work-item transposes a block of 2x2 numbers. */
kernel void transpose(global const float4 *in, global float4 *out, uint width, uint height)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    const float4 above = in[2 * y * (width / 2) + x], below = in[(2 * y + 1) * (width / 2) + x];
    out[2 * x * (height / 2) + y] = (float4)(above.lo, below.lo);
    out[(2 * x + 1) * (height / 2) + y] = (float4)(above.hi, below.hi);
}

/* Exchanges a block of 2x2 numbers with its mirror image, both transposed. */
static inline void exchange_blocks(global float4 *data, uint x, uint y, uint pitch)
{
    global float4 *here = data + 2 * y * pitch + x, *there = data + 2 * x * pitch + y;
    const float4 a = here[0], b = here[pitch], c = there[0], d = there[pitch];
    there[0] = (float4)(a.lo, b.lo);
    there[pitch] = (float4)(a.hi, b.hi);
    here[0] = (float4)(c.lo, d.lo);
    here[pitch] = (float4)(c.hi, d.hi);
}

/* Transposes a square in place: blocks on and above the diagonal are exchanged with their mirror
 * images. Work-items of blocks below it do nothing. */
kernel void transpose_square(global float4 *data, uint n)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    if (x < y)
        return;
    exchange_blocks(data, x, y, n / 2);
}

/* The same with one work-item for each block on or above the diagonal: the block follows from the
 * item's index in the packed triangle, whose column x begins at x (x + 1) / 2. */
kernel void transpose_square_packed(global float4 *data, uint n)
{
    const uint i = get_global_id(0);
    uint x = convert_uint_rtz((sqrt(8.0f * i + 1.0f) - 1.0f) * 0.5f);
    /* The root of a large number is rounded, so that it may be in the column before or after. */
    x -= x * (x + 1) / 2 > i;
    x += (x + 1) * (x + 2) / 2 <= i;
    exchange_blocks(data, x, i - x * (x + 1) / 2, n / 2);
}

/* Each work-item transposes a block of 2x2 numbers, or the part of it inside an odd edge. Nothing
 * is padded, so that vectors begin at any number. */
kernel void transpose_with_branches(global const float2 *in, global float2 *out, uint width,
                                    uint height)
{
    const uint x = 2 * get_global_id(0), y = 2 * get_global_id(1);
    global const float *from = (global const float *)(in + y * width + x);
    global float *to = (global float *)(out + x * height + y);
    if (x + 1 < width && y + 1 < height) {
        const float4 above = vload4(0, from), below = vload4(0, from + 2 * width);
        vstore4((float4)(above.lo, below.lo), 0, to);
        vstore4((float4)(above.hi, below.hi), 0, to + 2 * height);
        return;
    }
    vstore2(vload2(0, from), 0, to);
    if (x + 1 < width)
        vstore2(vload2(1, from), 0, to + 2 * height);
    if (y + 1 < height)
        vstore2(vload2(0, from + 2 * width), 1, to);
}

kernel void multiply_all(global float2 *spectrum, global const float *response)
{
    const size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    spectrum[i] *= response[i];
}

/* Each work-item transposes one number. */
kernel void transpose_elements(global const float2 *in, global float2 *out, uint width, uint height)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    out[x * height + y] = in[y * width + x];
}

/* Each work-item transposes a block of 4x4 numbers. */
kernel void transpose_4(global const float8 *in, global float8 *out, uint width, uint height)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    const float8 a = in[4 * y * (width / 4) + x], b = in[(4 * y + 1) * (width / 4) + x];
    const float8 c = in[(4 * y + 2) * (width / 4) + x], d = in[(4 * y + 3) * (width / 4) + x];
    global float8 *to = out + 4 * x * (height / 4) + y;
    to[0] = (float8)(a.s01, b.s01, c.s01, d.s01);
    to[height / 4] = (float8)(a.s23, b.s23, c.s23, d.s23);
    to[2 * (height / 4)] = (float8)(a.s45, b.s45, c.s45, d.s45);
    to[3 * (height / 4)] = (float8)(a.s67, b.s67, c.s67, d.s67);
}
