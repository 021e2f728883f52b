/* The staged technique: radix stages in main memory, without local memory, so it supports any
 * length on any device. Each stage works in place, except the first and the last one along rows,
 * which move lines between two buffers.
 *
 * A dispatch computes one stage, or two or three consecutive ones. With one, each item computes one
 * butterfly. With several, a group shares elements that these stages combine only with each other:
 * R1 R2 (R3) legs of a few lines. Each of its items computes one butterfly of the first stage;
 * after a barrier it computes one of the second, whose legs are still in a cache, and so on.
 *
 * A cplx is two neighbouring numbers (interleaved.cl), of two lines side by side, so an item
 * computes the same butterfly of two lines at once, with the same twiddle factors. That works along
 * both axes because the lines along V are transposed: they are columns of a second buffer. The
 * first stage along V separates the pairs of lines (pack.cl) while it moves them there.
 *
 *   columns_forward_<i>   stages from i on down columns; i = 0 loads the image
 *   rows_forward_<i>      the same along rows; i = 0 separates pairs of rows
 *   rows_middle           the last stages, the product with H, and their inverse
 *   rows_inverse_<i>      the same stages as rows_forward_<i> inverse; i = 0 combines pairs of rows
 *   columns_inverse_<i>   the same down columns; i = 0 stores the image
 *
 * Files, in the order of the source:
 *   staged.cl             this
 *   staged_image.cl       the image: loads and stores of two columns of both halves
 *   staged_stage.cl       template, once for each stage of both axes
 *   staged_dispatch.cl    template, once for each dispatch: the kernels
 *
 * Columns come first: U is y, V is x.
 *
 * Data:
 *   spectrum              as in pack.cl, with a spare row for each line beyond the pairs
 *   lines[v][k]           element v along V of line k, where k counts the pairs of pack.cl. Rows
 *                         have LINES numbers: the pairs, rounded up. What is computed for the
 *                         lines beyond the pairs is never used.
 *   pairs[k / 2]          where the rows of pairs k and k + 1 begin in the spectrum, in bytes: .x
 *                         for frequency ku of pair k, .y for -ku, .z and .w for those of pair
 *                         k + 1; for lines beyond the pairs, their spare rows
 *   response[v][k]        H, in rows of LINES values
 * Both buffers end with tables, because small GPUs run out of registers for pointers. The spectrum
 * has the twiddle factors along U, the border maps (daemon/transform/plan.h), the frequencies of
 * pack.cl and a cplx of zeros; the lines have the factors along V and the pairs. SPECTRUM_TWIDDLES,
 * MAP_X, MAP_Y, FREQUENCIES_AT, ZEROS_AT, LINES_TWIDDLES and PAIRS_AT are their places, in bytes
 * from the beginning of the buffer.
 *
 * Work-items, which are exactly as many as there is work (transform_staged_range, staged.c). In a
 * dispatch of one stage:
 *   columns: V_LANES x SPAN x blocks: two columns, place in the block, block
 *   rows:    LINES / 2 x SPAN x blocks: two lines, place in the block, block; only as many
 *            groups of lines as have some of the band
 * With several stages SPAN is that of the last one, and each place has a group of as many items
 * along the second dimension as the stage with the most butterflies needs. Where such a dispatch
 * moves lines, places come along the first dimension, and groups of lines along the second. The
 * third dimension also counts images (batch.cl). A group writes only the elements that it has read,
 * or their places in the other buffer. Launched by transform_frame_enqueue
 * (daemon/transform/frame.c) as listed by staged.c. */

#if LANES != 2 || ROWS_FIRST
#error "the staged technique needs LANES 2 and columns first"
#endif

/* For the template of dispatches: the name of a kernel, and of the butterflies of its stages. */
#define KERNEL_NAME(direction) PASTE(PASTE(KERNEL_AXIS, direction), FIRST)
#define STAGE_1(function)      PASTE(function, PASTE(AXIS, FIRST))
#define STAGE_2(function)      PASTE(function, PASTE(AXIS, SECOND))
#define STAGE_3(function)      PASTE(function, PASTE(AXIS, THIRD))

/* Where a kernel's data are; the pointers are those of one image. */
struct frame {
    global stored *spectrum, *lines;
    weights response;
    uint band;
    captured image;
    global uchar *result;
#if CORRECTIONS
    global const float *correction;
#endif
};

/* The distance between elements of a line, in bytes, and where factor `index` of its axis is. */
#define ROW ((ALONG_V ? LINES / 2 : SPECTRUM_PITCH) * CPLX_BYTES)
#define FACTOR_AT(index)                                                                           \
    ((ALONG_V ? LINES_TWIDDLES : SPECTRUM_TWIDDLES) + (index) * (uint)sizeof(float2))

/* Returns get_global_id without the range's offset, which is 0 and would cost additions of 64 bits;
 * `wide`: groups have several items along this dimension. */
static inline uint item_number(uint dimension, bool wide)
{
    const uint group = (uint)get_group_id(dimension);
    return wide ? group * (uint)get_local_size(dimension) + (uint)get_local_id(dimension) : group;
}

/* Returns number / divisor without a division, for numbers below `limit`. It is exact while number
 * times divisor stays below 65536, which holds for the items of a group. */
static inline uint quotient(uint number, uint divisor, uint limit)
{
    return limit <= divisor ? 0 : divisor == 1 ? number : (number * (65536 / divisor + 1)) >> 16;
}

static inline uint4 pairs_at(const struct frame *frame, uint across)
{
    return *AT(const uint4, frame->lines, PAIRS_AT + across * (uint)sizeof(uint4));
}

/* Returns the frequency along U of element e. */
static inline uint frequency_at(const struct frame *frame, uint e)
{
    return *AT(const ushort, frame->spectrum, FREQUENCIES_AT + e * (uint)sizeof(ushort));
}

/* Sets factor[1 .. radix - 1] to the twiddle factors of butterfly p, which are the powers of the
 * one in the table. w^3 = 2 Re(w) w^2 - w, because |w| is 1, and that takes less than w^2 w. */
static inline void stage_factors(float2 *factor, global const stored *data, uint at, uint radix)
{
    factor[1] = *AT(const float2, data, at);
#pragma unroll
    for (uint j = 2; j < radix; j++)
        factor[j] = j == 3 ? 2 * factor[1].x * factor[2] - factor[1]
                           : twiddle_times(factor[j / 2], factor[j - j / 2]);
}
