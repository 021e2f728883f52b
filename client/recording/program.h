/* Other programs at the ends of a pipe. */
#ifndef FFTD_RECORDING_PROGRAM_H
#define FFTD_RECORDING_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Starts a program of PATH, and connects a pipe to its standard output (reading) or input. Its
 * other descriptors up to 2 stay as they are; `keep` is one more that it gets, or -1. Arguments are
 * trusted: no shell is involved. Returns 0 or -errno; -ENOENT: there is no such program. */
int program_start(char *const *arguments, bool reading, int keep, FILE **ret, pid_t *ret_pid);

/* Writes a file's name for ffmpeg, which takes what is before a colon for a protocol unless it has
 * a slash. Addresses, with "://", stay as they are. */
void program_name_file(const char *path, char *ret, size_t size);

/* Sends the signal that ends a program, and waits for its end. */
void program_end(pid_t pid, int signal);

/* Waits for a program, and returns its exit status; 128 + N after signal N. */
int program_wait(pid_t pid);

#endif
