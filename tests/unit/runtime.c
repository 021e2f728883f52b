/* Each directory has one daemon; stale sockets are replaced; directories that other users can write
 * to are refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/root.h"

#include "service/runtime.h"

static char base[] = "/tmp/fftd-test-XXXXXX";
static char dir[64];
static char sock[80];

static int make_base(void **state)
{
    (void)state;
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(dir, sizeof dir, "%s/run/cam", base);
    snprintf(sock, sizeof sock, "%s/frames", dir);
    return 0;
}

static int remove_base(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/run", base);
    rmdir(path);
    return rmdir(base);
}

static int connect_to(const char *path, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, type, 0);
    int r = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static void sockets_come_and_go(void **state)
{
    (void)state;
    struct runtime *runtime;
    struct stat st;
    assert_int_equal(runtime_create(&runtime, dir, NULL), 0);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);

    int fd = runtime_listen(runtime, "frames", SOCK_SEQPACKET, NULL);
    assert_true(fd >= 0);
    assert_int_equal(stat(sock, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(connect_to(sock, SOCK_SEQPACKET), 0);

    close(fd);
    runtime_destroy(runtime);
    assert_int_equal(access(dir, F_OK), -1);
}

/* Who may connect to `frames` may connect to the sockets of named outputs, and nobody else. */
static void sockets_in_folders_have_the_access_of_the_first(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0660};
    for (unsigned i = 0; i < 2; i++) {
        struct runtime *runtime;
        struct stat st;
        char path[128];
        const mode_t mask = umask(0077);
        assert_int_equal(runtime_create(&runtime, dir, NULL), 0);
        int first = runtime_listen(runtime, "frames", SOCK_SEQPACKET, NULL);
        assert_int_equal(chmod(sock, modes[i]), 0);
        int fd = runtime_listen(runtime, "outputs/small/frames", SOCK_SEQPACKET, NULL);
        umask(mask);
        assert_true(first >= 0 && fd >= 0);
        snprintf(path, sizeof path, "%s/outputs/small/frames", dir);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
        assert_int_equal(connect_to(path, SOCK_SEQPACKET), 0);
        snprintf(path, sizeof path, "%s/outputs/small", dir);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0755);
        close(first);
        close(fd);
        runtime_destroy(runtime);
        assert_int_equal(access(dir, F_OK), -1);
    }
}

static void a_second_daemon_is_refused(void **state)
{
    (void)state;
    struct runtime *first, *second = NULL;
    struct error why;
    assert_int_equal(runtime_create(&first, dir, NULL), 0);
    assert_int_equal(runtime_create(&second, dir, &why), -EADDRINUSE);
    assert_null(second);
    assert_non_null(strstr(why.text, dir));
    runtime_destroy(first);
    assert_int_equal(runtime_create(&first, dir, NULL), 0);
    runtime_destroy(first);
}

/* Replaces libc's flock(). While `rival` is set, another daemon locks the directory first. */
static bool rival;
static int rival_fd = -1;

int flock(int fd, int operation)
{
    if (rival) {
        rival = false;
        rival_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_return_code(syscall(SYS_flock, rival_fd, LOCK_EX | LOCK_NB), errno);
    }
    return (int)syscall(SYS_flock, fd, operation);
}

/* A daemon created the directory, but another one locked it first and runs there. */
static void the_loser_leaves_the_winners_directory(void **state)
{
    (void)state;
    struct runtime *runtime = NULL;
    rival = true;
    assert_int_equal(runtime_create(&runtime, dir, NULL), -EADDRINUSE);
    assert_null(runtime);
    assert_return_code(access(dir, F_OK), errno);
    close(rival_fd);
    assert_return_code(rmdir(dir), errno);
}

/* A daemon that dies by a signal leaves its sockets, but no claim. */
static void a_dead_daemons_socket_is_replaced(void **state)
{
    (void)state;
    struct runtime *runtime;
    pid_t child = fork();
    if (child == 0) {
        bool done = runtime_create(&runtime, dir, NULL) == 0 &&
                    runtime_listen(runtime, "frames", SOCK_SEQPACKET, NULL) >= 0;
        if (done)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(connect_to(sock, SOCK_SEQPACKET), -ECONNREFUSED);

    assert_int_equal(runtime_create(&runtime, dir, NULL), 0);
    int fd = runtime_listen(runtime, "frames", SOCK_SEQPACKET, NULL);
    assert_true(fd >= 0);
    assert_int_equal(connect_to(sock, SOCK_SEQPACKET), 0);
    close(fd);
    runtime_destroy(runtime);
    rmdir(dir); /* the dead daemon made it, so it is not ours to remove */
}

/* systemd holds a socket unit's socket without claiming the directory. */
static void a_live_strangers_socket_is_left_alone(void **state)
{
    (void)state;
    struct runtime *runtime;
    struct error why;
    assert_int_equal(runtime_create(&runtime, dir, NULL), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", sock);
    int stranger = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_int_equal(bind(stranger, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(stranger, 1), 0);

    assert_int_equal(runtime_listen(runtime, "frames", SOCK_SEQPACKET, &why), -EADDRINUSE);
    assert_non_null(strstr(why.text, sock));
    assert_int_equal(connect_to(sock, SOCK_SEQPACKET), 0);
    close(stranger);
    unlink(sock);
    runtime_destroy(runtime);
}

static void a_directory_open_to_others_is_refused(void **state)
{
    (void)state;
    struct runtime *runtime;
    struct error why;
    char path[64];
    snprintf(path, sizeof path, "%s/open", base);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(runtime_create(&runtime, path, &why), -EPERM);
    assert_non_null(strstr(why.text, "0770"));
    assert_int_equal(rmdir(path), 0);
}

/* Tries to make a directory below fftd-1 in a directory like /tmp, after `make_trap` has put there
 * what anybody could have. Returns the reason. */
static const char *trapped(void (*make_trap)(const char *path))
{
    static struct error why;
    struct runtime *runtime;
    char shared[64], trap[80], deeper[96];
    snprintf(shared, sizeof shared, "%s/tmp", base);
    snprintf(trap, sizeof trap, "%s/fftd-1", shared);
    snprintf(deeper, sizeof deeper, "%s/cam", trap);
    assert_int_equal(mkdir(shared, 0700), 0);
    assert_int_equal(chmod(shared, 01777), 0);
    make_trap(trap);
    assert_int_equal(runtime_create(&runtime, deeper, &why), -EPERM);
    assert_non_null(strstr(why.text, trap));
    assert_int_equal(access(deeper, F_OK), -1);
    assert_int_equal(remove(trap), 0);
    assert_int_equal(rmdir(shared), 0);
    return why.text;
}

static void link_to_base(const char *path)
{
    assert_int_equal(symlink(base, path), 0);
}

static void a_link_in_a_shared_directory_is_refused(void **state)
{
    (void)state;
    trapped(link_to_base);
}

static void give_away(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chown(path, 65534, 65534), 0);
}

static void a_directory_of_another_user_is_refused(void **state)
{
    (void)state;
    root_or_skip();
    assert_non_null(strstr(trapped(give_away), "65534"));
}

static void paths_that_cannot_be_say_so(void **state)
{
    (void)state;
    struct runtime *runtime;
    struct error why;
    char longer[200];
    assert_int_equal(runtime_create(&runtime, "", &why), -EINVAL);
    assert_int_equal(runtime_create(&runtime, "/proc/none/cam", &why), -ENOENT);
    assert_non_null(strstr(why.text, "/proc/none"));

    snprintf(longer, sizeof longer, "%s/%0100d", base, 0);
    assert_int_equal(runtime_create(&runtime, longer, NULL), 0);
    assert_int_equal(runtime_listen(runtime, "frames", SOCK_SEQPACKET, &why), -ENAMETOOLONG);
    assert_non_null(strstr(why.text, "shorter"));
    runtime_destroy(runtime);
}

/* As systemd does: descriptor 3, LISTEN_PID, LISTEN_FDNAMES. In a child, since the descriptor
 * number matters. */
static int take_handed_over(int type, const char *name)
{
    pid_t child = fork();
    if (child == 0) {
        struct runtime *runtime;
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof address.sun_path, "%s/given", base);
        int fd = socket(AF_UNIX, type, 0);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1) < 0 ||
            dup2(fd, 3) != 3)
            _exit(100);
        unlink(address.sun_path);
        char pid[16];
        snprintf(pid, sizeof pid, "%d", getpid());
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "1", 1);
        setenv("LISTEN_FDNAMES", name, 1);
        if (runtime_create(&runtime, dir, NULL) < 0)
            _exit(101);
        int r = runtime_listen(runtime, "frames", SOCK_SEQPACKET, NULL);
        runtime_destroy(runtime);
        _exit(r < 0 ? -r : r == 3 && fcntl(3, F_GETFL) & O_NONBLOCK ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void systemds_socket_is_taken(void **state)
{
    (void)state;
    assert_int_equal(take_handed_over(SOCK_SEQPACKET, "frames"), 0);
    assert_int_equal(take_handed_over(SOCK_STREAM, "frames"), EINVAL);
    assert_int_equal(take_handed_over(SOCK_SEQPACKET, "control"), 1); /* bound a new one */
}

/* What daemon after daemon takes may be closed long before the next is asked for. */
static void what_was_kept_is_taken_by_name(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct runtime *runtime;
        char pid[16], name[RUNTIME_NAME_BYTES], said[4 * RUNTIME_NAME_BYTES] = "";
        int fd;
        snprintf(pid, sizeof pid, "%d", getpid());
        for (fd = 3; fd < 8; fd++)
            if (fd != 5)
                dup2(0, fd);
        int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        struct sockaddr_un address = {.sun_family = AF_UNIX}; /* an abstract name of the kernel's */
        if (bind(listening, (struct sockaddr *)&address, sizeof address.sun_family) < 0 ||
            listen(listening, 1) < 0 || dup2(listening, 5) != 5)
            _exit(101);
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "5", 1);
        setenv("LISTEN_FDNAMES", "client-7:ring:frames:client-12:stored", 1);
        if (runtime_create(&runtime, dir, NULL) < 0)
            _exit(102);
        while ((fd = runtime_take_kept(runtime, "ring", name)) >= 0) {
            sprintf(said + strlen(said), "%s=%d ", name, fd);
            close(fd);
        }
        while ((fd = runtime_take_kept(runtime, "client-", name)) >= 0) {
            sprintf(said + strlen(said), "%s=%d ", name, fd);
            close(fd);
        }
        sprintf(said + strlen(said), "%d", runtime_listen(runtime, "frames", SOCK_SEQPACKET, NULL));
        runtime_destroy(runtime);
        _exit(strcmp(said, "ring=4 client-7=3 client-12=6 5") == 0 && fcntl(7, F_GETFD) < 0 ? 0
                                                                                            : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_come_and_go),
        cmocka_unit_test(sockets_in_folders_have_the_access_of_the_first),
        cmocka_unit_test(a_second_daemon_is_refused),
        cmocka_unit_test(the_loser_leaves_the_winners_directory),
        cmocka_unit_test(a_dead_daemons_socket_is_replaced),
        cmocka_unit_test(a_live_strangers_socket_is_left_alone),
        cmocka_unit_test(a_directory_open_to_others_is_refused),
        cmocka_unit_test(a_link_in_a_shared_directory_is_refused),
        cmocka_unit_test(a_directory_of_another_user_is_refused),
        cmocka_unit_test(paths_that_cannot_be_say_so),
        cmocka_unit_test(systemds_socket_is_taken),
        cmocka_unit_test(what_was_kept_is_taken_by_name),
    };
    return cmocka_run_group_tests_name("runtime", tests, make_base, remove_base);
}
