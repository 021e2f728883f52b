#include "camera/source_memory.h"

#include <errno.h>

#include "core/text.h"

/* Tries one memory mode; memory->problem collects the reasons of those that failed. */
static int try_mode(struct source_memory *memory, struct capture *capture, enum memory_mode mode)
{
    struct error *problem = &memory->problem;
    struct error why;
    int r = capture_start(capture, mode, memory->lent, &why);
    if (r < 0)
        text_append(problem->text, sizeof problem->text, "%s%s: %s",
                    problem->text[0] != '\0' ? "; " : "", memory_mode_names[mode], why.text);
    else
        memory->mode = mode;
    return r;
}

/* Drivers report a refusal by many error codes, so only a failure of the last mode, copying, counts
 * as a failure of the camera. Once a mode has worked, its failure also counts. */
int source_memory_start(struct source_memory *memory, struct capture *capture,
                        enum memory_mode allowed, struct error *why)
{
    int r = -EOPNOTSUPP;
    if (memory->settled)
        return capture_start(capture, memory->mode, memory->lent, why);
    memory->problem.text[0] = '\0';
    for (enum memory_mode mode = MEMORY_IMPORTED; memory->lent != NULL && mode > MEMORY_COPIED;
         mode--)
        if (r < 0 && r != -ENODEV && (allowed == MEMORY_AUTO || allowed == mode))
            r = try_mode(memory, capture, mode);
    if (r == -ENODEV)
        return error_set(why, ENODEV, "%s", memory->problem.text);
    if (r < 0) {
        r = capture_start(capture, MEMORY_COPIED, NULL, why);
        memory->mode = MEMORY_COPIED;
    }
    memory->settled = r == 0 && memory->lent != NULL;
    return r;
}
