/* Implements `check` and `devices` by running fftd, which knows the configuration and the devices.
 * fftd is in the directory of fftd-ctl (after a build), in ../sbin (after an installation) or on
 * PATH. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "common/json.h"
#include "tools.h"

/* Replaces this process by fftd. Returns only if fftd is not found. */
void tools_exec_fftd(char *const *args)
{
    static const char *const places[] = {"fftd", "../sbin/fftd"};
    char self[PATH_MAX], path[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    signal(SIGPIPE, SIG_DFL);
    if (length > 0) {
        self[length] = '\0';
        *(strrchr(self, '/') + 1) = '\0';
        for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
            snprintf(path, sizeof path, "%s%s", self, places[i]);
            execv(path, args);
        }
    }
    execvp("fftd", args);
}

int tools_no_fftd(const struct ctl *ctl)
{
    return ctl_fail(
        ctl, EX_UNAVAILABLE,
        "cannot run fftd: it is not in the directory of fftd-ctl, in ../sbin or on PATH");
}

int command_devices(const struct ctl *ctl)
{
    char *args[] = {"fftd", "--list-devices", ctl->json ? "--json" : NULL, NULL};
    tools_exec_fftd(args);
    return tools_no_fftd(ctl);
}

/* Runs fftd --check and stores its messages in text[]. Returns its wait status; -1: see errno. */
static int run_check(const char *path, char *text, size_t size)
{
    char option[PATH_MAX + 16];
    int ends[2], status = -1;
    if ((size_t)snprintf(option, sizeof option, "--config=%s", path) >= sizeof option) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (pipe(ends) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        char *args[] = {"fftd", "--check", option, NULL};
        dup2(ends[1], STDERR_FILENO);
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(EX_OSERR);
        close(ends[0]);
        close(ends[1]);
        tools_exec_fftd(args);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t n;
    while (child > 0 && (n = read(ends[0], text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(ends[0]);
    if (child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    return status;
}

/* "fftd: error: FILE:12: ..." -> "FILE:12: ..." */
static const char *without_prefix(char *text)
{
    static const char prefix[] = "fftd: error: ";
    text[strcspn(text, "\n")] = '\0';
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : text;
}

int command_check(const struct ctl *ctl)
{
    char text[4096];
    /* fftd would exit with a configuration error (78), which is right for a service. */
    if (access(ctl->argv[0], R_OK) < 0)
        return ctl_fail(ctl, EX_NOINPUT, "cannot read %.1000s: %s", ctl->argv[0], strerror(errno));
    int status = run_check(ctl->argv[0], text, sizeof text);
    if (status == -1)
        return ctl_fail(ctl, EX_OSERR, "cannot run fftd: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return tools_no_fftd(ctl);
    if (!WIFEXITED(status))
        return ctl_fail(ctl, EX_SOFTWARE, "fftd --check was killed by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return ctl_fail(ctl, WEXITSTATUS(status), "%s", without_prefix(text));
    if (ctl->json) {
        struct json json = {.file = stdout};
        json_open(&json, NULL, '{');
        json_text(&json, "file", ctl->argv[0]);
        json_bool(&json, "valid", true);
        json_close(&json, '}');
    } else {
        printf("%s is valid\n", ctl->argv[0]);
    }
    return ctl_finish(ctl);
}
