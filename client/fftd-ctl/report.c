/* Implements `report` by running a shell script, which runs other programs. The script is embedded
 * in this program, so that it works wherever fftd-ctl is installed. Passwords are hidden here. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "common/output.h"
#include "core/secret.h"

static const struct {
    const char *name, *text;
} scripts[] = {
#include "report.inc"
};

/* Runs the script and returns the end of a pipe from which its output is read, or -errno. */
static int run_script(char *const *arguments, pid_t *ret_pid)
{
    int ends[2];
    if (pipe(ends) < 0)
        return -errno;
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv("/bin/sh", arguments);
        _exit(127);
    }
    const int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -error;
    }
    *ret_pid = pid;
    return ends[0];
}

/* Copies the report, without passwords. Returns 0 or -errno. */
static int copy_lines(int fd, FILE *out)
{
    FILE *in = fdopen(fd, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int r = 0;
    if (in == NULL) {
        close(fd);
        return -ENOMEM;
    }
    while (r == 0 && (length = getline(&line, &size, in)) > 0) {
        const size_t shown_bytes = (size_t)length * strlen(SECRET_MARK) + 1; /* if all is hidden */
        char *shown = malloc(shown_bytes);
        if (shown == NULL)
            r = -ENOMEM;
        else if (fputs(secret_hide(shown, shown_bytes, line), out) == EOF)
            r = -errno;
        free(shown);
    }
    if (r == 0 && ferror(in))
        r = -EIO;
    free(line);
    fclose(in); /* ends the script, if it has more to say */
    return r;
}

/* Writes the report of the script to the output. Returns an exit code. */
static int write_report(const struct ctl *ctl, char *const *arguments, struct output_file *output)
{
    pid_t pid = 0;
    int status = 0;
    const int fd = run_script(arguments, &pid);
    int r = fd < 0 ? fd : copy_lines(fd, output->file);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (fd < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {
        output_discard(output);
        return ctl_fail(ctl, EX_OSERR, "cannot run /bin/sh%s%s", r < 0 ? ": " : "",
                        r < 0 ? strerror(-r) : "");
    }
    if (r < 0)
        output_discard(output);
    else
        r = output_close(output);
    /* A reader may close the pipe, as in `fftd-ctl report | head`. */
    return r == 0 || r == -EPIPE
               ? EX_OK
               : ctl_fail(ctl, EX_IOERR, "cannot write %.1000s: %s",
                          ctl->output != NULL ? ctl->output : "the report", strerror(-r));
}

int command_report(const struct ctl *ctl)
{
    char self[PATH_MAX];
    struct output_file output;
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
    if (output_open(&output, ctl->output != NULL ? ctl->output : "-", OUTPUT_WHOLE) < 0)
        return ctl_fail(ctl, EX_CANTCREAT, "cannot write %.1000s: %s", ctl->output, output.why);
    return write_report(ctl, arguments, &output);
}
