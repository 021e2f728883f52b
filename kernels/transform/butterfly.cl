/* Discrete Fourier transforms of 2 to 16 points, in registers and in natural order:
 *     X[k] = sum over n of x[n] exp(-2 pi i n k / R)
 * Odd sizes pair x[n] with x[R - n]: their sum is multiplied only by cosines, and their difference
 * only by sines. Sizes with two coprime factors use the Good-Thomas index map, which needs no
 * twiddles (R. E. Blahut, Fast Algorithms for Signal Processing, ch. 3). Every index is a constant,
 * so that x stays in registers. The kernels of both techniques call these functions for each stage.
 */

/* 1/8 and 3/8 of a turn, clockwise */
static inline cplx c_turn_1_8(cplx a)
{
    return c_scale(c_add(c_minus_i(a), a), 0.707106781186547524f);
}

static inline cplx c_turn_3_8(cplx a)
{
    return c_scale(c_sub(c_minus_i(a), a), 0.707106781186547524f);
}

static inline void dft_2(cplx *x)
{
    const cplx a = x[0];
    x[0] = c_add(a, x[1]);
    x[1] = c_sub(a, x[1]);
}

static inline void dft_3_of(cplx *x0, cplx *x1, cplx *x2)
{
    const cplx sum = c_add(*x1, *x2);
    const cplx dif = c_scale(c_sub(*x1, *x2), 0.866025403784438647f);
    const cplx mid = c_mad(sum, -0.5f, *x0);
    *x0 = c_add(*x0, sum);
    *x1 = c_sub_i(mid, dif);
    *x2 = c_add_i(mid, dif);
}

static inline void dft_4_of(cplx *x0, cplx *x1, cplx *x2, cplx *x3)
{
    const cplx a = c_add(*x0, *x2);
    const cplx b = c_sub(*x0, *x2);
    const cplx c = c_add(*x1, *x3);
    const cplx d = c_sub(*x1, *x3);
    *x0 = c_add(a, c);
    *x1 = c_sub_i(b, d);
    *x2 = c_sub(a, c);
    *x3 = c_add_i(b, d);
}

static inline void dft_5_of(cplx *x0, cplx *x1, cplx *x2, cplx *x3, cplx *x4)
{
    const float c1 = 0.309016994374947424f;
    const float c2 = -0.809016994374947424f;
    const float s1 = 0.951056516295153572f;
    const float s2 = 0.587785252292473129f;
    const cplx a1 = c_add(*x1, *x4);
    const cplx a2 = c_add(*x2, *x3);
    const cplx b1 = c_sub(*x1, *x4);
    const cplx b2 = c_sub(*x2, *x3);
    const cplx m1 = c_mad(a2, c2, c_mad(a1, c1, *x0));
    const cplx m2 = c_mad(a2, c1, c_mad(a1, c2, *x0));
    const cplx n1 = c_mad(b2, s2, c_scale(b1, s1));
    const cplx n2 = c_mad(b2, -s1, c_scale(b1, s2));
    *x0 = c_add(*x0, c_add(a1, a2));
    *x1 = c_sub_i(m1, n1);
    *x2 = c_sub_i(m2, n2);
    *x3 = c_add_i(m2, n2);
    *x4 = c_add_i(m1, n1);
}

static inline void dft_3(cplx *x)
{
    dft_3_of(&x[0], &x[1], &x[2]);
}

static inline void dft_4(cplx *x)
{
    dft_4_of(&x[0], &x[1], &x[2], &x[3]);
}

static inline void dft_5(cplx *x)
{
    dft_5_of(&x[0], &x[1], &x[2], &x[3], &x[4]);
}

static inline void dft_7(cplx *x)
{
    const float c1 = 0.623489801858733531f;
    const float c2 = -0.222520933956314404f;
    const float c3 = -0.900968867902419126f;
    const float s1 = 0.781831482468029809f;
    const float s2 = 0.974927912181823607f;
    const float s3 = 0.433883739117558120f;
    const cplx a1 = c_add(x[1], x[6]);
    const cplx a2 = c_add(x[2], x[5]);
    const cplx a3 = c_add(x[3], x[4]);
    const cplx b1 = c_sub(x[1], x[6]);
    const cplx b2 = c_sub(x[2], x[5]);
    const cplx b3 = c_sub(x[3], x[4]);
    const cplx m1 = c_mad(a3, c3, c_mad(a2, c2, c_mad(a1, c1, x[0])));
    const cplx m2 = c_mad(a3, c1, c_mad(a2, c3, c_mad(a1, c2, x[0])));
    const cplx m3 = c_mad(a3, c2, c_mad(a2, c1, c_mad(a1, c3, x[0])));
    const cplx n1 = c_mad(b3, s3, c_mad(b2, s2, c_scale(b1, s1)));
    const cplx n2 = c_mad(b3, -s1, c_mad(b2, -s3, c_scale(b1, s2)));
    const cplx n3 = c_mad(b3, s2, c_mad(b2, -s1, c_scale(b1, s3)));
    x[0] = c_add(c_add(x[0], a1), c_add(a2, a3));
    x[1] = c_sub_i(m1, n1);
    x[2] = c_sub_i(m2, n2);
    x[3] = c_sub_i(m3, n3);
    x[4] = c_add_i(m3, n3);
    x[5] = c_add_i(m2, n2);
    x[6] = c_add_i(m1, n1);
}

/* 2 x 3: n = (3 n1 + 2 n2) mod 6, k = (3 k1 + 4 k2) mod 6 */
static inline void dft_6(cplx *x)
{
    cplx a0 = x[0], a1 = x[2], a2 = x[4];
    cplx b0 = x[3], b1 = x[5], b2 = x[1];
    dft_3_of(&a0, &a1, &a2);
    dft_3_of(&b0, &b1, &b2);
    x[0] = c_add(a0, b0);
    x[3] = c_sub(a0, b0);
    x[4] = c_add(a1, b1);
    x[1] = c_sub(a1, b1);
    x[2] = c_add(a2, b2);
    x[5] = c_sub(a2, b2);
}

static inline void dft_8(cplx *x)
{
    cplx b0 = x[1], b1 = x[3], b2 = x[5], b3 = x[7];
    cplx a0 = x[0], a1 = x[2], a2 = x[4], a3 = x[6];
    dft_4_of(&a0, &a1, &a2, &a3);
    dft_4_of(&b0, &b1, &b2, &b3);
    b1 = c_turn_1_8(b1);
    b3 = c_turn_3_8(b3);
    x[0] = c_add(a0, b0);
    x[4] = c_sub(a0, b0);
    x[1] = c_add(a1, b1);
    x[5] = c_sub(a1, b1);
    x[2] = c_sub_i(a2, b2);
    x[6] = c_add_i(a2, b2);
    x[3] = c_add(a3, b3);
    x[7] = c_sub(a3, b3);
}

/* 3 x 3, with twiddles of a ninth of a turn */
static inline void dft_9(cplx *x)
{
    const float2 w1 = (float2)(0.766044443118978035f, -0.642787609686539327f);
    const float2 w2 = (float2)(0.173648177666930349f, -0.984807753012208059f);
    const float2 w4 = (float2)(-0.939692620785908384f, -0.342020143325668733f);
    dft_3_of(&x[0], &x[3], &x[6]);
    dft_3_of(&x[1], &x[4], &x[7]);
    dft_3_of(&x[2], &x[5], &x[8]);
    cplx a1 = x[3], a4 = c_twiddle(x[4], w1), a7 = c_twiddle(x[5], w2);
    cplx b1 = x[6], b4 = c_twiddle(x[7], w2), b7 = c_twiddle(x[8], w4);
    dft_3_of(&x[0], &x[1], &x[2]);
    dft_3_of(&a1, &a4, &a7);
    dft_3_of(&b1, &b4, &b7);
    x[3] = x[1];
    x[6] = x[2];
    x[1] = a1;
    x[4] = a4;
    x[7] = a7;
    x[2] = b1;
    x[5] = b4;
    x[8] = b7;
}

/* 2 x 5: n = (5 n1 + 2 n2) mod 10, k = (5 k1 + 6 k2) mod 10 */
static inline void dft_10(cplx *x)
{
    cplx a0 = x[0], a1 = x[2], a2 = x[4], a3 = x[6], a4 = x[8];
    cplx b0 = x[5], b1 = x[7], b2 = x[9], b3 = x[1], b4 = x[3];
    dft_5_of(&a0, &a1, &a2, &a3, &a4);
    dft_5_of(&b0, &b1, &b2, &b3, &b4);
    x[0] = c_add(a0, b0);
    x[5] = c_sub(a0, b0);
    x[6] = c_add(a1, b1);
    x[1] = c_sub(a1, b1);
    x[2] = c_add(a2, b2);
    x[7] = c_sub(a2, b2);
    x[8] = c_add(a3, b3);
    x[3] = c_sub(a3, b3);
    x[4] = c_add(a4, b4);
    x[9] = c_sub(a4, b4);
}

/* 3 x 4: n = (4 n1 + 3 n2) mod 12, k = (4 k1 + 9 k2) mod 12 */
static inline void dft_12(cplx *x)
{
    cplx a0 = x[0], a1 = x[3], a2 = x[6], a3 = x[9];
    cplx b0 = x[4], b1 = x[7], b2 = x[10], b3 = x[1];
    cplx c0 = x[8], c1 = x[11], c2 = x[2], c3 = x[5];
    dft_4_of(&a0, &a1, &a2, &a3);
    dft_4_of(&b0, &b1, &b2, &b3);
    dft_4_of(&c0, &c1, &c2, &c3);
    dft_3_of(&a0, &b0, &c0);
    dft_3_of(&a1, &b1, &c1);
    dft_3_of(&a2, &b2, &c2);
    dft_3_of(&a3, &b3, &c3);
    x[0] = a0;
    x[4] = b0;
    x[8] = c0;
    x[9] = a1;
    x[1] = b1;
    x[5] = c1;
    x[6] = a2;
    x[10] = b2;
    x[2] = c2;
    x[3] = a3;
    x[7] = b3;
    x[11] = c3;
}

/* 3 x 5: n = (5 n1 + 3 n2) mod 15, k = (10 k1 + 6 k2) mod 15 */
static inline void dft_15(cplx *x)
{
    cplx a0 = x[0], a1 = x[3], a2 = x[6], a3 = x[9], a4 = x[12];
    cplx b0 = x[5], b1 = x[8], b2 = x[11], b3 = x[14], b4 = x[2];
    cplx c0 = x[10], c1 = x[13], c2 = x[1], c3 = x[4], c4 = x[7];
    dft_5_of(&a0, &a1, &a2, &a3, &a4);
    dft_5_of(&b0, &b1, &b2, &b3, &b4);
    dft_5_of(&c0, &c1, &c2, &c3, &c4);
    dft_3_of(&a0, &b0, &c0);
    dft_3_of(&a1, &b1, &c1);
    dft_3_of(&a2, &b2, &c2);
    dft_3_of(&a3, &b3, &c3);
    dft_3_of(&a4, &b4, &c4);
    x[0] = a0;
    x[10] = b0;
    x[5] = c0;
    x[6] = a1;
    x[1] = b1;
    x[11] = c1;
    x[12] = a2;
    x[7] = b2;
    x[2] = c2;
    x[3] = a3;
    x[13] = b3;
    x[8] = c3;
    x[9] = a4;
    x[4] = b4;
    x[14] = c4;
}

static inline void exchange(cplx *a, cplx *b)
{
    const cplx t = *a;
    *a = *b;
    *b = t;
}

/* 4 x 4, with twiddles of a sixteenth of a turn */
static inline void dft_16(cplx *x)
{
    const float c = 0.923879532511286756f;
    const float s = 0.382683432365089772f;
    dft_4_of(&x[0], &x[4], &x[8], &x[12]);
    dft_4_of(&x[1], &x[5], &x[9], &x[13]);
    dft_4_of(&x[2], &x[6], &x[10], &x[14]);
    dft_4_of(&x[3], &x[7], &x[11], &x[15]);
    x[5] = c_twiddle(x[5], (float2)(c, -s));
    x[9] = c_turn_1_8(x[9]);
    x[13] = c_twiddle(x[13], (float2)(s, -c));
    x[6] = c_turn_1_8(x[6]);
    x[10] = c_minus_i(x[10]);
    x[14] = c_turn_3_8(x[14]);
    x[7] = c_twiddle(x[7], (float2)(s, -c));
    x[11] = c_turn_3_8(x[11]);
    x[15] = c_twiddle(x[15], (float2)(-c, s));
    dft_4_of(&x[0], &x[1], &x[2], &x[3]);
    dft_4_of(&x[4], &x[5], &x[6], &x[7]);
    dft_4_of(&x[8], &x[9], &x[10], &x[11]);
    dft_4_of(&x[12], &x[13], &x[14], &x[15]);
    /* x[4 k1 + k2] holds frequency k1 + 4 k2 */
    exchange(&x[1], &x[4]);
    exchange(&x[2], &x[8]);
    exchange(&x[3], &x[12]);
    exchange(&x[6], &x[9]);
    exchange(&x[7], &x[13]);
    exchange(&x[11], &x[14]);
}
