/* Runs fftd, which knows the configuration, the devices, the filters and the presets. It is in the
 * directory of fftd-ctl (after a build), in ../sbin (after an installation) or on PATH. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "common/json.h"
#include "core/text.h"
#include "tools.h"

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

/* Reads what a process has written into a memory file, as text. NULL: see errno. */
static char *read_all(int fd)
{
    struct stat st;
    char *text = fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    const ssize_t n = text != NULL ? pread(fd, text, (size_t)st.st_size, 0) : -1;
    if (n < 0) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

/* Runs fftd with its standard output and error in memory files. Returns its wait status; -1: see
 * errno. */
static int run_fftd(char *const *args, const int fd[2])
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        dup2(fd[0], STDOUT_FILENO);
        dup2(fd[1], STDERR_FILENO);
        tools_exec_fftd(args);
        _exit(127);
    }
    if (child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    return status;
}

/* "fftd: error: FILE:12: ..." -> "FILE:12: ..." */
static char *without_prefix(char *text)
{
    static const char prefix[] = "fftd: error: ";
    text[strcspn(text, "\n")] = '\0';
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : text;
}

int tools_run(const struct ctl *ctl, char *const *args, char **ret)
{
    const int fd[2] = {memfd_create("output", MFD_CLOEXEC), memfd_create("messages", MFD_CLOEXEC)};
    const int status = fd[0] >= 0 && fd[1] >= 0 ? run_fftd(args, fd) : -1;
    char *output = status != -1 ? read_all(fd[0]) : NULL;
    char *messages = output != NULL ? read_all(fd[1]) : NULL;
    int code = 0;
    if (messages == NULL)
        code = ctl_fail(ctl, EX_OSERR, "cannot run fftd: %s", strerror(errno));
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        code = tools_no_fftd(ctl);
    else if (!WIFEXITED(status))
        code = ctl_fail(ctl, EX_SOFTWARE, "fftd %s was killed by signal %d", args[1],
                        WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        code = ctl_fail(ctl, WEXITSTATUS(status), "%s", text_clean(without_prefix(messages)));
    free(messages);
    for (unsigned i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    if (code != 0)
        free(output);
    else
        *ret = output;
    return code;
}

int tools_print(const struct ctl *ctl, char *const *args)
{
    char *output = NULL;
    const int code = tools_run(ctl, args, &output);
    if (code != 0)
        return code;
    fputs(output, stdout);
    free(output);
    return ctl_finish(ctl);
}

int command_check(const struct ctl *ctl)
{
    char option[PATH_MAX + 16], *output = NULL;
    char *args[] = {"fftd", "--check", option, NULL};
    /* fftd would exit with a configuration error (78), which is right for a service. */
    if (access(ctl->argv[0], R_OK) < 0)
        return ctl_fail(ctl, EX_NOINPUT, "cannot read %.1000s: %s", ctl->argv[0], strerror(errno));
    if ((size_t)snprintf(option, sizeof option, "--config=%s", ctl->argv[0]) >= sizeof option)
        return ctl_fail(ctl, EX_OSERR, "cannot run fftd: %s", strerror(ENAMETOOLONG));
    const int code = tools_run(ctl, args, &output);
    if (code != 0)
        return code;
    free(output);
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
