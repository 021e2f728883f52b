#include "capture/gst_helper.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text.h"
#include "service/child.h"
#include "service/socket.h"

/* ---- starting ---- */

static int find_program(char path[PATH_MAX], struct error *why)
{
    /* Relative to the folder of fftd: where it is installed, and in a build folder. */
    static const char *const paths[] = {"/../libexec/fftd/fftd-gst", "/fftd-gst"};
    const char *only = getenv("FFTD_GST_HELPER");
    if (only != NULL && *only != '\0') {
        snprintf(path, PATH_MAX, "%s", only);
        return access(path, X_OK) == 0
                   ? 0
                   : error_set(why, errno, "FFTD_GST_HELPER=%s: %s", only, strerror(errno));
    }
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return error_set(why, ENOENT, "/proc/self/exe: %s", strerror(errno));
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (snprintf(path, PATH_MAX, "%s%s", folder, paths[i]) < PATH_MAX &&
            access(path, X_OK) == 0)
            return 0;
    return error_set(why, ENOENT,
                     "the program fftd-gst is not installed: it is in the Debian package fftd-gst");
}

int gst_helper_start(struct gst_helper *ret, struct error *why)
{
    char path[PATH_MAX], name[] = "fftd-gst";
    char *arguments[] = {name, NULL};
    int ends[2];
    int r = find_program(path, why);
    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(why, errno, "socketpair: %s", strerror(errno));
    pid_t pid;
    const struct child_options options = {.path = path,
                                          .arguments = arguments,
                                          .passed = ends[1],
                                          .as = GST_LINK_FD,
                                          .keeps_error = true,
                                          .has_group = true};
    r = child_start(&pid, &options);
    close(ends[1]);
    if (r != 0) {
        close(ends[0]);
        return error_set(why, r, "cannot start %s: %s", path, strerror(r));
    }
    *ret = (struct gst_helper){.pid = pid, .socket = ends[0]};
    return 0;
}

/* ---- stopping ---- */

static void *reap(void *argument)
{
    const pid_t pid = (pid_t)(intptr_t)argument;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return NULL;
}

void gst_helper_stop(struct gst_helper *helper)
{
    if (helper->socket >= 0)
        close(helper->socket);
    helper->socket = -1;
    if (helper->pid == 0)
        return;
    kill(-helper->pid, SIGKILL); /* not reaped yet: the number is still its own */
    pthread_t thread;
    void *argument = (void *)(intptr_t)helper->pid; /* NOLINT(performance-no-int-to-ptr) */
    if (pthread_create(&thread, NULL, reap, argument) == 0)
        pthread_detach(thread);
    else
        waitpid(helper->pid, NULL, WNOHANG);
    helper->pid = 0;
}

/* ---- messages ---- */

/* Says how a helper has ended whose socket is closed. The kernel closes sockets a moment before the
 * process can be waited for. */
static int fail_ended(const struct gst_helper *helper, struct error *why)
{
    const struct timespec moment = {.tv_nsec = NS_PER_MS};
    siginfo_t end = {.si_pid = 0};
    for (unsigned tries = 0; tries < 20 && end.si_pid == 0; tries++) {
        if (tries > 0)
            nanosleep(&moment, NULL);
        waitid(P_PID, (id_t)helper->pid, &end, WEXITED | WNOHANG | WNOWAIT);
    }
    if (end.si_pid == 0)
        return error_set(why, ENODEV, "it has closed its connection");
    if (end.si_code == CLD_EXITED)
        return error_set(why, ENODEV, "its process has exited with %d", end.si_status);
    return error_set(why, ENODEV, "its process was killed by signal %d (%s)", end.si_status,
                     strsignal(end.si_status));
}

int gst_helper_send(const struct gst_helper *helper, struct gst_link_message *message, int fd,
                    struct error *why)
{
    message->magic = GST_LINK_MAGIC;
    const int r = socket_send(helper->socket, message, sizeof *message, &fd, fd >= 0);
    if (r == 0 || r == -EPIPE || r == -ECONNRESET)
        return 0;
    return error_set(why, ENODEV, "its process takes no message: %s", strerror(-r));
}

int gst_helper_receive(const struct gst_helper *helper, struct gst_link_message *ret,
                       struct error *why)
{
    struct gst_link_message message;
    ssize_t size;
    /* ECONNRESET is reported once, if the helper has ended and left messages unread. Its own last
     * messages follow. */
    do
        size = recv(helper->socket, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    while (size < 0 && (errno == EINTR || errno == ECONNRESET));
    if (size < 0 && errno == EAGAIN)
        return error_set(why, EAGAIN, "no message is ready");
    if (size == 0)
        return fail_ended(helper, why);
    if (size < 0)
        return error_set(why, ENODEV, "recv: %s", strerror(errno));
    if (size != sizeof message || message.magic != GST_LINK_MAGIC ||
        memchr(message.text, '\0', sizeof message.text) == NULL)
        return error_set(why, ENODEV, "its process has sent %zd bytes that are no message of fftd",
                         size);
    text_clean(message.text);
    *ret = message;
    return 0;
}
