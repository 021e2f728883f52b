#include "camera/status.h"

const char *camera_state_name(enum camera_state state)
{
    switch (state) {
    case CAMERA_STARTING:
        return "starting";
    case CAMERA_ONLINE:
        return "online";
    case CAMERA_STALLED:
        return "stalled";
    case CAMERA_LOST:
        return "lost";
    case CAMERA_REFUSED:
        return "refused";
    case CAMERA_FAILED:
        return "failed";
    case CAMERA_PAUSED:
        return "paused";
    case CAMERA_FINISHED:
        return "finished";
    }
    return "unknown";
}

bool camera_may_deliver(enum camera_state state)
{
    return state == CAMERA_ONLINE || state == CAMERA_STARTING || state == CAMERA_PAUSED;
}

const char *camera_stage_name(enum camera_stage stage)
{
    switch (stage) {
    case STAGE_CAPTURE:
        return "capture";
    case STAGE_WAIT:
        return "wait";
    case STAGE_UPLOAD:
        return "upload";
    case STAGE_KERNEL:
        return "kernel";
    case STAGE_DOWNLOAD:
        return "download";
    case STAGE_PUBLISH:
        return "publish";
    case STAGE_TOTAL:
        return "total";
    case STAGE_COUNT:
        break;
    }
    return "unknown";
}

const char *camera_copy_name(enum camera_copy copy)
{
    switch (copy) {
    case COPY_CAPTURE:
        return "capture";
    case COPY_UPLOAD:
        return "upload";
    case COPY_PASS:
        return "pass";
    case COPY_DOWNLOAD:
        return "download";
    case COPY_OBSERVE:
        return "observe";
    case COPY_COUNT:
        break;
    }
    return "unknown";
}
