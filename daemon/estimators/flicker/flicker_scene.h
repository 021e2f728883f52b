/* How the scene moves from frame to frame under flickering light; for flicker_rows.h alone. Pure.
 *
 * Rows are made equally bright before motion.h compares them. Blocks of pixels decide where it is
 * unsure, and confirm that a scene stands still. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_SCENE_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_SCENE_H

#include <stdbool.h>

#include "core/error.h"

struct flicker_scene;

/* around: rows on each side of a row that are made as bright as it. -EINVAL: the frames are smaller
 * than MOTION_MIN_SIZE (motion/motion.h); -ENOMEM. */
int flicker_scene_create(struct flicker_scene **ret, unsigned width, unsigned height,
                         unsigned around, struct error *why);
void flicker_scene_destroy(struct flicker_scene *scene); /* NULL is allowed */

/* Forgets the last frame. */
void flicker_scene_reset(struct flicker_scene *scene);

/* Another scene begins: what the last one moved too little to be followed is forgotten. */
void flicker_scene_settle(struct flicker_scene *scene);

/* Takes in the next frame. frames: of this scene that were taken in before. Returns whether it
 * shows the same scene, and fills by how many pixels that moved to the right and down. False if
 * this is not known, either. */
bool flicker_scene_follow(struct flicker_scene *scene, const float *luma, unsigned frames,
                          double *ret_dx, double *ret_dy);

#endif
