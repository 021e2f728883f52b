/* Keeps one camera delivering: every recovery policy for what is in front of the engine.
 *
 *     closed --open--> opened --source_start--> streaming --source_pause--> opened
 *
 * No frame for stall_timeout: streaming is restarted, then the device reopened. The device gone or
 * unwilling: it is opened again after a pause that doubles from 0.1 s to 1 s, and at once when
 * something happens in its directory. Another signal at its input: at once, but no more than once
 * before there is a frame. A frame ends every trouble. The owner learns of it by
 * looking at `state` and `reason`; nothing here logs.
 *
 * Between opened and streaming the owner looks at capture->format, which may be another than
 * before. One thread; the owner polls source_fd, waits no longer than source_deadline_ns, and calls
 * source_dequeue or source_step accordingly. */
#ifndef FFTD_SOURCE_H
#define FFTD_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "camera.h"
#include "capture/capture.h"
#include "config.h"
#include "core/error.h"
#include "core/frame_memory.h"

enum source_phase { SOURCE_CLOSED, SOURCE_OPENED, SOURCE_STREAMING };

struct source_counts {
    uint64_t error;    /* frames the driver flagged as damaged */
    uint64_t stale;    /* frames passed over because a newer one was there */
    uint64_t lost;     /* gaps in the source's own count that neither explains */
    uint64_t stalls;   /* times it delivered nothing for stall_timeout */
    uint64_t restarts; /* times streaming was ended and begun again to mend it */
    uint64_t reopens;  /* times it was opened again */
};

struct source {
    enum source_phase phase;
    enum camera_state state;
    struct error reason;          /* why it is not online; empty if it is */
    struct capture *capture;      /* NULL while closed */
    struct settings controls;     /* the camera's own: set whenever it is opened */
    struct error control_problem; /* which of them it did not take; empty if it took all */
    enum frame_way way;           /* in which its frames come, since it was started last */
    struct error way_problem;     /* why not in a better one; empty if there is none */
    unsigned runs;    /* times it was started: way and way_problem are of the last one */
    bool way_settled; /* a way was found for the memory there is: until it is opened
                         again, no other one is tried */

    /* Private. */
    enum frame_way allowed;      /* by the configuration, besides copying */
    struct frame_memory *memory; /* or NULL: there is none */
    struct capture_request request;
    char uri[CONFIG_TEXT]; /* request.uri */
    int64_t stall_timeout_ns;
    int64_t deadline_ns;       /* closed: of the next attempt; streaming: of the next frame */
    unsigned attempts;         /* to mend it, since the last frame */
    int watch_fd;              /* inotify, while closed; or -1 */
    int64_t handover_ns;       /* until then a node that has appeared may not be ours yet */
    bool discontinuity;        /* the next frame does not follow the last one */
    struct source_counts past; /* of captures closed by now, and lost, stalls ... */
    uint64_t sequence_base;    /* added to the source's count, since that may begin anew */
    uint64_t next_sequence;
    uint64_t skipped; /* error + stale at the last frame, of all captures */
};

void source_init(struct source *ret, const struct config *config);
void source_finish(struct source *source);

/* The first opening; leaves the source closed on failure. */
int source_open(struct source *source, struct error *why);

/* Opens another source, or the same one with another size, rate or format, as the configuration
 * says now. Errors as capture_open; the old one is then opened again, or goes on being waited for.
 */
int source_change(struct source *source, const struct config *config, struct error *why);

/* Takes a failure to open as the loss of the source: goes on trying. */
void source_lose(struct source *source, int err, const struct error *why);

/* Memory for its frames, from its next start on, which tries the ways that the configuration
 * allows, the best one first; NULL: none. It stays the caller's, who takes it back in the same
 * manner. While the source streams, only if its frames are copied. */
void source_lend(struct source *source, struct frame_memory *memory);

/* Begins streaming once opened. What goes wrong is dealt with like a failure later on. */
void source_start(struct source *source);

/* Stops streaming, for source_start to begin again; frames still out are void. */
void source_stop(struct source *source);

/* The same because nobody wants its frames; the state is PAUSED. A source that is closed
 * goes on being opened. */
void source_pause(struct source *source);

/* What to poll for POLLIN and POLLPRI, or -1. */
int source_fd(const struct source *source);

/* CLOCK_MONOTONIC ns at which source_step wants to be called; INT64_MAX: never. */
int64_t source_deadline_ns(const struct source *source);

/* Does what is due: the deadline has passed, or (closed) the descriptor is readable. */
void source_step(struct source *source, bool readable);

/* The newest frame, or -EAGAIN: there is none, whatever the reason. discontinuity: frames are
 * missing before it. */
int source_dequeue(struct source *source, struct capture_frame *ret, bool *ret_discontinuity);

/* Gives a frame back; nothing happens to one that is void by now. */
void source_release(struct source *source, const struct capture_frame *frame);

/* Sets controls of the camera now, and whenever it is opened again. Errors as capture_set_controls;
 * -ENODEV: it is closed. */
int source_set_controls(struct source *source, const struct settings *settings, struct error *why);

void source_get_counts(const struct source *source, struct source_counts *ret);

#endif
