/* What systemd is told, read from a real notify socket. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "support/cmocka.h"

#include "core/clock.h"
#include "service/log.h"
#include "service/service.h"

static int notify_fd;

static int make_notify_socket(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "fftd-test-notify-%d",
                          getpid());
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = 5};
    setsockopt(notify_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char name[sizeof address.sun_path + 1];
    snprintf(name, sizeof name, "@%s", address.sun_path + 1);
    setenv("NOTIFY_SOCKET", name, 1);
    log_init("test", -1);
    return bind(notify_fd, (struct sockaddr *)&address,
                (socklen_t)(sizeof address.sun_family + 1 + (size_t)length));
}

static const char *received(int flags)
{
    static char text[512];
    ssize_t length = recv(notify_fd, text, sizeof text - 1, flags);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

static sd_event *event;
static struct notifier *notifier;
static struct service *service;

static void start(int64_t (*progress)(void *))
{
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(notifier_create(&notifier, event, NULL), 0);
    assert_int_equal(service_create(&service, event, notifier, progress, &notify_fd, NULL), 0);
}

static void stop(void)
{
    service_destroy(service);
    notifier_destroy(notifier);
    sd_event_unref(event);
}

static void every_state_is_reported(void **state)
{
    (void)state;
    start(NULL);
    assert_false(service_is_ready(service));
    service_ready(service, "640x360 NV12 at 30 fps");
    assert_string_equal(received(0), "READY=1\nSTATUS=640x360 NV12 at 30 fps");
    assert_true(service_is_ready(service));
    service_status(service, "camera lost");
    assert_string_equal(received(0), "STATUS=camera lost");
    service_reloading(service);
    assert_memory_equal(received(0), "RELOADING=1\nMONOTONIC_USEC=", 27);
    assert_true(service_is_ready(service));
    service_reloaded(service, "camera back");
    assert_string_equal(received(0), "READY=1\nSTATUS=camera back");
    service_stopping(notifier);
    assert_memory_equal(received(0), "STOPPING=1\n", 11);
    stop();
}

/* systemd would take READY=1 for the end of the start. */
static void a_reload_while_starting_does_not_end_the_start(void **state)
{
    (void)state;
    start(NULL);
    service_reloading(service);
    assert_memory_equal(received(0), "STATUS=", 7);
    service_reloaded(service, "starting: moire");
    assert_string_equal(received(0), "STATUS=starting: moire");
    assert_false(service_is_ready(service));

    /* Ready between the begin of a reload and its end: one READY=1, for the start. */
    service_reloading(service);
    assert_memory_equal(received(0), "STATUS=", 7);
    service_ready(service, "online");
    assert_string_equal(received(0), "READY=1\nSTATUS=online");
    service_reloaded(service, "online");
    assert_string_equal(received(0), "STATUS=online");
    stop();
}

/* The descriptor that came with the packet; -1: none. */
static int received_fd(char *text, size_t size, int flags)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {text, size - 1};
    struct msghdr packet = {.msg_iov = &iov,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof control};
    ssize_t length = recvmsg(notify_fd, &packet, MSG_CMSG_CLOEXEC | flags);
    text[length > 0 ? length : 0] = '\0';
    if (length < 0)
        return -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&packet); c != NULL; c = CMSG_NXTHDR(&packet, c)) {
        int fd;
        if (c->cmsg_type != SCM_RIGHTS) /* the sender's credentials */
            continue;
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
        return fd;
    }
    return -1;
}

static void descriptors_are_kept_and_forgotten(void **state)
{
    (void)state;
    char text[64];
    int ends[2];
    start(NULL);
    assert_true(service_is_managed());
    assert_int_equal(pipe(ends), 0);
    notifier_keep(notifier, "client-1", ends[1]);
    int fd = received_fd(text, sizeof text, 0);
    assert_string_equal(text, "FDSTORE=1\nFDNAME=client-1");
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(read(ends[0], text, sizeof text), 1);
    notifier_forget(notifier, "client-1");
    assert_string_equal(received(0), "FDSTOREREMOVE=1\nFDNAME=client-1");
    close(fd);
    close(ends[0]);
    close(ends[1]);
    stop();
}

/* A path may contain a new line, after which systemd would read another variable. */
static void a_status_is_one_line(void **state)
{
    (void)state;
    start(NULL);
    service_status(service, "online: /tmp/a\nWATCHDOG=trigger\x1b[2J.raw");
    assert_string_equal(received(0), "STATUS=online: /tmp/a WATCHDOG=trigger?[2J.raw");
    stop();
}

/* ---- a manager that does not read ---- */

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Nothing waits for it, and what waits in the queue is bounded. When it reads again, it gets what
 * is still true. */
static void a_silent_manager_stops_nothing(void **state)
{
    (void)state;
    char name[32], text[512];
    int ends[2], fd;
    start(NULL);
    assert_int_equal(pipe(ends), 0);
    const unsigned before = open_descriptors();
    alarm(60);
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "status %u", i);
        service_status(service, text);
        snprintf(name, sizeof name, "client-%u", i);
        notifier_keep(notifier, name, ends[1]);
        if (i < 1999)
            notifier_forget(notifier, name);
        notifier_forget(notifier, "ring"); /* as for a ring that is replaced */
        notifier_forget(notifier, "ring");
        notifier_keep(notifier, "ring", ends[1]);
        service_reloading(service);
        service_ready(service, text);
    }
    alarm(0);
    assert_in_range(open_descriptors(), before, before + 2);

    unsigned count = 0, kept = 0, forgotten = 0;
    bool has_ring = false;
    char last_status[512] = "";
    do {
        while (fd = received_fd(text, sizeof text, MSG_DONTWAIT), *text != '\0') {
            count++;
            if (strstr(text, "FDNAME=ring") != NULL)
                has_ring = fd >= 0;
            kept += fd >= 0 && strstr(text, "FDNAME=client-") != NULL;
            forgotten += strncmp(text, "FDSTOREREMOVE=1\nFDNAME=client-", 30) == 0;
            if (strstr(text, "STATUS=status") != NULL)
                snprintf(last_status, sizeof last_status, "%s", text);
            if (fd >= 0)
                close(fd);
        }
    } while (sd_event_run(event, 100000) > 0);
    assert_string_equal(last_status, "READY=1\nSTATUS=status 1999");
    assert_int_equal(kept - forgotten, 1); /* the last one */
    assert_true(has_ring);
    assert_true(count < 1000); /* as many as the socket takes, and a handful */
    close(ends[0]);
    close(ends[1]);
    stop();
}

/* The end of the process waits for it only shortly. */
static void last_messages_wait_for_a_moment(void **state)
{
    (void)state;
    char text[64];
    start(NULL);
    for (unsigned i = 0; i < 2000; i++)
        service_reloading(service), service_ready(service, "x");
    service_stopping(notifier);
    const int64_t begin_ns = clock_now_ns();
    stop();
    assert_in_range(clock_now_ns() - begin_ns, 0, 20 * NS_PER_S);
    while (received_fd(text, sizeof text, MSG_DONTWAIT), *text != '\0')
        continue;
}

#define FRESH (-3600 * NS_PER_S)

static int64_t age_ns = FRESH; /* of the last progress, whenever it is looked at */
static unsigned looks;

static int64_t progress(void *context)
{
    assert_ptr_equal(context, &notify_fd);
    looks++;
    return clock_now_ns() - age_ns;
}

static void run_until_looked_at(void)
{
    for (unsigned before = looks; looks == before;)
        assert_true(sd_event_run(event, UINT64_MAX) >= 0);
}

/* A period of 200 ms: looked at every 50, and progress may be 100 old. */
static void the_watchdog_is_fed_only_on_progress(void **state)
{
    (void)state;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", getpid());
    setenv("WATCHDOG_USEC", "200000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    int64_t begin_ns = clock_now_ns();
    start(progress);
    for (unsigned i = 0; i < 4; i++) {
        run_until_looked_at();
        assert_string_equal(received(MSG_DONTWAIT), "WATCHDOG=1");
    }
    assert_true(clock_now_ns() - begin_ns > 190 * NS_PER_MS); /* its timer rounds */
    age_ns = 101 * NS_PER_MS;
    for (unsigned i = 0; i < 3; i++) {
        run_until_looked_at();
        assert_string_equal(received(MSG_DONTWAIT), "");
    }
    age_ns = FRESH;
    run_until_looked_at();
    assert_string_equal(received(MSG_DONTWAIT), "WATCHDOG=1");
    stop();
}

static void without_a_watchdog_nothing_is_armed(void **state)
{
    (void)state;
    unsetenv("WATCHDOG_USEC");
    start(progress);
    /* Nothing is ever due. */
    assert_int_equal(sd_event_run(event, 30000), 0);
    assert_string_equal(received(MSG_DONTWAIT), "");
    stop();
}

static void nonsense_in_the_environment_is_named(void **state)
{
    (void)state;
    struct error why;
    setenv("WATCHDOG_USEC", "soon", 1);
    assert_true(service_create(&service, NULL, NULL, progress, &notify_fd, &why) < 0);
    assert_non_null(strstr(why.text, "WATCHDOG_USEC"));
    unsetenv("WATCHDOG_USEC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_is_reported),
        cmocka_unit_test(a_reload_while_starting_does_not_end_the_start),
        cmocka_unit_test(descriptors_are_kept_and_forgotten),
        cmocka_unit_test(a_status_is_one_line),
        cmocka_unit_test(a_silent_manager_stops_nothing),
        cmocka_unit_test(last_messages_wait_for_a_moment),
        cmocka_unit_test(the_watchdog_is_fed_only_on_progress),
        cmocka_unit_test(without_a_watchdog_nothing_is_armed),
        cmocka_unit_test(nonsense_in_the_environment_is_named),
    };
    return cmocka_run_group_tests_name("service", tests, make_notify_socket, NULL);
}
