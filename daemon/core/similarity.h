/* Similarities: shifts, rotations and zooms of a picture, as four numbers. Pure.
 *
 * A similarity first turns and enlarges about the middle of the picture, and then shifts. All zeros
 * change nothing. Places are in pixels from the middle of the picture, x to the right and y down,
 * so a positive angle turns clockwise.
 *
 * Threads: any. */
#ifndef FFTD_CORE_SIMILARITY_H
#define FFTD_CORE_SIMILARITY_H

#include <stdbool.h>

struct similarity {
    double dx, dy;    /* pixels to the right and down, of the middle of the picture */
    double angle_rad; /* the rotation */
    double log_zoom;  /* natural logarithm of the factor by which distances grow */
};

bool similarity_is_none(const struct similarity *similarity);

/* Moves a place. */
void similarity_move(const struct similarity *similarity, double place[2]);

/* Returns the similarity that does `first` and then `second`. */
struct similarity similarity_join(const struct similarity *first, const struct similarity *second);

/* Returns the similarity that undoes another one. */
struct similarity similarity_inverse(const struct similarity *similarity);

#endif
