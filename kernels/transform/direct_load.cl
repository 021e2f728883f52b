/* The loads and stores of the direct technique (direct.cl). */

#define SIDE         (2 * RADIUS + 1)
#define BLOCK_X      (COLUMNS * LANES)
#define BLOCK_Y      (ROWS * STRIP)
#define TILE_MARGIN  ((RADIUS + LANES - 1) / LANES * LANES)
#define TILE_GROUPS  (COLUMNS + 2 * (TILE_MARGIN / LANES))
#define TILE_PITCH   (TILE_GROUPS * LANES)
#define TILE_ROWS    (BLOCK_Y + 2 * RADIUS)

#define PLAIN_SAMPLE (IMAGE_STEP == 1 || SAMPLE_U16 || (SAMPLE_U8 && (KEEP_OTHERS || GREY_RESULT)))
#define CHANGES_SAMPLES                                                                            \
    (CORRECTIONS || HAS_CURVE || (!DENOISED && (CALIBRATED || WARPED || MEDIAN || SAMPLE_BAYER)))
#define CHEAP_LOAD (GROUP == 1 && !CHANGES_SAMPLES && (DENOISED || PLAIN_SAMPLE))

#define IN_SHORTS                                                                                  \
    (SMALL && !EQUAL && GROUP == 1 && SAMPLE_U8 && !CHANGES_SAMPLES && !DENOISED &&                \
     !VIEW_DIFFERENCE && !VIEW_EDGES && !BINARISES)

/* direct_whole.cl */
#define IN_WHOLES                                                                                  \
    (PRODUCTS == 0 && RADIUS > 0 && RADIUS <= 2 && GROUP == 1 && SAMPLE_U8 && IMAGE_STEP == 1 &&   \
     ROWS == 1 && !CHANGES_SAMPLES && !DENOISED && !GREY_RESULT && !VIEW_DIFFERENCE &&             \
     !VIEW_EDGES && !BINARISES)

/* A GPU reads and writes several bytes at once only where their type says that it may. */
#define ALIGNED_BYTES                                                                              \
    (GROUP > 1 && SAMPLE_U8 && IMAGE_STEP == 1 && IMAGE_STRIDE % LANES == 0 &&                     \
     IMAGE_OFFSET % LANES == 0 && IMAGE_APART % LANES == 0)
#define ALIGNED_LOAD  (ALIGNED_BYTES && !MEDIAN && !DENOISED && !CALIBRATED && !WARPED)
#define ALIGNED_STORE (ALIGNED_BYTES && !VIEW_DIFFERENCE && !VIEW_EDGES && !GREY_RESULT)
#define PLACE(x, y)   ((size_t)(y)*IMAGE_STRIDE + IMAGE_OFFSET + (x))
typedef PASTE(uchar, LANES) bytes;

/* Local memory that is no nearer than the cache saves nothing where vectors are loaded. */
#define IS_CACHED                                                                                  \
    (CACHED_LOCAL && PRODUCTS == 0 && RADIUS <= 2 && ALIGNED_LOAD && ALIGNED_STORE &&              \
     !CHANGES_SAMPLES)

/* Loads LANES samples of the image from column x on, which is a multiple of LANES. */
static inline real inner_load(captured image, global const int *map_x, int x,
                              int y CORRECTION_PARAMETER)
{
#if ALIGNED_LOAD
    real value = TO_REAL(*(global const bytes *)(BYTES(image) + PLACE(x, y)));
#else
    real value = samples_load(image, map_x, x, 0, true, y);
#endif
    CORRECT(real, value, x, y, READ_LANES)
    return value;
}

/* The same, where some of them may be beyond the image. The row is one of it, or -1. */
static inline real group_load(captured image, global const int *map_x, int x,
                              int y CORRECTION_PARAMETER)
{
    real value;
    if (x >= 0 && x + LANES <= IMAGE_WIDTH && y >= 0) {
        value = inner_load(image, map_x, x, y CORRECTION_ARGUMENT);
    } else {
        float lane[LANES];
#if CHANGES_SAMPLES
#pragma unroll 1
#endif
        for (int i = 0; i < LANES; i++)
            lane[i] = one_load(image, column_of(map_x, x + i), y CORRECTION_ARGUMENT);
        value = VLOAD(0, lane);
    }
#if HAS_CURVE
    value = curve_of(value);
#endif
    return value;
}

/* A block of the result. */
struct block {
    int x, y; /* its first column and row */
    captured image;
    global const int *map_x, *map_y;
#if CORRECTIONS
    global const float *correction;
#endif
};

#if CORRECTIONS
#define BLOCK_CORRECTION , block.correction
#else
#define BLOCK_CORRECTION
#endif

static inline void group_store(global uchar *result, struct block block, int x, int y, real value)
{
    const bool is_inside = x + LANES <= IMAGE_WIDTH;
#if ALIGNED_STORE
    if (is_inside) {
        *(global bytes *)(result + PLACE(x, y)) = TO_BYTES(to_result(value));
        return;
    }
#endif
    samples_store(result, block.image, x, 0, is_inside, y, to_result(value));
}

/* Loads a tile that is wholly inside the image, with TILE_AHEAD loads in flight: a GPU runs too few
 * groups at once to hide the latency of loads that wait for each other. */
#if ALIGNED_LOAD && !CHANGES_SAMPLES
#define TILE_VECTORS (TILE_GROUPS * TILE_ROWS)
#define TILE_ROUNDS  ((TILE_VECTORS + GROUP - 1) / GROUP)
#define TILE_AHEAD   12

static inline void inner_tile_load(struct block block, local float *tile)
{
    global const uchar *from = BYTES(block.image) + PLACE(block.x - TILE_MARGIN, block.y - RADIUS);
#pragma unroll
    for (int round = 0; round < TILE_ROUNDS; round += TILE_AHEAD) {
        bytes taken[TILE_AHEAD];
#pragma unroll
        for (int k = 0; k < TILE_AHEAD; k++) {
            const int i = get_local_id(0) + (round + k) * GROUP;
            if (round + k < TILE_ROUNDS && i < TILE_VECTORS)
                taken[k] = *(global const bytes *)(from + i / TILE_GROUPS * IMAGE_STRIDE +
                                                   i % TILE_GROUPS * LANES);
        }
#pragma unroll
        for (int k = 0; k < TILE_AHEAD; k++) {
            const int i = get_local_id(0) + (round + k) * GROUP;
            if (round + k < TILE_ROUNDS && i < TILE_VECTORS)
                VSTORE(TO_REAL(taken[k]), i, tile);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif

/* Loads all samples that a block needs, each once. */
static inline void tile_load(struct block block, local float *tile)
{
#if ALIGNED_LOAD && !CHANGES_SAMPLES
    const int left = block.x - TILE_MARGIN, top = block.y - RADIUS;
    if (left >= 0 && left + TILE_PITCH <= IMAGE_WIDTH && top >= 0 &&
        top + TILE_ROWS <= IMAGE_HEIGHT) {
        inner_tile_load(block, tile);
        return;
    }
#endif
    for (int i = get_local_id(0); i < TILE_GROUPS * TILE_ROWS; i += GROUP) {
        const int group = i % TILE_GROUPS, row = i / TILE_GROUPS;
        const int y = row_of(block.map_y, block.y - RADIUS + row);
        VSTORE(group_load(block.image, block.map_x, block.x - TILE_MARGIN + group * LANES,
                          y BLOCK_CORRECTION),
               i, tile);
    }
#if GROUP > 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

/* ---- rows that are loaded and stored soon ---- */

#define AHEAD      4 /* rows */
#define CACHE_LINE 64

/* Only where kernels are compiled for a processor: SPIR-V, through which rusticl compiles, has no
 * word for it, and its translator ends the process. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__arm__)
#define PREFETCH(at, for_store) __builtin_prefetch((const void *)(size_t)(at), for_store)
#else
#define PREFETCH(at, for_store)
#endif

/* Asks for the place of some samples of the result that are stored AHEAD rows later. A processor
 * does not look so far ahead, and a store waits for the line of its place. */
static inline void place_await(global uchar *result, int x, int y, int samples)
{
#if !SAMPLE_BAYER && !GREY_RESULT
    global uchar *row = result + (size_t)(y + AHEAD) * IMAGE_STRIDE + IMAGE_OFFSET;
    for (int i = 0; i < samples * IMAGE_STEP; i += CACHE_LINE)
        PREFETCH(row + (size_t)x * IMAGE_STEP + i, 1);
#endif
}

/* Asks for samples that are loaded soon. */
static inline void samples_await(struct block block, int x, int y, int samples)
{
#if !DENOISED
    global const uchar *row = BYTES(block.image) + (size_t)y * IMAGE_STRIDE + IMAGE_OFFSET;
    x = max(x, 0);
    for (int i = 0; y >= 0 && i < samples * IMAGE_STEP; i += CACHE_LINE)
        PREFETCH(row + (size_t)x * IMAGE_STEP + i, 0);
#endif
}
