#include "camera/request.h"

#include <errno.h>
#include <stdlib.h>

int request_create_snapshot(struct request **ret, unsigned output, const struct fftd_format *format,
                            bool with_before, camera_snapshot_fn *done, void *context)
{
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return -ENOMEM;
    *request = (struct request){
        .kind = REQUEST_SNAPSHOT,
        .context = context,
        .snapshot = {.done = done, .output = output, .format = *format},
    };
    /* Padding at the end of rows is handed out with the frame, so it must not be old memory. */
    request->snapshot.after = calloc(with_before ? 2 : 1, format->frame_bytes);
    if (request->snapshot.after == NULL) {
        free(request);
        return -ENOMEM;
    }
    if (with_before)
        request->snapshot.before = request->snapshot.after + format->frame_bytes;
    *ret = request;
    return 0;
}

static void destroy(struct request *request)
{
    if (request->kind == REQUEST_SNAPSHOT)
        free(request->snapshot.after);
    else
        free(request->controls.list);
    free(request);
}

void request_append(struct request **to, struct request *list)
{
    while (*to != NULL)
        to = &(*to)->next;
    *to = list;
}

void request_fail(struct request *list, int result, const char *reason)
{
    for (struct request *each = list; each != NULL; each = each->next) {
        each->result = result;
        if (reason != NULL)
            error_set(&each->why, -result, "%s", reason);
    }
}

static void answer(struct request *request)
{
    struct request_snapshot *snapshot = &request->snapshot;
    const struct request_controls *controls = &request->controls;

    if (request->kind != REQUEST_SNAPSHOT) {
        controls->done(request->context, request->result, request->why.text, controls->list);
        return;
    }
    snapshot->done(request->context, request->result, &snapshot->format,
                   request->result < 0 ? NULL : snapshot->before,
                   request->result < 0 ? NULL : snapshot->after, &snapshot->origin);
    if (request->result >= 0)
        snapshot->after = NULL; /* it is the callee's now */
}

void request_answer(struct request *list)
{
    while (list != NULL) {
        struct request *next = list->next;
        answer(list);
        destroy(list);
        list = next;
    }
}
