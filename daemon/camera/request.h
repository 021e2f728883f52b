/* Requests of the main thread that the camera's thread answers once: a snapshot, the list of the
 * camera's controls, a change of those controls. A setting that holds until it is changed is
 * desired state instead (mailbox.h).
 *
 * A request goes from the main thread through the mailbox to the camera's thread, and returns with
 * its result. It has one owner at any time, so it needs no lock of its own. */
#ifndef FFTD_CAMERA_REQUEST_H
#define FFTD_CAMERA_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "core/error.h"
#include "core/settings.h"
#include "fftd/ring.h"

/* Which frame a snapshot shows. */
struct snapshot_origin {
    uint64_t sequence;      /* its number in the ring */
    uint64_t filter_serial; /* the serial of the filter that made `after` */
    int64_t captured_ns;    /* as in the ring */
};

/* Receives a frame before and after the filter. Both buffers have the format's layout; the callee
 * frees `after`, and `before` with it. Both are NULL if result is negative; `before` is also NULL
 * if it was not asked for. */
typedef void camera_snapshot_fn(void *context, int result, const struct fftd_format *format,
                                const uint8_t *before, uint8_t *after,
                                const struct snapshot_origin *origin);

/* Receives the result of a request about controls. `why` gives the reason of a negative result;
 * `controls` is freed after the call, and NULL unless the list was asked for. */
typedef void camera_controls_fn(void *context, int result, const char *why,
                                const struct capture_controls *controls);

enum request_kind { REQUEST_SNAPSHOT, REQUEST_LIST_CONTROLS, REQUEST_SET_CONTROLS };

struct request_snapshot {
    camera_snapshot_fn *done;
    unsigned output; /* the output whose frame is wanted */
    struct fftd_format format;
    struct snapshot_origin origin;
    uint8_t *before; /* format.frame_bytes; NULL: not asked for */
    uint8_t *after;  /* format.frame_bytes; also the allocation that both are in */
};

struct request_controls {
    camera_controls_fn *done;
    struct settings settings;      /* REQUEST_SET_CONTROLS: what to set */
    uint64_t version;              /* desired.controls_version when the request was made */
    uint64_t source_number;        /* desired.source.number when the request was made */
    struct capture_controls *list; /* REQUEST_LIST_CONTROLS: the answer */
};

struct request {
    struct request *next; /* in a list; NULL: the last one */
    enum request_kind kind;
    void *context;
    int result;       /* 0, or -errno */
    struct error why; /* the reason of a negative result; not used by snapshots */
    union {
        struct request_snapshot snapshot;
        struct request_controls controls;
    };
};

/* Allocates all that the answer needs, so that the frame path only copies. -ENOMEM. */
int request_create_snapshot(struct request **ret, unsigned output, const struct fftd_format *format,
                            bool with_before, camera_snapshot_fn *done, void *context);

/* Appends a list to another one; either may be empty. */
void request_append(struct request **to, struct request *list);

/* Gives every request of a list this result; reason may be NULL for snapshots. */
void request_fail(struct request *list, int result, const char *reason);

/* Calls each request's `done` and destroys it. */
void request_answer(struct request *list);

#endif
