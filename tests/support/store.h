/* Memory of the host, in pages of its own, into which an engine stores results. */
#ifndef FFTD_TESTS_STORE_H
#define FFTD_TESTS_STORE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine.h"

#define STORE_FRAMES 2
#define STORE_OLD    0xa5 /* what is there before a result is */

struct store {
    struct engine_output *output;
    uint8_t *frame[STORE_FRAMES];
    size_t bytes; /* of each */
    unsigned released;
    bool frees_itself; /* and this struct, when it is released */
};

static inline void store_free(struct store *store)
{
    for (unsigned i = 0; i < STORE_FRAMES; i++)
        free(store->frame[i]);
}

static inline void store_release(void *context)
{
    struct store *store = context;
    if (store->frees_itself) {
        store_free(store);
        free(store);
        return;
    }
    __atomic_fetch_add(&store->released, 1, __ATOMIC_RELEASE);
}

static inline unsigned store_count_released(const struct store *store)
{
    return __atomic_load_n(&store->released, __ATOMIC_ACQUIRE);
}

/* Makes the memory, and the engine's access to it, with frames `offset` bytes behind the start of a
 * page. Returns what engine_output_create does. */
static inline int store_create(struct store *ret, const struct engine *engine,
                               const struct fftd_format *format, size_t offset, struct error *why)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct engine_output_memory memory = {
        .count = STORE_FRAMES, .release = store_release, .context = ret};
    *ret = (struct store){.bytes = (offset + format->frame_bytes + page - 1) / page * page};
    for (unsigned i = 0; i < STORE_FRAMES; i++) {
        ret->frame[i] = aligned_alloc(page, ret->bytes);
        memset(ret->frame[i], STORE_OLD, ret->bytes);
        memset(ret->frame[i] + offset, 0, format->frame_bytes); /* no kernel writes its padding */
        memory.frame[i] = ret->frame[i] + offset;
    }
    return engine_output_create(&ret->output, engine, &memory, why);
}

/* Whether the memory was released once, or is within 10 s, after the engine was destroyed. Drivers
 * may delete buffers in threads of their own. */
static inline bool store_is_released(const struct store *store)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    for (int tries = 0; tries < 10000 && store_count_released(store) == 0; tries++)
        nanosleep(&moment, NULL);
    return store_count_released(store) == 1;
}

/* Whether the rows of all planes are those of `expected`, and nothing is written behind the frame.
 */
static inline bool store_holds(const struct store *store, unsigned index,
                               const struct fftd_format *format, const uint8_t *expected)
{
    for (unsigned p = 0; p < format->plane_count; p++) {
        const struct fftd_plane *plane = &format->plane[p];
        for (uint32_t row = 0; row < plane->rows; row++) {
            const size_t at = plane->offset + (size_t)row * plane->stride;
            if (memcmp(store->frame[index] + at, expected + at, plane->row_bytes) != 0)
                return false;
        }
    }
    for (size_t i = format->frame_bytes; i < store->bytes; i++)
        if (store->frame[index][i] != STORE_OLD)
            return false;
    return true;
}

#endif
