#include "filters/blur.h"

#include <math.h>

/* A lens blurs before the picture is sampled, so these are the transforms of functions and not of
 * their samples: exp(-2 (pi s f)^2) for a Gaussian, 2 J1(2 pi r f) / (2 pi r f) for a disk of
 * radius r, and sin(pi l f) / (pi l f) for a straight line of length l, where f is along the line
 * (Gonzalez and Woods, Digital Image Processing, chapter 5). */
double blur_response(const struct blur *blur, double fx, double fy)
{
    const double size = blur->size_px, f2 = fx * fx + fy * fy;
    double angle, turn;
    switch (blur->shape) {
    case BLUR_GAUSSIAN:
        return exp(-2 * M_PI * M_PI * size * size * f2);
    case BLUR_DISK:
        turn = 2 * M_PI * size * sqrt(f2);
        return turn < 1e-6 ? 1 : 2 * j1(turn) / turn;
    case BLUR_MOTION:
        angle = blur->angle_deg * (M_PI / 180);
        turn = fabs(M_PI * size * (fx * cos(angle) + fy * sin(angle)));
        return turn < 1e-6 ? 1 : sin(turn) / turn;
    case BLUR_IMAGE:
        break;
    }
    return 1;
}

/* The size of an image is not set, and not a number. */
bool blur_equal(const struct blur *a, const struct blur *b)
{
    return a->shape == b->shape && a->image == b->image &&
           (a->shape == BLUR_IMAGE || (a->size_px == b->size_px && a->angle_deg == b->angle_deg));
}
