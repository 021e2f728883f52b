#include "camera/lent_memory.h"

#include <stddef.h>

#include "service/log.h"

static bool is_suitable(const struct lent_memory *lent, const struct engine *engine)
{
    if (engine == NULL)
        return lent->memory == NULL;
    return lent->memory != NULL && engine_memory_suits(lent->memory, engine);
}

/* Returns whether a streaming source must be restarted for other memory, because it writes into the
 * old memory or was started without any. A source that has refused all memory is left alone. */
static bool needs_restart(const struct recovery *recovery, const struct engine *engine)
{
    if (recovery->phase != SOURCE_STREAMING)
        return false;
    return recovery->memory.mode != MEMORY_COPIED || (engine != NULL && !recovery->memory.settled);
}

void lent_memory_update(struct lent_memory *lent, const struct engine *engine)
{
    struct recovery *recovery = lent->recovery;
    struct frame_memory *memory = NULL;
    struct error why;

    if (is_suitable(lent, engine))
        return;
    bool restart = needs_restart(recovery, engine);
    if (restart)
        recovery_stop(recovery);
    if (engine != NULL && engine_memory_create(&memory, engine, &why) < 0)
        log_warning("frames will be copied: %s", why.text);
    recovery_lend(recovery, memory);
    engine_memory_destroy(lent->memory);
    lent->memory = memory;
    if (restart)
        recovery_start(recovery);
}

void lent_memory_finish(struct lent_memory *lent)
{
    engine_memory_destroy(lent->memory);
    lent->memory = NULL;
}
