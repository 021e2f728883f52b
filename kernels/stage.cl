/* One radix stage of a transform, and the tables behind it.
 *
 * Forward: decimation in frequency. A stage of radix R and span M works on blocks of R M
 * elements; butterfly p of a block takes the elements p, p + M, ..., p + (R - 1) M, transforms
 * them, multiplies leg j by exp(-2 pi i j p / (R M)) and puts them back where they were. After
 * the last stage (M = 1) element q holds the frequency whose mixed-radix digits are q's, in
 * reverse order (plan.c); nobody ever sorts it, the response is stored in that order.
 *
 * Inverse: the same stages backwards with everything mirrored (decimation in time), on swapped
 * numbers (c_swap), for which the inverse transform is the forward one: the same butterflies, the
 * same twiddles.
 *
 * U is the axis that is transformed first, and back last, V the one in between: columns first, U is
 * y and V is x; ROWS_FIRST, the other way round. The prologue gives each axis A its A_LENGTH, A_STAGES, and for stage i A_R<i> (radix),
 * A_M<i> (span) and A_T<i> (where its twiddles begin: leg j's factor for butterfly p lies at
 * A_T + (j - 1) M + p), and lists of stages to apply macros to: A_EACH_STAGE(F, BETWEEN) is
 * F(0) BETWEEN(0, 1) F(1) BETWEEN(1, 2) ...; A_EACH_STAGE_BACK begins with the last stage;
 * A_OUTER_STAGES is A_EACH_STAGE without the last F, A_OUTER_STAGES_BACK the other way round;
 * A_LAST_STAGE(F) is that F. Of the staged technique, A_OUTER_PASSES(ONE, TWO) and A_LAST_PASS are
 * ONE(i) or TWO(i, i + 1) for each dispatch. */

#define EACH_2(F)    F(0) F(1)
#define EACH_3(F)    EACH_2(F) F(2)
#define EACH_4(F)    EACH_3(F) F(3)
#define EACH_5(F)    EACH_4(F) F(4)
#define EACH_6(F)    EACH_5(F) F(5)
#define EACH_7(F)    EACH_6(F) F(6)
#define EACH_8(F)    EACH_7(F) F(7)
#define EACH_9(F)    EACH_8(F) F(8)
#define EACH_10(F)   EACH_9(F) F(9)
#define EACH_12(F)   EACH_10(F) F(10) F(11)
#define EACH_15(F)   EACH_12(F) F(12) F(13) F(14)
#define EACH_16(F)   EACH_15(F) F(15)

/* The legs of a butterfly in halves: j and j + R / 2, for an even R. */
#define HALF_2       1
#define HALF_4       2
#define HALF_6       3
#define HALF_8       4
#define HALF_10      5
#define HALF_12      6
#define HALF_16      8
#define EACH_1(F)    F(0)

#define EACH(R)      PASTE(EACH_, R)
#define EACH_HALF(R) EACH(PASTE(HALF_, R))
#define DFT(R)       PASTE(dft_, R)

#define NOTHING_BETWEEN(a, b)

/* Leg j's factor of butterfly p, of R legs: read from the table, combined of two that are (the
 * factors of legs 1, 2, 3, 4, 8, 12 make those of all others), or computed. Leg 0's is 1, and so are
 * all where the span is 1. */
#define TABLE_AT(j, M, T, p) twiddle[(T) + ((j) > 0 ? (j)-1 : 0) * (M) + (p)]
#if COMPUTE_TWIDDLES
#define FACTOR(R, j, M, T, p)                                                                      \
    (float2)(cospi((float)((j) * (p)) * (-2.f / ((R) * (M)))),                                     \
             sinpi((float)((j) * (p)) * (-2.f / ((R) * (M)))))
#elif COMBINE_TWIDDLES
#define FACTOR(R, j, M, T, p)                                                                      \
    ((j) < 4 || (j) % 4 == 0                                                                       \
         ? TABLE_AT(j, M, T, p)                                                                    \
         : factor_times(TABLE_AT((j) & ~3, M, T, p), TABLE_AT((j)&3, M, T, p)))
static inline float2 factor_times(float2 a, float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
#else
#define FACTOR(R, j, M, T, p) TABLE_AT(j, M, T, p)
#endif
#define TWIDDLE(x, R, j, M, T, p)                                                                  \
    if ((j) > 0 && (M) > 1)                                                                        \
        x = c_twiddle(x, FACTOR(R, j, M, T, p));

#define FIRST_ELEMENT(R, M, b) ((b) / (M) * ((M) * (R)) + (b) % (M))

/* Where a line's stage i along V takes its legs from and puts them: stage 0 is where pairs of lines
 * come apart and together (PAIRS_GET, PAIRS_PUT), the others work on elements of a line (V_GET,
 * V_PUT). Each technique defines those four. */
#define V_FROM_0             PAIRS_GET
#define V_TO_0               PAIRS_PUT
#define V_FROM_1             EACH(V_R1)(V_GET)
#define V_TO_1               EACH(V_R1)(V_PUT)
#define V_FROM_2             EACH(V_R2)(V_GET)
#define V_TO_2               EACH(V_R2)(V_PUT)
#define V_FROM_3             EACH(V_R3)(V_GET)
#define V_TO_3               EACH(V_R3)(V_PUT)
#define V_FROM_4             EACH(V_R4)(V_GET)
#define V_TO_4               EACH(V_R4)(V_PUT)
#define V_FROM_5             EACH(V_R5)(V_GET)
#define V_TO_5               EACH(V_R5)(V_PUT)
#define V_FROM_6             EACH(V_R6)(V_GET)
#define V_TO_6               EACH(V_R6)(V_PUT)
#define V_FROM_7             EACH(V_R7)(V_GET)
#define V_TO_7               EACH(V_R7)(V_PUT)
