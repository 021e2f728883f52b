/* Opens, waits for and closes a camera; its format, state and epoch, and the version. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "read.h"
#include "slot.h"
#include "word.h"

#define OPEN_TIMEOUT_MS 2000
#define WORD_TIMEOUT_MS 100 /* usually longer than the time between two frames */

const char *fftd_version(void)
{
    return FFTD_VERSION;
}

/* LINK_DOWN with -EAGAIN means that the daemon's queue of connections is full at present. */
static bool is_undecided(const struct fftd *camera)
{
    return camera->state == LINK_ASKED || (camera->state == LINK_DOWN && camera->error == -EAGAIN);
}

static int open_camera(struct fftd **ret, const char *name, bool lossless)
{
    struct fftd *camera = calloc(1, sizeof *camera);
    if (camera == NULL)
        return -ENOMEM;
    camera->lossless = lossless;
    int r = link_init(camera);
    if (r == 0)
        r = fftd_runtime_dir(name, camera->socket_path,
                             sizeof camera->socket_path - strlen("/frames"));
    if (r < 0)
        goto fail;
    strcat(camera->socket_path, "/frames");

    int64_t deadline_ms = link_now_ms() + OPEN_TIMEOUT_MS;
    link_start(camera, OPEN_TIMEOUT_MS);
    while (is_undecided(camera)) {
        int64_t left_ms = deadline_ms - link_now_ms();
        if (left_ms <= 0) {
            r = -ETIMEDOUT;
            goto fail;
        }
        link_step(camera, (int)left_ms);
    }
    if (camera->state == LINK_DOWN) {
        r = camera->error;
        goto fail;
    }
    *ret = camera;
    return 0;
fail:
    fftd_close(camera);
    return r;
}

int fftd_open(struct fftd **ret, const char *name)
{
    return open_camera(ret, name, false);
}

int fftd_open_lossless(struct fftd **ret, const char *name)
{
    return open_camera(ret, name, true);
}

void fftd_close(struct fftd *camera)
{
    if (camera == NULL)
        return;
    link_tell_read(camera, camera->last);
    link_finish(camera);
    for (unsigned i = 0; i < MAX_MAPS; i++)
        map_close(&camera->map[i]);
    free(camera);
}

/* ---- waiting ---- */

static void ask_if_retired(struct fftd *camera)
{
    if (camera->state == LINK_UP && read_is_retired(camera))
        link_ask(camera);
}

/* Errors that waiting does not resolve; fftd_wait returns them at once. */
static bool is_serious(int error)
{
    return error == -EPROTO || error == -EBUSY || error == -EOPNOTSUPP;
}

/* The result of a wait that ended without a frame. */
static int nothing_came(const struct fftd *camera)
{
    if (camera->error == 0 || camera->error == -EAGAIN)
        return 0;
    return is_serious(camera->error) ? camera->error : -EPIPE;
}

/* Waits for any event. The caller is done with the last frame, and there is no other, so the daemon
 * may wait for this client. */
static int wait_for_event(struct fftd *camera, int timeout_ms)
{
    if (!read_has_news(camera))
        link_tell_read(camera, camera->last);
    return link_step(camera, timeout_ms);
}

/* Waits for an event. A client that sleeps on its word gets a frame in half the time, but nothing
 * else wakes it there, not even the daemon's death. So it sleeps there for a while, and then waits
 * for all events. An event between the two leaves a byte in the wake-up socket. */
static int wait_step(struct fftd *camera, int timeout_ms)
{
    if (camera->word == NULL || camera->state != LINK_UP || camera->request_count > 0 ||
        timeout_ms == 0)
        return wait_for_event(camera, timeout_ms);
    const bool is_short = timeout_ms > 0 && timeout_ms < WORD_TIMEOUT_MS;
    const int sleep_ms = is_short ? timeout_ms : WORD_TIMEOUT_MS;
    const uint32_t seen = word_load(camera->word);
    if (read_has_news(camera) || read_is_retired(camera))
        return 0;
    const struct fftd_ring_header *header = map_header(camera->current);
    const int r = word_sleep(camera->word, seen, sleep_ms);
    /* After a sleep the header is not in the cache. A later access through `camera` would need
     * three dependent loads. */
    __builtin_prefetch(&header->newest);
    if (r != -ETIMEDOUT)
        return r;
    return wait_for_event(camera, timeout_ms < 0 ? -1 : timeout_ms - sleep_ms);
}

int fftd_wait(struct fftd *camera, int timeout_ms)
{
    /* With a timeout of 0 the caller may come from poll(), and the event that made the descriptor
     * readable has to be handled even if there is a frame. */
    if (timeout_ms != 0 && read_has_news(camera)) {
        if (camera->request_count > 0)
            link_update_holds(camera);
        return 1;
    }
    int64_t deadline_ms = timeout_ms > 0 ? link_now_ms() + timeout_ms : 0;
    int left_ms = timeout_ms;
    for (;;) {
        int before = camera->error;
        ask_if_retired(camera);
        int r = wait_step(camera, left_ms);
        if (read_has_news(camera))
            return 1;
        ask_if_retired(camera);
        if (camera->error != before && is_serious(camera->error))
            return camera->error;
        if (r == -EINTR)
            return 0;
        if (timeout_ms > 0) {
            int64_t left = deadline_ms - link_now_ms();
            left_ms = left > 0 ? (int)left : 0;
        }
        if (left_ms == 0) {
            /* If the time ran out in the sleep on the word, wait_step has not told the daemon. */
            link_tell_read(camera, camera->last);
            return nothing_came(camera);
        }
    }
}

int fftd_fd(const struct fftd *camera)
{
    return camera->epoll_fd;
}

/* ---- asking ---- */

const struct fftd_format *fftd_format(const struct fftd *camera)
{
    return camera->current != NULL ? &camera->current->format : NULL;
}

enum fftd_state fftd_state(const struct fftd *camera)
{
    if (camera->current == NULL)
        return FFTD_STATE_STARTING;
    /* The daemon that wrote this ring may have died without updating the state. */
    if (camera->error != 0 || camera->state == LINK_DOWN)
        return FFTD_STATE_OFFLINE;
    uint32_t state = slot_load(map_header(camera->current)->state);
    return state <= FFTD_STATE_RETIRED ? (enum fftd_state)state : FFTD_STATE_OFFLINE;
}

uint32_t fftd_epoch(const struct fftd *camera)
{
    return camera->current != NULL ? slot_load(map_header(camera->current)->epoch) : 0;
}
