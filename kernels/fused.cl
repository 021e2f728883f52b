/* The fused technique: three dispatches a frame, every intermediate byte crosses main memory once
 * each way.
 *
 *   forward   image -> spectrum      loads, extends the border, transforms along U
 *   middle    spectrum -> spectrum   transforms along V, multiplies by H, transforms back
 *   inverse   spectrum -> image      transforms back along U, rounds, clamps, stores
 *
 * How a real image becomes half a complex one, and which lines make a pair: pack.cl. Columns first,
 * `forward` and `inverse` meet the image a few neighbouring samples at a time; rows first, whole rows
 * of it, and the spectrum in short pieces instead, which are whole sectors of memory.
 *
 * Data:
 *   spectrum, pairs: pack.cl; the third and fourth member of a pair are not used.
 *   response: H for pair k at element e of a line transformed along V, e being leg j of butterfly b
 *   of the last stage:
 *     LANES > 1      [k / LANES][e][k % LANES]
 *     LANES == 1     [k][j][b], for neighbouring items have neighbouring butterflies
 *     ROWS_FIRST     [k / V_LINES][j][b][k % V_LINES], for they have neighbouring pairs first
 *   twiddle: stage.cl.
 *
 * Work-items: a group (U_GROUP or V_GROUP items) shares `work` in local memory and carries U_LINES
 * groups of LANES lines, or V_LINES groups of LANES pairs of lines, group g those from g U_LINES or
 * g V_LINES on. Neighbouring items take neighbouring lines, which lie in `work` side by side. A
 * second dimension counts images (batch.cl). Launched by dispatch.c (list_fused_dispatches). */

#if U_GROUP > 1 || V_GROUP > 1
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
#define LEG_STEP(M, UNIT)  ((M) + (HAS_GAPS(UNIT) ? (M) / (UNIT) : 0))
#define U_UNIT             PASTE(U_R, U_LAST)
#define V_UNIT             PASTE(V_R, V_LAST)

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

/* How a group goes through the butterflies of axis A's stage i. Opens a bracket that its user
 * closes. x: the butterfly's legs; c, b: its line and its number there, of n; e: its first element;
 * at, step: where its legs are in `work`. */
#define STAGE(A, i)                                                                                \
    PASTE(STAGE_, A##_HELD)(A, i)                                                                  \
    const uint R = A##_R##i, M = A##_M##i, T = A##_T##i, n = A##_LENGTH / A##_R##i;                \
    const uint c = t % A##_LINES, b = t / A##_LINES, p = b % M;                                    \
    const uint e = FIRST_ELEMENT(R, M, b);                                                         \
    const uint at = SKEWED(e, A##_UNIT) * A##_LINES + c;                                           \
    const uint step = LEG_STEP(M, A##_UNIT) * A##_LINES;
#define ITEMS(A, i)   (A##_LENGTH / A##_R##i * A##_LINES)
#define PRIVATE(A, i) PASTE(PRIVATE_, A##_HELD)(A, i)
#define NEXT(A, a, b) PASTE(NEXT_, A##_HELD)(A, a, b)

/* In place (A_HELD 0): every stage takes its butterflies from `work` and puts them back where they
 * were, one after another. */
#define PRIVATE_0(A, i)
#define STAGE_0(A, i)                                                                              \
    for (uint t = get_local_id(0); t < ITEMS(A, i); t += A##_GROUP) {                              \
        cplx x[A##_R##i];
#define GET_0(j)         x[j] = work_get(work, at + (j)*step);
#define PUT_0(j)         work_put(work, at + (j)*step, x[j]);
#define NEXT_0(A, a, b)  SYNC

/* Held (A_HELD 1): all butterflies of a stage stay in registers, and `work` only passes them on to
 * the items that need them next, first the real parts and then the imaginary ones: half the local
 * memory, so that twice as many columns fit side by side, or more groups on a core. What an item
 * puts, it puts where only itself has read before; so there are three barriers to a pass and not
 * four. */
#define ROUNDS(A, i)     ((ITEMS(A, i) + A##_GROUP - 1) / A##_GROUP)
#define PRIVATE_1(A, i)  cplx held_##i[ROUNDS(A, i)][A##_R##i];
#define STAGE_1(A, i)                                                                              \
    _Pragma("unroll") for (uint u = 0; u < ROUNDS(A, i); u++)                                      \
    {                                                                                              \
        const uint t = get_local_id(0) + u * A##_GROUP;                                            \
        if (ITEMS(A, i) % A##_GROUP != 0 && t >= ITEMS(A, i))                                      \
            continue;                                                                              \
        cplx *x = held_##i[u];
#define GET_1(j)
#define PUT_1(j)
#define PUT_RE(j) work[at + (j)*step] = x[j].re;
#define PUT_IM(j) work[at + (j)*step] = x[j].im;
#define GET_RE(j) x[j].re = work[at + (j)*step];
#define GET_IM(j) x[j].im = work[at + (j)*step];
#define PASS(A, i, LEG)                                                                            \
    STAGE(A, i)                                                                                    \
    EACH(A##_R##i)(LEG)                                                                            \
    }
#define NEXT_1(A, a, b)                                                                            \
    PASS(A, a, PUT_RE)                                                                             \
    SYNC PASS(A, b, GET_RE) SYNC PASS(A, a, PUT_IM) SYNC PASS(A, b, GET_IM)

#define TURN(j) TWIDDLE(x[j], R, j, M, T, p)

/* ---- along U ------------------------------------------------------------------------------- */

#if U_HELD
typedef float u_work_t;
#else
typedef work_t u_work_t;
#endif
#define U_PRIVATE(i) PRIVATE(U, i)
#define U_NEXT(a, b) NEXT(U, a, b)
#define U_GET(j)     PASTE(GET_, U_HELD)(j)
#define U_PUT(j)     PASTE(PUT_, U_HELD)(j)

/* A group at the end may have lines too many: they repeat the last one and are not stored. */
#define U_STAGE(i)                                                                                 \
    const bool innermost = (i) == U_STAGES - 1, outermost = (i) == 0;                              \
    STAGE(U, i)                                                                                    \
    const uint wanted = (uint)get_group_id(0) * U_LINES + c;                                       \
    const uint line = min(wanted, (uint)V_LANES - 1);

/* Where leg j of an innermost butterfly is in the spectrum. Panels between legs: a constant. */
#if !ROWS_FIRST
#define U_PLACE(j) SPECTRUM(e + (j), line)
#elif U_LENGTH / PASTE(U_R, U_LAST) % V_LINES == 0
#define U_PLACE(j) (SPECTRUM(b, line) + (j) * (n / V_LINES * SPECTRUM_PITCH))
#else
#define U_PLACE(j) SPECTRUM((j)*n + b, line)
#endif

#define FORWARD_GET(j)                                                                             \
    if (outermost) {                                                                               \
        x[j] = packed_load(image, map_x, map_y, e, (j)*M, LEG_INSIDE(j, M), line * LANES);         \
    } else {                                                                                       \
        U_GET(j)                                                                                   \
    }
#define FORWARD_PUT(j)                                                                             \
    TURN(j)                                                                                        \
    if (!innermost) {                                                                              \
        U_PUT(j)                                                                                   \
    } else if (line == wanted) {                                                                   \
        c_store(x[j], spectrum, U_PLACE(j));                                                       \
    }
#define FORWARD(i)                                                                                 \
    {                                                                                              \
        U_STAGE(i)                                                                                 \
        EACH(U_R##i)(FORWARD_GET) DFT(U_R##i)(x);                                                  \
        EACH(U_R##i)(FORWARD_PUT)                                                                  \
    }                                                                                              \
    }

kernel __attribute__((reqd_work_group_size(U_GROUP, 1, 1))) void
forward(global const uchar *restrict image, global stored *restrict spectrum,
        global const int *restrict map_x, global const int *restrict map_y,
        global const float2 *restrict twiddle, local u_work_t *work)
{
    image += MY_IMAGE;
    spectrum += MY_SPECTRUM;
    U_EACH_STAGE(U_PRIVATE, NOTHING_BETWEEN)
    U_EACH_STAGE(FORWARD, U_NEXT)
}

#define INVERSE_GET(j)                                                                             \
    if (innermost) {                                                                               \
        x[j] = c_load(spectrum, U_PLACE(j));                                                       \
    } else {                                                                                       \
        U_GET(j)                                                                                   \
    }                                                                                              \
    TURN(j)
#define INVERSE_PUT(j)                                                                             \
    if (!outermost) {                                                                              \
        U_PUT(j)                                                                                   \
    } else if (line == wanted) {                                                                   \
        packed_store(result, image, e, (j)*M, LEG_INSIDE(j, M), line * LANES, x[j]);               \
    }
#define INVERSE(i)                                                                                 \
    {                                                                                              \
        U_STAGE(i)                                                                                 \
        EACH(U_R##i)(INVERSE_GET) DFT(U_R##i)(x);                                                  \
        EACH(U_R##i)(INVERSE_PUT)                                                                  \
    }                                                                                              \
    }

/* `image` is read only for what the filter passes by (KEEP_OTHERS). */
kernel __attribute__((reqd_work_group_size(U_GROUP, 1, 1))) void
inverse(global const stored *restrict spectrum, global const uchar *restrict image,
        global uchar *restrict result, global const float2 *restrict twiddle, local u_work_t *work)
{
    spectrum += MY_SPECTRUM;
    image += MY_IMAGE;
    result += MY_IMAGE;
    U_EACH_STAGE(U_PRIVATE, NOTHING_BETWEEN)
    U_EACH_STAGE_BACK(INVERSE, U_NEXT)
}

/* ---- along V ------------------------------------------------------------------------------- */

#if V_HELD
typedef float v_work_t;
#else
typedef work_t v_work_t;
#endif
#define V_PRIVATE(i) PRIVATE(V, i)
#define V_NEXT(a, b) NEXT(V, a, b)
#define V_GET(j)     PASTE(GET_, V_HELD)(j)
#define V_PUT(j)     PASTE(PUT_, V_HELD)(j)

#if LANES == 1

/* The first stage, whose radix is even, meets A in its lower legs and B in its upper ones, and
 * loads both from the same two elements. A group at the end may have pairs too many: they are zero,
 * and not the last pair over again, which others are writing back by then. */
#define PAIR_GET(j)                                                                                \
    {                                                                                              \
        cplx zp = c_make(0, 0), zm = c_make(0, 0);                                                 \
        if (pair < PAIRS) {                                                                        \
            zp = c_load(spectrum, SPECTRUM(places.x, e + (j)*M));                                  \
            zm = c_load(spectrum, SPECTRUM(places.y, e + (j)*M));                                  \
        }                                                                                          \
        x[j] = A_OF(zp, zm);                                                                       \
        x[j + V_R0 / 2] = B_OF(zp, zm);                                                            \
    }
#define PAIR_PUT(j)                                                                                \
    if (pair < PAIRS) {                                                                            \
        const cplx l = c_swap(x[j]), r = c_swap(x[j + V_R0 / 2]);                                  \
        c_store(c_swap(LINE_PLUS(l, r)), spectrum, SPECTRUM(places.x, e + (j)*M));                 \
        if (places.y != places.x)                                                                  \
            c_store(c_swap(LINE_MINUS(l, r)), spectrum, SPECTRUM(places.y, e + (j)*M));            \
    }

#define PAIR_OF_LINES                                                                              \
    const uint pair = (uint)get_group_id(0) * V_LINES + c;                                         \
    const uint4 places = pairs[min(pair, (uint)PAIRS - 1)];

#define LOAD_LINES
#define STORE_LINES
#define PAIRS_GET                                                                                  \
    {                                                                                              \
        PAIR_OF_LINES EACH_HALF(V_R0)(PAIR_GET)                                                    \
    }
#define PAIRS_PUT                                                                                  \
    {                                                                                              \
        PAIR_OF_LINES EACH_HALF(V_R0)(PAIR_PUT)                                                    \
    }
#if ROWS_FIRST
#define RESPONSE_AT(j) (((uint)get_group_id(0) * V_LENGTH + (j)*n + b) * V_LINES + c)
#else
#define RESPONSE_AT(j)                                                                             \
    (min((uint)get_group_id(0) * V_LINES + c, (uint)PAIRS - 1) * V_LENGTH + (j)*n + b)
#endif

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

/* The place of element e of line c in `work`. */
#define WORK_AT(c, e) (SKEWED(e, V_UNIT) * V_LINES + (c))

/* LANES pairs of lines at a time, a pair a lane: V lies along memory, so LANES x LANES blocks are
 * transposed on the way into local memory and out again. */
static inline void pairs_load(global const stored *spectrum, global const uint4 *pairs,
                              local work_t *work, uint first_pair, uint c)
{
    if (first_pair >= PAIRS)
        return;
    for (uint block = 0; block < V_LANES; block++) {
        real are[LANES], aim[LANES], bre[LANES], bim[LANES];
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            const uint4 places = pairs[min(first_pair + i, (uint)PAIRS - 1)];
            const cplx zp = c_load(spectrum, SPECTRUM(places.x, block));
            const cplx zm = c_load(spectrum, SPECTRUM(places.y, block));
            const cplx za = A_OF(zp, zm), zb = B_OF(zp, zm);
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
            work_put(work, WORK_AT(c, block * LANES + i), c_make(are[i], aim[i]));
            work_put(work, WORK_AT(c, block * LANES + i + V_HALF), c_make(bre[i], bim[i]));
        }
    }
}

/* Numbers in `work` are swapped, those in the spectrum too. */
static inline void pairs_store(global stored *spectrum, global const uint4 *pairs,
                               local const work_t *work, uint first_pair, uint c)
{
    for (uint block = 0; block < V_LANES; block++) {
        real are[LANES], aim[LANES], bre[LANES], bim[LANES];
#pragma unroll
        for (uint i = 0; i < LANES; i++) {
            const cplx za = c_swap(work_get(work, WORK_AT(c, block * LANES + i)));
            const cplx zb = c_swap(work_get(work, WORK_AT(c, block * LANES + i + V_HALF)));
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
            if (first_pair + i >= PAIRS)
                continue;
            const uint4 places = pairs[first_pair + i];
            const cplx za = c_make(are[i], aim[i]), zb = c_make(bre[i], bim[i]);
            c_store(c_swap(LINE_PLUS(za, zb)), spectrum, SPECTRUM(places.x, block));
            if (places.y != places.x)
                c_store(c_swap(LINE_MINUS(za, zb)), spectrum, SPECTRUM(places.y, block));
        }
    }
}

#define LOAD_LINES                                                                                 \
    for (uint c = get_local_id(0); c < V_LINES; c += V_GROUP)                                      \
        pairs_load(spectrum, pairs, work, ((uint)get_group_id(0) * V_LINES + c) * LANES, c);       \
    SYNC
#define STORE_LINES                                                                                \
    SYNC for (uint c = get_local_id(0); c < V_LINES; c += V_GROUP)                                 \
        pairs_store(spectrum, pairs, work, ((uint)get_group_id(0) * V_LINES + c) * LANES, c);
#define PAIRS_GET EACH(V_R0)(V_GET)
#define PAIRS_PUT EACH(V_R0)(V_PUT)
#define RESPONSE_AT(j)                                                                             \
    (min((uint)get_group_id(0) * V_LINES + c, (uint)(PAIRS - 1) / LANES) * V_LENGTH + e + (j))

#endif

#define PRODUCT(j)                                                                                 \
    {                                                                                              \
        const real h = response_load(response, RESPONSE_AT(j));                                    \
        x[j] = c_swap(c_weigh(x[j], HALF_STORAGE ? h * PRODUCT_SCALE : h));                        \
    }

/* The first stage of all forward and the last of all back are where lines come from and go to; the
 * last stage forward and the first back have the same legs, and the product stands between them. */
#define V_FORWARD(i)                                                                               \
    STAGE(V, i)                                                                                    \
    V_FROM_##i DFT(V_R##i)(x);                                                                     \
    EACH(V_R##i)(TURN) EACH(V_R##i)(V_PUT)                                                         \
    }

#define V_MIDDLE(i)                                                                                \
    STAGE(V, i)                                                                                    \
    V_FROM_##i DFT(V_R##i)(x);                                                                     \
    EACH(V_R##i)(PRODUCT) DFT(V_R##i)(x);                                                          \
    V_TO_##i                                                                                       \
    }

#define V_INVERSE(i)                                                                               \
    STAGE(V, i)                                                                                    \
    EACH(V_R##i)(V_GET) EACH(V_R##i)(TURN) DFT(V_R##i)(x);                                         \
    V_TO_##i                                                                                       \
    }

kernel __attribute__((reqd_work_group_size(V_GROUP, 1, 1))) void
middle(global stored *restrict spectrum, global const uint4 *restrict pairs,
       global const stored *restrict response, global const float2 *restrict twiddle,
       local v_work_t *work)
{
    spectrum += MY_SPECTRUM;
    V_EACH_STAGE(V_PRIVATE, NOTHING_BETWEEN)
    LOAD_LINES
    V_OUTER_STAGES(V_FORWARD, V_NEXT)
    V_LAST_STAGE(V_MIDDLE)
    V_OUTER_STAGES_BACK(V_INVERSE, V_NEXT)
    STORE_LINES
}
