/* ARM's transform in two dimensions (arm.cl), as pipelines and parts of them, for row 6. */
#ifndef FFTD_TESTS_BENCH_ARTICLES_PLANE_H
#define FFTD_TESTS_BENCH_ARTICLES_PLANE_H

#include "arm.h"

enum transposition { HOST, ELEMENTS, BLOCKS, IN_PLACE, IN_PLACE_PACKED, BLOCKS_OF_4, BRANCHES };

struct scene {
    uint32_t width, height;
    const uint8_t *picture;
    double *expected, *expected_padded; /* padded: to powers of two */
    bool large;                         /* too large for the steps that take a second or more */
};

struct step_variant {
    const char *name;
    bool host, row_by_row, slow;
    bool square_only, fours_only; /* what it can transpose */
    bool tables;                  /* twiddles are read instead of computed */
    bool radix_2;                 /* after padding to powers of two */
    bool groups;                  /* local sizes are set by hand: set_groups */
    enum transposition transposition;
};

/* The pipeline as published, on rows that are padded to an even pitch. */
struct published {
    uint32_t width, height, pitch_x, pitch_y;
    struct arm_axis x, y;
    cl_mem work[2];
    unsigned now;
    float complex *host[2], *roots_x, *roots_y;
    const uint8_t *picture;
    float *response, *result;
    cl_command_queue queue;
};

/* Adds the plain program on the processor, or the device's pipeline: a picture of 8 bits to a
 * filtered one. */
void plane_add_host(struct group *group, const char *name, const struct scene *scene);
void plane_add(struct group *group, const struct step_variant *v, const struct scene *scene);

/* Adds a transposition of width x height numbers, both even unless it is by BRANCHES. It turns
 * f->now, unless it is in place. */
void plane_add_transposition(struct pipeline *p, cl_program program, struct published *f,
                             const struct step_variant *v, uint32_t width, uint32_t height);

uint32_t plane_power_of_two(uint32_t n); /* the smallest one from n on */

/* ---- row_ablation.c ---- */
void plane_build_ablation(struct group *group, const void *context); /* of a scene */

#endif
