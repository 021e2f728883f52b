/* Ownership. The daemon holds flock() on the directory itself. The kernel releases the lock however
 * the daemon ends, and there is no lock file that could be left over or removed by another process.
 * While the lock is held, a socket that refuses connections must be a dead daemon's and is
 * replaced.
 *
 * Interference. A path component inside a directory that every user may write to (/tmp) is opened
 * without following symbolic links. It must belong to this user or root and must not be writable by
 * others. Otherwise another user could plant a directory of their own. */
#include "service/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "core/client_limits.h"

#define MAX_SOCKETS 12 /* two to control, and one for each output */
#define NAME_BYTES  80 /* a socket's name, with the folders that it is in */

struct runtime {
    int dir_fd; /* holds the lock */
    /* The descriptors that systemd passed to this process, by name; -1: taken. They are read once,
     * because libsystemd expects all of them to be open each time. */
    char **handed_name;
    int *handed_fd;
    unsigned handed_count;
    bool created; /* this process made the directory and has locked it */
    char path[PATH_MAX];
    char bound[MAX_SOCKETS][NAME_BYTES];
    unsigned bound_count;
};

static int check_private(int fd, const char *path, struct error *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(why, errno, "%s: %s", path, strerror(errno));
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(
            why, EPERM,
            "%s belongs to user %u: expected a directory that belongs to user %u or root", path,
            (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(why, EPERM,
                         "%s has mode %04o: expected no write permission for group and others",
                         path, (unsigned)(st.st_mode & 07777));
    return 0;
}

/* Opens one component of the path inside `parent`; creates it if it does not exist. */
static int enter(int parent, const char *name, const char *path, bool *ret_created,
                 struct error *why)
{
    struct stat st;
    if (fstat(parent, &st) < 0)
        return error_set(why, errno, "%s: %s", path, strerror(errno));
    bool shared = st.st_mode & S_IWOTH;

    bool created = mkdirat(parent, name, 0700) == 0;
    if (!created && errno != EEXIST)
        return error_set(why, errno, "cannot create the runtime directory %s: %s", path,
                         strerror(errno));
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (shared ? O_NOFOLLOW : 0));
    if (fd < 0) {
        bool link = shared && (errno == ELOOP || errno == ENOTDIR);
        return error_set(
            why, link ? EPERM : errno, "%s: %s", path,
            link ? "expected a directory, not a link, because every user may write to its parent"
                 : strerror(errno));
    }
    int r = shared ? check_private(fd, path, why) : 0;
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_created = created;
    return fd;
}

/* Does what mkdir -p does, and returns a descriptor of the directory. */
static int open_directory(const char *path, bool *ret_created, struct error *why)
{
    char prefix[PATH_MAX];
    int fd = open(path[0] == '/' ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(why, errno, "%s: %s", path, strerror(errno));

    for (const char *at = path + strspn(path, "/"); *at != '\0';) {
        size_t length = strcspn(at, "/");
        char name[NAME_MAX + 1];
        if (length > NAME_MAX) {
            close(fd);
            return error_set(why, ENAMETOOLONG, "%s: a component of the path is too long", path);
        }
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        snprintf(prefix, sizeof prefix, "%.*s", (int)(at + length - path), path);
        int child = enter(fd, name, prefix, ret_created, why);
        close(fd);
        if (child < 0)
            return child;
        fd = child;
        at += length;
        at += strspn(at, "/");
    }
    return fd;
}

/* Opens the directory and locks it. A daemon that ends may remove the directory between these
 * steps; a lock on a removed directory claims nothing, so it is created again. Another daemon may
 * lock a directory that this process has just created; the directory is then not removed here. */
static int claim(struct runtime *runtime, const char *path, struct error *why)
{
    for (;;) {
        bool created = false;
        int fd = open_directory(path, &created, why);
        if (fd < 0)
            return fd;
        runtime->dir_fd = fd;
        int r = check_private(fd, path, why);
        if (r < 0)
            return r;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
            return errno == EWOULDBLOCK
                       ? error_set(why, EADDRINUSE,
                                   "another fftd runs in %s: stop it, or choose another --name",
                                   path)
                       : error_set(why, errno, "cannot lock %s: %s", path, strerror(errno));
        struct stat st;
        if (fstat(fd, &st) == 0 && st.st_nlink > 0) {
            runtime->created = created;
            return 0;
        }
        close(fd);
        runtime->dir_fd = -1;
    }
}

static int receive_handed_over(struct runtime *runtime, struct error *why)
{
    int count = sd_listen_fds_with_names(0, &runtime->handed_name);
    if (count < 0)
        return error_set(why, -count, "LISTEN_FDS in the environment is not what systemd sets: %s",
                         strerror(-count));
    runtime->handed_fd = calloc((size_t)count + 1, sizeof *runtime->handed_fd);
    if (runtime->handed_fd == NULL)
        return error_set(why, ENOMEM, "out of memory");
    for (int i = 0; i < count; i++)
        runtime->handed_fd[i] = SD_LISTEN_FDS_START + i;
    runtime->handed_count = (unsigned)count;
    return 0;
}

int runtime_create(struct runtime **ret, const char *path, struct error *why)
{
    struct runtime *runtime = calloc(1, sizeof *runtime);
    if (runtime == NULL)
        return error_set(why, ENOMEM, "out of memory");
    runtime->dir_fd = -1;

    int length = snprintf(runtime->path, sizeof runtime->path, "%s", path);
    int r = length == 0 || (size_t)length >= sizeof runtime->path
                ? error_set(why, EINVAL, "runtime directory '%s': expected a path", path)
                : claim(runtime, path, why);
    if (r == 0)
        r = receive_handed_over(runtime, why);
    if (r < 0)
        runtime_destroy(runtime);
    else
        *ret = runtime;
    return r;
}

/* The last one takes its place. */
static void remove_bound(struct runtime *runtime, unsigned index)
{
    char *name = runtime->bound[index], *slash;
    unlinkat(runtime->dir_fd, name, 0);
    for (; (slash = strrchr(name, '/')) != NULL;) { /* and the folders that are empty then */
        *slash = '\0';
        unlinkat(runtime->dir_fd, name, AT_REMOVEDIR);
    }
    memmove(name, runtime->bound[--runtime->bound_count], NAME_BYTES);
}

void runtime_remove(struct runtime *runtime, const char *name)
{
    for (unsigned i = 0; i < runtime->bound_count; i++)
        if (strcmp(runtime->bound[i], name) == 0) {
            remove_bound(runtime, i);
            return;
        }
}

void runtime_destroy(struct runtime *runtime)
{
    if (runtime == NULL)
        return;
    while (runtime->bound_count > 0)
        remove_bound(runtime, runtime->bound_count - 1);
    if (runtime->created)
        rmdir(runtime->path);
    if (runtime->dir_fd >= 0)
        close(runtime->dir_fd);
    for (unsigned i = 0; i < runtime->handed_count; i++) {
        if (runtime->handed_fd[i] >= 0)
            close(runtime->handed_fd[i]);
        free(runtime->handed_name[i]);
    }
    free(runtime->handed_name);
    free(runtime->handed_fd);
    free(runtime);
}

/* Returns the index of a descriptor that was not taken yet and whose name begins with `name`, or
 * -ENOENT. */
static int find_handed_over(const struct runtime *runtime, const char *name, size_t length)
{
    for (unsigned i = 0; i < runtime->handed_count; i++)
        if (runtime->handed_fd[i] >= 0 && strncmp(runtime->handed_name[i], name, length) == 0)
            return (int)i;
    return -ENOENT;
}

/* Takes the socket that systemd passed under this name. -ENOENT: there is none. */
static int take_socket(struct runtime *runtime, const char *name, int type, struct error *why)
{
    int index = find_handed_over(runtime, name, strlen(name) + 1);
    if (index < 0)
        return index;
    int fd = runtime->handed_fd[index];
    if (sd_is_socket_unix(fd, type, 1, NULL, 0) <= 0)
        return error_set(why, EINVAL,
                         "the socket '%s' from systemd is not a listening %s socket: check its "
                         ".socket unit",
                         name, type == SOCK_STREAM ? "ListenStream=" : "ListenSequentialPacket=");
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return error_set(why, errno, "socket '%s': %s", name, strerror(errno));
    runtime->handed_fd[index] = -1;
    return fd;
}

int runtime_take_kept(struct runtime *runtime, const char *prefix, char name[RUNTIME_NAME_BYTES])
{
    int index = find_handed_over(runtime, prefix, strlen(prefix));
    if (index < 0)
        return index;
    int fd = runtime->handed_fd[index];
    runtime->handed_fd[index] = -1;
    snprintf(name, RUNTIME_NAME_BYTES, "%s", runtime->handed_name[index]);
    return fd;
}

/* Returns whether a process listens there. */
static bool is_live(const struct sockaddr_un *address, int type)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    /* A full backlog (EAGAIN) also means that a process listens. */
    bool live =
        connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN;
    close(fd);
    return live;
}

/* Creates the folders that a socket's name begins with. Everybody may enter them, because the
 * socket's own mode says who may connect. */
static int make_folders(const struct runtime *runtime, const char *name, struct error *why)
{
    char folder[NAME_BYTES];
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
        const bool created = mkdirat(runtime->dir_fd, folder, 0700) == 0;
        if (!created && errno != EEXIST)
            return error_set(why, errno, "cannot create the folder %s/%s: %s", runtime->path,
                             folder, strerror(errno));
        if (created && fchmodat(runtime->dir_fd, folder, 0755, 0) < 0)
            return error_set(why, errno, "%s/%s: %s", runtime->path, folder, strerror(errno));
    }
    return 0;
}

/* Lets those connect who may connect to the socket that this one is beside. */
static void copy_access(const struct runtime *runtime, const char *name)
{
    const char *last = strrchr(name, '/');
    struct stat st;
    if (last == NULL || fstatat(runtime->dir_fd, last + 1, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISSOCK(st.st_mode))
        return;
    if (st.st_gid == getegid() || fchownat(runtime->dir_fd, name, (uid_t)-1, st.st_gid, 0) == 0)
        fchmodat(runtime->dir_fd, name, st.st_mode & 0777, 0);
}

static int bind_here(struct runtime *runtime, const char *name, int type, struct error *why)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", runtime->path, name);
    if ((size_t)length >= sizeof address.sun_path)
        return error_set(why, ENAMETOOLONG,
                         "socket path %s/%s is too long: at most %zu bytes fit, choose a shorter "
                         "runtime directory",
                         runtime->path, name, sizeof address.sun_path - 1);
    if (is_live(&address, type))
        return error_set(
            why, EADDRINUSE,
            "another process listens on %s: stop it (a systemd socket unit?) or choose "
            "another --name or --runtime-dir",
            address.sun_path);
    if (unlinkat(runtime->dir_fd, name, 0) < 0 && errno != ENOENT)
        return error_set(why, errno, "cannot replace the stale socket %s: %s", address.sun_path,
                         strerror(errno));

    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(why, errno, "cannot create a socket: %s", strerror(errno));
    /* Set before bind: the socket never exists in the file system with a wider mode. */
    if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(fd, LIMIT_BACKLOG) < 0) {
        int r = error_set(why, errno, "cannot listen on %s: %s", address.sun_path, strerror(errno));
        close(fd);
        return r;
    }
    snprintf(runtime->bound[runtime->bound_count++], sizeof runtime->bound[0], "%s", name);
    return fd;
}

int runtime_listen(struct runtime *runtime, const char *name, int type, struct error *why)
{
    int fd = take_socket(runtime, name, type, why);
    if (fd != -ENOENT)
        return fd;
    if (runtime->bound_count == MAX_SOCKETS || strlen(name) >= sizeof runtime->bound[0])
        return error_set(why, ENOBUFS, "cannot create another socket '%s'", name);
    int r = make_folders(runtime, name, why);
    if (r < 0)
        return r;
    r = bind_here(runtime, name, type, why);
    if (r >= 0)
        copy_access(runtime, name);
    return r;
}
