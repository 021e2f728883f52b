/* The staged technique: one dispatch a radix stage, in place in main memory, no local memory and
 * no barrier, so it carries any length on any device.
 *
 *   columns_forward_<i>, i = 0 .. Y_STAGES - 1       stage 0 loads the image
 *   rows_forward_<i>,    i = 0 .. X_STAGES - 2       stage 0 takes pairs of rows apart
 *   rows_middle                                      last stage, product with H, first one back
 *   rows_inverse_<i>,    i = X_STAGES - 2 .. 0       stage 0 joins pairs of rows
 *   columns_inverse_<i>, i = Y_STAGES - 1 .. 0       stage 0 stores the image
 *
 * Data: spectrum, pairs: pack.cl, with two spare rows; response[k][e]: H for pair k at element e.
 *
 * Work-items, one dimension, rounded up: columns_*: item t does butterfly t / X_HALF of column
 * t % X_HALF; rows_*: butterfly t % (X_LENGTH / radix) of pair t / (X_LENGTH / radix). Each item
 * reads and writes the same elements and no other. LANES is 1.
 * Launched by dispatch.c (make_staged_dispatches). */

#if LANES != 1
#error "the staged technique works on single columns"
#endif

#define COLUMN_ITEM(i)                                                                             \
    const bool outermost = (i) == 0;                                                               \
    const uint R = Y_R##i, M = Y_M##i, T = Y_T##i;                                                             \
    const uint t = (uint)get_global_id(0), column = t % X_HALF, b = t / X_HALF, p = b % M;         \
    const uint e = FIRST_ELEMENT(Y_R##i, M, b);                                                    \
    if (b >= Y_LENGTH / Y_R##i)                                                                    \
        return;                                                                                    \
    cplx x[Y_R##i];

#define COLUMN_GET(j)                                                                              \
    if (outermost)                                                                                 \
        x[j] = packed_load(image, map_x, map_y, (int)column, (int)(e + (j)*M));                    \
    else                                                                                           \
        x[j] = c_load(spectrum, SPECTRUM(e + (j)*M, column));
#define COLUMN_PUT(j)   c_store(x[j], spectrum, SPECTRUM(e + (j)*M, column));
#define SPECTRUM_GET(j) x[j] = c_load(spectrum, SPECTRUM(e + (j)*M, column));
#define RESULT_PUT(j)                                                                              \
    if (outermost)                                                                                 \
        packed_store(result, image, (int)column, (int)(e + (j)*M), x[j]);                          \
    else                                                                                           \
        c_store(x[j], spectrum, SPECTRUM(e + (j)*M, column));
#define TURN(j) TWIDDLE(x[j], R, j, M, T, p)

/* Every kernel of a direction takes the same arguments, used or not. */
#define COLUMNS_FORWARD(i)                                                                         \
    kernel void columns_forward_##i(                                                               \
        global const uchar *restrict image, global stored *restrict spectrum,                      \
        global const int *restrict map_x, global const int *restrict map_y,                        \
        global const float2 *restrict twiddle)                                                     \
    {                                                                                              \
        COLUMN_ITEM(i)                                                                             \
        EACH(Y_R##i)(COLUMN_GET) DFT(Y_R##i)(x);                                                   \
        EACH(Y_R##i)(TURN) EACH(Y_R##i)(COLUMN_PUT)                                                \
    }

#define COLUMNS_INVERSE(i)                                                                         \
    kernel void columns_inverse_##i(                                                               \
        global stored *restrict spectrum, global const uchar *restrict image,                      \
        global uchar *restrict result, global const float2 *restrict twiddle)                      \
    {                                                                                              \
        COLUMN_ITEM(i)                                                                             \
        EACH(Y_R##i)(SPECTRUM_GET) EACH(Y_R##i)(TURN) DFT(Y_R##i)(x);                              \
        EACH(Y_R##i)(RESULT_PUT)                                                                   \
    }

#define ROW_ITEM(i)                                                                                \
    const uint R = X_R##i, M = X_M##i, T = X_T##i;                                                             \
    const uint t = (uint)get_global_id(0), b = t % (X_LENGTH / X_R##i), p = b % M;                 \
    const uint pair = t / (X_LENGTH / X_R##i);                                                     \
    const uint e = FIRST_ELEMENT(X_R##i, M, b);                                                    \
    if (pair >= PAIRS)                                                                             \
        return;                                                                                    \
    const uint4 at = pairs[pair];                                                                  \
    cplx x[X_R##i];

/* Element n of a row: the left half is where ky was, the right half where -ky was. */
#define ROW_ELEMENT(n) ((n) < X_HALF ? SPECTRUM(at.x, n) : SPECTRUM(at.z, (n)-X_HALF))
#define ROW_GET(j)     x[j] = c_load(spectrum, ROW_ELEMENT(e + (j)*M));
#define ROW_PUT(j)     c_store(x[j], spectrum, ROW_ELEMENT(e + (j)*M));

#define PAIR_GET(j)                                                                                \
    {                                                                                              \
        const cplx zp = c_load(spectrum, SPECTRUM(at.x, e + (j)*M));                               \
        const cplx zm = c_load(spectrum, SPECTRUM(at.y, e + (j)*M));                               \
        x[j] = LEFT_HALF(zp, zm);                                                                  \
        x[j + X_R0 / 2] = RIGHT_HALF(zp, zm);                                                      \
    }
#define PAIR_PUT(j)                                                                                \
    {                                                                                              \
        const cplx l = c_swap(x[j]), r = c_swap(x[j + X_R0 / 2]);                                  \
        c_store(c_swap(ROW_PLUS(l, r)), spectrum, SPECTRUM(at.x, e + (j)*M));                      \
        if (at.y != at.x)                                                                          \
            c_store(c_swap(ROW_MINUS(l, r)), spectrum, SPECTRUM(at.y, e + (j)*M));                 \
    }
#define PRODUCT(j)                                                                                 \
    {                                                                                              \
        const real h = response_load(response, (size_t)pair * X_LENGTH + e + (j));                 \
        x[j] = c_swap(c_weigh(x[j], HALF_STORAGE ? h * ROW_SCALE : h));                            \
    }

#define ROW_ARGUMENTS                                                                              \
    global stored *restrict spectrum, global const uint4 *restrict pairs,                          \
        global const stored *restrict response, global const float2 *restrict twiddle

#define PAIRS_GET EACH_HALF(X_R0)(PAIR_GET)
#define PAIRS_PUT EACH_HALF(X_R0)(PAIR_PUT)

#define ROWS_FORWARD(i)                                                                            \
    kernel void rows_forward_##i(ROW_ARGUMENTS)                                                    \
    {                                                                                              \
        ROW_ITEM(i)                                                                                \
        ROW_FROM_##i DFT(X_R##i)(x);                                                               \
        EACH(X_R##i)(TURN) EACH(X_R##i)(ROW_PUT)                                                   \
    }

#define ROWS_MIDDLE(i)                                                                             \
    kernel void rows_middle(ROW_ARGUMENTS)                                                         \
    {                                                                                              \
        ROW_ITEM(i)                                                                                \
        ROW_FROM_##i DFT(X_R##i)(x);                                                               \
        EACH(X_R##i)(PRODUCT) DFT(X_R##i)(x);                                                      \
        ROW_TO_##i                                                                                 \
    }

#define ROWS_INVERSE(i)                                                                            \
    kernel void rows_inverse_##i(ROW_ARGUMENTS)                                                    \
    {                                                                                              \
        ROW_ITEM(i)                                                                                \
        EACH(X_R##i)(ROW_GET) EACH(X_R##i)(TURN) DFT(X_R##i)(x);                                   \
        ROW_TO_##i                                                                                 \
    }

Y_EACH_STAGE(COLUMNS_FORWARD, NOTHING_BETWEEN)
X_OUTER_STAGES(ROWS_FORWARD, NOTHING_BETWEEN)
X_LAST_STAGE(ROWS_MIDDLE)
X_OUTER_STAGES_BACK(ROWS_INVERSE, NOTHING_BETWEEN)
Y_EACH_STAGE_BACK(COLUMNS_INVERSE, NOTHING_BETWEEN)
