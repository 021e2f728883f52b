/* A process of another program, which inherits as little of the daemon as it can. Any thread. */
#ifndef FFTD_SERVICE_CHILD_H
#define FFTD_SERVICE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child_options {
    const char *path;
    char *const *arguments;
    int passed,
        as; /* a descriptor that it gets, and the number above 2 that it has there; 0: none */
    bool keeps_error; /* it writes to the daemon's stderr */
    bool has_group; /* it is in a group of its own, so that signals of a terminal do not reach it */
};

/* Starts it with an empty standard input and no other descriptor. Signals have their default
 * actions and are not blocked. Returns 0 or an errno, as posix_spawn. */
int child_start(pid_t *ret, const struct child_options *options);

#endif
