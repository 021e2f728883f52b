/* The store of results that are planes of luma (GREY_RESULT, pixel.cl).
 *
 * Data: samples of 0 .. RESULT_MAX, of one byte or, with DEEP_RESULT, two; rows RESULT_STRIDE bytes
 * apart. Work-items: those of the kernels that store. */

#if GREY_RESULT

static inline void grey_store(global uchar *result, uint x, uint y, float value)
{
    global uchar *row = result + (size_t)y * RESULT_STRIDE;
#if DEEP_RESULT
    ((global ushort *)row)[x] = convert_ushort_sat_rte(value);
#else
    row[x] = convert_uchar_sat_rte(value);
#endif
}

#endif
