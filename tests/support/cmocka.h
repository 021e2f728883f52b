/* Includes cmocka.h after the headers that it needs. */
#ifndef FFTD_TESTS_CMOCKA_H
#define FFTD_TESTS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
