/* Template, once for each stage down columns: one butterfly.
 *
 * Constants: AXIS (u_), STAGE, RADIX, SPAN, and TWIDDLES (the index of the stage's first factor in
 * the table). `block` and `p` are those of stage.cl. Data and work-items: staged.cl. The kernels of
 * staged_columns_pass.cl call both functions. */

static inline void NAME(forward_one_)(uint block, uint p, uint column, global const uchar *image,
                                      global stored *spectrum, global const int *map_x,
                                      global const int *map_y, global const float2 *twiddle)
{
    const uint e = block * (RADIX * SPAN) + p;
    cplx x[RADIX];
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
#if STAGE == 0
        x[j] = packed_load(image, map_x, map_y, e, j * SPAN, is_leg_inside(j, SPAN), column);
#else
        x[j] = c_load(spectrum, spectrum_at(e + j * SPAN, column));
#endif
    }
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = stage_turn(x[j], twiddle, j, RADIX, SPAN, TWIDDLES, p);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        c_store(x[j], spectrum, spectrum_at(e + j * SPAN, column));
}

static inline void NAME(inverse_one_)(uint block, uint p, uint column, global stored *spectrum,
                                      global const uchar *image, global uchar *result,
                                      global const float2 *twiddle)
{
    const uint e = block * (RADIX * SPAN) + p;
    cplx x[RADIX];
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = c_load(spectrum, spectrum_at(e + j * SPAN, column));
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = stage_turn(x[j], twiddle, j, RADIX, SPAN, TWIDDLES, p);
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
#if STAGE == 0
        packed_store(result, image, e, j * SPAN, is_leg_inside(j, SPAN), column, x[j]);
#else
        c_store(x[j], spectrum, spectrum_at(e + j * SPAN, column));
#endif
    }
}
