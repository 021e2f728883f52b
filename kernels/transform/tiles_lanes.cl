/* The transforms of tiles by one item with several lanes: local memory, and what comes between the
 * stages (tiles_stage.cl). Data and work-items: tiles.cl.
 *
 * `work` has a panel for each group of LANES columns, in which TILE rows follow each other: those
 * of a panel fit into the first cache. Panels are PANEL rows apart. Lanes are columns while columns
 * are transformed. Along rows all stages but the last combine numbers of the same lane. The last
 * one is within groups of lanes: a block of LANES x LANES numbers is transposed (transpose.cl),
 * multiplied by H between the transforms, and transposed back. */

#if LANES > 1

#if RADIX_B != LANES
#error "the last stage along rows is within groups of lanes"
#endif

static inline cplx work_get(local const real *work, uint at)
{
    return c_make(work[2 * at], work[2 * at + 1]);
}

static inline void work_put(local real *work, uint at, cplx z)
{
    work[2 * at] = z.re;
    work[2 * at + 1] = z.im;
}

/* The last stage along LANES rows in one panel, the product with H, and back. */
static inline void block_filter(local real *block, global const float *response, uint at)
{
    cplx x[LANES];
    real re[LANES], im[LANES];
#pragma unroll
    for (uint i = 0; i < LANES; i++) {
        re[i] = block[2 * i];
        im[i] = block[2 * i + 1];
    }
    transpose(re);
    transpose(im);
#pragma unroll
    for (uint i = 0; i < LANES; i++)
        x[i] = c_make(re[i], im[i]);
    DFT_B(x);
#pragma unroll
    for (uint i = 0; i < LANES; i++)
        x[i] = weigh(x[i], response, at + i);
    DFT_B(x);
#pragma unroll
    for (uint i = 0; i < LANES; i++) {
        re[i] = x[i].re;
        im[i] = x[i].im;
    }
    transpose(re);
    transpose(im);
#pragma unroll
    for (uint i = 0; i < LANES; i++) {
        block[2 * i] = re[i];
        block[2 * i + 1] = im[i];
    }
}

#endif
