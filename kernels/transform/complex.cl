/* What both forms of complex numbers share: planar.cl, and interleaved.cl for the staged technique.
 *
 * A `cplx` holds LANES complex numbers, and a `real` as many real ones; the same arithmetic is
 * applied to all of them. Kernels use complex numbers almost only through the functions of these
 * files, which have the same names in both. In global memory numbers are `stored`, float or half.
 */

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

#if LANES == 1
typedef float real;
#else
typedef PASTE(float, LANES) real;
#endif

/* Load and store group `at` of LANES consecutive numbers of any type; TO_REAL makes them floats. */
#if LANES == 1
#define VLOAD(at, from)       ((from)[at])
#define VSTORE(value, at, to) ((to)[at] = (value))
#define TO_REAL               convert_float
#else
#define VLOAD   PASTE(vload, LANES)
#define VSTORE  PASTE(vstore, LANES)
#define TO_REAL PASTE(convert_float, LANES)
#endif

#if HALF_STORAGE
typedef half stored;
#else
typedef float stored;
#endif

#if LANES > 1
/* Clamps to 0 .. top and rounds to nearest even. Floats from 2^23 on are integers, so adding 2^23
 * rounds and leaves the integer in the lowest bits. convert_uchar_sat_rte of a vector takes dozens
 * of instructions per number on PoCL. */
static inline PASTE(uint, LANES) real_round(real value, float top)
{
    const float whole = 8388608.0f;
    return PASTE(as_uint, LANES)(clamp(value, 0.0f, top) + whole) - as_uint(whole);
}
#endif
