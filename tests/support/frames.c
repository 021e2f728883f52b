#include "support/frames.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "core/format.h"
#include "service/listener.h"

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "frames: %s: %s\n", what, strerror(errno));
    abort();
}

static int listen_in(const char *dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/frames", dir);
    unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    require(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                listen(fd, 64) == 0,
            "cannot listen");
    return fd;
}

static int on_call(sd_event_source *source, int fd, uint32_t revents, void *context)
{
    struct frames *frames = context;
    uint64_t times;
    (void)source;
    (void)revents;
    require(read(fd, &times, sizeof times) == sizeof times, "cannot read the eventfd");
    frames->call(frames, frames->context);
    sem_post(&frames->called);
    return 0;
}

static int on_connection(void *server, int fd, uid_t uid, struct error *why)
{
    return ring_server_accept(server, fd, uid, why);
}

static void *loop_main(void *context)
{
    struct frames *frames = context;
    sd_event_loop(frames->event);
    return NULL;
}

void frames_start(struct frames *frames, const char *dir, unsigned max_clients)
{
    struct error why = {""};
    *frames = (struct frames){.call_fd = eventfd(0, EFD_CLOEXEC)};
    require(frames->call_fd >= 0, "cannot create an eventfd");
    strcpy(frames->dir, dir != NULL ? dir : "/tmp/fftd-test-XXXXXX");
    require(dir != NULL || mkdtemp(frames->dir) != NULL, "cannot create a directory");
    sem_init(&frames->called, 0, 0);
    require(sd_event_new(&frames->event) >= 0, "cannot create an event loop");
    require(sd_event_add_io(frames->event, NULL, frames->call_fd, EPOLLIN, on_call, frames) >= 0,
            "cannot watch the eventfd");
    require(ring_server_create(&frames->server, frames->event, max_clients, &why) == 0, why.text);
    const struct listener_options options = {
        .name = "frames", .connected = on_connection, .context = frames->server};
    require(listener_create(&frames->listener, frames->event, listen_in(frames->dir), &options,
                            &why) == 0,
            why.text);
    /* Only the test's thread receives signals. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    require(pthread_create(&frames->thread, NULL, loop_main, frames) == 0, "cannot start a thread");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void frames_call(struct frames *frames, void (*call)(struct frames *, void *), void *context)
{
    const uint64_t once = 1;
    frames->call = call;
    frames->context = context;
    require(write(frames->call_fd, &once, sizeof once) == sizeof once, "cannot call");
    while (sem_wait(&frames->called) < 0)
        continue;
}

static void call_exit(struct frames *frames, void *context)
{
    (void)context;
    listener_destroy(frames->listener);
    ring_server_destroy(frames->server);
    sd_event_exit(frames->event, 0);
}

void frames_stop(struct frames *frames)
{
    frames_call(frames, call_exit, NULL);
    pthread_join(frames->thread, NULL);
    sd_event_unref(frames->event);
    close(frames->call_fd);
    sem_destroy(&frames->called);
}

void frames_remove(struct frames *frames)
{
    char path[64];
    snprintf(path, sizeof path, "%s/frames", frames->dir);
    unlink(path);
    rmdir(frames->dir);
}

static void call_set_ring(struct frames *frames, void *ring)
{
    ring_server_set_ring(frames->server, ring);
}

void frames_set_ring(struct frames *frames, struct ring *ring)
{
    frames_call(frames, call_set_ring, ring);
}

static void call_get_stats(struct frames *frames, void *ret)
{
    ring_server_get_stats(frames->server, ret);
}

struct ring_server_stats frames_stats(struct frames *frames)
{
    struct ring_server_stats stats;
    frames_call(frames, call_get_stats, &stats);
    return stats;
}

bool frames_settle(struct frames *frames, unsigned clients, unsigned held_slots)
{
    /* This must poll, because the server does not signal a handled hang-up to other threads. */
    for (unsigned ms = 0; ms < FRAMES_PATIENCE_MS; ms++) {
        struct ring_server_stats stats = frames_stats(frames);
        if (stats.clients == clients && stats.held_slots == held_slots)
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}

bool frames_asleep(pid_t pid)
{
    char path[32], line[128];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    for (unsigned ms = 0; ms < FRAMES_PATIENCE_MS; ms++) {
        FILE *file = fopen(path, "r");
        require(file != NULL && fgets(line, sizeof line, file) != NULL, path);
        fclose(file);
        const char *name_end = strrchr(line, ')'); /* followed by " S ..." */
        if (name_end != NULL && name_end[2] == 'S')
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}

struct ring *frames_ring(uint32_t fourcc, uint32_t width, uint32_t height, unsigned slots,
                         uint32_t generation, uint64_t first_sequence)
{
    struct fftd_format format;
    struct error why = {""};
    struct ring *ring;
    require(format_layout(&format, fourcc, width, height, 1, &why) == 0, why.text);
    require(ring_create(&ring, &format, slots, 0, generation, 1, first_sequence, &why) == 0,
            why.text);
    return ring;
}

/* Eight bytes at a time: xorshift of the sequence and the index. */
static uint64_t pattern_word(uint64_t sequence, uint32_t index)
{
    uint64_t x = sequence * 0x9e3779b97f4a7c15u + index + 1;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

void frames_draw(const struct fftd_format *format, uint8_t *frame, uint64_t sequence)
{
    for (uint32_t at = 0; at < format->frame_bytes; at += 8) {
        uint32_t left = format->frame_bytes - at;
        uint64_t word = pattern_word(sequence, at);
        memcpy(frame + at, &word, left < 8 ? left : 8);
    }
}

bool frames_measures(uint64_t sequence, struct fftd_measures *ret)
{
    const float value = (float)(sequence % 1000);
    *ret = (struct fftd_measures){0};
    if (sequence % 4 != 3)
        return false;
    *ret = (struct fftd_measures){.sharpness = value + 0.5F,
                                  .noise = value,
                                  .mean = -value,
                                  .peak_strength = value / 8,
                                  .peaks = 7,
                                  .age = 0x01020304};
    return true;
}

unsigned frames_matches_of(uint64_t sequence, struct fftd_match ret[FFTD_MAX_MATCHES])
{
    const float value = (float)(sequence % 1000);
    const unsigned count = sequence % 8 == 7 ? FFTD_MAX_MATCHES : sequence % 8 == 5 ? 1 : 0;
    for (unsigned i = 0; i < FFTD_MAX_MATCHES; i++)
        ret[i] = i < count ? (struct fftd_match){.x = value + 0.25F, .y = (float)i, .score = -0.5F}
                           : (struct fftd_match){0};
    return count;
}

void frames_publish(struct ring *ring)
{
    struct ring_write write;
    uint64_t sequence = ring_newest(ring) + 1;
    ring_begin(ring, &write);
    frames_draw(ring_format(ring), write.data, sequence);
    struct fftd_measures measures;
    const unsigned flags = frames_measures(sequence, &measures) ? FFTD_FLAG_MEASURES : 0;
    struct ring_meta meta = {.source_sequence = sequence + 1000,
                             .filter_serial = sequence * 10,
                             .captured_ns = 1,
                             .dequeued_ns = 2,
                             .submitted_ns = 3,
                             .finished_ns = 4,
                             .flags = flags,
                             .measures = measures};
    meta.match_count = frames_matches_of(sequence, meta.match);
    ring_publish(ring, &write, &meta);
}

bool frames_match(const struct fftd_format *format, const uint8_t *frame, uint64_t sequence)
{
    bool match = true;
    for (uint32_t at = 0; at < format->frame_bytes; at += 8) {
        uint32_t left = format->frame_bytes - at;
        uint64_t word = pattern_word(sequence, at);
        match &= memcmp(frame + at, &word, left < 8 ? left : 8) == 0;
    }
    return match;
}
