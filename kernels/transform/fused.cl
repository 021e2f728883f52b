/* The fused technique: three dispatches a frame, so that each intermediate byte is written to and
 * read from main memory once.
 *
 *   forward   image -> spectrum      loads, extends the border, transforms along U
 *   middle    spectrum -> spectrum   transforms along V, multiplies by H, transforms back
 *   inverse   spectrum -> image      transforms back along U, rounds, clamps, stores
 *
 * pack.cl explains how a real image becomes a complex one of half the size, and which lines form a
 * pair. With columns first, `forward` and `inverse` access a few neighbouring samples of the image
 * at a time. With rows first, they access whole rows of the image, and the spectrum in pieces of
 * one memory sector.
 *
 * Files, in the order of the source:
 *   fused.cl            this file: local memory
 *   fused_stage.cl      template, once for each stage of both axes: butterflies and local memory
 *   fused_u.cl          template, once for each stage along U
 *   fused_larger.cl     template, once for each stage along V of a larger transform
 *   fused_v.cl          template, once for each stage along V
 *   fused_complete.cl   lines that a load completes: where they are
 *   fused_weigh.cl      template, for the last stage along V: what completes them, or begins there
 *   fused_kernels.cl    the three kernels
 *
 * A smaller picture is made by two programs. That of the larger transform (IS_LARGER) has only
 * `forward`. That of the smaller one (IS_SMALLER), whose image is the result, has the other
 * kernels: `middle` transforms pairs of lines of the larger spectrum along V, keeps their lowest
 * frequencies and goes on with these in the lengths of the smaller picture. Where several results
 * are made of one spectrum, a result of the same size has a program like that (IS_APART), whose
 * `middle` reads one spectrum and writes another.
 *
 * With several lanes the load of several results also completes lines for them (COMPLETES): its
 * `complete` transforms along V the pairs that several results need, and their `middle`
 * begins with these where it has them. Numbers are stored as they are held, so results do not
 * depend on it.
 *
 * Data:
 *   spectrum, pairs, frequencies: pack.cl.
 *   response: H for pair k at element e of a line along V, which is leg j of butterfly b of the
 *   last stage. Its order depends on the kind of lanes:
 *     LANES > 1     [k / LANES][e][k % LANES]
 *     LANES == 1    [k][j][b], because neighbouring items have neighbouring butterflies
 *     ROWS_FIRST    [k / V_LINES][j][b][k % V_LINES], because they have neighbouring pairs
 *   twiddle: stage.cl.
 *   completed[k / LANES][e][k % LANES]: element e of pair k of the load, transformed along V.
 *
 * Work-items: a group of U_GROUP or V_GROUP items shares `work` in local memory. It transforms
 * U_LINES groups of LANES lines, or V_LINES groups of LANES pairs of lines. Group g begins with
 * line g U_LINES or pair g V_LINES, counted in groups of LANES. Neighbouring items take
 * neighbouring lines, which are adjacent in `work`. A second dimension counts images (batch.cl).
 * Launched by transform_frame_enqueue (daemon/transform/frame.c) as listed by fused.c. */

static inline void sync_group(void)
{
#if U_GROUP > 1 || V_GROUP > 1 /* with one item a barrier only hinders the compiler */
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

/* The type of the kernels' local argument determines its alignment: NVIDIA's driver places an array
 * of floats at offset 4, where no float2 may be. */
#if LANES == 1
typedef float2 work_t;
#else
typedef real work_t;
#endif

#if U_HELD
typedef float work_u_t;
#else
typedef work_t work_u_t;
#endif

#if V_HELD
typedef float work_v_t;
#else
typedef work_t work_v_t;
#endif

#if IS_SMALLER || (IS_LARGER && COMPLETES)
typedef work_t work_l_t;
#endif

#if IS_SMALLER

#define LARGER_PARTS (LARGER_LANES / LANES)

/* As spectrum_at, in the spectrum of the larger transform. */
static inline uint larger_at(uint place, uint across)
{
#if ROWS_FIRST
    return place / LARGER_LINES * (LARGER_PITCH - LARGER_LINES) + across * LARGER_LINES + place;
#else
    return place * LARGER_PITCH + across;
#endif
}
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

/* Returns the index in local memory of element e of a line. The legs of a butterfly of the last
 * stage are adjacent, so neighbouring butterflies are one radix apart. An even radix would put them
 * into few memory banks, so SKEW leaves a gap after each butterfly. `unit` is that radix. The span
 * of every other stage is a multiple of it, so the distance between two legs is constant within a
 * stage. */
static inline uint skewed(uint e, uint unit)
{
    return SKEW && unit % 2 == 0 ? e + e / unit : e;
}

static inline uint leg_distance(uint span, uint unit)
{
    return span + (SKEW && unit % 2 == 0 ? span / unit : 0);
}

/* A band (pack.cl). `forward` and `inverse` compare the frequency of each line with it; `middle`
 * has only its pairs. */
struct band {
    global const ushort *frequencies;
    uint count;
};

struct pairs {
    global const uint2 *places;
    uint count;
};

/* Runs `call` for each butterfly of the work-item in a stage: it is the butterfly `item`, and its
 * legs are in x, which are held, or only there for the call (fused_stage.cl). */
#define EACH_ITEM PASTE(EACH_, HELD)
#define EACH_0(call)                                                                               \
    for (uint item = get_local_id(0); item < ITEMS; item += GROUP) {                               \
        cplx x[RADIX];                                                                             \
        call;                                                                                      \
    }
#define EACH_1(call)                                                                               \
    _Pragma("unroll") for (uint round = 0; round < ROUNDS; round++)                                \
    {                                                                                              \
        const uint item = get_local_id(0) + round * GROUP;                                         \
        cplx *const x = held + round * RADIX;                                                      \
        if (ITEMS % GROUP == 0 || item < ITEMS)                                                    \
            call;                                                                                  \
    }

/* The position of a butterfly. */
struct butterfly {
    uint line;    /* among the lines of the group */
    uint number;  /* within its line */
    uint turn;    /* within its block: p of stage.cl */
    uint element; /* index of leg 0 in the line */
    uint at;      /* index of leg 0 in local memory */
};
