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

/* Where group `at` across V is at place q along U; 32 bits hold it for the longest axes. */
#if ROWS_FIRST
#define SPECTRUM(q, at) ((q) / V_LINES * (SPECTRUM_PITCH - V_LINES) + (at)*V_LINES + (q))
#else
#define SPECTRUM(q, at) ((q)*SPECTRUM_PITCH + (at))
#endif

/* Where a sample is: (x + dx, y + dy) of the padded image, dx and dy being constants of a leg, so
 * that its legs are at constant distances from one address; and whether it is known when the kernel
 * is compiled that it is in the image, and not in its border. */
struct place {
    uint x, dx, y, dy;
    bool x_inside, y_inside;
};

/* The sample of A, or of B, at (u + leg, v). */
#if ROWS_FIRST
#define U_IMAGE                       IMAGE_WIDTH
#define V_IMAGE                       IMAGE_HEIGHT
#define PLACE(u, leg, u_in, v, v_in)  (struct place){u, leg, v, 0, u_in, v_in}
#else
#define U_IMAGE                       IMAGE_HEIGHT
#define V_IMAGE                       IMAGE_WIDTH
#define PLACE(u, leg, u_in, v, v_in)  (struct place){v, 0, u, leg, v_in, u_in}
#endif
#define PLACE_OF_A(u, leg, inside, v) PLACE(u, leg, inside, v, V_HALF <= V_IMAGE)
#define PLACE_OF_B(u, leg, inside, v) PLACE(u, leg, inside, (v) + V_HALF, V_LENGTH == V_IMAGE)

/* Leg j of a first stage's butterfly is at j M .. (j + 1) M - 1 along U. */
#define LEG_INSIDE(j, M) (((j) + 1) * (M) <= U_IMAGE)

static inline real half_load(global const uchar *image, global const int *map_x,
                             global const int *map_y, struct place at)
{
    const int y = at.y + at.dy;
    return samples_load(image, map_x, at.x, at.dx, at.x_inside,
                        at.y_inside || y < IMAGE_HEIGHT ? y : map_y[y]);
}

static inline cplx packed_load(global const uchar *image, global const int *map_x,
                               global const int *map_y, uint u, uint leg, bool inside, uint v)
{
    const cplx z = c_make(half_load(image, map_x, map_y, PLACE_OF_A(u, leg, inside, v)),
                          half_load(image, map_x, map_y, PLACE_OF_B(u, leg, inside, v)));
    return HALF_STORAGE ? c_scale(z, LOAD_SCALE) : z;
}

static inline void half_store(global uchar *result, global const uchar *image, struct place at,
                              real value)
{
    const int y = at.y + at.dy;
    if (at.y_inside || y < IMAGE_HEIGHT)
        samples_store(result, image, at.x, at.dx, at.x_inside, y,
                      HALF_STORAGE ? value * STORE_SCALE : value);
}

/* Swapped numbers: B is in the real parts. */
static inline void packed_store(global uchar *result, global const uchar *image, uint u, uint leg,
                                bool inside, uint v, cplx z)
{
    half_store(result, image, PLACE_OF_A(u, leg, inside, v), z.im);
    half_store(result, image, PLACE_OF_B(u, leg, inside, v), z.re);
}

/* From lines ku and -ku to twice the transforms of A and B, and back. */
#define A_OF(zp, zm)     c_add(zp, c_conj(zm))
#define B_OF(zp, zm)     c_minus_i(c_sub(zp, c_conj(zm)))
#define LINE_PLUS(a, b)  c_add_i(a, b)
#define LINE_MINUS(a, b) c_add_i(c_conj(a), c_conj(b))
