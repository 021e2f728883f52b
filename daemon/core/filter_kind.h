/* The kinds of filters that exist: their parameters and their response. Pure.
 *
 * Frequencies are in cycles per pixel, the same on both axes, |f| <= 0.5. H is real and even,
 * H(-fx, -fy) = H(fx, fy), exactly. Parsing, checking, printing, help and documentation all follow
 * from the kinds. filter.h, above this, makes chains of stages. */
#ifndef FFTD_CORE_FILTER_KIND_H
#define FFTD_CORE_FILTER_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define FILTER_MAX_PARAMS 8

enum filter_type {
    FILTER_NUMBER, /* a finite double within [min, max] */
    FILTER_PAIR,   /* two of them, written a/b: a point of the frequency plane */
    FILTER_CHOICE, /* one of `choices`, stored as its index in number */
    FILTER_BOOL,
};

struct filter_param {
    const char *name;
    const char *unit;    /* "cycles/pixel", "px", "" */
    const char *summary; /* one line of help */
    enum filter_type type;
    bool required;
    double min, max, initial;   /* initial: the default where not required */
    const char *const *choices; /* NULL-terminated, FILTER_CHOICE only */
};

struct filter_value {
    double number;
    double second; /* FILTER_PAIR only */
};

struct filter_stage;

struct filter_kind {
    const char *name;
    const char *summary;
    unsigned param_count;
    struct filter_param param[FILTER_MAX_PARAMS];
    /* Checks what the range of a single parameter cannot express (low < high); may be NULL. */
    int (*check)(const struct filter_stage *stage, struct error *why);
    double (*response)(const struct filter_stage *stage, double fx, double fy);
    /* Radius in pixels beyond which the impulse response is negligible (below 1e-3 of its
     * energy), or an estimate of it. */
    double (*support)(const struct filter_stage *stage);
};

struct filter_stage {
    const struct filter_kind *kind;
    struct filter_value value[FILTER_MAX_PARAMS]; /* in the order of kind->param */
};

/* All kinds, in the order in which help lists them. */
const struct filter_kind *const *filter_kinds(unsigned *ret_count);
const struct filter_kind *filter_kind_by_name(const char *name); /* NULL: there is none */

/* In filter_cutoff.c. */
extern const struct filter_kind filter_lowpass, filter_highpass, filter_bandpass, filter_bandstop,
    filter_notch, filter_highboost, filter_directional;

/* In filter_kernel.c. */
extern const struct filter_kind filter_gaussian_blur, filter_box_blur, filter_sharpen,
    filter_laplacian, filter_gain;

#endif
