/* Demosaicing of 8 bits, for row_openvx.c: bilinear as OpenVX's example does it, and with the
 * gradients of the known colour (Malvar, He and Cutler, 2004).
 *
 * Data: WIDTH x HEIGHT bytes, red at even columns of even rows, blue at odd columns of odd rows,
 * green elsewhere. The result has four bytes a pixel. The mosaic is mirrored at its edges. A
 * work-item computes one pixel. */

static inline int mirrored(int i, int length)
{
    return i < 0 ? -i : i < length ? i : 2 * length - 2 - i;
}

static inline float at(global const uchar *in, int x, int y)
{
    return in[mirrored(y, HEIGHT) * WIDTH + mirrored(x, WIDTH)];
}

/* Puts the three colours in order: own is the other colour of a pixel's row, or the pixel's. */
static inline void put(global uchar4 *out, int x, int y, float own, float green, float other)
{
    const bool red_row = y % 2 == 0;
    const float4 pixel = (float4)(red_row ? own : other, green, red_row ? other : own, 0.0f);
    out[y * WIDTH + x] = convert_uchar4_sat_rte(pixel);
}

kernel void bilinear(global const uchar *in, global uchar4 *out)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const float here = at(in, x, y);
    const float across = at(in, x - 1, y) + at(in, x + 1, y);
    const float down = at(in, x, y - 1) + at(in, x, y + 1);
    const float corners =
        at(in, x - 1, y - 1) + at(in, x + 1, y - 1) + at(in, x - 1, y + 1) + at(in, x + 1, y + 1);
    if ((x + y) % 2 == 0)
        put(out, x, y, here, (across + down) / 4, corners / 4);
    else
        put(out, x, y, across / 2, here, down / 2);
}

kernel void gradients(global const uchar *in, global uchar4 *out)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const float here = at(in, x, y);
    const float across = at(in, x - 1, y) + at(in, x + 1, y);
    const float down = at(in, x, y - 1) + at(in, x, y + 1);
    const float far_across = at(in, x - 2, y) + at(in, x + 2, y);
    const float far_down = at(in, x, y - 2) + at(in, x, y + 2);
    const float corners =
        at(in, x - 1, y - 1) + at(in, x + 1, y - 1) + at(in, x - 1, y + 1) + at(in, x + 1, y + 1);
    if ((x + y) % 2 == 0)
        put(out, x, y, here, (4 * here + 2 * (across + down) - far_across - far_down) / 8,
            (6 * here + 2 * corners - 1.5f * (far_across + far_down)) / 8);
    else
        put(out, x, y, (5 * here + 4 * across - corners - far_across + 0.5f * far_down) / 8, here,
            (5 * here + 4 * down - corners - far_down + 0.5f * far_across) / 8);
}
