/* One camera: its frame path (capture -> engine -> ring), and every change of it.
 *
 * Threads. The camera's own thread runs the frame path; a second one, the designer, samples filters
 * and builds engines. Neither frames nor control sockets wait for the designer. All functions here
 * belong to the main thread. Those that change something write desired state and return at once;
 * the camera's thread applies it, and camera_get_status reports it. camera_halt and camera_stop
 * wait for the threads to end, at most 600 ms; no other function blocks for longer than it takes to
 * copy a struct. camera_fd announces that the main loop has something to do: a new ring, another
 * state, answers.
 *
 * The files here, from the top; each header says what its file does:
 *
 *     camera, camera_filter, camera_outputs         the main thread's side
 *     mailbox, request, status                      what both threads share
 *     thread, reconcile                             the camera's thread
 *     source_change, output_change                  a change of the source, of one output
 *     frame_path, output, lent_memory, snapshot     the path of a frame
 *     recovery, retry_delay                         a source that fails, and the next attempt
 *     source_controls, source_memory                how a source is opened; its controls
 *     steady, report                                shake; status, events, log and heartbeat */
#ifndef FFTD_CAMERA_CAMERA_H
#define FFTD_CAMERA_CAMERA_H

#include <stdbool.h>
#include <stdint.h>

#include "observer/observer.h"
#include "camera/report.h"
#include "camera/request.h"
#include "camera/status.h"
#include "config/config.h"
#include "core/error.h"
#include "filters/filter.h"
#include "ring/ring.h"

struct camera;

/* Outputs are numbered as those of a configuration (config_output_name). What belongs to one takes
 * its number, which is less than config_output_count. */
#define CAMERA_MAIN 0

/* Opens the OpenCL device and the source, and starts the threads, which build the engine. -ENODEV:
 * one of the two is absent. wait: a source that cannot be opened is the state LOST or REFUSED and
 * not a failure; the ring exists once the source has been opened. An engine that cannot be built is
 * the state FAILED. continued: NULL, or for each output the ring that follows a previous process's
 * (ring_continue), or NULL; taken over, on failure too. Frames are published in it if their layout
 * is the same, else in the next generation. */
int camera_start(struct camera **ret, const struct config *config, struct ring *const *continued,
                 bool wait, struct error *why);

/* Stops the source and publishes the frames in flight, while the ring is still being served, so
 * that clients get these frames before they learn of the end. -EBUSY: a thread is still in the
 * OpenCL driver (a compilation cannot be interrupted): call it again, or end the process by _exit.
 * NULL is allowed. */
int camera_halt(struct camera *camera);

/* Halts the camera unless that was done, retires the ring, answers snapshots that still wait with
 * -ECANCELED and destroys the camera. Nobody may use the ring any more. -EBUSY as above. */
int camera_stop(struct camera *camera);

/* Readable when camera_take_events has something. */
int camera_fd(const struct camera *camera);

/* Returns the CAMERA_EVENT_ bits (report.h) of each output since the last call, and calls the
 * callbacks of requests that have been answered. */
void camera_take_events(struct camera *camera, unsigned events[CONFIG_MAX_OUTPUTS]);

/* The ring that frames are published in, or NULL before there is one. A ring is destroyed only
 * after the main loop has taken CAMERA_EVENT_RING and called camera_ring again. */
struct ring *camera_ring(struct camera *camera, unsigned output);

#define CAMERA_MAX_FADE 300 /* frames */

/* Asks for another chain; frames with filter_serial >= *ret_serial obey it. fade_frames, 0 ..
 * CAMERA_MAX_FADE: frame i of that many is filtered with a blend, i / fade_frames of the new
 * response and the rest of the one that was in use. A device that fails, or another source, cuts a
 * fade short. -EINVAL, -ERANGE: the chain or the number is not valid, the chain does not suit the
 * frames (recipe_check_frames), or filtering them needs more memory than the budget has. The status
 * reports later failures. */
int camera_set_filter(struct camera *camera, unsigned output, const struct filter_chain *chain,
                      unsigned fade_frames, uint64_t *ret_serial, struct error *why);

/* Asks for a view, too, which comes into use with the chain or not at all. */
int camera_set_filter_and_view(struct camera *camera, unsigned output,
                               const struct filter_chain *chain, enum view_kind view,
                               unsigned fade_frames, uint64_t *ret_serial, struct error *why);

/* Gets the newest chain that was asked for, and returns its serial. */
uint64_t camera_get_filter(struct camera *camera, unsigned output, struct filter_chain *ret);

/* Asks for another view of the filtered frames, at once; returns the serial from which frames show
 * it. */
uint64_t camera_set_view(struct camera *camera, unsigned output, enum view_kind view);

/* Gets the view that was asked for last. */
enum view_kind camera_get_view(const struct camera *camera, unsigned output);

/* Asks for another source, or the same one with another size, rate or format; and with it for
 * controls and a filter of the first output, which may be NULL to stay as they are. All of it is
 * used, or nothing (source_change.h). Once status.source_number has reached *ret_number, the source
 * is in use, or status.source_problem says why the camera went back to the one before. The desired
 * filter is then the previous one again, unless a client has asked for another one. -EBUSY: the
 * source requested before is not settled; -EINVAL: the chain is not valid. */
int camera_set_source(struct camera *camera, const struct capture_request *request,
                      const struct settings *controls, const struct filter_chain *filter,
                      uint64_t *ret_number, struct error *why);

/* Asks that these controls be set: at once, or when the camera returns, and whenever it is opened
 * again. Other controls keep their values. A control that the camera rejects is logged. */
void camera_want_controls(struct camera *camera, const struct settings *settings);

/* ---- outputs that begin and end ---- */

/* Returns whether another output may begin in this place: none is there, and one that was there has
 * ended. */
bool camera_is_free(struct camera *camera, unsigned output);

/* -EBUSY: another source is being opened, and no output begins or ends meanwhile. */
int camera_check_list(struct camera *camera, struct error *why);

/* Checks that an output could have frames of the camera, if their format is known, and memory for
 * them alone. Errors as camera_prepare_output. */
int camera_check_output(struct camera *camera, const struct config_named_output *named,
                        struct error *why);

/* Makes what an output needs that is to begin in a free place: its ring, unless the camera was
 * never open, and its thread. camera_begin_output or camera_discard_output follows. The filter
 * holds its images. -EINVAL: the output cannot have frames of this size, or of the camera, or not
 * with this filter; or there is no memory for it beside the others. -EBUSY: camera_check_list;
 * -ENOMEM. */
int camera_prepare_output(struct camera *camera, unsigned output,
                          const struct config_named_output *named, struct error *why);
void camera_discard_output(struct camera *camera, unsigned output);

/* The output has frames as soon as the camera and the device do. */
void camera_begin_output(struct camera *camera, unsigned output);

/* The output ends after the frames in flight. Nobody serves its ring any more. Its place is free
 * when its thread has ended, which may be later. */
void camera_end_output(struct camera *camera, unsigned output);

/* The following requests are answered by `done`, exactly once if they return 0, in the main thread,
 * from camera_take_events or camera_stop. */

/* A snapshot: the next frame after the filter, and before it if that is wanted. -ENODEV: no frame
 * can be expected from the camera, or no longer; -EAGAIN: its format is not known yet, or has
 * changed; -EBUSY: its source waits for readers; -EIO: the frame was lost; -ENOMEM. */
int camera_snapshot(struct camera *camera, unsigned output, bool with_before,
                    camera_snapshot_fn *done, void *context);

/* Sets the camera's own controls; settings NULL: lists them. Errors as capture_set_controls and
 * capture_list_controls; -ENODEV also if the camera is not open; -ENOMEM. Controls that were set
 * are set again whenever the camera is opened. */
int camera_ask_controls(struct camera *camera, const struct settings *settings,
                        camera_controls_fn *done, void *context);

/* For the search for faster settings of the engine (designer_tune), and nothing else. */
struct designer *camera_designer(const struct camera *camera, unsigned output);

/* Returns what filters that adapt have found in the captured frames, for all outputs. */
void camera_get_adaptation(struct camera *camera, struct observer_status *ret);

void camera_get_status(struct camera *camera, unsigned output, struct camera_status *ret);

/* Says whether an output has readers; there are none at first. One without gets no frames, except
 * for the first one with idle = "run". With idle = "pause" the camera streams
 * while there are readers or snapshots to take, and for two seconds after that. */
void camera_set_has_readers(struct camera *camera, unsigned output, bool has_readers);

/* CLOCK_MONOTONIC ns of the last progress, which the watchdog needs: a frame was published, or the
 * reason why there is none is known and something is done about it. A camera that is absent and a
 * device that fails count as progress; a thread, device or driver that hangs does not. */
int64_t camera_progress_ns(struct camera *camera);

#endif
