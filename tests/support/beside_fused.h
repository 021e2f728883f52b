/* A technique of the engine beside `fused`, which every filter can have: both make the same of
 * frames of every kind, and of floats what double precision makes of them. */
#ifndef FFTD_TEST_BESIDE_FUSED_H
#define FFTD_TEST_BESIDE_FUSED_H

#include "engine/engine.h"
#include "engine/engine_private.h"

#define BESIDE_WIDTH  150 /* some blocks or tiles without an edge, and an odd rest */
#define BESIDE_HEIGHT 70

#define LENS          "undistort:fx=140,fy=140,cx=75,cy=35,k1=-0.2"
#define TURNED        "stabilise:model=similarity" /* by a few pixels and degrees */
#define SLANTED                                                                                    \
    "convolve:kernel=1 0 0 0 0 0 2/0 2 0 0 0 1 0/0 0 3 0 1 0 0/0 0 0 4 0 0 0/0 2 0 0 5 0 0/"       \
    "0 0 0 0 0 6 0/1 0 0 0 0 0 7,normalise=sum"

struct beside {
    const char *name; /* what the engine's description begins with */
    enum engine_technique technique;
    struct taps_reach most; /* as in the settings of a recipe */
    double border_value;
    uint32_t margin; /* more than twice any radius */
};

struct scene {
    const char *captured, *chain;
    enum recipe_planes planes;
    enum recipe_precision precision;
    enum plan_border border;
    enum view_kind view;
    bool is_corrected;
    uint32_t width, height; /* 0: BESIDE_WIDTH, BESIDE_HEIGHT */
};

/* Fails unless the technique and `fused` make the same of each scene: both round what differs by
 * less than half a step, so few samples differ, and by one step. */
void beside_check(const struct beside *beside, const struct scene *scenes, size_t count);

/* The same with kernels as for a GPU: a group shares a tile. */
void beside_check_as_on_a_gpu(const struct beside *beside, const struct scene *scenes,
                              size_t count);

/* ---- the steps of a check ---- */

void beside_lay_out(struct fftd_format *ret_format, struct fftd_format *ret_captured,
                    const struct scene *scene);

/* Returns a frame of noise, which the caller frees. */
uint8_t *beside_frame(const struct scene *scene, const struct fftd_format *captured);

/* Returns an engine with the chain in force, of the technique or of `fused`. */
struct engine *beside_engine(const struct beside *beside, bool is_fused, const struct scene *scene,
                             const struct filter_chain *chain, const struct fftd_format *format);
void beside_run(struct engine *engine, const struct scene *scene,
                const struct fftd_format *captured, const uint8_t *in, void *out);
void beside_compare(const struct scene *scene, const struct fftd_format *format, const uint8_t *out,
                    const uint8_t *expected);

/* ---- floats ---- */

/* The image of BESIDE_WIDTH x BESIDE_HEIGHT floats that beside_error_of filters. */
extern const struct transform_image beside_floats;

/* Filters noise of 0 .. 255 and returns the greatest error. The border's value is 100. */
double beside_error_of(struct transform *transform, const struct filter_chain *chain,
                       enum plan_border mode, uint32_t margin);

#endif
