/* In which memory frames come: the one place where the source and the engine's device meet.
 *
 * The memory is the device's, so it serves one engine after another as long as they want frames
 * laid out alike, and a change of filters is nothing that the source would notice. It has to be
 * taken back before the engine goes with which the device is given up; from then on frames come in
 * the source's own memory, if it goes on at all, until there is another engine. */
#include "camera_private.h"

#include "log.h"

static bool is_suitable(const struct camera *camera)
{
    if (camera->engine == NULL)
        return camera->memory == NULL;
    return camera->memory != NULL && engine_memory_suits(camera->memory, camera->engine);
}

/* Whether a source that streams has to be started anew for other memory: it is in the old one, or
 * was started when there was none. One that has refused all memory is left alone. */
static bool wants_restart(const struct camera *camera)
{
    const struct source *source = &camera->source;
    if (source->phase != SOURCE_STREAMING)
        return false;
    return source->way != FRAME_COPIED || (camera->engine != NULL && !source->way_settled);
}

void camera_renew_memory(struct camera *camera)
{
    struct source *source = &camera->source;
    struct frame_memory *memory = NULL;
    struct error why;

    if (is_suitable(camera))
        return;
    bool restart = wants_restart(camera);
    if (restart)
        source_stop(source);
    if (camera->engine != NULL && engine_memory_create(&memory, camera->engine, &why) < 0)
        log_warning("frames will be copied: %s", why.text);
    source_lend(source, memory);
    engine_memory_destroy(camera->memory);
    camera->memory = memory;
    if (restart)
        source_start(source);
}
