/* Filter chains and their response. Pure.
 *
 * A chain is a list of stages; each stage is a kind (lowpass, notch, ...) and its parameters. All
 * stages are linear, so the chain is one function H(fx, fy), the product of the stages' own.
 * Frequencies are in cycles per pixel, the same on both axes, |f| <= 0.5. H is real and even,
 * H(-fx, -fy) = H(fx, fy), exactly, and so is what it is sampled at: on the lines f = +-0.5, which
 * are the same frequency, it is the mean of both sides, and H(0.5, fy) = H(-0.5, fy).
 *
 * What exists is one table (filter_kinds), from which parsing, checking, printing, help and
 * documentation all follow: a new filter is a new row and a response function.
 *
 * Text form, used on command lines and over D-Bus:
 *     lowpass:shape=gaussian,cutoff=0.1 | notch:at=0.25/0,width=0.01
 * The empty text, or "none", is the chain without stages: H = 1. */
#ifndef FFTD_CORE_FILTER_H
#define FFTD_CORE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define FILTER_MAX_STAGES     32
#define FILTER_MAX_PARAMS     8
#define FILTER_MAX_SUPPORT_PX 256.0 /* what filter_chain_support is cut at */
#define FILTER_TEXT_BYTES     4096  /* enough for any chain's text form */

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
    /* Checks what one parameter's range can not say (low < high); may be NULL. */
    int (*check)(const struct filter_stage *stage, struct error *why);
    double (*response)(const struct filter_stage *stage, double fx, double fy);
    /* Radius in pixels beyond which the impulse response is negligible (below 1e-3 of its
     * energy), or as near as the kind can tell. */
    double (*support)(const struct filter_stage *stage);
};

struct filter_stage {
    const struct filter_kind *kind;
    struct filter_value value[FILTER_MAX_PARAMS]; /* in the order of kind->param */
};

struct filter_chain {
    unsigned count;
    struct filter_stage stage[FILTER_MAX_STAGES];
};

const struct filter_kind *filter_kinds(unsigned *ret_count);
const struct filter_kind *filter_kind_by_name(const char *name);

/* The same; -EINVAL with a text that lists what there is. */
int filter_kind_find(const struct filter_kind **ret, const char *name, struct error *why);

/* Index of a parameter in kind->param, or -1. */
int filter_param_index(const struct filter_kind *kind, const char *name);

/* A stage of this kind with every optional parameter at its default, required ones unset (NaN):
 * it must pass filter_stage_check before use. */
void filter_stage_init(struct filter_stage *ret, const struct filter_kind *kind);

/* Sets one parameter from text; refuses what is not finite, in range, or of the type. The stage
 * is unchanged on failure. Messages read "lowpass: cutoff = 0.7 is out of range: expected
 * 0.0001 .. 0.5 cycles/pixel". */
int filter_stage_set(struct filter_stage *stage, const char *param, const char *text,
                     struct error *why);

/* Whether all required parameters are set and agree with each other. */
int filter_stage_check(const struct filter_stage *stage, struct error *why);

/* Parses a whole chain / one stage; ret is untouched on failure. */
int filter_chain_parse(struct filter_chain *ret, const char *text, struct error *why);
int filter_stage_parse(struct filter_stage *ret, const char *text, struct error *why);

/* Text form that parses back to the same chain; every parameter is written, numbers with as many
 * digits as they need to come back exactly. */
void filter_chain_print(const struct filter_chain *chain, char *text, size_t size);
void filter_stage_print(const struct filter_stage *stage, char *text, size_t size);

/* H(fx, fy). */
double filter_chain_response(const struct filter_chain *chain, double fx, double fy);

/* Radius in pixels of the whole chain: the sum of its stages', at most FILTER_MAX_SUPPORT_PX. 0 for
 * the empty chain. */
double filter_chain_support(const struct filter_chain *chain);

#endif
