#include "ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "common/bus.h"
#include "common/json.h"
#include "core/text.h"

int ctl_fail(const struct ctl *ctl, int code, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!ctl->json) {
        fprintf(stderr, "fftd-ctl: %s\n", text_clean(text));
        return code;
    }
    struct json json = {.file = stderr};
    json_open(&json, NULL, '{');
    json_text(&json, "error", text);
    json_integer(&json, "code", (uint64_t)code);
    json_close(&json, '}');
    return code;
}

/* Writes a path with a '/', because libfftd takes any other for the name of a camera. */
static int directory_path(const char *directory, char path[PATH_MAX])
{
    const char *prefix = strchr(directory, '/') == NULL ? "./" : "";
    return snprintf(path, PATH_MAX, "%s%s", prefix, directory) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int ctl_runtime_dir(const struct ctl *ctl, char path[PATH_MAX])
{
    if (ctl->runtime_dir != NULL && *ctl->runtime_dir == '\0')
        return ctl_fail(ctl, EX_USAGE, "--runtime-dir: expected a directory, not an empty text");
    if (strchr(ctl->name, '/') != NULL)
        return ctl_fail(ctl, EX_USAGE, "--name %s: expected a name; use --runtime-dir for a path",
                        ctl->name);
    int r = ctl->runtime_dir != NULL ? directory_path(ctl->runtime_dir, path)
                                     : fftd_runtime_dir(ctl->name, path, PATH_MAX);
    if (r == -EINVAL)
        return ctl_fail(
            ctl, EX_USAGE,
            "--name %s: expected letters, digits, _ and -, and for an output NAME:OUTPUT",
            ctl->name);
    if (r < 0)
        return ctl_fail(ctl, EX_USAGE, "the path of the runtime directory is too long");
    return 0;
}

/* Quotes the directory for a shell. A longer one than PATH_MAX cannot be used anyway. */
static void append_quoted(char *end, const char *directory)
{
    end = stpcpy(end, "'");
    for (size_t i = 0; i < PATH_MAX && directory[i] != '\0'; i++)
        end = stpcpy(end, directory[i] == '\'' ? "'\\''" : (const char[]){directory[i], '\0'});
    stpcpy(end, "'");
}

const char *ctl_program(const struct ctl *ctl)
{
    static char text[CTL_PROGRAM_BYTES];
    if (ctl->runtime_dir != NULL)
        append_quoted(stpcpy(text, "fftd-ctl --runtime-dir "), ctl->runtime_dir);
    else if (strcmp(ctl->name, "default") != 0)
        snprintf(text, sizeof text, "fftd-ctl --name %s", ctl->name);
    else
        snprintf(text, sizeof text, "fftd-ctl");
    return text;
}

int ctl_no_output(const struct ctl *ctl, const char *dir)
{
    /* A command for an output that is not there would fail, so it names the camera alone. */
    char own[PATH_MAX], camera_dir[PATH_MAX], name[NAME_MAX + 1];
    struct ctl camera = {.name = name};
    snprintf(name, sizeof name, "%.*s", (int)strcspn(ctl->name, ":"), ctl->name);
    if (ctl->runtime_dir != NULL && directory_path(ctl->runtime_dir, own) == 0 &&
        bus_daemon_dir(own, camera_dir) == 0)
        camera.runtime_dir = camera_dir;
    return ctl_fail(ctl, EX_UNAVAILABLE,
                    "the camera has no output %s: `%s output list` shows those that it has",
                    bus_output(dir), ctl_program(&camera));
}

/* Returns whether the daemon of an output's directory is there. */
static bool has_daemon(const char *dir)
{
    char daemon_dir[PATH_MAX], path[PATH_MAX + 16];
    if (bus_daemon_dir(dir, daemon_dir) < 0)
        return false;
    snprintf(path, sizeof path, "%s/control", daemon_dir);
    return access(path, F_OK) == 0;
}

int ctl_no_daemon(const struct ctl *ctl, const char *dir, int negative_errno)
{
    const int name_length = (int)strcspn(ctl->name, ":");
    if (negative_errno == -ENOENT && *bus_output(dir) != '\0' && has_daemon(dir))
        return ctl_no_output(ctl, dir);
    if (negative_errno == -EACCES || negative_errno == -EPERM)
        return ctl_fail(ctl, EX_NOPERM,
                        "permission denied for the daemon in %s: only the owner and the groups "
                        "that `ls -l %s` shows may use its sockets",
                        dir, dir);
    if (negative_errno == -ETIMEDOUT)
        return ctl_fail(ctl, EX_TEMPFAIL, "the daemon in %s does not answer: try again later", dir);
    if (negative_errno != -ENOENT && negative_errno != -ECONNREFUSED)
        return ctl_fail(ctl,
                        negative_errno == -EAGAIN || negative_errno == -EUSERS ? EX_TEMPFAIL
                        : negative_errno == -EPROTO                            ? EX_PROTOCOL
                                                                               : EX_OSERR,
                        "cannot connect to the daemon in %s: %s", dir, strerror(-negative_errno));
    if (ctl->runtime_dir != NULL)
        return ctl_fail(ctl, EX_UNAVAILABLE,
                        "no daemon is running in %s; start one with `fftd --runtime-dir %s "
                        "--source pattern:moire`, or see `fftd-ctl list` for those running",
                        dir, dir);
    return ctl_fail(ctl, EX_UNAVAILABLE,
                    "no daemon named %.*s is running in %s or in the user's own directories; start "
                    "one with `systemctl start fftd@%.*s` or `fftd --name %.*s --source "
                    "pattern:moire`, or see `fftd-ctl list` for those running",
                    name_length, ctl->name, dir, name_length, ctl->name, name_length, ctl->name);
}

volatile sig_atomic_t ctl_interrupted;

static void on_signal(int number)
{
    (void)number;
    ctl_interrupted = 1;
}

void ctl_catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int ctl_finish(const struct ctl *ctl)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EX_OK;
    /* The reader has closed the pipe, as in `fftd-ctl ... | head`. */
    return errno == EPIPE ? EX_OK : ctl_fail(ctl, EX_IOERR, "stdout: %s", strerror(errno));
}

int ctl_finish_silently(const struct ctl *ctl)
{
    struct json json = {.file = stdout};
    if (ctl->json) {
        json_open(&json, NULL, '{');
        json_close(&json, '}');
    }
    return ctl_finish(ctl);
}
