/* A fake camera under the test's control. This header defines the capture_* functions instead of
 * the capture layer, so exactly one file of a test program includes it. It is thread-safe: the test
 * sets its behaviour while the camera's thread uses it. */
#ifndef FFTD_TESTS_FAKE_CAPTURE_H
#define FFTD_TESTS_FAKE_CAPTURE_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "capture/capture.h"
#include "core/clock.h"
#include "core/format.h"

#define FAKE_CAPTURE_BYTES (64 * 64 * 4)

static struct {
    pthread_mutex_t lock;
    pthread_mutex_t gate; /* the camera does not report its controls while the test holds it */
    /* Its behaviour, set by the test. */
    int open_result, start_result, dequeue_result;
    unsigned offered; /* frames ready to be dequeued */
    uint64_t sequence;
    uint32_t fourcc, width, height;
    const char *description; /* NULL: "a fake camera" */
    const char *lacks;       /* a control that is missing */
    int list_result;         /* of listing the controls */
    unsigned list_ms;        /* how long listing them takes */
    const char *refused;     /* a URI that cannot be opened */
    const char *sized;       /* a URI with frames of another size: */
    uint32_t sized_width, sized_height;
    const char *slow;      /* one that opens only with the next fake_capture_opens */
    int more_result;       /* of its opening; -EAGAIN before that */
    enum memory_mode best; /* the best memory mode that it supports */
    bool unpaced;          /* its frames come as fast as they are taken */
    int memory_result;     /* what starting in a better mode returns; 0: -EOPNOTSUPP */
    /* The calls it received. */
    struct settings controls;
    char uri[CAPTURE_URI_BYTES]; /* opened last */
    unsigned opened, started, stopped, closed, listed, out;
    unsigned taken;               /* frames, since the test began */
    enum memory_mode memory_mode; /* of the last start */
    struct frame_memory *memory;

    int fd;
    struct capture source;
    uint8_t pixels[FAKE_CAPTURE_BYTES];
} fake_capture = {.lock = PTHREAD_MUTEX_INITIALIZER, .gate = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static void fake_capture_reset(void)
{
    if (fake_capture.fd >= 0)
        close(fake_capture.fd);
    memset(&fake_capture, 0, sizeof fake_capture);
    pthread_mutex_init(&fake_capture.lock, NULL);
    pthread_mutex_init(&fake_capture.gate, NULL);
    fake_capture.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fake_capture.fourcc = FFTD_FOURCC('R', '8', ' ', ' ');
    fake_capture.width = 32;
    fake_capture.height = 16;
    for (unsigned i = 0; i < FAKE_CAPTURE_BYTES; i++)
        fake_capture.pixels[i] = (uint8_t)(i * 7);
}

/* Reads one of the fields above while the camera's thread may write it. */
static inline unsigned fake_capture_get(const unsigned *field)
{
    pthread_mutex_lock(&fake_capture.lock);
    unsigned value = *field;
    pthread_mutex_unlock(&fake_capture.lock);
    return value;
}

/* Makes one more frame ready. */
static void fake_capture_offer(void)
{
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.offered++;
    eventfd_write(fake_capture.fd, 1);
    pthread_mutex_unlock(&fake_capture.lock);
}

/* Ends the opening of the slow source. */
static inline void fake_capture_opens(int result)
{
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.more_result = result;
    eventfd_write(fake_capture.fd, 1);
    pthread_mutex_unlock(&fake_capture.lock);
}

/* Makes the next dequeue fail. */
static inline void fake_capture_fail(int dequeue_result, int open_result)
{
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.dequeue_result = dequeue_result;
    fake_capture.open_result = open_result;
    eventfd_write(fake_capture.fd, 1);
    pthread_mutex_unlock(&fake_capture.lock);
}

int capture_open(struct capture **ret, const struct capture_request *request, struct error *why)
{
    int r = 0;

    pthread_mutex_lock(&fake_capture.lock);
    if (fake_capture.refused != NULL && strcmp(request->uri, fake_capture.refused) == 0) {
        r = error_set(why, ENOENT, "%s does not open", request->uri);
    } else if (fake_capture.open_result < 0) {
        r = error_set(why, -fake_capture.open_result, "%s does not open", request->uri);
    } else {
        fake_capture.opened++;
        snprintf(fake_capture.uri, sizeof fake_capture.uri, "%s", request->uri);
        fake_capture.sequence = 0;
        fake_capture.dequeue_result = 0;
        fake_capture.source = (struct capture){.fd = fake_capture.fd};
        snprintf(fake_capture.source.description, sizeof fake_capture.source.description, "%s",
                 fake_capture.description != NULL ? fake_capture.description : "a fake camera");
        const bool sized =
            fake_capture.sized != NULL && strcmp(request->uri, fake_capture.sized) == 0;
        format_layout(&fake_capture.source.format, fake_capture.fourcc,
                      sized ? fake_capture.sized_width : fake_capture.width,
                      sized ? fake_capture.sized_height : fake_capture.height, 1, why);
        fake_capture.source.unpaced = fake_capture.unpaced;
        fake_capture.source.format.rate_num = 1000;
        fake_capture.source.format.rate_den = 1;
        if (fake_capture.slow != NULL && strcmp(request->uri, fake_capture.slow) == 0) {
            fake_capture.more_result = -EAGAIN;
            fake_capture.source.opening_until_ns = clock_now_ns() + 60 * NS_PER_S;
        }
        *ret = &fake_capture.source;
    }
    pthread_mutex_unlock(&fake_capture.lock);
    return r;
}

int capture_open_more(struct capture *capture, struct error *why)
{
    eventfd_t count;
    pthread_mutex_lock(&fake_capture.lock);
    int r = fake_capture.more_result;
    eventfd_read(fake_capture.fd, &count);
    if (r < 0)
        error_set(why, -r, "it does not open");
    else
        capture->opening_until_ns = 0;
    pthread_mutex_unlock(&fake_capture.lock);
    return r;
}

int capture_start(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                  struct error *why)
{
    (void)capture;
    pthread_mutex_lock(&fake_capture.lock);
    int r = fake_capture.start_result;
    if (mode > fake_capture.best)
        r = error_set(why,
                      fake_capture.memory_result < 0 ? -fake_capture.memory_result : EOPNOTSUPP,
                      "not in this mode");
    else if (r == 0 && mode == MEMORY_SHARED && memory != NULL)
        r = frame_memory_share(memory, 0, FAKE_CAPTURE_BYTES, why);
    else if (r < 0)
        error_set(why, -r, "it does not start");
    if (r == 0) {
        fake_capture.started++;
        fake_capture.memory_mode = mode;
        fake_capture.memory = memory;
    }
    pthread_mutex_unlock(&fake_capture.lock);
    return r;
}

void capture_stop(struct capture *capture)
{
    (void)capture;
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.stopped++;
    fake_capture.out = 0; /* frames of the previous stream are invalid */
    if (fake_capture.memory_mode != MEMORY_COPIED)
        frame_memory_clear(fake_capture.memory);
    fake_capture.memory_mode = MEMORY_COPIED;
    pthread_mutex_unlock(&fake_capture.lock);
}

int capture_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    int r = 0;

    pthread_mutex_lock(&fake_capture.lock);
    if (fake_capture.dequeue_result < 0) {
        r = error_set(why, -fake_capture.dequeue_result, "it does not deliver");
    } else if (fake_capture.offered == 0) {
        r = -EAGAIN;
    } else {
        /* Only the newest frame is returned. */
        capture->dropped_stale += fake_capture.offered - 1;
        fake_capture.sequence += fake_capture.offered - 1;
        fake_capture.offered = 0;
        fake_capture.out++;
        fake_capture.taken++;
        int64_t now_ns = clock_now_ns();
        *ret = (struct capture_frame){
            .memory = fake_capture.memory_mode != MEMORY_COPIED ? 0 : -1,
            .plane = {fake_capture.pixels},
            .stride = {capture->format.plane[0].stride},
            .sequence = fake_capture.sequence++,
            .captured_ns = now_ns,
            .dequeued_ns = now_ns,
        };
    }
    if (fake_capture.dequeue_result == 0) {
        eventfd_t count;
        eventfd_read(fake_capture.fd, &count);
    }
    pthread_mutex_unlock(&fake_capture.lock);
    return r;
}

void capture_release(struct capture *capture, const struct capture_frame *frame)
{
    (void)capture, (void)frame;
    pthread_mutex_lock(&fake_capture.lock);
    if (fake_capture.out-- == 0)
        abort(); /* no frame was lent */
    pthread_mutex_unlock(&fake_capture.lock);
}

int capture_list_controls(struct capture *capture, struct capture_controls **ret, struct error *why)
{
    (void)capture;
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.listed++;
    const int result = fake_capture.list_result;
    const unsigned ms = fake_capture.list_ms;
    pthread_mutex_unlock(&fake_capture.lock);
    pthread_mutex_lock(&fake_capture.gate);
    pthread_mutex_unlock(&fake_capture.gate);
    poll(NULL, 0, (int)ms);
    if (result < 0)
        return error_set(why, -result, "it does not list its controls");
    struct capture_menu_entry *entry;
    struct capture_controls *controls =
        calloc(1, sizeof *controls + sizeof controls->control[0] + sizeof *entry);
    entry = (void *)&controls->control[1];
    snprintf(entry->name, sizeof entry->name, "automatic");
    controls->control[0].type = CAPTURE_MENU;
    controls->control[0].entry = entry;
    controls->control[0].entry_count = 1;
    controls->count = 1;
    snprintf(controls->control[0].name, sizeof controls->control[0].name, "gain");
    *ret = controls;
    return 0;
}

int capture_set_controls(struct capture *capture, const struct settings *settings,
                         struct error *why)
{
    int r = 0;
    (void)capture;
    pthread_mutex_lock(&fake_capture.lock);
    for (unsigned i = 0; i < settings->count; i++)
        if (fake_capture.lacks != NULL && strcmp(settings->item[i].name, fake_capture.lacks) == 0)
            r = error_set(why, EINVAL, "%s: no such control", fake_capture.lacks);
    if (r == 0)
        settings_merge(&fake_capture.controls, settings, why);
    pthread_mutex_unlock(&fake_capture.lock);
    return r;
}

void capture_close(struct capture *capture)
{
    (void)capture;
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.closed++;
    pthread_mutex_unlock(&fake_capture.lock);
}

#endif
