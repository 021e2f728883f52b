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
    const uint4 at = pairs[pair];                                                                  \
    /* Element n is at a_row + n, or, from V_HALF on, b_row + n. */                                \
    const uint a_row = SPECTRUM(at.x, 0), b_row = SPECTRUM(at.z, 0) - V_HALF;

/* Butterfly `place` of a block of axis A's stage i. Opens a bracket that its user closes. */
#define BUTTERFLY(A, i, block, place)                                                              \
    {                                                                                              \
        const bool outermost = (i) == 0;                                                           \
        const uint R = A##_R##i, M = A##_M##i, T = A##_T##i;                                       \
        const uint p = (place), e = (block) * (R * M) + p, b = (block)*M + p;                      \
        cplx x[A##_R##i];

/* Where an item is, in a pass whose last stage has span M: in which block, and where in that. The
 * first stage's only block is the line. */
#define BLOCK(i, M)    ((i) == 0 ? 0 : item / (M))
#define IN_BLOCK(i, M) ((i) == 0 ? item : item % (M))

/* An item's butterfly in a pass of one stage; all of its first stage and all of its second in a
 * pass of two, i and n. The loops do not begin at a constant, so that compilers keep them loops:
 * butterflies side by side would have more addresses under way than there are registers. */
#define ONLY(A, i, STAGE) STAGE(i, BLOCK(i, A##_M##i), IN_BLOCK(i, A##_M##i))
#define ITEMS(A, i, n)    (A##_LENGTH / (A##_R##i * A##_R##n))
#define EACH_FIRST(A, i, n, STAGE)                                                                 \
    for (uint k = item; k < item + A##_R##n; k++)                                                  \
        STAGE(i, BLOCK(i, A##_M##n), IN_BLOCK(i, A##_M##n) + (k - item) * A##_M##n)
#define EACH_SECOND(A, i, n, STAGE)                                                                \
    for (uint k = item; k < item + A##_R##i; k++)                                                  \
        STAGE(n, BLOCK(i, A##_M##n) * A##_R##i + (k - item), IN_BLOCK(i, A##_M##n))

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

#define COLUMN_FORWARD(i, block, place)                                                            \
    BUTTERFLY(U, i, block, place)                                                                  \
    EACH(U_R##i)(COLUMN_GET) DFT(U_R##i)(x);                                                       \
    EACH(U_R##i)(TURN) EACH(U_R##i)(SPECTRUM_PUT)                                                  \
    }
#define COLUMN_INVERSE(i, block, place)                                                            \
    BUTTERFLY(U, i, block, place)                                                                  \
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
        ONLY(U, i, COLUMN_FORWARD)                                                                 \
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
        ONLY(U, i, COLUMN_INVERSE)                                                                 \
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

/* Leg j of a butterfly along a row, whose first half, A, is where ky was, and whose second, B,
 * where -ky was. The first stage has half of its legs in each; any other butterfly is in one. */
#define V_ELEMENT(j) (((outermost ? 2 * (j) < V_R0 : e < V_HALF) ? a_row : b_row) + e + (j)*M)
#define V_GET(j)     x[j] = c_load(spectrum, V_ELEMENT(j));
#define V_PUT(j)     c_store(x[j], spectrum, V_ELEMENT(j));

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
        const real h = response_load(response, pair * V_LENGTH + (j) * (V_LENGTH / R) + b);        \
        x[j] = c_swap(c_weigh(x[j], HALF_STORAGE ? h * PRODUCT_SCALE : h));                        \
    }

#define PAIRS_GET EACH_HALF(V_R0)(PAIR_GET)
#define PAIRS_PUT EACH_HALF(V_R0)(PAIR_PUT)

#define ROW_FORWARD(i, block, place)                                                               \
    BUTTERFLY(V, i, block, place)                                                                  \
    V_FROM_##i DFT(V_R##i)(x);                                                                     \
    EACH(V_R##i)(TURN) EACH(V_R##i)(V_PUT)                                                         \
    }
#define ROW_MIDDLE(i, block, place)                                                                \
    BUTTERFLY(V, i, block, place)                                                                  \
    V_FROM_##i DFT(V_R##i)(x);                                                                     \
    EACH(V_R##i)(PRODUCT) DFT(V_R##i)(x);                                                          \
    V_TO_##i                                                                                       \
    }
#define ROW_INVERSE(i, block, place)                                                               \
    BUTTERFLY(V, i, block, place)                                                                  \
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
        ONLY(V, i, ROW_FORWARD)                                                                    \
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
        ONLY(V, i, ROW_MIDDLE)                                                                     \
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
        ONLY(V, i, ROW_INVERSE)                                                                    \
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
