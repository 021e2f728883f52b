/* Which of a picture's waves belong to a texture, told by how their frequencies are related. Pure.
 *
 * Part of the estimator of periodic.h. The spectrum of a regular texture is a lattice: each line is
 * a sum of small multiples of one or two others. This also holds for lines beyond half a cycle per
 * pixel, which appear at their frequency less a whole number. Interference has few lines, and those
 * of independent sources are not related, but for a chance of about 1e-5 for each relation tried.
 * Threads: any. */
#ifndef FFTD_ESTIMATORS_PERIODIC_TEXTURE_H
#define FFTD_ESTIMATORS_PERIODIC_TEXTURE_H

#include <stdbool.h>

#include "estimators/periodic_sheet.h"

/* Returns whether two waves are the same to within dx, dy (cycles/pixel); a real wave has its
 * mirrored frequency, too, and frequencies repeat after one cycle per pixel. */
bool texture_is_same(struct sheet_frequency a, struct sheet_frequency b, double dx, double dy);

struct texture_line {
    struct sheet_frequency f;
    double amplitude; /* > 0, of any unit */
};

/* Finds relations of line[0] to line[1 .. count - 1], and sets is_member[i] for each line that is
 * part of one; others stay as they are. A line is not a member for the sake of much weaker ones,
 * which a strong interfering wave may leave where the picture is saturated. Two lines of about
 * equal strength that mirror each other about an axis are related, too. dx, dy: how far a line may
 * be off, in cycles/pixel; more is allowed for large multiples. */
void texture_relate(const struct texture_line *line, unsigned count, double dx, double dy,
                    bool *is_member);

/* Does the same for four lines of about equal strength that are the corners of a parallelogram. The
 * lines of a checkerboard may be, although no three of them are related. If there are many lines,
 * some are corners by chance. */
void texture_relate_corners(const struct texture_line *line, unsigned count, double dx, double dy,
                            bool *is_member);

/* Returns whether a line is an alias of a harmonic of a known line, or the sum or difference of two
 * that are about as strong or stronger. Known lines may be those of a bent texture. dx, dy: as
 * above. */
bool texture_explains(const struct texture_line *known, unsigned count, struct texture_line line,
                      double dx, double dy);

#endif
