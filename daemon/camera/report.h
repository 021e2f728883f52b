/* Reports what the camera's thread does: its status and events through the mailbox, changes in the
 * log, state and heartbeat in the ring, progress to the watchdog. Camera's thread only. */
#ifndef FFTD_CAMERA_REPORT_H
#define FFTD_CAMERA_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/mailbox.h"
#include "camera/recovery.h"
#include "designer/designer.h"
#include "engine/engine.h"
#include "ring/ring.h"

#define CAMERA_EVENT_STATE     1u  /* the state, its reason, the source or the engine changed */
#define CAMERA_EVENT_RING      2u  /* camera_ring returns another ring */
#define CAMERA_EVENT_FILTER    4u  /* the newest filter is applied, or could not be */
#define CAMERA_EVENT_FRAME     8u  /* the first frame was published */
#define CAMERA_EVENT_DESIGN    16u /* a filter is in use from the next frame on, or failed */
#define CAMERA_EVENT_WITHDRAWN 32u /* the filter before it is the desired one again */

/* Keeps what was reported last of an output and is not in its status, so that each change is
 * reported once. */
struct report {
    struct output_mailbox *box;
    const char *prefix; /* begins log messages, as "output small: "; empty for the first one */
    struct error control_problem;
    unsigned start_count;  /* the start of the source whose input was reported */
    unsigned build;        /* the number of the compilation that was logged */
    bool is_late;          /* the log says that the driver exceeds engine.build_timeout */
    int64_t heartbeat_ns;  /* time of the ring's newest heartbeat */
    int64_t rate_since_ns; /* the frame rate is counted from then on */
    unsigned rate_frames;
};

/* prefix must outlive it. What all outputs share is logged for the one whose prefix is empty. */
void report_init(struct report *ret, struct output_mailbox *box, const char *prefix);

/* Reports the state with its reason, the source's description of itself, and whether it is being
 * opened. Returns whether any of them has changed; the ring needs a heartbeat then. */
bool report_state(struct report *report, enum camera_state state, const char *reason,
                  const struct recovery *recovery);

/* Reports the controls that are set whenever the camera is opened. Logs which of them were
 * rejected: once, and not whenever the camera is opened. */
void report_controls(struct report *report, const struct recovery *recovery);

/* Reports how frames reach the engine, once the source streams. */
void report_input(struct report *report, const struct recovery *recovery);

/* Reports how results reach the ring. output is NULL: they are copied, because of the problem. */
void report_output(struct report *report, const struct engine_output *output, const char *problem);

/* Logs once that an engine's programs are compiled for this format, which takes seconds. number: as
 * in struct build_progress; 0: nothing has been compiled. */
void report_build(struct report *report, unsigned number, const struct fftd_format *format,
                  bool is_cached);

/* Describes what the designer does in the driver, if that takes long, and after some seconds also
 * how long it has taken. Otherwise the text is left as it is. */
void report_describe_build(char ret[CAMERA_TEXT], const struct build_progress *build);

/* choice: why it is on its device. */
void report_engine(struct report *report, const struct engine *engine,
                   const struct device_choice *choice);

/* Reports what finds motion, once an engine comes into use. */
void report_motion(struct report *report, const struct engine *engine,
                   const struct config_output *config);

/* Counts an engine that failed or could not be built. */
void report_engine_failure(struct report *report);

/* Reports that the response of the filter with this serial came into use. memory: what it, its
 * engine and its frames may use. */
void report_design(struct report *report, uint64_t serial, const struct budget_use *memory);

/* Reports what the designer does that takes long, if the newest filter is not in use yet. Logs once
 * that the driver takes longer than engine.build_timeout, because no other filter can be prepared
 * before it returns. */
void report_preparing(struct report *report, struct designer *designer,
                      const struct build_progress *build, bool is_waited_for);

/* Reports that a filter could not be made, and that the previous one stays in use, if there is
 * one. */
void report_filter_problem(struct report *report, uint64_t serial, const char *problem,
                           bool has_previous);

/* Reports that the desired source with this number was taken (problem is empty), or given up. */
void report_source(struct report *report, const struct recovery *recovery, uint64_t number,
                   const char *problem);

/* Reports a published frame. */
void report_frame(struct report *report, const struct ring_meta *meta,
                  const struct engine_done *done, int64_t published_ns, uint64_t sequence,
                  const struct recovery *recovery);

/* Counts a frame that was captured but not published. */
void report_dropped(struct report *report);

/* Gives the ring (NULL: none yet) the state and a heartbeat, and if is_healthy, the watchdog a sign
 * of progress. */
void report_heartbeat(struct report *report, struct ring *ring, bool is_healthy);

/* CLOCK_MONOTONIC ns of the next heartbeat. A published frame is a heartbeat, so no other is due
 * while frames flow. */
int64_t report_heartbeat_due_ns(const struct report *report);

#endif
