/* The rings of a frame path, one after another: that of a previous process, and one for each format
 * of the frames. Camera's thread, or before it starts. */
#ifndef FFTD_CAMERA_RING_CHANGE_H
#define FFTD_CAMERA_RING_CHANGE_H

#include "camera/frame_path.h"
#include "camera/mailbox.h"
#include "config/config.h"
#include "core/error.h"

/* Begins with the ring that follows a previous process's. */
void ring_change_continue(struct frame_path *path, struct mailbox *mailbox,
                          const struct config_output *output, struct ring *ring);

/* Replaces the ring, if there is one, by one for frames of this format, and a field of motion of
 * `motion_bytes` bytes; none may be in flight. Errors as ring_create. */
int ring_change_replace(struct frame_path *path, struct mailbox *mailbox,
                        const struct config_output *output, const struct fftd_format *format,
                        uint32_t motion_bytes, struct error *why);

/* Says whether the ring waits for readers, which the source that is open now has to allow. */
void ring_change_set_lossless(struct frame_path *path, const struct config_output *output);

/* Replaces a ring into which a failed device may still write. */
void ring_change_replace_lost(struct frame_path *path, struct mailbox *mailbox,
                              const struct config_output *output);

/* The bytes in a slot for the field of motion of frames that are captured in this format; 0: there
 * is none. */
uint32_t ring_change_motion_bytes(const struct config_output *output,
                                  const struct fftd_format *captured);

#endif
