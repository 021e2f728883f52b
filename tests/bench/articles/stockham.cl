/* What the ablation changes in ARM's pipeline, for row_two_dimensions.c. It is built behind arm.cl,
 * whose butterflies it uses.
 *
 * Data: a line has `n` complex numbers that are `step` apart; lines are `apart` apart. Roots of an
 * axis are (cos, sin) of 2 pi k / n. Each stage reads one buffer and writes another one, in the
 * order that makes digit reversal unnecessary. Work-items: dimension 0 goes along a line and
 * dimension 1 over the lines, or with COLUMNS the other way round, so that neighbours read
 * neighbouring numbers. Twiddles of stages are in the tables of arm.cl.
 *
 * Real rows of 2 n samples are transformed as n complex numbers. `untangle` makes n + 1
 * coefficients of them, and `tangle` goes back. With IN_BYTES, OUT_BYTES and PRODUCT, a stage reads
 * samples, writes samples, or multiplies what it reads by the response. */

#ifdef COLUMNS
#define ALONG get_global_id(1)
#define LINE  get_global_id(0)
#else
#define ALONG get_global_id(0)
#define LINE  get_global_id(1)
#endif

#ifdef IN_BYTES
typedef uchar2 in_type;
#else
typedef float2 in_type;
#endif
#ifdef OUT_BYTES
typedef uchar2 out_type;
#define STORED(x) convert_uchar2_sat_rte(x)
#else
typedef float2 out_type;
#define STORED(x) (x)
#endif
#ifdef PRODUCT
#define FACTOR(i) *response[i]
#else
#define FACTOR(i)
#endif

#define STOCKHAM(R)                                                                                \
    kernel void stockham_##R(global const in_type *in, global out_type *out, uint n, uint step,    \
                             uint apart, uint span, global const float2 *table,                    \
                             global const float *response)                                         \
    {                                                                                              \
        const uint j = ALONG, k = j % span, line = LINE * apart, legs = n / R;                     \
        float2 x[R];                                                                               \
        for (uint r = 0; r < R; r++) {                                                             \
            const uint at = line + (j + r * legs) * step;                                          \
            x[r] = convert_float2(in[at]) FACTOR(at);                                              \
            if (r > 0 && span > 1)                                                                 \
                x[r] = turn_by(x[r], table[(r - 1) * span + k]);                                   \
        }                                                                                          \
        dft_##R(x);                                                                                \
        for (uint r = 0; r < R; r++)                                                               \
            out[line + ((j / span) * span * R + k + r * span) * step] = STORED(x[r]);              \
    }

STOCKHAM(2)
STOCKHAM(3)
STOCKHAM(4)
STOCKHAM(5)
STOCKHAM(7)
STOCKHAM(8)

/* ---- load and store of their own ---- */

kernel void load_complex(global const uchar *in, global float2 *out)
{
    const uint i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[i] = (float2)(convert_float(in[i]), 0.0f);
}

kernel void store_complex(global const float2 *in, global uchar *out)
{
    const uint i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[i] = convert_uchar_sat_rte(in[i].x);
}

kernel void load_real(global const uchar2 *in, global float2 *out)
{
    const uint i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[i] = convert_float2(in[i]);
}

kernel void store_real(global const float2 *in, global uchar2 *out)
{
    const uint i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[i] = convert_uchar2_sat_rte(in[i]);
}

/* ---- rows of real samples ---- */

static inline float2 conjugate(float2 a)
{
    return (float2)(a.x, -a.y);
}

static inline float2 times(float2 a, float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* Coefficient k of 2 n real samples from a = Z[k] and b = Z[n - k]; root is that of k / (2 n). */
static inline float2 untangled(float2 a, float2 b, float2 root)
{
    const float2 even = a + conjugate(b), odd = a - conjugate(b);
    return 0.5f * (even + times((float2)(odd.y, -odd.x), conjugate(root)));
}

/* Twice Z[k] from a = X[k] and b = X[n - k]. */
static inline float2 tangled(float2 a, float2 b, float2 root)
{
    const float2 odd = times(a - conjugate(b), root);
    return a + conjugate(b) + (float2)(-odd.y, odd.x);
}

kernel void untangle(global const float2 *in, global float2 *out, uint n,
                     global const float2 *half_roots)
{
    const uint k = get_global_id(0), row = get_global_id(1);
    const float2 a = in[row * n + k % n], b = in[row * n + (n - k) % n];
    out[row * (n + 1) + k] = untangled(a, b, half_roots[k]);
}

kernel void tangle(global const float2 *in, global float2 *out, uint n,
                   global const float2 *half_roots)
{
    const uint k = get_global_id(0), row = get_global_id(1);
    const float2 a = in[row * (n + 1) + k], b = in[row * (n + 1) + n - k];
    out[row * n + k] = tangled(a, b, half_roots[k]);
}

/* ---- all stages in local memory ---- */

/* N: length, R0 .. R5: radices, 1 at the end; C: lines of a group; group: C x any. */
#ifdef N
#define CALL(f, R)  CALL_(f, R)
#define CALL_(f, R) f##R
#define STAGE_OF(R, SPAN)                                                                          \
    if (R > 1) {                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        for (uint j = get_local_id(1); j < N / R; j += get_local_size(1)) {                        \
            const uint k = j % (SPAN);                                                             \
            float2 x[R];                                                                           \
            for (uint r = 0; r < R; r++)                                                           \
                x[r] = (SPAN) == 1 ? from[(j + r * (N / R)) * C]                                   \
                                   : turn_by(from[(j + r * (N / R)) * C],                          \
                                             roots[r * k * (N / R / (SPAN))]);                     \
            CALL(dft_, R)(x);                                                                      \
            for (uint r = 0; r < R; r++)                                                           \
                to[(R * (SPAN) * (j / (SPAN)) + k + r * (SPAN)) * C] = x[r];                       \
        }                                                                                          \
        local float2 *other = from;                                                                \
        from = to;                                                                                 \
        to = other;                                                                                \
    }
static inline void dft_1(float2 *x)
{
}
#define ALL_STAGES                                                                                 \
    STAGE_OF(R0, 1)                                                                                \
    STAGE_OF(R1, R0)                                                                               \
    STAGE_OF(R2, R0 *R1)                                                                           \
    STAGE_OF(R3, R0 *R1 *R2)                                                                       \
    STAGE_OF(R4, R0 *R1 *R2 *R3)                                                                   \
    STAGE_OF(R5, R0 *R1 *R2 *R3 *R4)                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);

#define EACH(i, end) for (uint i = get_local_id(1); i < (end); i += get_local_size(1))

kernel void rows_forward(global const uchar2 *in, global float2 *out, global const float2 *roots,
                         global const float2 *half_roots)
{
    local float2 memory[2 * N];
    local float2 *from = memory, *to = memory + N;
    const uint row = get_global_id(0);
    EACH(i, N) from[i] = convert_float2(in[row * N + i]);
    ALL_STAGES
    EACH(k, N + 1)
    out[row * (N + 1) + k] = untangled(from[k % N], from[(N - k) % N], half_roots[k]);
}

kernel void rows_inverse(global const float2 *in, global uchar2 *out, global const float2 *roots,
                         global const float2 *half_roots)
{
    local float2 memory[2 * N];
    local float2 *from = memory, *to = memory + N;
    const uint row = get_global_id(0);
    EACH(k, N)
    from[k] = tangled(in[row * (N + 1) + k], in[row * (N + 1) + N - k], half_roots[k]);
    ALL_STAGES
    EACH(i, N) out[row * N + i] = convert_uchar2_sat_rte(from[i]);
}

/* Forward, product and inverse. The inverse transform is the conjugate of the forward one of the
 * conjugate. Columns past the last one repeat it and write nothing. */
kernel void columns(global float2 *data, uint count, global const float2 *roots,
                    global const float *response)
{
    local float2 memory[2 * N * C];
    local float2 *from = memory + get_local_id(0), *to = from + N * C;
    const uint column = min((uint)get_global_id(0), count - 1);
    EACH(i, N) from[i * C] = data[i * count + column];
    ALL_STAGES
    EACH(i, N) from[i * C] = conjugate(from[i * C]) * response[i * count + column];
    ALL_STAGES
    if (get_global_id(0) < count)
        EACH(i, N) data[i * count + column] = conjugate(from[i * C]);
}
#endif
