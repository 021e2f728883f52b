#include "camera/status.h"

const char *const camera_state_names[] = {
    [CAMERA_STARTING] = "starting", [CAMERA_ONLINE] = "online",     [CAMERA_STALLED] = "stalled",
    [CAMERA_LOST] = "lost",         [CAMERA_REFUSED] = "refused",   [CAMERA_FAILED] = "failed",
    [CAMERA_PAUSED] = "paused",     [CAMERA_FINISHED] = "finished",
};

const char *const camera_stage_names[STAGE_COUNT] = {
    "capture", "wait", "upload", "kernel", "download", "publish", "total",
};

const char *const camera_copy_names[COPY_COUNT] = {
    "capture", "upload", "pass", "download", "observe",
};

bool camera_may_deliver(enum camera_state state)
{
    return state == CAMERA_ONLINE || state == CAMERA_STARTING || state == CAMERA_PAUSED;
}
