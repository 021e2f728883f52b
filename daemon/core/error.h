/* The reason something failed, in words a user can act on.
 *
 * Every function that can fail for a reason worth reporting takes a `struct error *` and returns
 * 0 or -errno; on failure the text names the object, the value and what is expected, without a
 * trailing newline or full stop. Outputs named ret_... are untouched on failure. Library code
 * never logs: the owner of the operation does, once.
 *
 * Threads: plain data, one writer at a time. A NULL `struct error *` is allowed everywhere. */
#ifndef FFTD_CORE_ERROR_H
#define FFTD_CORE_ERROR_H

struct error {
    char text[512];
};

/* Writes the message (truncated to fit) and returns -err, so that a caller writes
 * `return error_set(why, EINVAL, "...")`. err is a positive errno. */
int error_set(struct error *why, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the existing text; returns -err. */
int error_prefix(struct error *why, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
