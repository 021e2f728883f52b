#include "connections.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/clock.h"

struct connection {
    int fd; /* -1: the entry is free */
    int64_t deadline_ns;
};

struct connections {
    pthread_mutex_t lock; /* protects what follows */
    struct connection place[CONNECTIONS_MAX];
    unsigned count;
    int timer_fd; /* ticks once a second while there are connections */
};

int connections_create(struct connections **ret)
{
    struct connections *connections = calloc(1, sizeof *connections);
    if (connections == NULL)
        return -ENOMEM;
    connections->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (connections->timer_fd < 0) {
        int r = -errno;
        free(connections);
        return r;
    }
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        connections->place[i].fd = -1;
    pthread_mutex_init(&connections->lock, NULL);
    *ret = connections;
    return 0;
}

void connections_destroy(struct connections *connections)
{
    if (connections == NULL)
        return;
    close(connections->timer_fd);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
}

int connections_fd(const struct connections *connections)
{
    return connections->timer_fd;
}

static void set_timer(const struct connections *connections, int seconds)
{
    const struct itimerspec time = {.it_interval.tv_sec = seconds, .it_value.tv_sec = seconds};
    timerfd_settime(connections->timer_fd, 0, &time, NULL);
}

struct connection *connections_open(struct connections *connections, int fd)
{
    struct connection *found = NULL;
    pthread_mutex_lock(&connections->lock);
    for (unsigned i = 0; i < CONNECTIONS_MAX && found == NULL; i++)
        if (connections->place[i].fd < 0)
            found = &connections->place[i];
    if (found != NULL) {
        found->fd = fd;
        found->deadline_ns = clock_now_ns() + CONNECTION_IDLE_S * NS_PER_S;
        if (connections->count++ == 0)
            set_timer(connections, 1);
    }
    pthread_mutex_unlock(&connections->lock);
    return found;
}

void connections_close(struct connections *connections, struct connection *connection)
{
    if (connection == NULL)
        return;
    pthread_mutex_lock(&connections->lock);
    connection->fd = -1;
    if (--connections->count == 0)
        set_timer(connections, 0);
    pthread_mutex_unlock(&connections->lock);
}

static void set_deadline(struct connections *connections, struct connection *connection,
                         int64_t deadline_ns)
{
    if (connection == NULL)
        return;
    pthread_mutex_lock(&connections->lock);
    connection->deadline_ns = deadline_ns;
    pthread_mutex_unlock(&connections->lock);
}

void connections_begin(struct connections *connections, struct connection *connection,
                       bool is_stream)
{
    set_deadline(connections, connection,
                 is_stream ? INT64_MAX : clock_now_ns() + CONNECTION_REQUEST_S * NS_PER_S);
}

void connections_end(struct connections *connections, struct connection *connection)
{
    set_deadline(connections, connection, clock_now_ns() + CONNECTION_IDLE_S * NS_PER_S);
}

void connections_sweep(struct connections *connections)
{
    uint64_t ticks;
    const int64_t now_ns = clock_now_ns();
    (void)!read(connections->timer_fd, &ticks, sizeof ticks);
    pthread_mutex_lock(&connections->lock);
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        if (connections->place[i].fd >= 0 && connections->place[i].deadline_ns <= now_ns)
            shutdown(connections->place[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&connections->lock);
}
