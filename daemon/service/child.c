#include "service/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

/* The copy of a passed descriptor is made first, since that may have any number. */
static int set_descriptors(posix_spawn_file_actions_t *actions, const struct child_options *options)
{
    const int last = options->as > STDERR_FILENO ? options->as : STDERR_FILENO;
    int r = options->as > 0
                ? posix_spawn_file_actions_adddup2(actions, options->passed, options->as)
                : 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && r == 0; fd++)
        if (fd != STDERR_FILENO || !options->keeps_error)
            r = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
    return r == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, last + 1) : r;
}

/* The daemon blocks and ignores signals, which its children would inherit. */
static int set_attributes(posix_spawnattr_t *attributes, const struct child_options *options)
{
    sigset_t unblocked, ignored;
    sigemptyset(&unblocked);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    int r = posix_spawnattr_setsigmask(attributes, &unblocked);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &ignored);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes,
                                     (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                             (options->has_group ? POSIX_SPAWN_SETPGROUP : 0)));
    return r;
}

int child_start(pid_t *ret, const struct child_options *options)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = set_descriptors(&actions, options);
        if (r == 0)
            r = set_attributes(&attributes, options);
        if (r == 0)
            r = posix_spawn(ret, options->path, &actions, &attributes, options->arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}
