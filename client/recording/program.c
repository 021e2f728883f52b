#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only the other end and `keep` pass the exec: every descriptor of this program is O_CLOEXEC. */
static int spawn(char *const *arguments, int end, int as, int keep, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&actions, end, as);
    if (keep >= 0)
        posix_spawn_file_actions_adddup2(&actions, keep, keep); /* clears O_CLOEXEC */
    const int r = -posix_spawnp(ret_pid, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

int program_start(char *const *arguments, bool reading, int keep, FILE **ret, pid_t *ret_pid)
{
    int end[2];
    if (pipe2(end, O_CLOEXEC) < 0)
        return -errno;
    const int ours = reading ? end[0] : end[1], other = reading ? end[1] : end[0];
    int r = spawn(arguments, other, reading ? STDOUT_FILENO : STDIN_FILENO, keep, ret_pid);
    close(other);
    *ret = r == 0 ? fdopen(ours, reading ? "rb" : "wb") : NULL;
    if (*ret == NULL)
        close(ours);
    return r == 0 && *ret == NULL ? -ENOMEM : r;
}

void program_name_file(const char *path, char *ret, size_t size)
{
    const bool is_plain = path[0] != '/' && strstr(path, "://") == NULL;
    snprintf(ret, size, "%s%s", is_plain ? "./" : "", path);
}

int program_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 128;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void program_end(pid_t pid, int signal)
{
    kill(pid, signal);
    program_wait(pid);
}
