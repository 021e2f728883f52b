#include "estimators/flicker/flicker_leap.h"

#include <math.h>

#include "estimators/flicker/flicker_rows.h"

/* Thresholds were chosen on the clips of tests/unit/flicker.c. */
#define FEWEST_OFF    3u   /* frames without the light before it, for a beginning to be certain */
#define FEWEST_ON     3u   /* frames with the light, if there are dark ones before and after */
#define AS_GOOD       10.0 /* an explanation may be worse by this many variances of noise */
#define BETTER        20.0 /* it is certain if it is better by this many */
/* Errors of amplitudes grow with the light: the same two limits as shares of the squared radius. */
#define ROUGH_AS_GOOD 0.01
#define ROUGH_BETTER  0.002

/* Sums over the frames before each one; the last are those over all. */
struct sums {
    double complex z[ROWS_FRAMES + 1];
    double square[ROWS_FRAMES + 1];
};

static void add_up(const double complex *z, unsigned frames, struct sums *ret)
{
    ret->z[0] = ret->square[0] = 0;
    for (unsigned i = 0; i < frames; i++) {
        ret->z[i + 1] = ret->z[i] + z[i];
        ret->square[i + 1] = ret->square[i] + leap_square(z[i]);
    }
}

/* Returns the residual sum of squares if the frames from `first` to before `end` have a light, and
 * the others are the centre of its circle; or INFINITY, and nothing in ret, if it is not less than
 * `most`. */
static double squares_of(const double complex *z, const struct sums *sums, unsigned frames,
                         unsigned first, unsigned end, double most, struct leap_light *ret)
{
    const unsigned on = end - first, off = frames - on;
    const double complex outside = sums->z[frames] - (sums->z[end] - sums->z[first]);
    const double complex centre = outside / off;
    const double dark = sums->square[frames] - (sums->square[end] - sums->square[first]) -
                        off * leap_square(centre);
    double radius = 0, squares = 0;
    if (!(dark < most))
        return INFINITY;
    for (unsigned i = first; i < end; i++) {
        const double far2 = leap_square(z[i] - centre);
        radius += sqrt(far2);
        squares += far2;
    }
    radius /= on;
    *ret = (struct leap_light){first, centre, radius};
    return fmax(0, dark) + fmax(0, squares - on * radius * radius);
}

/* Returns whether the frames from `first` to before `end` may be the only ones with the light. A
 * few frames that are a third of a period apart also lie on circles around some of them, so a few
 * others must be there. */
static bool is_possible(unsigned frames, unsigned first, unsigned end)
{
    if (frames <= FEWEST_OFF)
        return end - first == 1 && (first == 0 || end == frames);
    if (end == frames)
        return first >= FEWEST_OFF;
    return first == 0 || (first >= FEWEST_OFF && end - first >= FEWEST_ON);
}

enum leap leap_find(const double complex *amplitude, unsigned frames, double noise,
                    double on_circle, struct leap_light *ret)
{
    double begun = INFINITY, ended = INFINITY, radius = 0;
    struct leap_light light;
    struct sums sums;
    if (frames < 3)
        return LEAP_NONE;
    add_up(amplitude, frames, &sums);
    for (unsigned first = 0; first < frames; first++)
        for (unsigned end = first + 1; end <= frames; end++) {
            const bool is_begun = end == frames;
            if (!is_possible(frames, first, end))
                continue;
            const double squares =
                squares_of(amplitude, &sums, frames, first, end, is_begun ? begun : ended, &light);
            if (squares < fmin(begun, ended))
                radius = light.radius;
            if (is_begun && squares < begun)
                *ret = light;
            if (is_begun)
                begun = fmin(begun, squares);
            else
                ended = fmin(ended, squares);
        }
    const double least = fmin(on_circle, fmin(begun, ended)), radius2 = radius * radius;
    const double noise2 = fmax(noise * noise, least / (2 * frames));
    if (fmin(begun, ended) > on_circle + AS_GOOD * noise2 + ROUGH_AS_GOOD * radius2)
        return LEAP_NONE;
    if (begun + fmax(BETTER * noise2, ROUGH_BETTER * radius2) < ended && ret->first >= FEWEST_OFF)
        return LEAP_BEGUN;
    return LEAP_UNKNOWN;
}
