/* Template, once for each length N = 2, 4, .. BLOCK, in this order: the discrete Fourier transform
 * of N real numbers, and its inverse. HALF_N is N / 2; quarter_turn[k] = cos(2 pi k / 32).
 *
 * A transform of real numbers is stored in N places: the real parts of frequencies 0 .. N/2 and
 * then the imaginary parts of 1 .. N/2 - 1, so that frequency k is at k and at N/2 + k. The even
 * and the odd numbers are transformed first (decimation in time): X(k) = E(k) + w^k O(k) and
 * X(N/2 - k) = conj(E(k) - w^k O(k)), w = exp(-2 pi i / N). The inverse undoes these steps without
 * dividing by two in each, so its result is N times as large.
 *
 * Data: `x`, one number for each lane, in registers. The caller is denoise.cl, which has the
 * work-items. */

#if N == 2

static inline void real_dft_2(real *x)
{
    const real odd = x[1];
    x[1] = x[0] - odd;
    x[0] += odd;
}

static inline void real_inverse_2(real *x)
{
    real_dft_2(x);
}

#else

static inline void PASTE(real_dft_, N)(real *x)
{
    real even[HALF_N], odd[HALF_N];
#pragma unroll
    for (uint i = 0; i < HALF_N; i++) {
        even[i] = x[2 * i];
        odd[i] = x[2 * i + 1];
    }
    PASTE(real_dft_, HALF_N)(even);
    PASTE(real_dft_, HALF_N)(odd);
    x[0] = even[0] + odd[0];
    x[HALF_N] = even[0] - odd[0];
    x[N / 4] = even[N / 4];
    x[3 * N / 4] = -odd[N / 4];
#pragma unroll
    for (uint k = 1; k < N / 4; k++) {
        const float c = quarter_turn[k * (32 / N)], s = quarter_turn[8 - k * (32 / N)];
        const real re = odd[k] * c + odd[N / 4 + k] * s, im = odd[N / 4 + k] * c - odd[k] * s;
        x[k] = even[k] + re;
        x[HALF_N + k] = even[N / 4 + k] + im;
        x[HALF_N - k] = even[k] - re;
        x[N - k] = im - even[N / 4 + k];
    }
}

static inline void PASTE(real_inverse_, N)(real *x)
{
    real even[HALF_N], odd[HALF_N];
    even[0] = x[0] + x[HALF_N];
    odd[0] = x[0] - x[HALF_N];
    even[N / 4] = 2 * x[N / 4];
    odd[N / 4] = -2 * x[3 * N / 4];
#pragma unroll
    for (uint k = 1; k < N / 4; k++) {
        const float c = quarter_turn[k * (32 / N)], s = quarter_turn[8 - k * (32 / N)];
        const real re = x[k] - x[HALF_N - k], im = x[HALF_N + k] + x[N - k];
        even[k] = x[k] + x[HALF_N - k];
        even[N / 4 + k] = x[HALF_N + k] - x[N - k];
        odd[k] = re * c - im * s;
        odd[N / 4 + k] = im * c + re * s;
    }
    PASTE(real_inverse_, HALF_N)(even);
    PASTE(real_inverse_, HALF_N)(odd);
#pragma unroll
    for (uint i = 0; i < HALF_N; i++) {
        x[2 * i] = even[i];
        x[2 * i + 1] = odd[i];
    }
}

#endif
