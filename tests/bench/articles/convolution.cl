/* Spatial convolution as ARM's guide improves it, for row_convolution.c.
 *
 * Data: a frame of bytes that has been extended by SIZE / 2 pixels on each side, PITCH bytes a row;
 * the result has WIDTH bytes a row. `weights` are SIZE x SIZE integers, or SIZE for the separable
 * passes, whose sum is `scale`. A work-item computes one pixel, or four with vector loads: across
 * is dimension 0, down is dimension 1. Sums are rounded to nearest. */

/* As the guide begins: the address and the scaling are computed for each number, and the result is
 * clamped by comparisons. */
kernel void plain(global const uchar *in, global uchar *out, constant int *weights, float scale)
{
    float sum = 0.0f;
    for (int v = 0; v < SIZE; v++)
        for (int u = 0; u < SIZE; u++)
            sum += in[(get_global_id(1) + v) * PITCH + get_global_id(0) + u] *
                   (weights[v * SIZE + u] / scale);
    sum += 0.5f;
    if (sum < 0.0f)
        sum = 0.0f;
    if (sum > 255.0f)
        sum = 255.0f;
    out[get_global_id(1) * WIDTH + get_global_id(0)] = (uchar)sum;
}

/* Common subexpressions removed: one address a row, one division. */
static inline int sum_of(global const uchar *at, constant int *weights)
{
    int sum = 0;
    for (int v = 0; v < SIZE; v++, at += PITCH, weights += SIZE)
        for (int u = 0; u < SIZE; u++)
            sum += at[u] * weights[u];
    return sum;
}

kernel void common(global const uchar *in, global uchar *out, constant int *weights, float scale)
{
    const size_t x = get_global_id(0), y = get_global_id(1);
    float sum = sum_of(in + y * PITCH + x, weights) / scale + 0.5f;
    if (sum < 0.0f)
        sum = 0.0f;
    if (sum > 255.0f)
        sum = 255.0f;
    out[y * WIDTH + x] = (uchar)sum;
}

kernel void clamped(global const uchar *in, global uchar *out, constant int *weights, float scale)
{
    const size_t x = get_global_id(0), y = get_global_id(1);
    const float sum = sum_of(in + y * PITCH + x, weights) / scale + 0.5f;
    out[y * WIDTH + x] = (uchar)clamp(sum, 0.0f, 255.0f);
}

kernel void saturated(global const uchar *in, global uchar *out, constant int *weights, float scale)
{
    const size_t x = get_global_id(0), y = get_global_id(1);
    out[y * WIDTH + x] = convert_uchar_sat(sum_of(in + y * PITCH + x, weights) / scale + 0.5f);
}

kernel void vectors(global const uchar *in, global uchar *out, constant int *weights, float scale)
{
    const size_t x = 4 * get_global_id(0), y = get_global_id(1);
    global const uchar *at = in + y * PITCH + x;
    int4 sum = 0;
    for (int v = 0; v < SIZE; v++, at += PITCH, weights += SIZE)
        for (int u = 0; u < SIZE; u++)
            sum += convert_int4(vload4(0, at + u)) * weights[u];
    vstore4(convert_uchar4_sat(convert_float4(sum) / scale + 0.5f), 0, out + y * WIDTH + x);
}

/* Two passes, four pixels an item: along rows of all rows of the extended frame, then down. */
kernel void separable_along(global const uchar *in, global int *between, constant int *weights)
{
    const size_t x = 4 * get_global_id(0), y = get_global_id(1);
    int4 sum = 0;
    for (int u = 0; u < SIZE; u++)
        sum += convert_int4(vload4(0, in + y * PITCH + x + u)) * weights[u];
    vstore4(sum, 0, between + y * WIDTH + x);
}

kernel void separable_down(global const int *between, global uchar *out, constant int *weights,
                           float scale)
{
    const size_t x = 4 * get_global_id(0), y = get_global_id(1);
    int4 sum = 0;
    for (int v = 0; v < SIZE; v++)
        sum += vload4(0, between + (y + v) * WIDTH + x) * weights[v];
    vstore4(convert_uchar4_sat(convert_float4(sum) / scale + 0.5f), 0, out + y * WIDTH + x);
}
