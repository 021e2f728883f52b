/* Template, included for each length N: the cosine transform (DCT-II) of N numbers, and its
 * inverse.
 *
 * It is C(k) = sum of x(n) cos(pi (2 n + 1) k / (2 N)), and follows from the Fourier transform V of
 * the even numbers and then the odd ones backwards: C(k) - i C(N - k) = V(k) exp(-i pi k / (2 N))
 * (Makhoul, A fast cosine transform in one and two dimensions, IEEE Trans. ASSP 28(1), 1980). C(0)
 * is divided by the square root of 2, so that noise has the same power in all coefficients.
 *
 * Data: `x`, one number for each lane, in registers, as in denoise_dft.cl. The caller is
 * denoise.cl, which has the work-items. */

#undef ROOT_HALF
#define ROOT_HALF 0.70710678118654752440f

static inline void PASTE(cosine_, N)(real *x)
{
    real v[N];
#pragma unroll
    for (uint n = 0; n < HALF_N; n++) {
        v[n] = x[2 * n];
        v[N - 1 - n] = x[2 * n + 1];
    }
    PASTE(real_dft_, N)(v);
    x[0] = v[0] * ROOT_HALF;
    x[HALF_N] = v[HALF_N] * ROOT_HALF;
#pragma unroll
    for (uint k = 1; k < HALF_N; k++) {
        const float c = rotation[k * (BLOCK / N)], s = rotation[BLOCK - k * (BLOCK / N)];
        x[k] = v[k] * c + v[HALF_N + k] * s;
        x[N - k] = v[k] * s - v[HALF_N + k] * c;
    }
}

/* N times the inverse of cosine_N. */
static inline void PASTE(cosine_inverse_, N)(real *x)
{
    real v[N];
    v[0] = x[0] * (2 * ROOT_HALF);
    v[HALF_N] = x[HALF_N] * (2 * ROOT_HALF);
#pragma unroll
    for (uint k = 1; k < HALF_N; k++) {
        const float c = rotation[k * (BLOCK / N)], s = rotation[BLOCK - k * (BLOCK / N)];
        v[k] = x[k] * c + x[N - k] * s;
        v[HALF_N + k] = x[k] * s - x[N - k] * c;
    }
    PASTE(real_inverse_, N)(v);
#pragma unroll
    for (uint n = 0; n < HALF_N; n++) {
        x[2 * n] = v[n];
        x[2 * n + 1] = v[N - 1 - n];
    }
}
