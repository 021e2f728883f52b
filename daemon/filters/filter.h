/* Filter chains and their response. Pure.
 *
 * A chain is a list of stages; each stage is a kind (lowpass, notch, ...; filter_kind.h) and its
 * parameters. All stages are linear, so the chain is one function H(fx, fy), the product of the
 * stages' responses; H(-fx, -fy) is its complex conjugate. The lines f = +0.5 and f = -0.5 are the
 * same frequency: there each stage's response is the mean of both sides, so that
 * H(0.5, fy) = H(-0.5, fy).
 *
 * Text form, used on command lines and over D-Bus:
 *     lowpass:shape=gaussian,cutoff=0.1 | notch:at=0.25/0,width=0.01
 * The empty text, or "none", is the chain without stages: H = 1. */
#ifndef FFTD_FILTERS_FILTER_H
#define FFTD_FILTERS_FILTER_H

#include <stddef.h>

#include "core/error.h"
#include "filters/filter_kind.h"

#define FILTER_MAX_STAGES     32
#define FILTER_MAX_SUPPORT_PX 256.0 /* the greatest result of filter_chain_support */
#define FILTER_MAX_PIXELS     65025 /* of images that are summed: 255 x 255 */
#define FILTER_TEXT_BYTES     32768 /* enough for the text form of any chain */

struct filter_chain {
    unsigned count;
    struct filter_stage stage[FILTER_MAX_STAGES];
};

/* As filter_kind_by_name; -EINVAL with a text that lists the kinds. */
int filter_kind_find(const struct filter_kind **ret, const char *name, struct error *why);

/* Index of a parameter in kind->param, or -1. */
int filter_param_index(const struct filter_kind *kind, const char *name);

/* A stage of this kind with every optional parameter at its default, required ones unset (NaN):
 * it must pass filter_stage_check before use. */
void filter_stage_init(struct filter_stage *ret, const struct filter_kind *kind);

/* Sets one parameter from text. -EINVAL: the text is not of the parameter's type, or the value is
 * not finite or out of range. The stage is unchanged on failure. Messages read "lowpass: cutoff =
 * 0.7 is out of range: expected 0.0001 .. 0.5 cycles/pixel". */
int filter_stage_set(struct filter_stage *stage, const char *param, const char *text,
                     struct error *why);

/* Whether a parameter, by its index, is set. */
bool filter_stage_has(const struct filter_stage *stage, unsigned param);

/* Whether all required parameters are set and agree with each other. */
int filter_stage_check(const struct filter_stage *stage, struct error *why);

/* Parses a whole chain / one stage; ret is untouched on failure. */
int filter_chain_parse(struct filter_chain *ret, const char *text, struct error *why);
int filter_stage_parse(struct filter_stage *ret, const char *text, struct error *why);

/* Writes the text form, with every parameter. It parses back to exactly the same chain. */
void filter_chain_print(const struct filter_chain *chain, char *text, size_t size);
void filter_stage_print(const struct filter_stage *stage, char *text, size_t size);

/* Whether both have the same stages with the same parameters in the same order. */
bool filter_chain_equal(const struct filter_chain *a, const struct filter_chain *b);

/* A chain that outlives one call of the main thread holds its images; see filter_image.h. */
void filter_chain_hold(const struct filter_chain *chain);
void filter_chain_drop(const struct filter_chain *chain);

/* Replaces a chain that holds its images by another one, which then holds its own. */
void filter_chain_assign(struct filter_chain *to, const struct filter_chain *from);

/* The number of pixels that are summed for each frequency: those of the images of all stages that
 * use one. Chains are refused if it is more than FILTER_MAX_PIXELS. */
size_t filter_chain_pixels(const struct filter_chain *chain);

/* H(fx, fy). Images make it slow: each of their pixels is read. */
double complex filter_chain_response(const struct filter_chain *chain, double fx, double fy);

/* The same with transforms that were computed before: that of stage i is transform[i], if the stage
 * uses an image (filter_stage_uses_image). */
double complex filter_chain_response_of(const struct filter_chain *chain,
                                        const double complex transform[FILTER_MAX_STAGES],
                                        double fx, double fy);

/* Whether H may have an imaginary part that is not 0. (Where not, rounding may leave a small one.)
 */
bool filter_chain_is_complex(const struct filter_chain *chain);

/* The curve that samples pass before the chain filters them; its inverse follows. CURVE_NONE if no
 * stage has one. */
struct curve filter_chain_curve(const struct filter_chain *chain);

/* How the chain reduces noise before its response; settings.block is 0 if no stage does. */
struct denoise filter_chain_denoise(const struct filter_chain *chain);

/* Returns the threshold of the chain's spectrum (filter_kind.h); 0: none. */
double filter_chain_threshold(const struct filter_chain *chain);

/* -EINVAL: two stages have a curve, reduce noise, adapt to the same thing (filter_adapt.h) or move
 * pixels, one adapts and another one moves pixels, or the images have too many pixels.
 * filter_chain_parse checks it, too. */
int filter_chain_check(const struct filter_chain *chain, struct error *why);

/* Radius in pixels of the whole chain, at most FILTER_MAX_SUPPORT_PX: the sum of its stages', those
 * of Gaussians taken together as one (filter_kind.h). 0 for the empty chain. */
double filter_chain_support(const struct filter_chain *chain);

#endif
