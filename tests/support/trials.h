/* How much a test that measures tries, by the environment variable FFTD_TEST_CLIPS: `all` that
 * there is, for figures, or `one`, where each trial takes long, as under valgrind. */
#ifndef FFTD_TESTS_TRIALS_H
#define FFTD_TESTS_TRIALS_H

#include <stdbool.h>

bool trials_are_all(void);

/* all, 1, or `few` where the variable is not set. */
unsigned trials_count(unsigned all, unsigned few);

#endif
