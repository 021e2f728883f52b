/* Implements `report` by running a shell script, which runs other programs. The script is embedded
 * in this program, so that it works wherever fftd-ctl is installed. Passwords are hidden here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "core/secret.h"
#include "recording/program.h"
#include "save.h"

static const struct {
    const char *name, *text;
} scripts[] = {
#include "report.inc"
};

/* Copies the report, without passwords. Returns 0 or -errno. */
static int copy_lines(FILE *in, FILE *out)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int r = 0;
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
    FILE *in;
    pid_t pid;
    int r = program_start(arguments, true, -1, &in, &pid);
    if (r < 0) {
        output_discard(output);
        return ctl_fail(ctl, EX_OSERR, "cannot run /bin/sh: %s", strerror(-r));
    }
    r = copy_lines(in, output->file);
    program_wait(pid);
    return save_end(ctl, output, ctl->output != NULL ? ctl->output : "-", r);
}

int command_report(const struct ctl *ctl)
{
    char self[PATH_MAX];
    struct output_file output;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const bool has_dir = ctl->runtime_dir != NULL;
    char *arguments[] = {"/bin/sh",
                         "-c",
                         (char *)scripts[0].text,
                         "fftd-ctl report",
                         (char *)ctl->name,
                         has_dir ? "--runtime-dir" : "--name",
                         (char *)(has_dir ? ctl->runtime_dir : ctl->name),
                         NULL};
    if (length < 0)
        return ctl_fail(ctl, EX_OSERR, "cannot find fftd-ctl itself: %s", strerror(errno));
    self[length] = '\0';
    if (setenv("FFTD_CTL", self, 1) < 0)
        return ctl_fail(ctl, EX_OSERR, "%s", strerror(errno));
    const int code =
        save_begin(ctl, &output, ctl->output != NULL ? ctl->output : "-", OUTPUT_WHOLE);
    return code != 0 ? code : write_report(ctl, arguments, &output);
}
