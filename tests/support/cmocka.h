/* Includes cmocka.h after the headers that it needs, and lets FFTD_TEST_FILTER choose tests. */
#ifndef FFTD_TESTS_CMOCKA_H
#define FFTD_TESTS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static __attribute__((constructor)) void choose_tests(void)
{
    cmocka_set_test_filter(getenv("FFTD_TEST_FILTER"));
}

#endif
