/* The arithmetic that all radix stages share: twiddle factors and indices.
 *
 * Forward: decimation in frequency. A stage of radix R and span M works on blocks of R M
 * elements. Butterfly p of a block takes the elements p, p + M, ..., p + (R - 1) M, transforms
 * them, multiplies leg j by exp(-2 pi i j p / (R M)) and writes them back in place. After the last
 * stage (M = 1) element q holds the frequency whose mixed-radix digits are those of q in reverse
 * order (plan.c). Nothing reorders them, because the response is stored in the same order.
 *
 * Inverse: the same stages mirrored and in reverse order (decimation in time), on swapped numbers
 * (c_swap). On those the inverse transform is the forward one, with the same butterflies and the
 * same twiddles.
 *
 * U is the axis of the first forward and the last inverse transform, V is the other one. With
 * columns first, U is y and V is x; with ROWS_FIRST, U is x and V is y.
 *
 * Templates. A file that begins with the word "Template" is expanded several times: once for each
 * stage of an axis, or once for each dispatch. Before each copy, daemon/transform/kernel_source.c
 * defines the constants that the file lists. NAME(f_) is f_u_3 for stage 3 along U, so each copy
 * defines its own functions. Its loops over legs have constant bounds, and keep all legs in
 * registers when unrolled. */

#define NAME(function)          PASTE(function, PASTE(AXIS, STAGE))
#define NAME_PREVIOUS(function) PASTE(function, PASTE(AXIS, PREVIOUS))

/* The discrete Fourier transform of a stage, in place. */
#define DFT                     PASTE(dft_, RADIX)

static inline float2 twiddle_at(global const float2 *twiddle, uint leg, uint span, uint first,
                                uint p)
{
    return twiddle[first + (leg - 1) * span + p];
}

static inline float2 twiddle_times(float2 a, float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* exp(-2 pi i leg p / (radix span)), which is at index first + (leg - 1) span + p of the table. It
 * is read from there, combined from two entries (legs 1, 2, 3, 4, 8 and 12 give all others), or
 * computed. leg > 0. */
static inline float2 stage_twiddle(global const float2 *twiddle, uint leg, uint radix, uint span,
                                   uint first, uint p)
{
#if COMPUTE_TWIDDLES
    const float turns = (float)(leg * p) * (-2.f / (radix * span));
    return (float2)(cospi(turns), sinpi(turns));
#elif COMBINE_TWIDDLES
    return leg < 4 || leg % 4 == 0 ? twiddle_at(twiddle, leg, span, first, p)
                                   : twiddle_times(twiddle_at(twiddle, leg & ~3u, span, first, p),
                                                   twiddle_at(twiddle, leg & 3u, span, first, p));
#else
    return twiddle_at(twiddle, leg, span, first, p);
#endif
}

/* Multiplies leg `leg` of butterfly p by its twiddle factor, which is 1 for leg 0 and for span 1.
 */
static inline cplx stage_turn(cplx x, global const float2 *twiddle, uint leg, uint radix, uint span,
                              uint first, uint p)
{
    if (leg > 0 && span > 1)
        x = c_twiddle(x, stage_twiddle(twiddle, leg, radix, span, first, p));
    return x;
}

/* Returns the first element of butterfly `number` of a line. */
static inline uint first_element(uint number, uint radix, uint span)
{
    return number / span * (span * radix) + number % span;
}
