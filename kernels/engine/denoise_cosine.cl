/* The cosine transform (DCT-II) of N = BLOCK numbers, and its inverse.
 *
 * It is C(k) = sum of x(n) cos(pi (2 n + 1) k / (2 N)), and follows from the Fourier transform V of
 * the even numbers and then the odd ones backwards: C(k) - i C(N - k) = V(k) exp(-i pi k / (2 N))
 * (Makhoul, A fast cosine transform in one and two dimensions, IEEE Trans. ASSP 28(1), 1980). C(0)
 * is divided by the square root of 2, so that noise has the same power in all coefficients.
 *
 * Data: `x`, one number for each lane, in registers, as in denoise_dft.cl. The caller is
 * denoise.cl, which has the work-items. */

#define ROOT_HALF 0.70710678118654752440f

static inline void cosine(real *x)
{
    real v[BLOCK];
#pragma unroll
    for (uint n = 0; n < BLOCK / 2; n++) {
        v[n] = x[2 * n];
        v[BLOCK - 1 - n] = x[2 * n + 1];
    }
    PASTE(real_dft_, BLOCK)(v);
    x[0] = v[0] * ROOT_HALF;
    x[BLOCK / 2] = v[BLOCK / 2] * ROOT_HALF;
#pragma unroll
    for (uint k = 1; k < BLOCK / 2; k++) {
        const float c = rotation[k], s = rotation[BLOCK - k];
        x[k] = v[k] * c + v[BLOCK / 2 + k] * s;
        x[BLOCK - k] = v[k] * s - v[BLOCK / 2 + k] * c;
    }
}

/* N times the inverse of `cosine`. */
static inline void cosine_inverse(real *x)
{
    real v[BLOCK];
    v[0] = x[0] * (2 * ROOT_HALF);
    v[BLOCK / 2] = x[BLOCK / 2] * (2 * ROOT_HALF);
#pragma unroll
    for (uint k = 1; k < BLOCK / 2; k++) {
        const float c = rotation[k], s = rotation[BLOCK - k];
        v[k] = x[k] * c + x[BLOCK - k] * s;
        v[BLOCK / 2 + k] = x[k] * s - x[BLOCK - k] * c;
    }
    PASTE(real_inverse_, BLOCK)(v);
#pragma unroll
    for (uint n = 0; n < BLOCK / 2; n++) {
        x[2 * n] = v[n];
        x[2 * n + 1] = v[BLOCK - 1 - n];
    }
}
