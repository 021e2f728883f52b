/* Pairs of pictures for tests of fields of motion: what each place of the second one shows is known
 * to the last digit. Scenes are dead leaves (support/leaves.h) or particles in a fluid; noise is
 * that of a sensor, which grows with light, and samples are rounded to 8 bits. All is drawn from a
 * seed. */
#ifndef FFTD_TESTS_FLOW_H
#define FFTD_TESTS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/similarity.h"

enum flow_kind {
    FLOW_STILL,
    FLOW_PAN,       /* by up to `most` pixels */
    FLOW_ROTATION,  /* up to 4 degrees, and a pan of up to 3 pixels */
    FLOW_ZOOM,      /* up to 4 %, and a pan of up to 3 pixels */
    FLOW_PARALLAX,  /* a farther and two nearer layers */
    FLOW_OCCLUSION, /* a thing before a scene that pans by up to 3 pixels; both by up to `most` */
    FLOW_VORTEX,    /* Lamb and Oseen's, of up to 4 pixels a frame */
    FLOW_SHEAR,     /* up to 0.05 pixels a pixel, its direction turns across the picture */
    FLOW_KINDS
};

#define FLOW_LAYERS 3u

struct flow_motion {
    double dx, dy;            /* pixels */
    double xx, xy, yx, yy;    /* and for each pixel from (x0, y0) */
    double x0, y0;            /* pixels */
    double swirl, radius;     /* pixels a frame at most, and where */
    double shear, wavelength; /* pixels a pixel at most, pixels */
};

struct flow {
    enum flow_kind kind;
    unsigned width, height;
    unsigned layers;
    struct flow_motion motion[FLOW_LAYERS];                           /* the last one is nearest */
    double left[FLOW_LAYERS], top[FLOW_LAYERS], size[FLOW_LAYERS][2]; /* of what a layer covers */
    bool is_disc[FLOW_LAYERS];
    float *last, *next; /* samples */
};

extern const char *const flow_names[FLOW_KINDS];

/* sigma: of the noise at a level of 128. */
void flow_make(struct flow *ret, enum flow_kind kind, bool has_particles, unsigned width,
               unsigned height, double most, double sigma, uint64_t seed);
/* Leaves that pan by that many pixels. */
void flow_make_pan(struct flow *ret, unsigned width, unsigned height, double dx, double dy,
                   double sigma, uint64_t seed);
/* Leaves moved by a similarity about the middle, and before them a thing that covers that share of
 * the picture (0: there is none) and moves by `thing` pixels. */
void flow_make_similarity(struct flow *ret, unsigned width, unsigned height,
                          const struct similarity *moved, double share, const double thing[2],
                          double sigma, uint64_t seed);
void flow_clear(struct flow *flow);

/* Pixels by which what is at a place of the second picture has moved. */
void flow_at(const struct flow *flow, double x, double y, double ret[2]);

/* What a square of the second picture shows: the motion in its middle, and that of other layers
 * which cover a quarter of it. Returns their number. */
unsigned flow_seen(const struct flow *flow, double middle_x, double middle_y, double side,
                   double ret[FLOW_LAYERS][2]);

/* The distance of a vector from the nearest of them. */
double flow_error(const struct flow *flow, double middle_x, double middle_y, double side, double dx,
                  double dy);

#endif
