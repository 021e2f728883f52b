/* The memory mode in which a source is started. */
#include "camera/recovery.h"

#include <errno.h>

#include "core/text.h"

static bool allows(const struct recovery *recovery, enum memory_mode mode)
{
    return recovery->request.memory == MEMORY_AUTO || recovery->request.memory == mode;
}

/* Tries one memory mode; *problem collects the reasons of those that failed. */
static int try_memory_mode(struct recovery *recovery, enum memory_mode mode, struct error *problem)
{
    struct error why;
    int r = capture_start_in(recovery->capture, mode, recovery->memory.lent, &why);
    if (r < 0)
        text_append(problem->text, sizeof problem->text, "%s%s: %s",
                    problem->text[0] != '\0' ? "; " : "", memory_mode_names[mode], why.text);
    else
        recovery->memory.mode = mode;
    return r;
}

/* Drivers report a refusal by many error codes, so only a failure of the last mode, copying, counts
 * as the camera's. Once a mode has worked, its failure counts too. */
int recovery_start_capture(struct recovery *recovery, struct error *why)
{
    struct source_memory *memory = &recovery->memory;
    int r = -EOPNOTSUPP;
    recovery->start_count++;
    if (memory->settled)
        return capture_start_in(recovery->capture, memory->mode, memory->lent, why);
    memory->problem.text[0] = '\0';
    for (enum memory_mode mode = MEMORY_IMPORTED; memory->lent != NULL && mode > MEMORY_COPIED;
         mode--)
        if (r < 0 && r != -ENODEV && allows(recovery, mode))
            r = try_memory_mode(recovery, mode, &memory->problem);
    if (r == -ENODEV)
        return error_set(why, ENODEV, "%s", memory->problem.text);
    if (r < 0) {
        r = capture_start(recovery->capture, why);
        memory->mode = MEMORY_COPIED;
    }
    memory->settled = r == 0 && memory->lent != NULL;
    return r;
}
