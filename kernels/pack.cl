/* The packing of a real image into half as large a complex one.
 *
 * The padded image is cut across V, the axis transformed second, into halves A and B, which become
 * the complex image  A + i B, U_LENGTH x V_HALF, whose lines along U are transformed as they are.
 * In its lines ku and -ku along V together lie the transforms (along U) of A's and of B's part of
 * line ku:  2 A = Z(ku) + conj Z(-ku),  2 i B = Z(ku) - conj Z(-ku).
 * A followed by B is one line of the image, transformed along U; its line -ku is the conjugate and
 * need not be computed: there are U_LENGTH / 2 + 1 pairs of lines to do. In float the factors
 * 1/2 and 1 / (U_LENGTH V_LENGTH) are in H. In half, whose largest number is 65504, the scale is
 * split (LOAD_SCALE, PRODUCT_SCALE, STORE_SCALE) so that no stored number overflows and H keeps its
 * own range.
 *
 * Data:
 *   spectrum, columns first: a row for each frequency along U, in the order that the transform
 *   leaves, of V_HALF complex numbers in groups of LANES neighbours (complex.cl); rows are
 *   SPECTRUM_PITCH groups apart.
 *   Rows first: panels of V_LINES frequencies, which one group carries in the middle; in a panel a
 *   row of V_LINES numbers for each line, LANES is 1; panels are SPECTRUM_PITCH numbers apart. The
 *   order is the transform's but for the last stage's legs: leg j of butterfly b is at
 *   j (U_LENGTH / radix) + b, so that neighbouring items store and load neighbouring numbers.
 *   pairs[k], k = 0 .. PAIRS - 1: .x where along U frequency ku is, .y where -ku is; for 0 and
 *   half the length they are the same. .z is where the staged technique keeps B between its
 *   dispatches: .y, or a spare row where .y is .x. Neighbouring pairs are neighbours in the spectrum
 *   too, wherever that is possible (plan.c). */

#define V_HALF  (V_LENGTH / 2)
#define V_LANES (V_HALF / LANES) /* groups of LANES lines along U */
#define PAIRS   (U_LENGTH / 2 + 1)

/* Where group `at` across V is at place q along U. */
#if ROWS_FIRST
#define SPECTRUM(q, at) ((q) / V_LINES * (SPECTRUM_PITCH - V_LINES) + (at)*V_LINES + (q))
#else
#define SPECTRUM(q, at) ((size_t)(q) * SPECTRUM_PITCH + (at))
#endif

/* The sample of A, or of B, at (u, v). */
#define X_OF(u, v) (ROWS_FIRST ? (u) : (v))
#define Y_OF(u, v) (ROWS_FIRST ? (v) : (u))

static inline real half_load(global const uchar *image, global const int *map_x,
                             global const int *map_y, int x, int y)
{
    return samples_load(image, map_x, x, y < IMAGE_HEIGHT ? y : map_y[y]);
}

static inline cplx packed_load(global const uchar *image, global const int *map_x,
                               global const int *map_y, int u, int v)
{
    const cplx z =
        c_make(half_load(image, map_x, map_y, X_OF(u, v), Y_OF(u, v)),
               half_load(image, map_x, map_y, X_OF(u, v + V_HALF), Y_OF(u, v + V_HALF)));
    return HALF_STORAGE ? c_scale(z, LOAD_SCALE) : z;
}

static inline void half_store(global uchar *result, global const uchar *image, int x, int y,
                              real value)
{
    if (y < IMAGE_HEIGHT)
        samples_store(result, image, x, y, HALF_STORAGE ? value * STORE_SCALE : value);
}

/* Swapped numbers: B is in the real parts. */
static inline void packed_store(global uchar *result, global const uchar *image, int u, int v,
                                cplx z)
{
    half_store(result, image, X_OF(u, v), Y_OF(u, v), z.im);
    half_store(result, image, X_OF(u, v + V_HALF), Y_OF(u, v + V_HALF), z.re);
}

/* From lines ku and -ku to twice the transforms of A and B, and back. */
#define A_OF(zp, zm)     c_add(zp, c_conj(zm))
#define B_OF(zp, zm)     c_minus_i(c_sub(zp, c_conj(zm)))
#define LINE_PLUS(a, b)  c_add_i(a, b)
#define LINE_MINUS(a, b) c_add_i(c_conj(a), c_conj(b))
