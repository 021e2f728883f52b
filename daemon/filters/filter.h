/* Filter chains and their response. Pure.
 *
 * A chain is a list of stages. Each stage has a kind (lowpass, notch, ...; filter_kind.h) and its
 * parameters. All stages are linear, so a chain is one function H(fx, fy), the product of its
 * stages' responses, and H(-fx, -fy) is its complex conjugate. The lines f = +0.5 and f = -0.5 are
 * the same frequency. There each stage's response is the mean of both sides, so that H(0.5, fy) =
 * H(-0.5, fy).
 *
 * Command lines and D-Bus use this text form:
 *     lowpass:shape=gaussian,cutoff=0.1 | notch:at=0.25/0,width=0.01
 * The empty text, or "none", is the chain without stages: H = 1. */
#ifndef FFTD_FILTERS_FILTER_H
#define FFTD_FILTERS_FILTER_H

#include <stddef.h>

#include "core/error.h"
#include "filters/filter_kind.h"

#define FILTER_MAX_STAGES     32
#define FILTER_MAX_SUPPORT_PX 256.0 /* the greatest result of filter_chain_support */
#define FILTER_MAX_PIXELS     65025 /* in all summed images together: 255 x 255 */
#define FILTER_TEXT_BYTES     32768 /* enough for the text form of any chain */

struct filter_chain {
    unsigned count;
    struct filter_stage stage[FILTER_MAX_STAGES];
};

/* Finds a kind. -EINVAL: there is none of this name; the text lists all kinds. */
int filter_kind_find(const struct filter_kind **ret, const char *name, struct error *why);

/* Returns the index of a parameter in kind->param, or -1. */
int filter_param_index(const struct filter_kind *kind, const char *name);

/* Makes a stage whose optional parameters have their defaults. Required ones are not set (NaN), so
 * the stage must pass filter_stage_check before use. */
void filter_stage_init(struct filter_stage *ret, const struct filter_kind *kind);

/* Sets one parameter from text. -EINVAL: the text is not of the parameter's type, or the value is
 * not finite or out of range. The stage is unchanged on failure. Messages read "lowpass: cutoff =
 * 0.7 is out of range: expected 0.0001 .. 0.5 cycles/pixel". */
int filter_stage_set(struct filter_stage *stage, const char *param, const char *text,
                     struct error *why);

/* Checks that all required parameters are set and agree with each other, and that an image is not
 * too large to be summed. */
int filter_stage_check(const struct filter_stage *stage, struct error *why);

/* Parse a whole chain, or one stage. ret is untouched on failure. */
int filter_chain_parse(struct filter_chain *ret, const char *text, struct error *why);
int filter_stage_parse(struct filter_stage *ret, const char *text, struct error *why);

/* Writes the text form, with every parameter. It parses back to exactly the same chain. */
void filter_chain_print(const struct filter_chain *chain, char *text, size_t size);

/* Returns whether both have the same stages, with the same parameters, in the same order. */
bool filter_chain_equal(const struct filter_chain *a, const struct filter_chain *b);

/* A chain that outlives the call for which it was parsed holds its images (filter_image.h). */
void filter_chain_hold(const struct filter_chain *chain);
void filter_chain_drop(const struct filter_chain *chain);

/* Replaces a chain that holds its images by another one, which then holds its own. */
void filter_chain_assign(struct filter_chain *to, const struct filter_chain *from);

/* Returns how many pixels are summed for each frequency: those of all images that are part of a
 * response. A chain with more than FILTER_MAX_PIXELS is refused. */
size_t filter_chain_pixels(const struct filter_chain *chain);

/* Returns H(fx, fy). It is slow for stages with images, because it reads each of their pixels. */
double complex filter_chain_response(const struct filter_chain *chain, double fx, double fy);

/* Returns H(fx, fy), given the transforms of images. transform[i] is that of stage i, if the stage
 * uses an image (filter_stage_uses_image). */
double complex filter_chain_response_of(const struct filter_chain *chain,
                                        const double complex transform[FILTER_MAX_STAGES],
                                        double fx, double fy);

/* Returns whether H may have an imaginary part other than 0. If not, rounding may still leave a
 * small one. */
bool filter_chain_is_complex(const struct filter_chain *chain);

/* Returns whether any stage has a response. If none has, H is 1. */
bool filter_chain_has_response(const struct filter_chain *chain);

/* Returns the curve that samples pass before the chain filters them, and whose inverse they pass
 * after it. It is CURVE_NONE if no stage has one. */
struct curve filter_chain_curve(const struct filter_chain *chain);

/* Returns how the chain reduces noise before its response; settings.block is 0 if no stage does. */
struct denoise filter_chain_denoise(const struct filter_chain *chain);

/* Returns how the chain joins frames before its response; frames is 0 if no stage does. */
struct stack filter_chain_stack(const struct filter_chain *chain);

/* Returns the threshold of the chain's spectrum (filter_kind.h), or 0 for none. */
double filter_chain_threshold(const struct filter_chain *chain);

/* Returns whether captured samples are replaced by medians. */
bool filter_chain_takes_median(const struct filter_chain *chain);

/* Returns the level from which on filtered samples become white, in grey levels of 255, and the
 * others black; 0: they do not. */
double filter_chain_binarise(const struct filter_chain *chain);

/* Checks that stages may be beside each other; filter_chain_parse also does. -EINVAL: two stages
 * have a curve, reduce noise, adapt to the same thing (filter_adapt.h), move pixels or show a
 * template; one moves pixels and another one adapts; there are more than FILTER_MAX_MATCHES
 * templates; or the images have too many pixels. */
int filter_chain_check(const struct filter_chain *chain, struct error *why);

/* Returns the radius of the whole chain in pixels, at most FILTER_MAX_SUPPORT_PX. It is the sum of
 * the stages' radii, after all Gaussians are taken together as one (filter_kind.h). The empty chain
 * has 0. */
double filter_chain_support(const struct filter_chain *chain);

#endif
