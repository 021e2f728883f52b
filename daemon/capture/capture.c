#include "capture/capture.h"

#include <errno.h>

int capture_open_more(struct capture *capture, struct error *why)
{
    return capture->ops->open_more(capture, why);
}

int capture_start(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                  struct error *why)
{
    return capture->ops->start(capture, mode, mode != MEMORY_COPIED ? memory : NULL, why);
}

void capture_stop(struct capture *capture)
{
    capture->ops->stop(capture);
}

int capture_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    return capture->ops->dequeue(capture, ret, why);
}

void capture_release(struct capture *capture, const struct capture_frame *frame)
{
    capture->ops->release(capture, frame);
}

static int refuse_controls(const struct capture *capture, struct error *why)
{
    return error_set(why, EOPNOTSUPP,
                     "%s has no controls: only cameras (v4l2:/dev/videoN) have them",
                     capture->description);
}

int capture_list_controls(struct capture *capture, struct capture_controls **ret, struct error *why)
{
    return capture->ops->list_controls != NULL ? capture->ops->list_controls(capture, ret, why)
                                               : refuse_controls(capture, why);
}

int capture_set_controls(struct capture *capture, const struct settings *settings,
                         struct error *why)
{
    return capture->ops->set_controls != NULL ? capture->ops->set_controls(capture, settings, why)
                                              : refuse_controls(capture, why);
}

const char *const capture_control_type_names[] = {
    [CAPTURE_INTEGER] = "integer", [CAPTURE_BOOLEAN] = "boolean", [CAPTURE_MENU] = "menu",
    [CAPTURE_BITMASK] = "bitmask", [CAPTURE_BUTTON] = "button",   [CAPTURE_TEXT] = "text",
};

void capture_close(struct capture *capture)
{
    if (capture != NULL)
        capture->ops->close(capture);
}
