/* How much a test that measures tries, by the environment variable FFTD_TEST_CLIPS: `all` that
 * there is, for figures, or `one`, where each trial takes long, as under valgrind. */
#ifndef FFTD_TESTS_TRIALS_H
#define FFTD_TESTS_TRIALS_H

#include <stdbool.h>

/* Sorts numbers, the lowest first, and returns the middle one; NAN: there are none. */
double trials_median(double *number, unsigned count);

/* Of clips in which something begins and ends: after how many frames each is corrected (INFINITY:
 * not within `most`), and for how many frames after the end it still is. */
struct trials_ends {
    double *begun, *ghost;
    unsigned count, most;
};

/* Prints their figures, and sorts both. */
void trials_print_ends(const struct trials_ends *ends);

bool trials_are_all(void);

/* all, 1, or `few` where the variable is not set. */
unsigned trials_count(unsigned all, unsigned few);

#endif
