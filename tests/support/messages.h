/* What a function writes to stderr. */
#ifndef FFTD_TESTS_MESSAGES_H
#define FFTD_TESTS_MESSAGES_H

/* Lets stderr be a pipe while write_it runs; it may write a few KiB. Returns what came through,
 * valid until the next call. */
const char *messages_of(void (*write_it)(void));

#endif
