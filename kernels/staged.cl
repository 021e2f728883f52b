/* The staged technique: radix stages in main memory, in place, without local memory and without
 * barriers, so it supports any length on any device.
 *
 * A dispatch computes one stage, or two consecutive ones. For two stages of radix R1 and R2, an
 * item takes R1 x R2 elements that both stages combine only with each other. It computes the R2
 * butterflies of the first stage one after another, and writes them to main memory. Then it reads
 * them for the R1 butterflies of the second stage. Because the same item does both, no barrier is
 * needed, and the elements are still in a cache. Registers hold one butterfly at a time.
 *
 *   columns_forward_<i>   stages i (and i + 1) down columns; i = 0 loads the image
 *   rows_forward_<i>      the same along rows; i = 0 separates pairs of rows
 *   rows_middle           the last one or two stages, the product with H, and their inverse
 *   rows_inverse_<i>      stages (i + 1 and) i inverse; i = 0 combines pairs of rows
 *   columns_inverse_<i>   the same down columns; i = 0 stores the image
 *
 * Files, in the order of the source:
 *   staged.cl             this
 *   staged_columns.cl     template, once for each stage down columns
 *   staged_rows.cl        template, once for each stage along rows
 *   staged_columns_pass.cl, staged_rows_pass.cl    templates, once for each dispatch: the kernels
 *
 * Columns come first: U is y, V is x. Data: spectrum and pairs as in pack.cl, with two spare rows;
 * response[k][j][b]: H for pair k at leg j of butterfly b of the last stage along x.
 *
 * Work-items, rounded up, of a dispatch with r legs (R1, or R1 R2): item t of columns_* has block
 * t / V_HALF of column t % V_HALF; item t of rows_* has block t % (V_LENGTH / r) of pair
 * t / (V_LENGTH / r). A second dimension counts images (batch.cl). Each item writes only the
 * elements that it has read. LANES is 1. Launched by transform_frame_enqueue (daemon/gpu/frame.c)
 * as listed by list_staged_dispatches (dispatch.c). */

#if LANES != 1 || ROWS_FIRST
#error "the staged technique needs LANES 1 and columns first"
#endif

/* For the templates of dispatches: OF_FIRST makes a kernel's name, the others name the butterflies
 * of its stages. */
#define OF_FIRST(function) PASTE(function, FIRST)
#define FORWARD_FIRST      PASTE(forward_one_, PASTE(AXIS, FIRST))
#define FORWARD_SECOND     PASTE(forward_one_, PASTE(AXIS, SECOND))
#define INVERSE_FIRST      PASTE(inverse_one_, PASTE(AXIS, FIRST))
#define INVERSE_SECOND     PASTE(inverse_one_, PASTE(AXIS, SECOND))

/* The rows of the spectrum that hold a line along V: element n is at a + n, or, from V_HALF on,
 * b + n. */
struct rows {
    uint a, b;
};

static inline struct rows rows_of(uint4 places)
{
    return (struct rows){spectrum_at(places.x, 0), spectrum_at(places.z, 0) - V_HALF};
}

/* The position of an item in a dispatch: its block of the first stage, and its place in that block.
 * `span` is the span of the dispatch's last stage. The only block of stage 0 is the line. Kernels
 * call these functions wherever they need the values, because keeping the values would take
 * registers. */
static inline uint block_of(uint stage, uint item, uint span)
{
    return stage == 0 ? 0 : item / span;
}

static inline uint place_in_block(uint stage, uint item, uint span)
{
    return stage == 0 ? item : item % span;
}
