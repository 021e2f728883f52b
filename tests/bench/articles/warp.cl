/* Undistortion of 8 bits, for row_openvx.c: a table moves each pixel, and the picture is
 * interpolated there, by the kernel or by the texture unit.
 *
 * Data: WIDTH x HEIGHT bytes, or an image of as many; the table has two short numbers a pixel, how
 * far to the right and down its place is, in 1/32 of a pixel, inside the picture. Work-items
 * compute one pixel, those of `four` four neighbours. */

static inline float at(global const uchar *in, const short2 moved, int x, int y)
{
    const int column = 32 * x + moved.x, row = 32 * y + moved.y;
    const int left = min(column >> 5, WIDTH - 2), above = min(row >> 5, HEIGHT - 2);
    const float right = (column - 32 * left) / 32.0f, down = (row - 32 * above) / 32.0f;
    global const uchar *from = in + above * WIDTH + left;
    return mix(mix((float)from[0], (float)from[1], right),
               mix((float)from[WIDTH], (float)from[WIDTH + 1], right), down);
}

kernel void single(global const uchar *in, global const short2 *table, global uchar *out)
{
    const int x = get_global_id(0), y = get_global_id(1), i = y * WIDTH + x;
    out[i] = convert_uchar_sat_rte(at(in, table[i], x, y));
}

kernel void four(global const uchar *in, global const short2 *table, global uchar *out)
{
    const int x = 4 * get_global_id(0), y = get_global_id(1), i = y * WIDTH + x;
    const short8 moved = vload8(0, (global const short *)(table + i));
    const float4 pixels = (float4)(at(in, moved.s01, x, y), at(in, moved.s23, x + 1, y),
                                   at(in, moved.s45, x + 2, y), at(in, moved.s67, x + 3, y));
    vstore4(convert_uchar4_sat_rte(pixels), 0, out + i);
}

constant sampler_t between =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

static inline float sampled(read_only image2d_t in, const short2 moved, int x, int y)
{
    const float2 place = (float2)(x, y) + convert_float2(moved) / 32;
    return 255 * read_imagef(in, between, place + 0.5f).x;
}

kernel void texture_single(read_only image2d_t in, global const short2 *table, global uchar *out)
{
    const int x = get_global_id(0), y = get_global_id(1), i = y * WIDTH + x;
    out[i] = convert_uchar_sat_rte(sampled(in, table[i], x, y));
}

kernel void texture_four(read_only image2d_t in, global const short2 *table, global uchar *out)
{
    const int x = 4 * get_global_id(0), y = get_global_id(1), i = y * WIDTH + x;
    const short8 moved = vload8(0, (global const short *)(table + i));
    const float4 pixels =
        (float4)(sampled(in, moved.s01, x, y), sampled(in, moved.s23, x + 1, y),
                 sampled(in, moved.s45, x + 2, y), sampled(in, moved.s67, x + 3, y));
    vstore4(convert_uchar4_sat_rte(pixels), 0, out + i);
}
