/* ARM's vectorised radix-2 transform of one line, and the twiddle kernels of its mixed-radix one,
 * for row_one_dimension.c. The file is built behind arm.cl.
 *
 * Data: n complex numbers, n a power of two from 64 on; decimation in time. `table` has the
 * twiddles of all stages: those of half span h are at h .. 2 h - 1, exp(-2 pi i k / (2 h)) as (cos,
 * sin). A work-item is an item of dimension 0. */

/* Two butterflies of two numbers each; reads in bit-reversed order. */
kernel void points_2(global const float2 *in, global float8 *out, global const uint4 *index)
{
    const size_t i = get_global_id(0);
    const uint4 at = index[i];
    const float2 a = in[at.s0], b = in[at.s1], c = in[at.s2], d = in[at.s3];
    out[i] = (float8)(a + b, a - b, c + d, c - d);
}

/* One butterfly of the second stage on 4 adjacent numbers. */
kernel void points_4(global float8 *data)
{
    const size_t i = get_global_id(0);
    const float8 x = data[i];
    const float4 turned = (float4)(x.s45, TURN(x.s67));
    data[i] = (float8)(x.lo + turned, x.lo - turned);
}

/* Two complex numbers times two twiddles. */
static inline float4 turn_two(float4 a, float4 w)
{
    return (float4)(turn_by(a.lo, w.lo), turn_by(a.hi, w.hi));
}

/* Two adjacent butterflies: 4 complex numbers, 256 bits. */
kernel void generic_256(global float2 *data, uint half_span, global const float2 *table)
{
    const uint i = get_global_id(0), pairs = half_span / 2, k = i % pairs * 2;
    global float2 *at = data + i / pairs * 2 * half_span + k;
    const float4 w = vload4(0, (global const float *)(table + half_span + k));
    const float4 a = vload4(0, (global float *)at);
    const float4 b = turn_two(vload4(0, (global float *)(at + half_span)), w);
    vstore4(a + b, 0, (global float *)at);
    vstore4(a - b, 0, (global float *)(at + half_span));
}

/* The same for four spans, which use the same twiddles: 1024 bits. */
kernel void generic_1024(global float2 *data, uint half_span, global const float2 *table)
{
    const uint i = get_global_id(0), pairs = half_span / 2, k = i % pairs * 2;
    global float2 *at = data + i / pairs * 8 * half_span + k;
    const float4 w = vload4(0, (global const float *)(table + half_span + k));
    for (uint span = 0; span < 4; span++, at += 2 * half_span) {
        const float4 a = vload4(0, (global float *)at);
        const float4 b = turn_two(vload4(0, (global float *)(at + half_span)), w);
        vstore4(a + b, 0, (global float *)at);
        vstore4(a - b, 0, (global float *)(at + half_span));
    }
}

/* The last stage has one span. */
kernel void final_n(global float4 *data, uint half_span, global const float2 *table)
{
    const uint k = get_global_id(0) * 2;
    global float4 *top = data + k / 2, *bottom = top + half_span / 2;
    const float4 w = vload4(0, (global const float *)(table + half_span + k));
    const float4 a = *top, b = turn_two(*bottom, w);
    *top = a + b;
    *bottom = a - b;
}

/* ---- twiddles as a kernel of their own ---- */

/* nx: product of the radices before the stage; ny: its radix. ky is derived through the map from n
 * to k, and the angle from both. */
kernel void twiddle_through_k(global const float2 *in, global float2 *out, uint pitch, uint span_nx,
                              uint ny)
{
    const uint n = get_global_id(0), ni = span_nx * ny;
    const uint k = n * ny % ni + n / span_nx % ny + ni * (n / ni);
    const uint nx = n % span_nx, ky = k % ny;
    const float phi = 2.0f * M_PI_F * (float)(nx * ky) / (float)ni;
    const size_t at = get_global_id(1) * pitch + n;
    float c;
    const float s = sincos(phi, &c);
    out[at] = turn_by(in[at], (float2)(c, s));
}

/* ky is simplified, and the angle of one step is an argument. */
kernel void twiddle_simplified(global const float2 *in, global float2 *out, uint pitch,
                               uint span_nx, uint ny, float phi_step)
{
    const uint n = get_global_id(0);
    const uint nx = n % span_nx, ky = n / span_nx % ny;
    const size_t at = get_global_id(1) * pitch + n;
    float c;
    const float s = sincos((float)(nx * ky) * phi_step, &c);
    out[at] = turn_by(in[at], (float2)(c, s));
}

/* A stage whose twiddles have been applied. */
#define LOAD_LEG(j)  x[j] = at[span * (j)];
#define STORE_LEG(j) at[span * (j)] = x[j];
#define PLAIN(R)                                                                                   \
    kernel void plain_##R(global float2 *data, uint n, uint span)                                  \
    {                                                                                              \
        const uint kx = get_global_id(0);                                                          \
        global float2 *at = data + get_global_id(1) * n + kx % span + kx / span * (span * R);      \
        float2 x[R];                                                                               \
        x[0] = at[0];                                                                              \
        LEGS_##R(LOAD_LEG) dft_##R(x);                                                             \
        at[0] = x[0];                                                                              \
        LEGS_##R(STORE_LEG)                                                                        \
    }

PLAIN(2)
PLAIN(4)
