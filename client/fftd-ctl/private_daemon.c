#include "private_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording/program.h"
#include "tools.h"

#define PIPE_BYTES  (1 << 20)
#define ASSUMED_FPS 30.0 /* what is written, too, if a recording does not say */
#define FOLDER      "/tmp/fftd-convert-"

/* In a child. A parent that has ended in the meantime sends no signal any more. */
static void end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EX_TEMPFAIL);
}

/* ---- the feeder ---- */

static void end_feeding(struct feeding *feeding, int r, const struct input *input)
{
    feeding->is_damaged = r < 0;
    if (r < 0)
        memcpy(feeding->why, input->why, sizeof feeding->why);
    __atomic_store_n(&feeding->has_ended, true, __ATOMIC_RELEASE);
}

/* Reads a frame ahead, so that before the last one arrives it is known to be the last. */
static void feed_frames(struct feeding *feeding, struct input *input, FILE *to, uint64_t skip)
{
    const bool y4m = input->header[0] != '\0';
    uint8_t *frame = malloc(2 * input->format.frame_bytes);
    if (frame == NULL)
        return; /* frames are missing then, which is reported */
    if (y4m)
        fprintf(to, "%s\n", input->header);
    uint8_t *now = frame, *next = frame + input->format.frame_bytes;
    int r;
    do
        r = input_read(input, now);
    while (r > 0 && input->count <= skip);
    while (r > 0 && !ferror(to)) {
        r = input_read(input, next);
        feeding->fed++;
        if (r <= 0)
            end_feeding(feeding, r, input);
        if (y4m)
            fputs("FRAME\n", to);
        fwrite(now, 1, input->format.frame_bytes, to);
        uint8_t *const free_one = now;
        now = next;
        next = free_one;
    }
    if (feeding->fed == 0)
        end_feeding(feeding, r, input);
    fflush(to);
}

static pid_t start_feeder(struct feeding *feeding, struct input *input, int fd, uint64_t skip)
{
    const pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    end_with(parent);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    FILE *to = fdopen(fd, "wb");
    if (to != NULL)
        feed_frames(feeding, input, to, skip);
    _exit(0); /* leaves what this process has from its parent alone; the pipe ends */
}

/* ---- the daemon ---- */

/* Raw frames say nothing of themselves. */
static unsigned describe_frames(const struct input *input, char *arguments[], unsigned n,
                                char text[3][48])
{
    if (input->header[0] != '\0')
        return n;
    snprintf(text[0], sizeof text[0], "--size=%ux%u", input->format.width, input->format.height);
    snprintf(text[1], sizeof text[1], "--set=camera.format=%s",
             fftd_pixel_format(input->format.fourcc)->name);
    arguments[n++] = text[0];
    arguments[n++] = text[1];
    const bool known = input->format.rate_num > 0;
    snprintf(text[2], sizeof text[2], "--fps=%.6f",
             known ? (double)input->format.rate_num / input->format.rate_den : ASSUMED_FPS);
    arguments[n++] = text[2];
    return n;
}

static void exec_daemon(const struct private_daemon *daemon, const struct ctl *ctl,
                        const struct input *input, const char *filter)
{
    char *arguments[16 + 2 * CTL_MAX_TEXTS] = {
        "fftd",     "-q",          "--source=pipe:-", "--runtime-dir", (char *)daemon->dir,
        "--filter", (char *)filter};
    char text[3][48];
    unsigned n = describe_frames(input, arguments, 7, text);
    for (unsigned i = 0; i < ctl->settings.count; i++) {
        arguments[n++] = "--set";
        arguments[n++] = (char *)ctl->settings.text[i];
    }
    arguments[n++] = "--set=output.lossless=true";
    arguments[n++] = "--set=output.slots=16";
    arguments[n++] = "--set=engine.compile_ahead=false"; /* no other filter follows */
    arguments[n] = NULL;
    unsetenv("NOTIFY_SOCKET"); /* a service manager expects nothing of it */
    unsetenv("LISTEN_FDS");
    tools_exec_fftd(arguments);
}

static pid_t start_daemon(const struct private_daemon *daemon, const struct ctl *ctl,
                          const struct input *input, const char *filter, int fd)
{
    const pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    end_with(parent);
    /* Ctrl-C also reaches this process, but the parent ends it. */
    signal(SIGINT, SIG_IGN);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        _exit(EX_OSERR);
    exec_daemon(daemon, ctl, input, filter);
    tools_no_fftd(ctl);
    _exit(EX_UNAVAILABLE);
}

/* Removes the directories of programs that were killed. Their daemons have ended and removed the
 * sockets; a directory that is not empty, or belongs to another user, stays. */
static void sweep(void)
{
    glob_t found;
    if (glob(FOLDER "*", GLOB_NOSORT, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const pid_t pid = (pid_t)strtol(found.gl_pathv[i] + strlen(FOLDER), NULL, 10);
        if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
            rmdir(found.gl_pathv[i]);
    }
    globfree(&found);
}

static int make_directory(struct private_daemon *daemon, const struct ctl *ctl)
{
    sweep();
    snprintf(daemon->dir, sizeof daemon->dir, FOLDER "%d-XXXXXX", (int)getpid());
    if (mkdtemp(daemon->dir) != NULL)
        return 0;
    daemon->dir[0] = '\0';
    return ctl_fail(ctl, EX_CANTCREAT, "cannot create a directory in /tmp: %s", strerror(errno));
}

int private_daemon_start(struct private_daemon *ret, const struct ctl *ctl, struct input *input,
                         const char *filter, uint64_t skip)
{
    int end[2];
    *ret = (struct private_daemon){.status = -1};
    int code = make_directory(ret, ctl);
    if (code != 0)
        return code;
    void *memory =
        mmap(NULL, sizeof *ret->feeding, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || pipe2(end, O_CLOEXEC) < 0)
        return ctl_fail(ctl, EX_OSERR, "cannot begin: %s", strerror(errno));
    ret->feeding = memory;
    fcntl(end[1], F_SETPIPE_SZ, PIPE_BYTES);
    ret->pid = start_daemon(ret, ctl, input, filter, end[0]);
    close(end[0]);
    ret->feeder = ret->pid > 0 ? start_feeder(ret->feeding, input, end[1], skip) : -1;
    if (ret->feeder < 0)
        code = ctl_fail(ctl, EX_OSERR, "cannot start a process: %s", strerror(errno));
    close(end[1]);
    return code;
}

static bool look_for_end(struct private_daemon *daemon, int options)
{
    int status;
    if (daemon->status < 0 && waitpid(daemon->pid, &status, options) == daemon->pid)
        daemon->status = WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
    return daemon->status >= 0;
}

void private_daemon_await_end(struct private_daemon *daemon)
{
    while (!look_for_end(daemon, 0) && errno == EINTR)
        continue;
}

int private_daemon_connect(struct private_daemon *daemon)
{
    if (fftd_open_lossless(&daemon->camera, daemon->dir) == 0)
        return 0;
    daemon->camera = NULL;
    return look_for_end(daemon, WNOHANG) ? -EPIPE : -EAGAIN;
}

bool private_daemon_has_fed(const struct private_daemon *daemon, uint64_t count)
{
    return __atomic_load_n(&daemon->feeding->has_ended, __ATOMIC_ACQUIRE) &&
           daemon->feeding->fed == count;
}

void private_daemon_stop(struct private_daemon *daemon)
{
    fftd_close(daemon->camera);
    if (daemon->feeder > 0)
        program_end(daemon->feeder, SIGTERM);
    if (daemon->status < 0 && daemon->pid > 0)
        program_end(daemon->pid, SIGTERM);
    if (daemon->feeding != NULL)
        munmap(daemon->feeding, sizeof *daemon->feeding);
    if (daemon->dir[0] != '\0')
        rmdir(daemon->dir);
}
