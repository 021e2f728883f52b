/* Transforms on the processor against the sum that defines them, in double precision. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/fft.h"

static float complex random_number(void)
{
    return (float)rand() / (float)RAND_MAX - 0.5F + ((float)rand() / (float)RAND_MAX - 0.5F) * I;
}

static double complex defined_line(const float complex *line, unsigned length, unsigned k, int sign)
{
    double complex sum = 0;
    for (unsigned n = 0; n < length; n++)
        sum += line[n] * cexp(sign * 2 * M_PI * I * (double)(k * n % length) / length);
    return sum;
}

/* The only line of the square that is not zero is a row or a column of it. */
static void lines_are_what_the_definition_says(void **state)
{
    enum { MOST = 512 };
    static float complex square[MOST * MOST];
    (void)state;
    for (unsigned length = 2; length <= MOST; length *= 2)
        for (unsigned kind = 0; kind < 4; kind++) {
            const bool inverse = kind % 2 != 0;
            const unsigned step = kind < 2 ? 1 : length, other = kind < 2 ? length : 1;
            float complex before[MOST];
            struct fft *fft;
            memset(square, 0, sizeof square);
            for (unsigned i = 0; i < length; i++)
                square[i * step] = before[i] = random_number();
            assert_int_equal(fft_create(&fft, length, NULL), 0);
            fft_square(fft, square, inverse);
            for (unsigned k = 0; k < length; k += 1 + length / 64) {
                const double complex expected = defined_line(before, length, k, inverse ? 1 : -1);
                assert_true(cabs(square[k * step] - expected) < 1e-6 * length);
                assert_true(cabs(square[k * step + (length - 1) * other] - expected) <
                            1e-6 * length);
            }
            fft_destroy(fft);
        }
}

static void squares_come_back(void **state)
{
    (void)state;
    enum { SIDE = 64 };
    static float complex square[SIDE * SIDE];
    static float complex before[SIDE * SIDE];
    struct fft *fft;
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        square[i] = before[i] = random_number();
    assert_int_equal(fft_create(&fft, SIDE, NULL), 0);
    fft_square(fft, square, false);
    /* Frequency (5, 3), as the definition says. */
    double complex sum = 0;
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            sum += before[y * SIDE + x] * cexp(-2 * M_PI * I * (5.0 * x + 3.0 * y) / SIDE);
    assert_true(cabs(square[3 * SIDE + 5] - sum) < 1e-3);
    fft_square(fft, square, true);
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        assert_true(cabsf(square[i] / (SIDE * SIDE) - before[i]) < 1e-6F);
    fft_destroy(fft);
}

static void other_lengths_are_refused(void **state)
{
    (void)state;
    static const unsigned lengths[] = {0, 1, 3, 12, 8192};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct fft *fft = NULL;
        struct error why;
        assert_int_equal(fft_create(&fft, lengths[i], &why), -EINVAL);
        assert_non_null(strstr(why.text, "power of two"));
        assert_null(fft);
    }
    fft_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_the_definition_says),
        cmocka_unit_test(squares_come_back),
        cmocka_unit_test(other_lengths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
