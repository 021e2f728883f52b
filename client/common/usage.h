/* Errors in the options of a program. */
#ifndef FFTD_COMMON_USAGE_H
#define FFTD_COMMON_USAGE_H

/* Prints "PROGRAM: MESSAGE; see PROGRAM --help" to stderr. Returns the exit code EX_USAGE. */
int usage_error(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
