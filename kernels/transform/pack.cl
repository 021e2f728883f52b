/* The packing of a real image into half as large a complex one.
 *
 * The padded image is cut across V, the axis that is transformed second, into halves A and B. They
 * form the complex image  A + i B  of U_LENGTH x V_HALF, whose lines along U are transformed
 * directly. Its lines ku and -ku along V together contain the transforms (along U) of both halves:
 *     2 A = Z(ku) + conj Z(-ku),  2 i B = Z(ku) - conj Z(-ku).
 * A followed by B is line ku of the image, transformed along U. Line -ku is its conjugate and need
 * not be computed, so there are U_LENGTH / 2 + 1 pairs of lines.
 *
 * In float the factors 1/2 and 1 / PADDED_SIZE, which is U_LENGTH V_LENGTH of the captured image,
 * are in H. In half precision, whose largest number is 65504, the scale is split (LOAD_SCALE,
 * PRODUCT_SCALE, STORE_SCALE) so that no stored number overflows and H keeps its own range.
 *
 * Data:
 *   spectrum, columns first: one row for each frequency along U, in the order that the transform
 *   leaves. A row has V_HALF complex numbers in groups of LANES neighbours (complex.cl). Rows are
 *   SPECTRUM_PITCH groups apart.
 *   spectrum, rows first: panels of V_LINES frequencies along U, which one work-group of `middle`
 *   transforms together. A panel has a row of V_LINES numbers for each line; LANES is 1. Panels
 *   are SPECTRUM_PITCH numbers apart. The order along U is that of the transform except in the
 *   last stage: leg j of butterfly b is at j (U_LENGTH / radix) + b, so that neighbouring items
 *   access neighbouring numbers.
 *   pairs[k], k = 0 .. PAIRS - 1: .x is the place of frequency ku along U, .y that of -ku. They are
 *   equal for frequency 0 and for half the length. The lowest frequencies come first, so that a
 *   band is the first pairs, and with rows first neighbouring pairs are neighbours in the spectrum
 *   wherever that is possible (daemon/transform/plan.c).
 *   frequencies[e]: the frequency of element e along U, 0 .. U_LENGTH - 1, in the order that the
 *   transform leaves.
 *
 * Work-items: those of the kernels that use these functions (fused.cl, staged.cl). */

#define V_HALF  (V_LENGTH / 2)
#define V_LANES (V_HALF / LANES) /* groups of LANES lines along U */
#define PAIRS   (U_LENGTH / 2 + 1)

/* Returns whether the line at a frequency along U is in the band. `band` is a number of
 * frequencies: the band has those from 0 to band - 1, and their negatives. H is negligible on all
 * other lines (response_band, daemon/transform/response.h), so nothing reads what the spectrum has
 * there. */
static inline bool is_in_band(uint frequency, uint band)
{
    return min(frequency, U_LENGTH - frequency) < band;
}

/* Returns the index of group `across` (V) at place `place` along U. 32 bits are enough for the
 * longest axes. */
static inline uint spectrum_at(uint place, uint across)
{
#if ROWS_FIRST
    return place / V_LINES * (SPECTRUM_PITCH - V_LINES) + across * V_LINES + place;
#else
    return place * SPECTRUM_PITCH + across;
#endif
}

/* The position of a sample: (x + dx, y + dy) of the padded image. dx and dy are constants of a leg,
 * so that all legs are at constant distances from one address. The flags are true if the compiler
 * knows that the sample is in the image and not in its border. */
struct place {
    uint x, dx, y, dy;
    bool x_inside, y_inside;
};

#if ROWS_FIRST
#define U_IMAGE IMAGE_WIDTH
#define V_IMAGE IMAGE_HEIGHT
#else
#define U_IMAGE IMAGE_HEIGHT
#define V_IMAGE IMAGE_WIDTH
#endif

/* Returns the position of the sample at (u + leg, v). */
static inline struct place place_of(uint u, uint leg, bool u_inside, uint v, bool v_inside)
{
#if ROWS_FIRST
    return (struct place){u, leg, v, 0, u_inside, v_inside};
#else
    return (struct place){v, 0, u, leg, v_inside, u_inside};
#endif
}

/* Return the position of the sample of A, or of B, at that index. */
static inline struct place place_of_a(uint u, uint leg, bool inside, uint v)
{
    return place_of(u, leg, inside, v, V_HALF <= V_IMAGE);
}

static inline struct place place_of_b(uint u, uint leg, bool inside, uint v)
{
    return place_of(u, leg, inside, v + V_HALF, V_LENGTH == V_IMAGE);
}

/* Leg j of a butterfly of stage 0 is at j span .. (j + 1) span - 1 along U. */
static inline bool is_leg_inside(uint leg, uint span)
{
    return (leg + 1) * span <= U_IMAGE;
}

#if !STAGED /* staged_image.cl has its own */

static inline real half_load(captured image, global const int *map_x, global const int *map_y,
                             struct place at)
{
    const int y = at.y + at.dy;
    return samples_load(image, map_x, at.x, at.dx, at.x_inside,
                        at.y_inside || y < IMAGE_HEIGHT ? y : map_y[y]);
}

static inline cplx packed_load(captured image, global const int *map_x, global const int *map_y,
                               uint u, uint leg, bool inside, uint v)
{
    const cplx z = c_make(half_load(image, map_x, map_y, place_of_a(u, leg, inside, v)),
                          half_load(image, map_x, map_y, place_of_b(u, leg, inside, v)));
    return HALF_STORAGE ? c_scale(z, LOAD_SCALE) : z;
}

static inline void half_store(global uchar *result, captured image, struct place at, real value)
{
    const int y = at.y + at.dy;
    if (at.y_inside || y < IMAGE_HEIGHT)
        samples_store(result, image, at.x, at.dx, at.x_inside, y,
                      to_result(HALF_STORAGE ? value * STORE_SCALE : value));
}

/* Stores swapped numbers (c_swap): B is in the real parts. */
static inline void packed_store(global uchar *result, captured image, uint u, uint leg, bool inside,
                                uint v, cplx z)
{
    half_store(result, image, place_of_a(u, leg, inside, v), c_im(z));
    half_store(result, image, place_of_b(u, leg, inside, v), c_re(z));
}

#endif

#if THRESHOLDS
/* Reduces magnitudes by the threshold behind the RESPONSE_COUNT numbers of H, which belongs to the
 * spectrum divided by the padded size. */
static inline cplx above_threshold(cplx z, weights response)
{
#if HALF_STORAGE
    const float unit = PRODUCT_SCALE * STORE_SCALE; /* the product's with H = 1 */
    const float threshold = vload_half(RESPONSE_COUNT, VALUES(response)) / unit;
#else
    const float unit = 0.5f / PADDED_SIZE;
    const float threshold = VALUES(response)[RESPONSE_COUNT] / unit;
#endif
    const real re = c_re(z), im = c_im(z);
    const real power = max(re * re + im * im, 1e-20f);
    return c_weigh(z, max(1.0f - threshold * rsqrt(power), 0.0f));
}
#endif

/* Multiplies by H, after the threshold. The response is all its real parts, followed by all its
 * imaginary parts if COMPLEX_RESPONSE. Imaginary parts are RESPONSE_PART numbers behind the real
 * ones; `at` is in the unit of response_load. */
static inline cplx product(cplx z, weights response, uint at)
{
#if THRESHOLDS
    z = above_threshold(z, response);
#endif
    const real re = response_load(VALUES(response), at);
#if COMPLEX_RESPONSE
    const real im = response_load(VALUES(response) + RESPONSE_PART, at);
    return HALF_STORAGE ? c_multiply(z, re * PRODUCT_SCALE, im * PRODUCT_SCALE)
                        : c_multiply(z, re, im);
#else
    return c_weigh(z, HALF_STORAGE ? re * PRODUCT_SCALE : re);
#endif
}

/* Convert lines ku and -ku to twice the transforms of A and of B, and back. */
static inline cplx line_a(cplx plus, cplx minus)
{
    return c_add(plus, c_conj(minus));
}

static inline cplx line_b(cplx plus, cplx minus)
{
    return c_minus_i(c_sub(plus, c_conj(minus)));
}

static inline cplx line_plus(cplx a, cplx b)
{
    return c_add_i(a, b);
}

static inline cplx line_minus(cplx a, cplx b)
{
    return c_add_i(c_conj(a), c_conj(b));
}
