/* Transfers of lines along V between the spectrum and local memory, for several lanes.
 *
 * V is the axis along memory (columns first). A group takes LANES pairs of lines at a time, one
 * pair in each lane, so blocks of LANES x LANES numbers are transposed (transpose.cl) on the way
 * into and out of local memory. One work-item transfers V_LINES / V_GROUP such groups of pairs.
 * Used by `middle` (fused_kernels.cl), before its first stage and after its last one. With
 * IS_SMALLER the lines that are loaded are those of the larger spectrum, of L_LENGTH elements. That
 * spectrum has LARGER_PARTS (1 or more) times as many lanes, and its vectors are read in parts. */

#if LANES > 1

/* Returns the index of element e of line c in local memory, where an axis ends with stages of radix
 * `unit`. */
static inline uint lane_at(uint c, uint e, uint unit)
{
    return skewed(e, unit) * V_LINES + c;
}

#if IS_SMALLER
#define LOADED_HALF (L_LENGTH / 2)
#define LOADED_UNIT L_UNIT
#else
#define LOADED_HALF V_HALF
#define LOADED_UNIT V_UNIT
#endif

/* Loads a block of LANES numbers of a line. */
static inline cplx block_load(global const stored *spectrum, uint place, uint block)
{
#if IS_SMALLER
    return c_load_part(spectrum, larger_at(place, block / LARGER_PARTS), block % LARGER_PARTS,
                       LARGER_PARTS);
#else
    return c_load(spectrum, spectrum_at(place, block));
#endif
}

/* Loads LANES pairs of lines at a time, one pair into each lane. */
static inline void pairs_load(global const stored *spectrum, struct pairs pairs, local work_t *work,
                              uint first_pair, uint c)
{
    if (first_pair >= pairs.count)
        return;
    for (uint block = 0; block < LOADED_HALF / LANES; block++) {
        real are[LANES], aim[LANES], bre[LANES], bim[LANES];
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            const uint2 places = pairs.places[min(first_pair + i, pairs.count - 1)];
            const cplx zp = block_load(spectrum, places.x, block);
            const cplx zm = block_load(spectrum, places.y, block);
            const cplx za = line_a(zp, zm), zb = line_b(zp, zm);
            are[i] = za.re;
            aim[i] = za.im;
            bre[i] = zb.re;
            bim[i] = zb.im;
        }
        transpose(are);
        transpose(aim);
        transpose(bre);
        transpose(bim);
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            const uint e = block * LANES + i;
            work_put(work, lane_at(c, e, LOADED_UNIT), c_make(are[i], aim[i]));
            work_put(work, lane_at(c, e + LOADED_HALF, LOADED_UNIT), c_make(bre[i], bim[i]));
        }
    }
}

/* Stores pairs of lines. Numbers are swapped (c_swap) in `work` and in the spectrum. */
static inline void pairs_store(global stored *spectrum, struct pairs pairs,
                               local const work_t *work, uint first_pair, uint c)
{
    for (uint block = 0; block < V_LANES; block++) {
        real are[LANES], aim[LANES], bre[LANES], bim[LANES];
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            const uint e = block * LANES + i;
            const cplx za = c_swap(work_get(work, lane_at(c, e, V_UNIT)));
            const cplx zb = c_swap(work_get(work, lane_at(c, e + V_HALF, V_UNIT)));
            are[i] = za.re;
            aim[i] = za.im;
            bre[i] = zb.re;
            bim[i] = zb.im;
        }
        transpose(are);
        transpose(aim);
        transpose(bre);
        transpose(bim);
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            if (first_pair + i >= pairs.count)
                continue;
            const uint2 places = pairs.places[first_pair + i];
            const cplx za = c_make(are[i], aim[i]), zb = c_make(bre[i], bim[i]);
            c_store(c_swap(line_plus(za, zb)), spectrum, spectrum_at(places.x, block));
            if (places.y != places.x)
                c_store(c_swap(line_minus(za, zb)), spectrum, spectrum_at(places.y, block));
        }
    }
}

static inline void lines_load(global const stored *spectrum, struct pairs pairs, local work_t *work)
{
    for (uint c = get_local_id(0); c < V_LINES; c += V_GROUP)
        pairs_load(spectrum, pairs, work, ((uint)get_group_id(0) * V_LINES + c) * LANES, c);
    sync_group();
}

static inline void lines_store(global stored *spectrum, struct pairs pairs,
                               local const work_t *work)
{
    sync_group();
    for (uint c = get_local_id(0); c < V_LINES; c += V_GROUP)
        pairs_store(spectrum, pairs, work, ((uint)get_group_id(0) * V_LINES + c) * LANES, c);
}

#endif
