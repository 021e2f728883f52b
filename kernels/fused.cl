/* The fused technique: three dispatches a frame, every intermediate byte crosses main memory once
 * each way.
 *
 *   columns_forward   image -> spectrum      loads, extends the border, transforms columns
 *   rows              spectrum -> spectrum   transforms rows, multiplies by H, transforms back
 *   columns_inverse   spectrum -> image      transforms columns back, rounds, clamps, stores
 *
 * How a real image becomes half a complex one, and which rows make a pair: pack.cl.
 *
 * Data:
 *   spectrum, pairs: pack.cl; the third and fourth member of a pair are not used.
 *   response[k / LANES][e][k % LANES]: H for pair k at element e of a transformed row.
 *   twiddle_x, twiddle_y: stage.cl.
 *
 * Work-items: a group (one dimension, COLUMN_GROUP or ROW_GROUP items) shares `work` in local
 * memory.
 *   columns_*: group g carries the COLS groups of LANES columns from g COLS on; neighbouring
 *   items take neighbouring columns.
 *   rows: group g carries the ROWS groups of LANES pairs of rows from g ROWS on.
 * Launched by dispatch.c (make_fused_dispatches). */

#if COLUMN_GROUP > 1 || ROW_GROUP > 1
#define SYNC barrier(CLK_LOCAL_MEM_FENCE);
#else /* a barrier of one item orders nothing, but stands in the compiler's way */
#define SYNC
#endif

/* A transformed element in local memory. The legs of a last stage's butterfly lie side by side, so
 * that neighbouring butterflies are a radix apart, and an even radix leads them to few of the banks:
 * SKEW leaves a gap after each. UNIT is that radix; every other stage's span is a multiple of it, so
 * the way from one leg to the next stays a constant of the stage. */
#define HAS_GAPS(UNIT)     (SKEW && (UNIT) % 2 == 0)
#define SKEWED(e, UNIT)    (HAS_GAPS(UNIT) ? (e) + (e) / (UNIT) : (e))
#define LEG_AT(j, M, UNIT) ((j) * ((M) + (HAS_GAPS(UNIT) ? (M) / (UNIT) : 0)))
#define COLUMN_UNIT           PASTE(Y_R, Y_LAST)
#define ROW_UNIT              PASTE(X_R, X_LAST)

/* The type of the kernels' argument matters: local memory is aligned for it and no more (NVIDIA's
 * driver puts a float at offset 4). */
#if LANES == 1
typedef float2 work_t;
#else
typedef real work_t;
#endif

static inline cplx work_get(local const work_t *work, uint at)
{
#if LANES == 1
    return c_make(work[at].x, work[at].y);
#else
    return c_make(work[2 * at], work[2 * at + 1]);
#endif
}

static inline void work_put(local work_t *work, uint at, cplx z)
{
#if LANES == 1
    work[at] = (float2)(z.re, z.im);
#else
    work[2 * at] = z.re;
    work[2 * at + 1] = z.im;
#endif
}

/* How a group goes through the n butterflies of a stage, of r legs each. Each opens a
 * bracket that its user closes.
 *
 * In place: every stage takes its butterflies from `work` and puts them back where they were, one
 * after another.
 *
 * Held (COLUMNS_HELD, ROWS_HELD): all butterflies of a stage stay in registers, and `work` only
 * passes them on to the items that need them next, first the real parts and then the imaginary
 * ones: half the local memory, so that twice as many columns fit side by side, or more groups on a
 * core. What an item puts, it puts where only itself has read before; so there are three barriers
 * to a pass and not four. */
#define IN_PLACE(n, r, group)                                                                      \
    for (uint t = get_local_id(0); t < (n); t += (group)) {                                        \
        cplx x[r];
#define HELD(i, n, group)                                                                          \
    _Pragma("unroll") for (uint u = 0; u < ROUNDS(n, group); u++)                                  \
    {                                                                                              \
        const uint t = get_local_id(0) + u * (group);                                              \
        if ((n) % (group) != 0 && t >= (n))                                                        \
            continue;                                                                              \
        cplx *x = held_##i[u];
#define HELD_PRIVATE(i, n, r, group) cplx held_##i[ROUNDS(n, group)][r];
#define ROUNDS(n, group)             (((n) + (group)-1) / (group))

/* ---- columns ------------------------------------------------------------------------------- */

/* A group at the right edge may have columns too many: they repeat the last one and are not
 * stored. */
#define COLUMN_ITEMS(i) (Y_LENGTH / Y_R##i * COLS)
#define COLUMN_STAGE(i)                                                                            \
    COLUMN_LOOP(i)                                                                                 \
    const uint R = Y_R##i, M = Y_M##i, T = Y_T##i;                                                 \
    const uint c = t % COLS, b = t / COLS, p = b % M;                                              \
    const uint e = FIRST_ELEMENT(R, M, b);                                                         \
    const uint wanted = (uint)get_group_id(0) * COLS + c;                                          \
    const uint column = min(wanted, (uint)X_LANES - 1);

#define COLUMN_AT(j) ((SKEWED(e, COLUMN_UNIT) + LEG_AT(j, M, COLUMN_UNIT)) * COLS + c)

#if COLUMNS_HELD
typedef float column_work_t;
#define COLUMN_LOOP(i)    HELD(i, COLUMN_ITEMS(i), COLUMN_GROUP)
#define COLUMN_PRIVATE(i) HELD_PRIVATE(i, COLUMN_ITEMS(i), Y_R##i, COLUMN_GROUP)
#define COLUMN_GET(j)
#define COLUMN_PUT(j)
#define COLUMN_PUT_RE(j) work[COLUMN_AT(j)] = x[j].re;
#define COLUMN_PUT_IM(j) work[COLUMN_AT(j)] = x[j].im;
#define COLUMN_GET_RE(j) x[j].re = work[COLUMN_AT(j)];
#define COLUMN_GET_IM(j) x[j].im = work[COLUMN_AT(j)];
#define COLUMN_PASS(i, LEG)                                                                        \
    COLUMN_STAGE(i)                                                                                \
    EACH(Y_R##i)(LEG)                                                                              \
    }
#define COLUMN_NEXT(a, b)                                                                          \
    COLUMN_PASS(a, COLUMN_PUT_RE)                                                                  \
    SYNC COLUMN_PASS(b, COLUMN_GET_RE) SYNC COLUMN_PASS(a, COLUMN_PUT_IM)                          \
    SYNC COLUMN_PASS(b, COLUMN_GET_IM)
#else
typedef work_t column_work_t;
#define COLUMN_LOOP(i) IN_PLACE(COLUMN_ITEMS(i), Y_R##i, COLUMN_GROUP)
#define COLUMN_PRIVATE(i)
#define COLUMN_GET(j)     x[j] = work_get(work, COLUMN_AT(j));
#define COLUMN_PUT(j)     work_put(work, COLUMN_AT(j), x[j]);
#define COLUMN_NEXT(a, b) SYNC
#endif

#define COLUMN_FORWARD_GET(j)                                                                      \
    if (first) {                                                                                   \
        x[j] = packed_load(image, map_x, map_y, (int)(column * LANES), (int)(e + (j)*M));          \
    } else {                                                                                       \
        COLUMN_GET(j)                                                                              \
    }
#define COLUMN_FORWARD_PUT(j)                                                                      \
    TWIDDLE(x[j], R, j, M, T, p)                                                                   \
    if (!last) {                                                                                   \
        COLUMN_PUT(j)                                                                              \
    } else if (column == wanted) {                                                                 \
        c_store(x[j], spectrum, SPECTRUM(e + (j)*M, column));                                      \
    }

#define COLUMN_FORWARD(i)                                                                          \
    {                                                                                              \
        const bool first = (i) == 0, last = (i) == Y_STAGES - 1;                                   \
        COLUMN_STAGE(i)                                                                            \
        EACH(Y_R##i)(COLUMN_FORWARD_GET) DFT(Y_R##i)(x);                                           \
        EACH(Y_R##i)(COLUMN_FORWARD_PUT)                                                           \
    }                                                                                              \
    }

kernel __attribute__((reqd_work_group_size(COLUMN_GROUP, 1, 1))) void
columns_forward(global const uchar *restrict image, global stored *restrict spectrum,
                global const int *restrict map_x, global const int *restrict map_y,
                global const float2 *restrict twiddle, local column_work_t *work)
{
    Y_EACH_STAGE(COLUMN_PRIVATE, NOTHING_BETWEEN)
    Y_EACH_STAGE(COLUMN_FORWARD, COLUMN_NEXT)
}

#define COLUMN_INVERSE_GET(j)                                                                      \
    if (first) {                                                                                   \
        x[j] = c_load(spectrum, SPECTRUM(e + (j)*M, column));                                      \
    } else {                                                                                       \
        COLUMN_GET(j)                                                                              \
    }                                                                                              \
    TWIDDLE(x[j], R, j, M, T, p)
#define COLUMN_INVERSE_PUT(j)                                                                      \
    if (!last) {                                                                                   \
        COLUMN_PUT(j)                                                                              \
    } else if (column == wanted) {                                                                 \
        packed_store(result, image, (int)(column * LANES), (int)(e + (j)*M), x[j]);                \
    }

#define COLUMN_INVERSE(i)                                                                          \
    {                                                                                              \
        const bool first = (i) == Y_STAGES - 1, last = (i) == 0;                                   \
        COLUMN_STAGE(i)                                                                            \
        EACH(Y_R##i)(COLUMN_INVERSE_GET) DFT(Y_R##i)(x);                                           \
        EACH(Y_R##i)(COLUMN_INVERSE_PUT)                                                           \
    }                                                                                              \
    }

/* `image` is read only for what the filter passes by (KEEP_OTHERS). */
kernel __attribute__((reqd_work_group_size(COLUMN_GROUP, 1, 1))) void
columns_inverse(global const stored *restrict spectrum, global const uchar *restrict image,
                global uchar *restrict result, global const float2 *restrict twiddle,
                local column_work_t *work)
{
    Y_EACH_STAGE(COLUMN_PRIVATE, NOTHING_BETWEEN)
    Y_EACH_STAGE_BACK(COLUMN_INVERSE, COLUMN_NEXT)
}

/* ---- rows ---------------------------------------------------------------------------------- */

#define ROW_AT(e)  (c * (SKEWED(X_LENGTH - 1, ROW_UNIT) + 1) + SKEWED(e, ROW_UNIT))
#define ROW_LEG(j) (ROW_AT(e) + LEG_AT(j, M, ROW_UNIT))

#define ROW_ITEMS(i) (X_LENGTH / X_R##i * ROWS)
#define ROW_STAGE(i)                                                                               \
    ROW_LOOP(i)                                                                                    \
    const uint R = X_R##i, M = X_M##i, T = X_T##i;                                                 \
    const uint c = t / (X_LENGTH / X_R##i), b = t % (X_LENGTH / X_R##i), p = b % M;                \
    const uint e = FIRST_ELEMENT(R, M, b);

#if ROWS_HELD
typedef float row_work_t;
#define ROW_LOOP(i)    HELD(i, ROW_ITEMS(i), ROW_GROUP)
#define ROW_PRIVATE(i) HELD_PRIVATE(i, ROW_ITEMS(i), X_R##i, ROW_GROUP)
#define ROW_GET(j)
#define ROW_PUT(j)
#define ROW_PUT_RE(j) work[ROW_LEG(j)] = x[j].re;
#define ROW_PUT_IM(j) work[ROW_LEG(j)] = x[j].im;
#define ROW_GET_RE(j) x[j].re = work[ROW_LEG(j)];
#define ROW_GET_IM(j) x[j].im = work[ROW_LEG(j)];
#define ROW_PASS(i, LEG)                                                                           \
    ROW_STAGE(i)                                                                                   \
    EACH(X_R##i)(LEG)                                                                              \
    }
#define ROW_NEXT(a, b)                                                                             \
    ROW_PASS(a, ROW_PUT_RE)                                                                        \
    SYNC ROW_PASS(b, ROW_GET_RE) SYNC ROW_PASS(a, ROW_PUT_IM) SYNC ROW_PASS(b, ROW_GET_IM)
#else
typedef work_t row_work_t;
#define ROW_LOOP(i) IN_PLACE(ROW_ITEMS(i), X_R##i, ROW_GROUP)
#define ROW_PRIVATE(i)
#define ROW_GET(j)     x[j] = work_get(work, ROW_LEG(j));
#define ROW_PUT(j)     work_put(work, ROW_LEG(j), x[j]);
#define ROW_NEXT(a, b) SYNC
#endif

#if LANES == 1

/* The first stage, whose radix is even, meets A in its lower legs and B in its upper ones, and
 * loads both from the same two elements. A group at the end may have pairs too many: they are zero,
 * and not the last pair over again, which others are writing back by then. */
#define PAIR_GET(j)                                                                                \
    {                                                                                              \
        cplx zp = c_make(0, 0), zm = c_make(0, 0);                                                 \
        if (pair < PAIRS) {                                                                        \
            zp = c_load(spectrum, SPECTRUM(at.x, e + (j)*M));                                      \
            zm = c_load(spectrum, SPECTRUM(at.y, e + (j)*M));                                      \
        }                                                                                          \
        x[j] = LEFT_HALF(zp, zm);                                                                  \
        x[j + X_R0 / 2] = RIGHT_HALF(zp, zm);                                                      \
    }
#define PAIR_PUT(j)                                                                                \
    if (pair < PAIRS) {                                                                            \
        const cplx l = c_swap(x[j]), r = c_swap(x[j + X_R0 / 2]);                                  \
        c_store(c_swap(ROW_PLUS(l, r)), spectrum, SPECTRUM(at.x, e + (j)*M));                      \
        if (at.y != at.x)                                                                          \
            c_store(c_swap(ROW_MINUS(l, r)), spectrum, SPECTRUM(at.y, e + (j)*M));                 \
    }

#define PAIR_OF_ROWS                                                                               \
    const uint pair = (uint)get_group_id(0) * ROWS + c;                                            \
    const uint4 at = pairs[min(pair, (uint)PAIRS - 1)];

#define LOAD_ROWS
#define STORE_ROWS
#define PAIRS_GET                                                                                  \
    {                                                                                              \
        PAIR_OF_ROWS EACH_HALF(X_R0)(PAIR_GET)                                                     \
    }
#define PAIRS_PUT                                                                                  \
    {                                                                                              \
        PAIR_OF_ROWS EACH_HALF(X_R0)(PAIR_PUT)                                                     \
    }
#define RESPONSE_AT(e) (min((uint)get_group_id(0) * ROWS + c, (uint)PAIRS - 1) * X_LENGTH + (e))

#else

#if LANES == 2
#define INTERLEAVE_LOW(a, b)  (float2)(a.s0, b.s0)
#define INTERLEAVE_HIGH(a, b) (float2)(a.s1, b.s1)
#define LANES_LOG2            1
#elif LANES == 4
#define INTERLEAVE_LOW(a, b)  (float4)(a.s0, b.s0, a.s1, b.s1)
#define INTERLEAVE_HIGH(a, b) (float4)(a.s2, b.s2, a.s3, b.s3)
#define LANES_LOG2            2
#elif LANES == 8
#define INTERLEAVE_LOW(a, b)  (float8)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3)
#define INTERLEAVE_HIGH(a, b) (float8)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define LANES_LOG2            3
#else
#define INTERLEAVE_LOW(a, b)                                                                       \
    (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6,  \
              a.s7, b.s7)
#define INTERLEAVE_HIGH(a, b)                                                                      \
    (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se,  \
              a.sf, b.sf)
#define LANES_LOG2 4
#endif

/* Transposes LANES vectors of LANES numbers by LANES_LOG2 perfect shuffles. */
static inline void transpose(real *v)
{
    real t[LANES];
#pragma unroll
    for (int round = 0; round < LANES_LOG2; round++) {
#pragma unroll
        for (int i = 0; i < LANES / 2; i++) {
            t[2 * i] = INTERLEAVE_LOW(v[i], v[i + LANES / 2]);
            t[2 * i + 1] = INTERLEAVE_HIGH(v[i], v[i + LANES / 2]);
        }
#pragma unroll
        for (int i = 0; i < LANES; i++)
            v[i] = t[i];
    }
}

/* LANES pairs of rows at a time, a pair a lane: the rows lie in memory along x, so LANES x LANES
 * blocks are transposed on the way into local memory and out again. */
static inline void pairs_load(global const stored *spectrum, global const uint4 *pairs,
                              local work_t *work, uint first_pair, uint c)
{
    if (first_pair >= PAIRS)
        return;
    for (uint block = 0; block < X_LANES; block++) {
        real lre[LANES], lim[LANES], rre[LANES], rim[LANES];
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            const uint4 at = pairs[min(first_pair + i, (uint)PAIRS - 1)];
            const cplx zp = c_load(spectrum, SPECTRUM(at.x, block));
            const cplx zm = c_load(spectrum, SPECTRUM(at.y, block));
            const cplx l = LEFT_HALF(zp, zm), r = RIGHT_HALF(zp, zm);
            lre[i] = l.re;
            lim[i] = l.im;
            rre[i] = r.re;
            rim[i] = r.im;
        }
        transpose(lre);
        transpose(lim);
        transpose(rre);
        transpose(rim);
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            work_put(work, ROW_AT(block * LANES + i), c_make(lre[i], lim[i]));
            work_put(work, ROW_AT(block * LANES + i + X_HALF), c_make(rre[i], rim[i]));
        }
    }
}

/* Numbers in `work` are swapped, those in the spectrum too. */
static inline void pairs_store(global stored *spectrum, global const uint4 *pairs,
                               local const work_t *work, uint first_pair, uint c)
{
    for (uint block = 0; block < X_LANES; block++) {
        real lre[LANES], lim[LANES], rre[LANES], rim[LANES];
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            const cplx l = c_swap(work_get(work, ROW_AT(block * LANES + i)));
            const cplx r = c_swap(work_get(work, ROW_AT(block * LANES + i + X_HALF)));
            lre[i] = l.re;
            lim[i] = l.im;
            rre[i] = r.re;
            rim[i] = r.im;
        }
        transpose(lre);
        transpose(lim);
        transpose(rre);
        transpose(rim);
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            if (first_pair + i >= PAIRS)
                continue;
            const uint4 at = pairs[first_pair + i];
            const cplx l = c_make(lre[i], lim[i]), r = c_make(rre[i], rim[i]);
            c_store(c_swap(ROW_PLUS(l, r)), spectrum, SPECTRUM(at.x, block));
            if (at.y != at.x)
                c_store(c_swap(ROW_MINUS(l, r)), spectrum, SPECTRUM(at.y, block));
        }
    }
}

#define LOAD_ROWS                                                                                  \
    for (uint c = get_local_id(0); c < ROWS; c += ROW_GROUP)                                       \
        pairs_load(spectrum, pairs, work, ((uint)get_group_id(0) * ROWS + c) * LANES, c);          \
    SYNC
#define STORE_ROWS                                                                                 \
    SYNC for (uint c = get_local_id(0); c < ROWS; c += ROW_GROUP)                                  \
        pairs_store(spectrum, pairs, work, ((uint)get_group_id(0) * ROWS + c) * LANES, c);
#define PAIRS_GET EACH(X_R0)(ROW_GET)
#define PAIRS_PUT EACH(X_R0)(ROW_PUT)
#define RESPONSE_AT(e)                                                                             \
    (min((uint)get_group_id(0) * ROWS + c, (uint)(PAIRS - 1) / LANES) * X_LENGTH + (e))

#endif

#define ROW_TWIDDLE(j) TWIDDLE(x[j], R, j, M, T, p)
#define ROW_PRODUCT(j)                                                                             \
    {                                                                                              \
        const real h = response_load(response, RESPONSE_AT(e + (j)));                              \
        x[j] = c_swap(c_weigh(x[j], HALF_STORAGE ? h * ROW_SCALE : h));                            \
    }

/* The first stage of all forward and the last of all back are where rows come from and go to; the
 * last stage forward and the first back have the same legs, and the product stands between them. */
#define ROW_FORWARD(i)                                                                             \
    ROW_STAGE(i)                                                                                   \
    ROW_FROM_##i DFT(X_R##i)(x);                                                                   \
    EACH(X_R##i)(ROW_TWIDDLE) EACH(X_R##i)(ROW_PUT)                                                \
    }

#define ROW_MIDDLE(i)                                                                              \
    ROW_STAGE(i)                                                                                   \
    ROW_FROM_##i DFT(X_R##i)(x);                                                                   \
    EACH(X_R##i)(ROW_PRODUCT) DFT(X_R##i)(x);                                                      \
    ROW_TO_##i                                                                                     \
    }

#define ROW_INVERSE(i)                                                                             \
    ROW_STAGE(i)                                                                                   \
    EACH(X_R##i)(ROW_GET) EACH(X_R##i)(ROW_TWIDDLE) DFT(X_R##i)(x);                                \
    ROW_TO_##i                                                                                     \
    }

kernel __attribute__((reqd_work_group_size(ROW_GROUP, 1, 1))) void
rows(global stored *restrict spectrum, global const uint4 *restrict pairs,
     global const stored *restrict response, global const float2 *restrict twiddle,
     local row_work_t *work)
{
    X_EACH_STAGE(ROW_PRIVATE, NOTHING_BETWEEN)
    LOAD_ROWS
    X_OUTER_STAGES(ROW_FORWARD, ROW_NEXT)
    X_LAST_STAGE(ROW_MIDDLE)
    X_OUTER_STAGES_BACK(ROW_INVERSE, ROW_NEXT)
    STORE_ROWS
}
