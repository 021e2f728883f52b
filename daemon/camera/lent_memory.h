/* Memory of an engine's device, lent to the source, which captures into it. Camera's thread only.
 *
 * The memory belongs to the device, so it serves one engine after another while these use the same
 * line layout; the source does not notice a change of filters. It must be taken back before the
 * engine with which the device is given up. From then on the source captures into its own memory,
 * until there is another engine. */
#ifndef FFTD_CAMERA_LENT_MEMORY_H
#define FFTD_CAMERA_LENT_MEMORY_H

#include "camera/recovery.h"
#include "engine/engine.h"

/* Lends the source memory of the engine's device; engine NULL: none. Restarts a streaming source
 * that writes into the old memory, or that was started without any. */
void lent_memory_update(struct recovery *recovery, const struct engine *engine);

#endif
