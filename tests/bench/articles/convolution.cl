/* Spatial convolution of bytes, for row_convolution.c.
 *
 * Data: a frame that has been extended by half the kernel's size on each side, PITCH bytes a row;
 * the result has WIDTH pixels a row. Dimension 0 goes across, dimension 1 down.
 *
 * First ARM's guide: pixels of three bytes, a kernel of 3x3 short integers whose sum is `scale`,
 * and sums in short that are divided after the loops. A work-item computes a pixel, or 8 bytes. */

#ifdef RGB

#define TAPS(BODY)                                                                                 \
    for (int v = 0; v < 3; v++)                                                                    \
        for (int u = 0; u < 3; u++) {                                                              \
            BODY                                                                                   \
        }

/* As the guide begins: addresses and indices are computed for each channel. */
kernel void rgb_plain(global const uchar *in, global uchar *out, constant short *weights,
                      short scale)
{
    const int x = get_global_id(0), y = get_global_id(1);
    short red = 0, green = 0, blue = 0;
    TAPS(red += (short)in[(x + u) * 3 + (y + v) * PITCH] * weights[v * 3 + u];
         green += (short)in[(x + u) * 3 + 1 + (y + v) * PITCH] * weights[v * 3 + u];
         blue += (short)in[(x + u) * 3 + 2 + (y + v) * PITCH] * weights[v * 3 + u];)
    red /= scale;
    green /= scale;
    blue /= scale;
    if (red < 0)
        red = 0;
    if (red > 255)
        red = 255;
    if (green < 0)
        green = 0;
    if (green > 255)
        green = 255;
    if (blue < 0)
        blue = 0;
    if (blue > 255)
        blue = 255;
    out[x * 3 + y * WIDTH * 3] = (uchar)red;
    out[x * 3 + 1 + y * WIDTH * 3] = (uchar)green;
    out[x * 3 + 2 + y * WIDTH * 3] = (uchar)blue;
}

/* One address of each pixel. */
#define ADD_PIXEL                                                                                  \
    global const uchar *at = from + u * 3 + v * PITCH;                                             \
    const short weight = weights[v * 3 + u];                                                       \
    red += (short)at[0] * weight;                                                                  \
    green += (short)at[1] * weight;                                                                \
    blue += (short)at[2] * weight;

#define ONCE(name, PUT)                                                                            \
    kernel void name(global const uchar *in, global uchar *out, constant short *weights,           \
                     short scale)                                                                  \
    {                                                                                              \
        global const uchar *from = in + get_global_id(0) * 3 + get_global_id(1) * PITCH;           \
        global uchar *to = out + get_global_id(0) * 3 + get_global_id(1) * WIDTH * 3;              \
        short red = 0, green = 0, blue = 0;                                                        \
        TAPS(ADD_PIXEL)                                                                            \
        PUT(to[0], (short)(red / scale))                                                           \
        PUT(to[1], (short)(green / scale))                                                         \
        PUT(to[2], (short)(blue / scale))                                                          \
    }

#define PUT_COMPARED(to, value)                                                                    \
    {                                                                                              \
        short number = value;                                                                      \
        if (number < 0)                                                                            \
            number = 0;                                                                            \
        if (number > 255)                                                                          \
            number = 255;                                                                          \
        to = (uchar)number;                                                                        \
    }
#define PUT_CLAMPED(to, value)   to = (uchar)clamp(value, (short)0, (short)255);
#define PUT_SATURATED(to, value) to = convert_uchar_sat(value);

ONCE(rgb_once, PUT_COMPARED)
ONCE(rgb_clamped, PUT_CLAMPED)
ONCE(rgb_saturated, PUT_SATURATED)

/* A load of 16 bytes has the three taps of 8 bytes of the result. */
kernel void rgb_vectors(global const uchar *in, global uchar *out, constant short *weights,
                        short scale)
{
    const int x = 8 * get_global_id(0), y = get_global_id(1);
    short8 sum = 0;
    for (int v = 0; v < 3; v++) {
        const uchar16 row = vload16(0, in + x + (y + v) * PITCH);
        sum += convert_short8(row.s01234567) * weights[v * 3];
        sum += convert_short8(row.s3456789a) * weights[v * 3 + 1];
        sum += convert_short8(row.s6789abcd) * weights[v * 3 + 2];
    }
    vstore8(convert_uchar8_sat(sum / scale), 0, out + x + y * WIDTH * 3);
}

#else

/* Then kernels of SIZE x SIZE integers on grey pixels, four pixels an item, rounded to nearest. */
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

/* Two passes: along rows of all rows of the extended frame, then down. The weights are SIZE. */
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

/* What a launch takes that does nothing else. */
kernel void one(global float *out)
{
    out[0] = 1.0f;
}

#endif
