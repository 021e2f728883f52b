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
 * The prologue gives each axis A in X, Y its A_LENGTH, A_STAGES, and for stage i A_R<i> (radix),
 * A_M<i> (span) and A_T<i> (where its twiddles begin: leg j's factor for butterfly p lies at
 * A_T + (j - 1) M + p). */

#define EACH_2(F)  F(0) F(1)
#define EACH_3(F)  EACH_2(F) F(2)
#define EACH_4(F)  EACH_3(F) F(3)
#define EACH_5(F)  EACH_4(F) F(4)
#define EACH_6(F)  EACH_5(F) F(5)
#define EACH_7(F)  EACH_6(F) F(6)
#define EACH_8(F)  EACH_7(F) F(7)
#define EACH_9(F)  EACH_8(F) F(8)
#define EACH_10(F) EACH_9(F) F(9)
#define EACH_12(F) EACH_10(F) F(10) F(11)
#define EACH_16(F) EACH_12(F) F(12) F(13) F(14) F(15)

/* The legs of a butterfly in halves: j and j + R / 2, for an even R. */
#define HALF_2  1
#define HALF_4  2
#define HALF_6  3
#define HALF_8  4
#define HALF_10 5
#define HALF_12 6
#define HALF_16 8
#define EACH_1(F) F(0)

#define EACH(R)      PASTE(EACH_, R)
#define EACH_HALF(R) EACH(PASTE(HALF_, R))
#define DFT(R)       PASTE(dft_, R)

/* Leg j's factor of butterfly p. Leg 0's is 1, and so are all where the span is 1. */
#define TWIDDLE(x, j, M, T, p)                                                                     \
    if ((j) > 0 && (M) > 1)                                                                        \
        x = c_twiddle(x, twiddle[(T) + ((j) > 0 ? (j) - 1 : 0) * (M) + (p)]);

#define FIRST_ELEMENT(R, M, b) ((b) / (M) * ((M) * (R)) + (b) % (M))
