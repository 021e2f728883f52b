/* Views: what is published instead of the filtered picture (daemon/filters/view.h has the maths).
 * Kernels without VIEW_DIFFERENCE, VIEW_SPECTRUM and VIEW_EDGES have nothing of this.
 *
 * VIEW_DIFFERENCE: the store of the last dispatch stores the difference of a captured and a
 * filtered sample (pixel.cl).
 * VIEW_SPECTRUM: the dispatch in the middle also stores the power of each number, or, with
 * VIEW_FILTERED, of its product with H, and the kernel `view` draws these powers, in place of the
 * inverse dispatches.
 * VIEW_EDGES: edges.cl.
 *
 * Data:
 *   powers     |F|^2 or |F H|^2 / (U_LENGTH V_LENGTH)^2, in floats, in the order of the response
 *              (daemon/transform/response.h)
 *   places     U_LENGTH numbers: where the powers of each frequency along U begin, with the highest
 *              bit set if they are those of the negative frequency; then V_LENGTH numbers: how far
 *              from there the power of each frequency along V is
 *   result     pixel.cl
 * Work-items: those of the kernels that multiply and store (fused.cl, staged.cl). `view` has one
 * for each pixel; the first dimension is rounded up to whole groups. Launched by
 * transform_frame_enqueue (daemon/transform/frame.c) as listed by draw.c. */

#if VIEW_DIFFERENCE || VIEW_SPECTRUM || VIEW_EDGES

/* Stores a grey pixel; samples of chroma beside it become neutral. */
static inline void view_store(global uchar *result, uint x, uint y, float value)
{
#if GREY_RESULT
    grey_store(result, x, y, value);
#elif SAMPLE_BAYER
    const uint grey = convert_uchar_sat_rte(value);
    *(global uint *)(result + (size_t)y * RESULT_STRIDE + 4 * x) = TO_WORD(grey, grey, grey);
#else
    const size_t at = (size_t)y * IMAGE_STRIDE + IMAGE_OFFSET + (size_t)x * IMAGE_STEP;
#if SAMPLE_U8
    result[at] = convert_uchar_sat_rte(value);
#if KEEP_OTHERS
    result[at ^ 1] = 128;
#endif
#elif SAMPLE_U16
    *(global ushort *)(result + at) = convert_ushort_rte(clamp(value, 0.0f, (float)RESULT_MAX));
#elif SAMPLE_F32
    *(global float *)(result + at) = value;
#else
    const uchar grey = convert_uchar_sat_rte(value);
    result[at + R_OFFSET] = grey;
    result[at + G_OFFSET] = grey;
    result[at + B_OFFSET] = grey;
#if IMAGE_STEP == 4
    result[at + X_OFFSET] = 0xff;
#endif
#endif
#endif
}

#endif

#if VIEW_DIFFERENCE

static inline float view_difference(float captured_sample, float filtered)
{
    const float published = rint(clamp(filtered, 0.0f, (float)RESULT_MAX));
    return (RESULT_MAX + 1) / 2 + VIEW_GAIN * (captured_sample * RESULT_SCALE - published);
}

#endif

#if VIEW_SPECTRUM

/* The response, and where to store powers. */
typedef struct {
    global const stored *values;
    global float *powers;
} weights;

#define VALUES(w)        (w).values
#define WEIGHTS          ((weights){response, powers})
#define POWERS_PARAMETER , global float *restrict powers

/* Stores LANES powers, of numbers or of their products; `at` is in the unit of response_load.
 * `is_own`: no other item has these. */
static inline void view_observe(weights w, uint at, bool is_own, cplx number, cplx product)
{
#if VIEW_FILTERED
    const cplx z = product;
    const float scale = HALF_STORAGE ? STORE_SCALE : 1.0f;
#else /* the factors that the product with H = 1 has */
    const cplx z = number;
    const float scale =
        HALF_STORAGE ? PRODUCT_SCALE * STORE_SCALE : 0.5f / ((float)U_LENGTH * V_LENGTH);
#endif
    const real re = c_re(z) * scale, im = c_im(z) * scale;
    const real power = re * re + im * im;
#if STAGED
    vstore2(power, 0, w.powers + at / sizeof(stored));
#else
    if (is_own)
        VSTORE(power, at, w.powers);
#endif
}

/* Returns the first of `length` frequencies that belongs to pixel `index` of `size`. */
static inline int view_first(int index, int size, int length)
{
    const int from = (2 * (index - size / 2) - 1) * length, to = 2 * size;
    return from > 0 ? (from + to - 1) / to : from / to;
}

/* Returns the place of a frequency or of its negative, whose powers are the same. */
static inline uint view_place(global const uint *places, int fu, int fv)
{
    const uint line = places[(fu + 2 * U_LENGTH) % U_LENGTH];
    const int v = line >> 31 != 0 ? -fv : fv;
    return (line & 0x7fffffff) + places[U_LENGTH + (v + 2 * V_LENGTH) % V_LENGTH];
}

#if ROWS_FIRST
#define VIEW_X_LENGTH      U_LENGTH
#define VIEW_Y_LENGTH      V_LENGTH
#define VIEW_PLACE(fx, fy) view_place(places, fx, fy)
#else
#define VIEW_X_LENGTH      V_LENGTH
#define VIEW_Y_LENGTH      U_LENGTH
#define VIEW_PLACE(fx, fy) view_place(places, fy, fx)
#endif

kernel void view(global const float *restrict powers, global const uint *restrict places,
                 global uchar *restrict result)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= IMAGE_WIDTH)
        return;
    const int x_end = view_first(x + 1, IMAGE_WIDTH, VIEW_X_LENGTH);
    const int y_end = view_first(y + 1, IMAGE_HEIGHT, VIEW_Y_LENGTH);
    float power = 0;
    for (int fy = view_first(y, IMAGE_HEIGHT, VIEW_Y_LENGTH); fy < y_end; fy++)
        for (int fx = view_first(x, IMAGE_WIDTH, VIEW_X_LENGTH); fx < x_end; fx++)
            power = max(power, powers[VIEW_PLACE(fx, fy)]);
    const float level = 10 * log10(power * (1.0f / SAMPLE_MAX / SAMPLE_MAX));
    view_store(
        result, x, y,
        clamp((level - VIEW_BLACK_DB) * (1.0f / (VIEW_WHITE_DB - VIEW_BLACK_DB)), 0.0f, 1.0f) *
            RESULT_MAX);
}

#else

typedef global const stored *weights;

#define VALUES(w) (w)
#define WEIGHTS   response
#define POWERS_PARAMETER
#define view_observe(w, at, is_own, number, product)

#endif
