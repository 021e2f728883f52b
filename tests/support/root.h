/* Tests that act as other users. tests/tools/run.py runs what they skip with sudo. */
#ifndef FFTD_TESTS_ROOT_H
#define FFTD_TESTS_ROOT_H

/* Skips the test, with the reason, unless this process may act as any user. */
void root_or_skip(void);

#endif
