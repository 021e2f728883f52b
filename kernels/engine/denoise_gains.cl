/* How much of its noise a block's number keeps: the gains of both passes
 * (daemon/filters/denoise.h). Data and work-items: denoise.cl. */

#if SECOND

/* Filters two numbers of a block by the power that is known there; one division serves both.
 * Returns the sum of their gains. */
static inline real weigh_two(real *block, const real *known, real floor)
{
    const real a = known[0] * known[0], b = known[1] * known[1];
    const real below_a = a + floor, below_b = b + floor;
    const real quotient = 1.0f / (below_a * below_b);
    const real gain = a * below_b * quotient, next = b * below_a * quotient;
    block[0] *= gain;
    block[1] *= next;
    return gain + next;
}

#else

/* ---- the gain ----
 *
 * After the transform along both axes, number j of lane l belongs to frequency j along x and l
 * along y, or to an imaginary part of it (denoise_dft.cl). Let P and Q be the transforms along x of
 * the real and of the imaginary parts along y, which are in lanes l and N/2 + l. The block's
 * transform is F = P + i Q at (kx, ky), and conj(P - i Q) at (-kx, ky). Each gets its own gain g
 * and h, so P becomes (g + h) / 2 P + (g - h) / 2 i Q, and Q becomes (g + h) / 2 Q + (h - g) / 2 i
 * P. Lanes 0 and N/2 have a real frequency along y each, and no Q. */

#define SMALLEST 1e-12f /* power that is 0 counts as this one, whose gain is 0 */

struct gains {
    real same, crossed; /* (g + h) / 2, (g - h) / 2 */
};

/* One division serves both: floor / a = (floor / (a b)) b. */
static inline struct gains gains_of(real power, real mirrored_power, real floor)
{
    const real a = max(power, SMALLEST), b = max(mirrored_power, SMALLEST);
    const real quotient = floor / (a * b);
    const real g = max(1.0f - quotient * b, 0.0f);
    const real h = max(1.0f - quotient * a, 0.0f);
    struct gains ret;
    ret.same = 0.5f * (g + h);
    ret.crossed = 0.5f * (g - h);
    return ret;
}

/* Weighs numbers j and `count` / 2 + j of `count`; `other_...` are those of the other lane of the
 * pair. Returns the gain of each. */
static inline real weigh_complex(real *re, real *im, real other_re, real other_im, real floor)
{
    const real a = *re - other_im, b = *im + other_re, c = *re + other_im, d = *im - other_re;
    const struct gains gains = gains_of(a * a + b * b, c * c + d * d, floor);
    const real old = *re;
    *re = gains.same * old - gains.crossed * other_im;
    *im = gains.same * *im + gains.crossed * other_re;
    return gains.same;
}

static inline real weigh_real(real *x, real other, real floor)
{
    const real gain = max(1.0f - floor / max(*x * *x + other * other, SMALLEST), 0.0f);
    *x *= gain;
    return gain;
}

/* Weighs the `count` numbers of a transform along one axis; `other` has those of the other lanes.
 * Returns the sum of their gains. */
static inline real weigh_numbers(real *x, const real *other, uint count, real floor)
{
    const real other_first = other[0], other_last = other[count / 2];
    real kept = weigh_real(&x[0], other_first, floor);
    kept += weigh_real(&x[count / 2], other_last, floor);
#pragma unroll
    for (uint j = 1; j < count / 2; j++)
        kept += 2 * weigh_complex(&x[j], &x[count / 2 + j], other[j], other[count / 2 + j], floor);
    return kept;
}

#endif

#if FINE
#define LEVEL_GAIN 4.0f /* what a block's level adds to the sum of its gains */

/* Returns the weight of a block of `count` numbers from the sum of their gains: the fewer numbers a
 * block needs, the less of its noise is left. */
static inline float weight_of(float gains, float count)
{
    const float fewness = count / (gains + LEVEL_GAIN);
    return fewness * fewness;
}
#endif
