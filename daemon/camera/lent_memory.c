#include "camera/lent_memory.h"

#include <stddef.h>

#include "service/log.h"

static bool is_suitable(const struct frame_memory *memory, const struct engine *engine)
{
    if (engine == NULL)
        return memory == NULL;
    return memory != NULL && engine_memory_suits(memory, engine);
}

/* Returns whether a streaming source must be restarted for other memory, because it writes into the
 * old memory or was started without any. A source that has refused all memory is left alone. */
static bool needs_restart(const struct recovery *recovery, const struct engine *engine)
{
    if (recovery->phase != SOURCE_STREAMING)
        return false;
    return recovery->memory.mode != MEMORY_COPIED || (engine != NULL && !recovery->memory.settled);
}

void lent_memory_update(struct recovery *recovery, const struct engine *engine)
{
    struct frame_memory *memory = NULL, *old = recovery->memory.lent;
    struct error why;

    if (is_suitable(old, engine))
        return;
    bool restart = needs_restart(recovery, engine);
    if (restart)
        recovery_stop(recovery);
    if (engine != NULL && engine_memory_create(&memory, engine, &why) < 0)
        log_warning("frames will be copied: %s", why.text);
    recovery_lend(recovery, memory);
    engine_memory_destroy(old);
    if (restart)
        recovery_start(recovery);
}
