/* Implements `report` by running a shell script, which runs other programs. The script is embedded
 * in this program, so that it works wherever fftd-ctl is installed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

static const struct {
    const char *name, *text;
} scripts[] = {
#include "report.inc"
};

/* Sends stdout to the output file. 0 or an exit code. */
static int open_output(const struct ctl *ctl)
{
    const int fd = open(ctl->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        return ctl_fail(ctl, EX_CANTCREAT, "cannot write %.1000s: %s", ctl->output,
                        strerror(errno));
    close(fd);
    return 0;
}

int command_report(const struct ctl *ctl)
{
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *arguments[] = {"sh",
                         "-c",
                         (char *)scripts[0].text,
                         "fftd-ctl report",
                         (char *)ctl->name,
                         "--name",
                         (char *)ctl->name,
                         NULL,
                         NULL,
                         NULL};
    if (ctl->runtime_dir != NULL) {
        arguments[5] = "--runtime-dir";
        arguments[6] = (char *)ctl->runtime_dir;
    }
    if (length < 0)
        return ctl_fail(ctl, EX_OSERR, "cannot find fftd-ctl itself: %s", strerror(errno));
    self[length] = '\0';
    if (setenv("FFTD_CTL", self, 1) < 0)
        return ctl_fail(ctl, EX_OSERR, "%s", strerror(errno));
    const int code = ctl->output != NULL && strcmp(ctl->output, "-") != 0 ? open_output(ctl) : 0;
    if (code != 0)
        return code;
    signal(SIGPIPE, SIG_DFL);
    execv("/bin/sh", arguments);
    return ctl_fail(ctl, EX_OSERR, "cannot run /bin/sh: %s", strerror(errno));
}
