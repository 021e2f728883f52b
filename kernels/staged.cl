/* The staged technique: radix stages in main memory, in place, no local memory and no barrier, so it
 * carries any length on any device.
 *
 * A dispatch does one stage, or two in a row (the prologue's PASSES say which): of R1 and R2 legs,
 * an item then takes the R1 x R2 elements that meet only each other in both. It does the R2
 * butterflies of the first stage, one after another, back into main memory, and reads them from
 * there for the R1 of the second: the same item, so nobody has to wait, and soon after, so that they
 * are still in a cache. Registers hold one butterfly at a time.
 *
 *   columns_forward_<i>   stages i (and i + 1) down columns; i = 0 loads the image
 *   rows_forward_<i>      the same along rows; i = 0 takes pairs of rows apart
 *   rows_middle           the last one or two stages, product with H, and the same back
 *   rows_inverse_<i>      stages (i + 1 and) i back; i = 0 joins pairs of rows
 *   columns_inverse_<i>   the same down columns; i = 0 stores the image
 *
 * Columns come first: U is y, V is x. Data: spectrum, pairs: pack.cl, with two spare rows;
 * response[k][j][b]: H for pair k at leg j of butterfly b of the last stage along x.
 *
 * Work-items, rounded up, of a pass of r legs (R1, or R1 R2): columns_*: item t has block t / V_HALF
 * of column t % V_HALF; rows_*: block t % (V_LENGTH / r) of pair t / (V_LENGTH / r). A second
 * dimension counts images (batch.cl). Each item reads and writes the same elements and no other.
 * LANES is 1.
 * Launched by dispatch.c (list_staged_dispatches). */

#if LANES != 1 || ROWS_FIRST
#error "the staged technique works on single columns, and those first"
#endif

/* Of n items a column or row. */
#define COLUMN_ITEM(n)                                                                             \
    image += MY_IMAGE;                                                                             \
    spectrum += MY_SPECTRUM;                                                                       \
    const uint t = (uint)get_global_id(0), column = t % V_HALF, item = t / V_HALF;                 \
    if (item >= (n))                                                                               \
        return;
#define ROW_ITEM(n)                                                                                \
    spectrum += MY_SPECTRUM;                                                                       \
    const uint t = (uint)get_global_id(0), item = t % (n), pair = t / (n);                         \
    if (pair >= PAIRS)                                                                             \
        return;                                                                                    \
    const uint4 at = pairs[pair];

/* Butterfly number b of axis A's stage i. Opens a bracket that its user closes. */
#define BUTTERFLY(A, i, number)                                                                    \
    {                                                                                              \
        const bool outermost = (i) == 0;                                                           \
        const uint R = A##_R##i, M = A##_M##i, T = A##_T##i;                                       \
        const uint b = (number), p = b % M, e = FIRST_ELEMENT(R, M, b);                            \
        cplx x[A##_R##i];

/* Of an item with stages i and n: butterfly k of the first, butterfly j of the second. */
#define ITEMS(A, i, n)    (A##_LENGTH / (A##_R##i * A##_R##n))
#define FIRST(A, i, n, k) (item / A##_M##n * A##_M##i + (k)*A##_M##n + item % A##_M##n)
#define SECOND(A, i, n, j)                                                                         \
    ((item / A##_M##n * A##_R##i + (j)) * A##_M##n + item % A##_M##n)
#define EACH_FIRST(A, i, n, STAGE)                                                                 \
    for (uint k = 0; k < A##_R##n; k++)                                                            \
        STAGE(i, FIRST(A, i, n, k))
#define EACH_SECOND(A, i, n, STAGE)                                                                \
    for (uint j = 0; j < A##_R##i; j++)                                                            \
        STAGE(n, SECOND(A, i, n, j))

#define TURN(j) TWIDDLE(x[j], R, j, M, T, p)

/* ---- columns ------------------------------------------------------------------------------- */

#define SPECTRUM_GET(j) x[j] = c_load(spectrum, SPECTRUM(e + (j)*M, column));
#define SPECTRUM_PUT(j) c_store(x[j], spectrum, SPECTRUM(e + (j)*M, column));
#define COLUMN_GET(j)                                                                              \
    if (outermost)                                                                                 \
        x[j] = packed_load(image, map_x, map_y, e, (j)*M, LEG_INSIDE(j, M), column);               \
    else                                                                                           \
        SPECTRUM_GET(j)
#define COLUMN_PUT(j)                                                                              \
    if (outermost)                                                                                 \
        packed_store(result, image, e, (j)*M, LEG_INSIDE(j, M), column, x[j]);                     \
    else                                                                                           \
        SPECTRUM_PUT(j)

#define COLUMN_FORWARD(i, number)                                                                  \
    BUTTERFLY(U, i, number)                                                                        \
    EACH(U_R##i)(COLUMN_GET) DFT(U_R##i)(x);                                                       \
    EACH(U_R##i)(TURN) EACH(U_R##i)(SPECTRUM_PUT)                                                  \
    }
#define COLUMN_INVERSE(i, number)                                                                  \
    BUTTERFLY(U, i, number)                                                                        \
    EACH(U_R##i)(SPECTRUM_GET) EACH(U_R##i)(TURN) DFT(U_R##i)(x);                                  \
    EACH(U_R##i)(COLUMN_PUT)                                                                       \
    }

/* Every kernel of a direction takes the same arguments, used or not. */
#define COLUMNS_FORWARD(i)                                                                         \
    kernel void columns_forward_##i(                                                               \
        global const uchar *restrict image, global stored *restrict spectrum,                      \
        global const int *restrict map_x, global const int *restrict map_y,                        \
        global const float2 *restrict twiddle)
#define COLUMNS_INVERSE(i)                                                                         \
    kernel void columns_inverse_##i(                                                               \
        global stored *restrict spectrum, global const uchar *restrict image,                      \
        global uchar *restrict result, global const float2 *restrict twiddle)

#define COLUMNS_FORWARD_ONE(i)                                                                     \
    COLUMNS_FORWARD(i)                                                                             \
    {                                                                                              \
        COLUMN_ITEM(U_LENGTH / U_R##i)                                                             \
        COLUMN_FORWARD(i, item)                                                                    \
    }
#define COLUMNS_FORWARD_TWO(i, n)                                                                  \
    COLUMNS_FORWARD(i)                                                                             \
    {                                                                                              \
        COLUMN_ITEM(ITEMS(U, i, n))                                                                \
        EACH_FIRST(U, i, n, COLUMN_FORWARD)                                                        \
        EACH_SECOND(U, i, n, COLUMN_FORWARD)                                                       \
    }
#define COLUMNS_INVERSE_ONE(i)                                                                     \
    COLUMNS_INVERSE(i)                                                                             \
    {                                                                                              \
        result += MY_IMAGE;                                                                        \
        COLUMN_ITEM(U_LENGTH / U_R##i)                                                             \
        COLUMN_INVERSE(i, item)                                                                    \
    }
#define COLUMNS_INVERSE_TWO(i, n)                                                                  \
    COLUMNS_INVERSE(i)                                                                             \
    {                                                                                              \
        result += MY_IMAGE;                                                                        \
        COLUMN_ITEM(ITEMS(U, i, n))                                                                \
        EACH_SECOND(U, i, n, COLUMN_INVERSE)                                                       \
        EACH_FIRST(U, i, n, COLUMN_INVERSE)                                                        \
    }

/* ---- rows ---------------------------------------------------------------------------------- */

/* Element n of a row: A is where ky was, B where -ky was. */
#define V_ELEMENT(n) ((n) < V_HALF ? SPECTRUM(at.x, n) : SPECTRUM(at.z, (n)-V_HALF))
#define V_GET(j)     x[j] = c_load(spectrum, V_ELEMENT(e + (j)*M));
#define V_PUT(j)     c_store(x[j], spectrum, V_ELEMENT(e + (j)*M));

#define PAIR_GET(j)                                                                                \
    {                                                                                              \
        const cplx zp = c_load(spectrum, SPECTRUM(at.x, e + (j)*M));                               \
        const cplx zm = c_load(spectrum, SPECTRUM(at.y, e + (j)*M));                               \
        x[j] = A_OF(zp, zm);                                                                       \
        x[j + V_R0 / 2] = B_OF(zp, zm);                                                            \
    }
#define PAIR_PUT(j)                                                                                \
    {                                                                                              \
        const cplx l = c_swap(x[j]), r = c_swap(x[j + V_R0 / 2]);                                  \
        c_store(c_swap(LINE_PLUS(l, r)), spectrum, SPECTRUM(at.x, e + (j)*M));                     \
        if (at.y != at.x)                                                                          \
            c_store(c_swap(LINE_MINUS(l, r)), spectrum, SPECTRUM(at.y, e + (j)*M));                \
    }
#define PRODUCT(j)                                                                                 \
    {                                                                                              \
        const real h = response_load(response, (size_t)pair * V_LENGTH + (j) * (V_LENGTH / R) + b); \
        x[j] = c_swap(c_weigh(x[j], HALF_STORAGE ? h * PRODUCT_SCALE : h));                        \
    }

#define PAIRS_GET EACH_HALF(V_R0)(PAIR_GET)
#define PAIRS_PUT EACH_HALF(V_R0)(PAIR_PUT)

#define ROW_FORWARD(i, number)                                                                     \
    BUTTERFLY(V, i, number)                                                                        \
    V_FROM_##i DFT(V_R##i)(x);                                                                     \
    EACH(V_R##i)(TURN) EACH(V_R##i)(V_PUT)                                                         \
    }
#define ROW_MIDDLE(i, number)                                                                      \
    BUTTERFLY(V, i, number)                                                                        \
    V_FROM_##i DFT(V_R##i)(x);                                                                     \
    EACH(V_R##i)(PRODUCT) DFT(V_R##i)(x);                                                          \
    V_TO_##i                                                                                       \
    }
#define ROW_INVERSE(i, number)                                                                     \
    BUTTERFLY(V, i, number)                                                                        \
    EACH(V_R##i)(V_GET) EACH(V_R##i)(TURN) DFT(V_R##i)(x);                                         \
    V_TO_##i                                                                                       \
    }

#define ROW_PASS(name)                                                                             \
    kernel void name(global stored *restrict spectrum, global const uint4 *restrict pairs,         \
                     global const stored *restrict response,                                       \
                     global const float2 *restrict twiddle)

#define ROWS_FORWARD_ONE(i)                                                                        \
    ROW_PASS(rows_forward_##i)                                                                     \
    {                                                                                              \
        ROW_ITEM(V_LENGTH / V_R##i)                                                                \
        ROW_FORWARD(i, item)                                                                       \
    }
#define ROWS_FORWARD_TWO(i, n)                                                                     \
    ROW_PASS(rows_forward_##i)                                                                     \
    {                                                                                              \
        ROW_ITEM(ITEMS(V, i, n))                                                                   \
        EACH_FIRST(V, i, n, ROW_FORWARD)                                                           \
        EACH_SECOND(V, i, n, ROW_FORWARD)                                                          \
    }
#define ROWS_MIDDLE_ONE(i)                                                                         \
    ROW_PASS(rows_middle)                                                                          \
    {                                                                                              \
        ROW_ITEM(V_LENGTH / V_R##i)                                                                \
        ROW_MIDDLE(i, item)                                                                        \
    }
#define ROWS_MIDDLE_TWO(i, n)                                                                      \
    ROW_PASS(rows_middle)                                                                          \
    {                                                                                              \
        ROW_ITEM(ITEMS(V, i, n))                                                                   \
        EACH_FIRST(V, i, n, ROW_FORWARD)                                                           \
        EACH_SECOND(V, i, n, ROW_MIDDLE)                                                           \
        EACH_FIRST(V, i, n, ROW_INVERSE)                                                           \
    }
#define ROWS_INVERSE_ONE(i)                                                                        \
    ROW_PASS(rows_inverse_##i)                                                                     \
    {                                                                                              \
        ROW_ITEM(V_LENGTH / V_R##i)                                                                \
        ROW_INVERSE(i, item)                                                                       \
    }
#define ROWS_INVERSE_TWO(i, n)                                                                     \
    ROW_PASS(rows_inverse_##i)                                                                     \
    {                                                                                              \
        ROW_ITEM(ITEMS(V, i, n))                                                                   \
        EACH_SECOND(V, i, n, ROW_INVERSE)                                                          \
        EACH_FIRST(V, i, n, ROW_INVERSE)                                                           \
    }

U_OUTER_PASSES(COLUMNS_FORWARD_ONE, COLUMNS_FORWARD_TWO)
U_LAST_PASS(COLUMNS_FORWARD_ONE, COLUMNS_FORWARD_TWO)
V_OUTER_PASSES(ROWS_FORWARD_ONE, ROWS_FORWARD_TWO)
V_LAST_PASS(ROWS_MIDDLE_ONE, ROWS_MIDDLE_TWO)
V_OUTER_PASSES(ROWS_INVERSE_ONE, ROWS_INVERSE_TWO)
U_OUTER_PASSES(COLUMNS_INVERSE_ONE, COLUMNS_INVERSE_TWO)
U_LAST_PASS(COLUMNS_INVERSE_ONE, COLUMNS_INVERSE_TWO)
