/* Compares what is desired of one output with what it has applied, and acts on the difference: its
 * filter, its engine, and its ring. Camera's thread only.
 *
 * While another source is tried, what the output needs for it is prepared beside what is in use.
 * The owner (reconcile.h) takes the source once every output is prepared, or gives it up. */
#ifndef FFTD_CAMERA_OUTPUT_CHANGE_H
#define FFTD_CAMERA_OUTPUT_CHANGE_H

#include <stdbool.h>

#include "camera/mailbox.h"
#include "camera/output.h"
#include "core/error.h"

/* ---- the ring ---- */

/* Makes the ring with which an output begins. config: the output's. Any thread. */
int output_change_make_ring(struct ring **ret, const struct config *config,
                            const struct engine_frames *frames, const struct fftd_format *captured,
                            struct error *why);

/* Takes the ring in the mailbox: one from output_change_make_ring, or one that continues the ring
 * of a previous process. If there is none, it does nothing. Call it before the output's first
 * frame. */
void output_change_continue_ring(struct output *output);

/* Replaces a ring into which a failed device may still write. */
void output_change_replace_lost_ring(struct output *output);

/* ---- frames of the source ---- */

/* Describes the frames that the output makes of frames captured in this format. Errors as
 * engine_frames_describe, and name the output. */
int output_change_describe(const struct output *output, const struct fftd_format *captured,
                           struct engine_frames *ret, struct error *why);

/* Checks that the configuration's filter suits frames captured in this format. Errors as
 * recipe_check_frames, and name the output. */
int output_change_check_filter(const struct output *output, const struct fftd_format *captured,
                               struct error *why);

/* Checks that there is memory to filter such frames, beside what the other outputs take, and
 * reserves it. Before anything is allocated for them. */
int output_change_reserve(const struct output *output, const struct desired *desired,
                          const struct engine_frames *frames, struct error *why);

/* Gives the output a ring for these frames, and requests an engine if the current one does not take
 * them. */
int output_change_adopt(struct output *output, const struct engine_frames *frames,
                        const struct fftd_format *captured, struct error *why);

/* ---- another source ---- */

/* Requests the newest filter for frames of a source that is tried, and an engine if the one in use
 * does not take them. */
void output_change_prepare(struct output *output, const struct desired *desired,
                           const struct engine_frames *frames);

/* Returns whether the output waits for nothing any more that was requested for the source. */
bool output_change_is_prepared(const struct output *output);

/* Comes to use what was prepared, after output_change_adopt. */
void output_change_take_prepared(struct output *output);

/* Forgets what was prepared. The designer gets the desired filter again, and builds what the source
 * before needs. */
void output_change_give_up(struct output *output);

/* ---- the end ---- */

/* Ends the output: publishes the frames in flight, returns the engine, and makes the place one that
 * is not used. No source is tried. */
void output_change_end(struct output *output);

/* ---- always ---- */

/* Takes the designer's result: a response to apply, maybe with a new engine, or a failure. Returns
 * 1 if another filter is in use now, or -errno: the output cannot be prepared for the source. */
int output_change_take_design(struct output *output, struct error *why);

/* Requests the newest filter from the designer. settled: no other source is tried. */
void output_change_filter(struct output *output, const struct desired *desired, bool settled,
                          bool is_of_source);

/* Tells the designer the estimated noise. It stays as it is while a filter is faded in. */
void output_change_noise(struct output *output);

/* Acts on an engine that has failed. preparing: a source is being prepared. */
void output_change_engine(struct output *output, bool preparing);

#endif
