/* The packing of a real image into half as large a complex one.
 *
 * The padded image, X_LENGTH x Y_LENGTH, becomes the complex image  left half + i right half,
 * X_HALF x Y_LENGTH, whose columns are transformed as they are. In its rows ky and -ky together lie the transforms A of the left and B
 * of the right half of row ky:  2 A = Z(ky) + conj Z(-ky),  2 i B = Z(ky) - conj Z(-ky).
 * A followed by B is one row of the image, transformed along y; its row -ky is the conjugate and
 * need not be computed: there are Y_LENGTH / 2 + 1 pairs of rows to do. In float the factors
 * 1/2 and 1 / (X_LENGTH Y_LENGTH) are in H. In half, whose largest number is 65504, the scale is
 * split (LOAD_SCALE, ROW_SCALE, STORE_SCALE) so that no stored number overflows and H keeps its
 * own range.
 *
 * Data:
 *   spectrum[q][x]: Y_LENGTH rows (q in the order the column transform leaves) of X_HALF complex
 *   numbers, in groups of LANES neighbours (complex.cl); rows are SPECTRUM_PITCH groups apart.
 *   pairs[k], k = 0 .. PAIRS - 1: .x the row q of ky = k, .y that of ky = -k; for k = 0 and
 *   Y_LENGTH / 2 they are the same row. .z is the row in which the staged technique keeps the
 *   right half between its dispatches: .y, or a spare row where .y is .x. */

#define X_HALF  (X_LENGTH / 2)
#define X_LANES (X_HALF / LANES) /* groups of LANES columns */
#define PAIRS   (Y_LENGTH / 2 + 1)

/* Where group `at` of row q is. */
#define SPECTRUM(q, at) ((size_t)(q) * SPECTRUM_PITCH + (at))

/* Element y of the packed columns from x on. */
static inline cplx packed_load(global const uchar *image, global const int *map_x,
                               global const int *map_y, int x, int y)
{
    const int row = y < IMAGE_HEIGHT ? y : map_y[y];
    const cplx z =
        c_make(samples_load(image, map_x, x, row), samples_load(image, map_x, x + X_HALF, row));
    return HALF_STORAGE ? c_scale(z, LOAD_SCALE) : z;
}

/* Swapped numbers: the right half is in the real parts. */
static inline void packed_store(global uchar *result, global const uchar *image, int x, int y,
                                cplx z)
{
    if (y >= IMAGE_HEIGHT)
        return;
    if (HALF_STORAGE)
        z = c_scale(z, STORE_SCALE);
    samples_store(result, image, x, y, z.im);
    samples_store(result, image, x + X_HALF, y, z.re);
}

/* From rows ky and -ky to twice the transforms of the left and the right half, and back. */
#define LEFT_HALF(zp, zm)  c_add(zp, c_conj(zm))
#define RIGHT_HALF(zp, zm) c_minus_i(c_sub(zp, c_conj(zm)))
#define ROW_PLUS(a, b)     c_add_i(a, b)
#define ROW_MINUS(a, b)    c_add_i(c_conj(a), c_conj(b))
