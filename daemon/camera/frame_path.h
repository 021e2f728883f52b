/* The path of a frame: one source, and the outputs that get its frames. Camera's thread only.
 *
 * Each frame is observed once and goes to every output that somebody needs (output.h), with the
 * same numbers and times. While no output takes a frame the source is not polled: frames wait in
 * the driver, and the next dequeue skips all but the newest. A source that can wait does so for the
 * slowest output; with any other, an output that is late misses frames, and the others do not.
 *
 * reconcile.h decides everything else: it starts and stops the source. */
#ifndef FFTD_CAMERA_FRAME_PATH_H
#define FFTD_CAMERA_FRAME_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/output.h"
#include "camera/recovery.h"
#include "config/config.h"

struct frame_path {
    struct recovery recovery;
    struct observer *observer;
    struct output output[CONFIG_MAX_OUTPUTS]; /* by number; those that are not used are zero */
};

/* Those that are used. */
#define FOR_EACH_OUTPUT(path, each)                                                                \
    for (struct output *each = (path)->output; each < (path)->output + CONFIG_MAX_OUTPUTS; each++) \
        if (!output_is_used(each)) {                                                               \
        } else
#define FOR_EACH_CONST_OUTPUT(path, each)                                                          \
    for (const struct output *each = (path)->output; each < (path)->output + CONFIG_MAX_OUTPUTS;   \
         each++)                                                                                   \
        if (!output_is_used(each)) {                                                               \
        } else

/* The source alone; the caller initialises the outputs. */
void frame_path_init(struct frame_path *ret, const struct config *config,
                     struct observer *observer);

/* Publishes the frames in flight, closes the source and returns the engines. */
void frame_path_finish(struct frame_path *path);

/* Returns whether a frame should be taken. Without an engine frames are taken and dropped, because
 * the driver would seem stalled otherwise; an unpaced source waits instead, and so does one whose
 * frames wait for readers. */
bool frame_path_wants_frame(const struct frame_path *path);

/* A descriptor that becomes readable when readers of an output have made progress that the path
 * waits for; -1: it waits for none. Its owner calls frame_path_take_room then. */
int frame_path_room_fd(const struct frame_path *path, const struct output *output);
void frame_path_take_room(struct frame_path *path);

/* Returns whether readers still need a frame that was taken, if its ring waits for them. */
bool frame_path_is_unread(const struct frame_path *path);

/* Returns whether the number of frames that the configuration asks for has been published. */
bool frame_path_is_complete(const struct frame_path *path);

/* Takes the source's newest frame, if there is one, and submits it. */
void frame_path_take(struct frame_path *path);

/* Publishes the frames that the engines have finished, and gives up on engines that have hung. */
void frame_path_collect(struct frame_path *path);
void frame_path_check_deadlines(struct frame_path *path, int64_t now_ns);

/* Waits for every frame in flight and publishes it. */
void frame_path_drain(struct frame_path *path);

/* CLOCK_MONOTONIC ns of the first deadline of an engine; INT64_MAX: there is none. */
int64_t frame_path_deadline_ns(const struct frame_path *path);

/* Returns whether the work that the outputs wait for makes progress, or will be given up. */
bool frame_path_is_healthy(const struct frame_path *path);

#endif
