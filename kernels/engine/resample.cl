/* Makes planes of bytes smaller as transform/resampler.c does on the host, with the same integers,
 * for a device that is sent the whole frame anyway.
 *
 * Data: planes of `image` and `result`, whose samples follow each other; `numbers` as below;
 * `first`: for each sample of the result, the first one that it is made of, along rows, and then
 * along columns; `taps`: their factors in this order. Samples whose factor is 0 may be beyond the
 * plane.
 *
 * Work-items: a group for each block of the result. It first makes columns shorter, in rows of
 * local memory, of which an item makes four neighbouring samples. The third dimension counts
 * planes. Rows of the image, and numbers of taps, are multiples of 4: four are read before any is
 * used. Launched by step_chroma (daemon/engine/chroma.c). */
/* clang-format off */
enum { COLUMNS, ROWS, TO_COLUMNS, TO_ROWS, CHANNELS, STRIDE, TO_STRIDE, ACROSS, DOWN, FROM, TO = 11,
       BLOCK_COLUMNS = 13, BLOCK_ROWS };
/* clang-format on */

#define AT_ONCE 4

static inline int4 multiply(int4 samples, int tap)
{
    return ((samples * tap >> 14) + 1) >> 1;
}

kernel void resample(global const uchar *restrict image, global uchar *restrict result,
                     global const uint *restrict numbers, global const uint *restrict first,
                     global const short *restrict taps, local short4 *lines)
{
    global const uint *down = first + numbers[TO_COLUMNS];
    const uint plane = (uint)get_group_id(2), channels = numbers[CHANNELS];
    const uint stride = numbers[STRIDE], last_row = numbers[ROWS] - 1;
    const uint x = (uint)get_group_id(0) * numbers[BLOCK_COLUMNS];
    const uint y = (uint)get_group_id(1) * numbers[BLOCK_ROWS];
    const uint columns = min(numbers[BLOCK_COLUMNS], numbers[TO_COLUMNS] - x);
    const uint rows = min(numbers[BLOCK_ROWS], numbers[TO_ROWS] - y);
    const uint begin = first[x] * channels & ~3u;
    const uint end = (first[x + columns - 1] + numbers[ACROSS]) * channels;
    const uint width = (end - begin + 3) / 4, most = (numbers[COLUMNS] * channels - 1) / 4;
    const uint taps_down = numbers[DOWN], taps_across = numbers[ACROSS];
    global const short *down_taps = taps + numbers[TO_COLUMNS] * numbers[ACROSS];
    image += numbers[FROM + plane];
    result += numbers[TO + plane];
    for (uint i = (uint)get_local_id(0); i < width * rows; i += (uint)get_local_size(0)) {
        const uint row = y + i / width;
        const uint at = min(begin / 4 + i % width, most) * 4, top = down[row];
        global const short *tap = down_taps + row * taps_down;
        int4 sum = 0;
        for (uint k = 0; k < taps_down; k += AT_ONCE) {
            uchar4 four[AT_ONCE];
#pragma unroll
            for (uint j = 0; j < AT_ONCE; j++) {
                const uint from = min(top + k + j, last_row) * stride + at;
                four[j] = *(global const uchar4 *)(image + from);
            }
#pragma unroll
            for (uint j = 0; j < AT_ONCE; j++)
                sum += multiply(256 * (convert_int4(four[j]) - 128), tap[k + j]);
        }
        lines[i] = convert_short4(sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = (uint)get_local_id(0); i < columns * channels * rows;
         i += (uint)get_local_size(0)) {
        const uint row = i / (columns * channels), at = i % (columns * channels);
        const uint column = x + at / channels;
        local const short *line = (local const short *)(lines + row * width) +
                                  first[column] * channels + at % channels - begin;
        global const short *tap = taps + column * taps_across;
        int sum = 0;
        for (uint k = 0; k < taps_across; k += AT_ONCE)
#pragma unroll
            for (uint j = 0; j < AT_ONCE; j++)
                sum += ((line[(k + j) * channels] * tap[k + j] >> 14) + 1) >> 1;
        result[(y + row) * numbers[TO_STRIDE] + x * channels + at] =
            (uchar)clamp((((short)sum >> 5) + 1 >> 1) + 128, 0, 255);
    }
}
