/* The transforms of tiles by a group of items with one lane each; data and work-items: tiles.cl.
 *
 * All numbers of a tile are in registers: an item has ROUNDS_A butterflies of radix RADIX_A, or
 * ROUNDS_B of radix RADIX_B. `work` only passes them to the items that need them next, first the
 * real parts and then the imaginary ones, which takes half the local memory that numbers in it
 * would. Rows of `work` are an odd number of words apart, so that neighbours along rows as well as
 * along columns are in different banks. */

#if LANES == 1

#define PITCH         (TILE | 1)
#define BUTTERFLIES_A (TILE * RADIX_B)
#define BUTTERFLIES_B (TILE * RADIX_A)
#define ROUNDS_A      ((BUTTERFLIES_A + GROUP - 1) / GROUP)
#define ROUNDS_B      ((BUTTERFLIES_B + GROUP - 1) / GROUP)
#define MOST(a, b)    ((a) > (b) ? (a) : (b))
#define HELD          MOST(ROUNDS_A *RADIX_A, ROUNDS_B *RADIX_B)

/* Runs `call` for each butterfly of the item. It is butterfly `number` of column `line`, or of row
 * `line`, so that neighbouring items have neighbouring lines; its legs are in x. */
#define EACH(butterflies, radix, call)                                                             \
    _Pragma("unroll") for (uint round = 0; round < (butterflies + GROUP - 1) / GROUP; round++)     \
    {                                                                                              \
        const uint item = get_local_id(0) + round * GROUP;                                         \
        const uint line = item % TILE, number = item / TILE;                                       \
        cplx *const x = held + round * radix;                                                      \
        if (butterflies % GROUP == 0 || item < butterflies)                                        \
            call;                                                                                  \
    }
#define EACH_A(call) EACH(BUTTERFLIES_A, RADIX_A, call)
#define EACH_B(call) EACH(BUTTERFLIES_B, RADIX_B, call)

/* Where leg 0 of a butterfly is in `work`, and how far its legs are apart: of the first stage (A)
 * and of the second one (B), along columns and along rows. */
#define COLUMN_A     (number * PITCH + line), (RADIX_B * PITCH), RADIX_A
#define COLUMN_B     (number * (RADIX_B * PITCH) + line), PITCH, RADIX_B
#define ROW_A        (line * PITCH + number), RADIX_B, RADIX_A
#define ROW_B        (line * PITCH + number * RADIX_B), 1, RADIX_B

static inline void put_re(const cplx *x, local float *work, uint at, uint apart, uint radix)
{
#pragma unroll
    for (uint j = 0; j < radix; j++)
        work[at + j * apart] = x[j].re;
}

static inline void put_im(const cplx *x, local float *work, uint at, uint apart, uint radix)
{
#pragma unroll
    for (uint j = 0; j < radix; j++)
        work[at + j * apart] = x[j].im;
}

static inline void get_re(cplx *x, local const float *work, uint at, uint apart, uint radix)
{
#pragma unroll
    for (uint j = 0; j < radix; j++)
        x[j].re = work[at + j * apart];
}

static inline void get_im(cplx *x, local const float *work, uint at, uint apart, uint radix)
{
#pragma unroll
    for (uint j = 0; j < radix; j++)
        x[j].im = work[at + j * apart];
}

/* Passes all numbers from one stage to the next. An item first writes to places that it alone has
 * read before. */
#define PASS(each_from, from, each_to, to)                                                         \
    each_from(put_re(x, work, from)) barrier(CLK_LOCAL_MEM_FENCE);                                 \
    each_to(get_re(x, work, to)) barrier(CLK_LOCAL_MEM_FENCE);                                     \
    each_from(put_im(x, work, from)) barrier(CLK_LOCAL_MEM_FENCE);                                 \
    each_to(get_im(x, work, to))

static inline void turn(cplx *x, global const float *twiddle, uint p)
{
#pragma unroll
    for (uint j = 1; j < RADIX_A; j++) {
        const uint at = (j - 1) * RADIX_B + p;
        x[j] = c_twiddle(x[j], (float2)(twiddle[at], twiddle[TWIDDLE_COUNT + at]));
    }
}

static inline void columns_load(cplx *x, const struct pair *pair, global const float *twiddle,
                                uint v, uint p)
{
#pragma unroll
    for (uint j = 0; j < RADIX_A; j++)
        x[j] = pair_load(pair, j * RADIX_B + p, v);
    DFT_A(x);
    turn(x, twiddle, p);
}

static inline void row_begin(cplx *x, global const float *twiddle, uint p)
{
    DFT_A(x);
    turn(x, twiddle, p);
}

static inline void row_end(cplx *x, global const float *twiddle, uint p)
{
    turn(x, twiddle, p);
    DFT_A(x);
}

static inline void row_weigh(cplx *x, global const float *response, uint u, uint leg)
{
    DFT_B(x);
#pragma unroll
    for (uint j = 0; j < RADIX_B; j++)
        x[j] = weigh(x[j], response, (leg * RADIX_B + j) * TILE + u);
    DFT_B(x);
}

static inline void columns_store(cplx *x, global uchar *result, const struct pair *pair,
                                 global const float *twiddle, uint v, uint p)
{
    if (v >= VALID_X)
        return;
    turn(x, twiddle, p);
    DFT_A(x);
#pragma unroll
    for (uint j = 0; j < RADIX_A; j++)
        pair_store(result, pair, j * RADIX_B + p, v, x[j]);
}

static inline void pair_make(global uchar *result, const struct pair *pair,
                             global const float *twiddle, global const float *response,
                             local float *work)
{
    cplx held[HELD];
    EACH_A(columns_load(x, pair, twiddle, line, number))
    PASS(EACH_A, COLUMN_A, EACH_B, COLUMN_B)
    EACH_B(DFT_B(x))
    PASS(EACH_B, COLUMN_B, EACH_A, ROW_A)
    EACH_A(row_begin(x, twiddle, number))
    PASS(EACH_A, ROW_A, EACH_B, ROW_B)
    EACH_B(row_weigh(x, response, line, number))
    PASS(EACH_B, ROW_B, EACH_A, ROW_A)
    EACH_A(row_end(x, twiddle, number))
    PASS(EACH_A, ROW_A, EACH_B, COLUMN_B)
    EACH_B(DFT_B(x))
    PASS(EACH_B, COLUMN_B, EACH_A, COLUMN_A)
    EACH_A(columns_store(x, result, pair, twiddle, line, number))
}

#endif
