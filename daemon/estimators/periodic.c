#include "estimators/periodic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimators/periodic_search.h"
#include "estimators/periodic_spectrum.h"
#include "estimators/periodic_texture.h"
#include "estimators/periodic_track.h"

#define MAX_TRACKS     SHEET_MAX_WAVES
#define MAX_NEW        4u  /* candidates taken up from one frame; each costs up to nine searches */
#define MAX_REFUSED    32u /* as many as eight frames take up */
#define MOST_AMPLITUDE 127.5 /* more does not fit into 0 .. 255: the fit is ill-conditioned */
/* What tells interference from the picture. No calculation gives these numbers: they were chosen on
 * the clips of tests/unit/periodic.c. In brackets is what moves when one is moved far, of its
 * figures: "found" waves, "false" reports in clean clips, clean clips that are "changed". [-]: none
 * did in 28 clips; it serves rarer pictures. */
#define LEAST_BINS     2.5  /* of a patch's spectrum: the main lobe of its window ends at 2 */
#define LEAST_AGE      3u   /* frames that must have confirmed a wave [false] */
#define MOST_AGE       10u  /* frames after which it is refused [-] */
#define LATE_AGE       6u   /* frames after which it is, if not even [false] */
#define REFUSED_AGE    40u  /* frames for which a refused frequency is not tried again [-] */
#define TEXTURE_AGE    600u /* the same for a line of a texture [false] */
#define LOST_AGE       15u  /* frames without support to give up [-] */
#define MOST_WAVES     6u   /* more that no relation explains are texture, too [found, false] */
#define COUNTED        0.02 /* share of the strongest; saturation may leave weaker ones [false] */
#define LEFT           0.01 /* share of the strongest; saturation may leave such a line */
#define AGREE_CONFIRM  0.9  /* share of the patches [false, changed] */
#define AGREE_REFUSE   0.8  /* [-] */
#define AGREE_EARLY    0.2  /* close waves disturb each other until both are followed [false] */
#define COHERENT       0.35 /* share of a candidate's patches [false] */
#define COHERENT_LINE  0.9  /* the same for one that is not yet decided upon [false] */
#define HARMONIC_2     0.08 /* share of the amplitude from which on it is texture [-] */
#define HARMONIC_3     0.04 /* [-] */
#define HARMONIC_SUM   0.1  /* share of the weaker amplitude [-] */
#define SETTLED        2u   /* frames without a new candidate before waves are confirmed [false] */
#define SETTLED_AGE    8u   /* unless they are that old [false] */
#define RELATED_AGE    45u  /* frames for which all lines count as relations [-] */
/* A confirmed wave older than PASSING_AGE may be on a lattice for fewer than PASSING frames. */
#define PASSING_AGE    3u
#define PASSING        8u
/* 1/width, 1/height: how far a line may be off a lattice. A frequency is known to a hundredth; a
 * relation by chance has a probability of 8 * 0.15^2 / (width height), 2e-6 for 320x240. */
#define RELATED        0.15

struct refused {
    struct texture_line line; /* amplitude 0: of a wave that is followed already,
                               * or of the picture's brightness */
    bool is_even;             /* it has about that amplitude and phase all over the frame */
    unsigned left;            /* observed frames */
};

struct periodic {
    struct periodic_options options;
    struct sheet sheet;
    struct spectrum spectrum;
    struct track track[MAX_TRACKS];
    unsigned tracks;
    struct refused refused[MAX_REFUSED];
    unsigned settled;            /* observed frames without a new line */
    double newest;               /* amplitude of the strongest new line of this frame */
    struct patch_sample *sample; /* for each wave and patch */
    unsigned *patch;             /* those of the present frame */
    double complex *projection;  /* for each start of a search and patch */
    int64_t last_ns;
    bool has_last;
    bool is_frozen;
};

int periodic_create(struct periodic **ret, unsigned width, unsigned height,
                    const struct periodic_options *options, struct error *why)
{
    if (width < 1 || width > 16384 || height < 1 || height > 16384)
        return error_set(why, EINVAL, "frames of %ux%u pixels: expected sides of 1 .. 16384", width,
                         height);
    struct periodic *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_set(why, ENOMEM, "out of memory for the search for periodic noise");
    p->options = *options;
    int r = sheet_init(&p->sheet, width, height, 0, why);
    if (r < 0)
        goto fail;
    r = spectrum_init(&p->spectrum, &p->sheet, why);
    if (r < 0)
        goto fail;
    const size_t patches = p->spectrum.count > 0 ? p->spectrum.count : 1;
    p->sample = calloc(MAX_TRACKS * patches, sizeof *p->sample);
    p->patch = calloc(patches, sizeof *p->patch);
    p->projection = calloc(SEARCH_STARTS * patches, sizeof *p->projection);
    if (p->sample == NULL || p->patch == NULL || p->projection == NULL) {
        r = error_set(why, ENOMEM, "out of memory for %zu patches", patches);
        goto fail;
    }
    *ret = p;
    return 0;
fail:
    periodic_destroy(p);
    return r;
}

void periodic_destroy(struct periodic *p)
{
    if (p == NULL)
        return;
    sheet_clear(&p->sheet);
    spectrum_clear(&p->spectrum);
    free(p->sample);
    free(p->patch);
    free(p->projection);
    free(p);
}

void periodic_freeze(struct periodic *p, bool is_frozen)
{
    p->is_frozen = is_frozen;
}

static void drop(struct periodic *p, unsigned i)
{
    p->track[i] = p->track[--p->tracks];
}

static void refuse(struct periodic *p, unsigned i, unsigned frames)
{
    struct refused *to = p->refused;
    for (unsigned k = 1; k < MAX_REFUSED; k++)
        if (p->refused[k].left < to->left)
            to = &p->refused[k];
    const struct track *t = &p->track[i];
    *to = (struct refused){{t->f, track_is_line(t) ? cabs(t->amplitude) : t->patch_amplitude},
                           track_is_line(t),
                           frames};
    drop(p, i);
}

/* ---- decisions ---- */

static bool is_strong(const struct periodic *p, const struct track *t)
{
    const double amplitude = cabs(t->amplitude);
    return amplitude >= p->options.min_amplitude && amplitude <= MOST_AMPLITUDE &&
           amplitude > track_least(t);
}

/* Returns whether a wave's sum with others or itself is in the sheet, from which all tracks are
 * subtracted. */
static bool has_sum(struct periodic *p, const struct track *t, int multiple, int sign,
                    const struct track *other, double share)
{
    const struct sheet_frequency f = {multiple * t->f.fx + sign * other->f.fx,
                                      multiple * t->f.fy + sign * other->f.fy};
    const double least = share * fmin(cabs(t->amplitude), cabs(other->amplitude));
    /* At zero and at the wave itself there is nothing to be told. */
    const double dc = 3.0 / p->spectrum.length;
    return !texture_is_same(f, (struct sheet_frequency){0, 0}, dc, dc) &&
           !texture_is_same(f, t->f, dc, dc) &&
           periodic_has_line(&p->spectrum, &p->sheet, p->projection, f, least);
}

/* Returns whether neither of two amplitudes is what saturation may leave of the other. */
static bool is_comparable(double a, double b)
{
    return fmin(a, b) > COUNTED * fmax(a, b);
}

/* Returns whether harmonics of a wave, or its sums with others, are in the sheet though not
 * followed. */
static bool has_harmonic(struct periodic *p, const struct track *t)
{
    if (has_sum(p, t, 1, 1, t, HARMONIC_2) || has_sum(p, t, 2, 1, t, HARMONIC_3))
        return true;
    for (unsigned i = 0; i < p->tracks; i++) {
        const struct track *u = &p->track[i];
        if (u != t && track_is_line(u) && is_comparable(cabs(t->amplitude), cabs(u->amplitude)) &&
            (has_sum(p, t, 1, 1, u, HARMONIC_SUM) || has_sum(p, t, 1, -1, u, HARMONIC_SUM)))
            return true;
    }
    return false;
}

static bool reaches_borders(const struct periodic *p, const struct track *t)
{
    return periodic_reaches_borders(&p->sheet, t->f, t->amplitude);
}

/* Returns whether a frequency is so low that the brightness of the picture reaches it. Candidates
 * are at least three bins from zero, but their search may lead there. */
static bool is_picture(const struct periodic *p, struct sheet_frequency f)
{
    const double fx = f.fx - round(f.fx), fy = f.fy - round(f.fy);
    return hypot(fx, fy) * p->spectrum.length < LEAST_BINS;
}

static bool is_supported(const struct periodic *p, const struct track *t)
{
    const bool is_even = t->agree > (t->is_confirmed ? AGREE_REFUSE : AGREE_CONFIRM);
    return is_even && t->seen > TRACK_SEEN && is_strong(p, t) && !is_picture(p, t->f);
}

/* Returns whether a wave is the product of lines that are too uneven to be waves. */
static bool is_product(struct periodic *p, const struct track *t)
{
    struct spectrum_line line[MAX_TRACKS + MAX_REFUSED];
    unsigned count = 0;
    for (unsigned i = 0; i < p->tracks; i++)
        if (&p->track[i] != t && p->track[i].age > 0 && !is_supported(p, &p->track[i]))
            line[count++] = p->track[i].fitted;
    for (unsigned i = 0; i < MAX_REFUSED; i++)
        if (p->refused[i].left > 0 && p->refused[i].line.amplitude > 0)
            line[count++] = (struct spectrum_line){p->refused[i].line.f, 0};
    return periodic_is_product(&p->spectrum, &p->sheet, p->projection, line, count, t->f,
                               cabs(t->amplitude));
}

/* Returns whether all that speaks against a wave would be known by now. */
static bool is_ready(const struct periodic *p, const struct track *t)
{
    const unsigned least = track_is_plain(t, p->newest)            ? 1
                           : p->settled >= SETTLED && !t->is_faint ? LEAST_AGE
                                                                   : SETTLED_AGE;
    return !t->is_confirmed && t->age >= least && is_supported(p, t);
}

/* Marks the tracks that belong to the lattice of a texture, with each other and with lines that
 * were refused. */
static void mark_textures(const struct periodic *p, bool *is_texture)
{
    const double dx = RELATED / p->sheet.width;
    const double dy = RELATED / p->sheet.height;
    for (unsigned i = 0; i < p->tracks; i++) {
        struct texture_line line[MAX_TRACKS + MAX_REFUSED];
        unsigned track[MAX_TRACKS + MAX_REFUSED];
        bool is_member[MAX_TRACKS + MAX_REFUSED] = {false};
        unsigned count = 1;
        const struct track *t = &p->track[i];
        if (!track_is_line(t))
            continue;
        line[0] = track_line(t);
        track[0] = i;
        /* A wave that has been interference for long is not refused by a chance of the scene. */
        const bool is_old = t->is_confirmed && t->age > RELATED_AGE;
        for (unsigned k = 0; k < p->tracks; k++)
            if (k != i && is_comparable(cabs(t->amplitude), cabs(p->track[k].amplitude)) &&
                (is_old ? is_supported(p, &p->track[k]) : track_may_be_line(&p->track[k]))) {
                line[count] = track_line(&p->track[k]);
                track[count++] = k;
            }
        const unsigned tracks = count;
        for (unsigned k = 0; k < MAX_REFUSED && !is_old; k++)
            if (p->refused[k].left > 0 && p->refused[k].is_even &&
                is_comparable(cabs(t->amplitude), p->refused[k].line.amplitude))
                line[count++] = p->refused[k].line;
        texture_relate(line, count, dx, dy, is_member);
        texture_relate_corners(line, tracks, dx, dy, is_member);
        for (unsigned k = 0; k < tracks; k++)
            is_texture[track[k]] |= is_member[k];
    }
}

/* Marks the tracks that follow from lines which were refused. */
static void mark_explained(const struct periodic *p, bool *is_texture)
{
    struct texture_line known[MAX_REFUSED];
    unsigned count = 0;
    for (unsigned i = 0; i < MAX_REFUSED; i++)
        if (p->refused[i].left > 0 && p->refused[i].line.amplitude > 0)
            known[count++] = p->refused[i].line;
    for (unsigned i = 0; i < p->tracks; i++) {
        const struct track *t = &p->track[i];
        if (track_is_line(t) && !(t->is_confirmed && t->age > RELATED_AGE))
            is_texture[i] |= texture_explains(known, count, track_line(t), RELATED / p->sheet.width,
                                              RELATED / p->sheet.height);
    }
}

/* Refuses the waves of textures. One that repeats has many, and interference has few. */
static void refuse_textures(struct periodic *p)
{
    bool is_texture[MAX_TRACKS] = {false};
    unsigned supported = 0;
    double most = 0;
    for (unsigned i = 0; i < p->tracks; i++)
        if (is_supported(p, &p->track[i]))
            most = fmax(most, cabs(p->track[i].amplitude));
    mark_textures(p, is_texture);
    mark_explained(p, is_texture);
    for (unsigned i = 0; i < p->tracks; i++)
        supported += !is_texture[i] && is_supported(p, &p->track[i]) &&
                     cabs(p->track[i].amplitude) > COUNTED * most;
    for (unsigned i = 0; i < p->tracks; i++) {
        struct track *t = &p->track[i];
        /* A wave that drifts passes over a lattice, and lines that come and go may make one. */
        t->related = is_texture[i] ? t->related + 1 : 0;
        if (t->is_confirmed && t->age > PASSING_AGE && t->related < PASSING)
            is_texture[i] = false;
        if (!is_texture[i] && is_supported(p, t))
            is_texture[i] =
                supported > MOST_WAVES ||
                (is_ready(p, t) && (has_harmonic(p, t) ||
                                    (!t->is_faint && !reaches_borders(p, t)) || is_product(p, t)));
    }
    for (unsigned i = p->tracks; i-- > 0;)
        if (is_texture[i])
            refuse(p, i, TEXTURE_AGE);
}

/* What a close wave disturbed may be even now that this one is followed. */
static void forgive(struct periodic *p)
{
    for (unsigned i = 0; i < MAX_REFUSED; i++)
        if (!p->refused[i].is_even)
            p->refused[i].left = 0;
}

/* Below this a wave is not told from what saturation leaves of those that are confirmed, nor, if it
 * is faint, from a line of a texture whose other lines were refused. */
static double least_amplitude(const struct periodic *p, bool is_faint)
{
    double least = 0;
    for (unsigned i = 0; i < p->tracks; i++)
        if (p->track[i].is_confirmed)
            least = fmax(least, LEFT * cabs(p->track[i].amplitude));
    for (unsigned i = 0; is_faint && i < MAX_REFUSED; i++)
        if (p->refused[i].left > 0 && p->refused[i].is_even)
            least = fmax(least, p->refused[i].line.amplitude);
    return least;
}

static void decide(struct periodic *p)
{
    if (!p->is_frozen)
        refuse_textures(p);
    for (unsigned i = p->tracks; i-- > 0;) {
        struct track *t = &p->track[i];
        const bool is_good = is_supported(p, t);
        t->without_support = is_good ? 0 : t->without_support + 1;
        if (t->is_confirmed) {
            if (t->without_support > LOST_AGE && !p->is_frozen)
                drop(p, i);
        } else if (p->is_frozen || t->age >= MOST_AGE ||
                   (!t->is_faint && ((t->age >= LEAST_AGE && t->agree < AGREE_EARLY) ||
                                     (t->age >= LATE_AGE && t->agree < AGREE_REFUSE)))) {
            refuse(p, i, REFUSED_AGE);
        } else if (is_ready(p, t) && cabs(t->amplitude) > least_amplitude(p, t->is_faint) &&
                   (!t->is_faint || reaches_borders(p, t))) {
            t->is_confirmed = true;
            forgive(p);
        }
    }
    for (unsigned i = 0; i < MAX_REFUSED; i++)
        p->refused[i].left -= p->refused[i].left > 0;
}

/* ---- candidates ---- */

static bool is_known(const struct periodic *p, struct sheet_frequency f)
{
    const double near = 1.3 / p->spectrum.length;
    for (unsigned i = 0; i < p->tracks; i++) {
        /* One whose frequency is settled leaves nothing beside it, so that more is another wave,
         * and so may be what makes a strong one uneven. */
        const struct track *t = &p->track[i];
        const double radius = t->is_confirmed || track_is_disturbed(t) ? near / 2 : near;
        if (texture_is_same(p->track[i].f, f, radius, radius))
            return true;
    }
    for (unsigned i = 0; i < MAX_REFUSED; i++)
        if (p->refused[i].left > 0 && texture_is_same(p->refused[i].line.f, f, near, near))
            return true;
    return false;
}

/* Returns whether the frame's width does not tell a wave from one that is followed already. */
static bool is_tracked(const struct periodic *p, struct sheet_frequency f)
{
    for (unsigned i = 0; i < p->tracks; i++)
        if (texture_is_same(p->track[i].f, f, 1.2 / p->sheet.width, 1.2 / p->sheet.height))
            return true;
    return false;
}

static void take_up(struct periodic *p, int64_t captured_ns)
{
    struct spectrum_peak peak[MAX_NEW * 4];
    const unsigned count = spectrum_peaks(&p->spectrum, peak, MAX_NEW * 4);
    unsigned taken = 0;
    p->settled++;
    p->newest = 0;
    for (unsigned i = 0; i < count && taken < MAX_NEW; i++) {
        struct track t = {.f = peak[i].f, .since_ns = captured_ns};
        if (is_known(p, t.f))
            continue;
        /* There is no room to follow this line. With it, those that are followed may be a texture,
         * so they have to wait. */
        if (p->tracks == MAX_TRACKS) {
            p->settled = 0;
            p->newest = INFINITY;
            break;
        }
        const double coherence =
            periodic_search(&p->spectrum, &p->sheet, p->projection, &t.f, &t.patch_amplitude);
        const bool is_useless = is_tracked(p, t.f) || is_picture(p, t.f);
        if (is_useless)
            t.patch_amplitude = 0;
        if (is_picture(p, t.f))
            t.f = peak[i].f;
        p->track[p->tracks++] = t;
        taken++;
        if (is_useless || !(coherence > COHERENT)) {
            refuse(p, p->tracks - 1, REFUSED_AGE);
        } else if (coherence > COHERENT_LINE) {
            p->settled = 0;
            p->newest = fmax(p->newest, t.patch_amplitude);
        }
    }
}

/* ---- frames ---- */

void periodic_observe(struct periodic *p, const float *luma, int64_t captured_ns)
{
    struct sheet_frequency f[MAX_TRACKS];
    double complex amplitude[MAX_TRACKS];
    unsigned patches = 0;
    if (p->spectrum.count == 0 || (p->has_last && captured_ns == p->last_ns))
        return;
    p->has_last = true;
    p->last_ns = captured_ns;
    sheet_load(&p->sheet, luma);
    spectrum_mark(&p->spectrum, &p->sheet);
    for (unsigned i = 0; i < p->tracks; i++)
        f[i] = p->track[i].f;
    sheet_fit(&p->sheet, f, p->tracks, amplitude);
    sheet_subtract(&p->sheet, f, amplitude, p->tracks);
    for (unsigned i = 0; i < p->tracks; i++) {
        struct track *t = &p->track[i];
        t->amplitude = amplitude[i];
        t->fitted = (struct spectrum_line){f[i], amplitude[i]};
        if (!p->is_frozen && cabs(amplitude[i]) > track_least(t))
            track_follow(t, &p->sheet, f[i]);
    }
    spectrum_process(&p->spectrum, &p->sheet, f, p->tracks, p->sample, p->patch, &patches);
    for (unsigned i = 0; i < p->tracks; i++)
        track_judge(&p->track[i], &p->spectrum, p->sample + i * p->spectrum.count, p->patch,
                    patches);
    if (!p->is_frozen)
        take_up(p, captured_ns);
    decide(p);
    track_choose(p->track, p->tracks, p->options.max_waves);
}

/* The confirmed tracks, the strongest first. */
static unsigned sort_tracks(const struct periodic *p, const struct track **ret)
{
    unsigned count = 0;
    for (unsigned i = 0; i < p->tracks; i++) {
        if (!p->track[i].is_confirmed)
            continue;
        unsigned k = count++;
        for (; k > 0 && cabs(ret[k - 1]->amplitude) < cabs(p->track[i].amplitude); k--)
            ret[k] = ret[k - 1];
        ret[k] = &p->track[i];
    }
    return count;
}

void periodic_get_model(const struct periodic *p, struct wave_model *ret)
{
    const struct track *sorted[MAX_TRACKS];
    const unsigned tracks = sort_tracks(p, sorted);
    *ret = (struct wave_model){.count = 0};
    for (unsigned i = 0; i < tracks; i++)
        if (sorted[i]->is_removed)
            ret->wave[ret->count++] = (struct modelled_wave){sorted[i]->f, track_least(sorted[i])};
}

unsigned periodic_reports(const struct periodic *p,
                          struct periodic_report ret[PERIODIC_MAX_REPORTS])
{
    const struct track *sorted[MAX_TRACKS];
    unsigned count = sort_tracks(p, sorted);
    count = count < PERIODIC_MAX_REPORTS ? count : PERIODIC_MAX_REPORTS;
    for (unsigned i = 0; i < count; i++) {
        const struct track *t = sorted[i];
        const double fx = t->f.fx - round(t->f.fx);
        const double fy = t->f.fy - round(t->f.fy);
        const double sign = fx < 0 ? -1 : 1;
        ret[i] = (struct periodic_report){
            .fx = sign * fx,
            .fy = sign * fy,
            .amplitude = cabs(t->amplitude),
            .since_ns = t->since_ns,
            .is_removed = t->is_removed,
        };
    }
    return count;
}
