#include "core/periodic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/periodic_search.h"
#include "core/periodic_spectrum.h"
#include "core/periodic_track.h"

#define MAX_TRACKS     SHEET_MAX_WAVES
#define MAX_REFUSED    32u
#define MAX_NEW        4u /* candidates taken up from one frame */
#define GAP_NS         1000000000
#define LEAST_AGE      3u  /* frames that must have confirmed a wave */
#define MOST_AGE       10u /* frames after which it is refused otherwise */
#define REFUSED_AGE    40u /* frames for which a refused frequency is not tried again */
#define TEXTURE_AGE    600u
#define MOST_AMPLITUDE 127.5 /* more does not fit into 0 .. 255: the fit is ill-conditioned */
#define MOST_WAVES     6u    /* a picture with more is texture */
#define LOST_AGE       15u   /* frames without support after which a wave is given up */
#define AGREE_CONFIRM  0.9   /* of the patches */
#define AGREE_REFUSE   0.8
#define SEEN           0.25 /* of the patches in which a wave must be visible */
#define COHERENT       0.5  /* of a candidate's patches */
#define HARMONIC_2     0.08 /* of the amplitude, from which on it is texture */
#define HARMONIC_3     0.04

struct track {
    struct sheet_frequency f;
    double complex amplitude; /* in the last frame */
    double noise;             /* expected error of amplitude */
    double agree, seen;       /* averages over the frames, of the patches */
    unsigned age;             /* observed frames */
    unsigned without_support; /* frames in a row */
    bool is_confirmed;
    int64_t since_ns;
    struct track_history history;
};

struct refused {
    struct sheet_frequency f;
    unsigned left; /* observed frames */
};

struct periodic {
    struct periodic_options options;
    struct sheet sheet;
    struct spectrum spectrum;
    struct frame_clock clock;
    struct track track[MAX_TRACKS];
    unsigned tracks;
    struct refused refused[MAX_REFUSED];
    unsigned refused_next;
    struct patch_sample *sample; /* for each wave and patch */
    unsigned *patch;             /* those of the present frame */
    double complex *projection;  /* for each patch */
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
    if (!(options->min_amplitude >= 0.05 && options->min_amplitude <= 255))
        return error_set(why, EINVAL, "a least amplitude of %g grey levels: expected 0.05 .. 255",
                         options->min_amplitude);
    if (options->max_waves < 1 || options->max_waves > CORRECTION_MAX_WAVES)
        return error_set(why, EINVAL, "%u waves: expected 1 .. %u", options->max_waves,
                         CORRECTION_MAX_WAVES);
    struct periodic *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_set(why, ENOMEM, "out of memory for the search for periodic noise");
    p->options = *options;
    int r = sheet_init(&p->sheet, width, height, why);
    if (r < 0)
        goto fail;
    r = spectrum_init(&p->spectrum, &p->sheet, why);
    if (r < 0)
        goto fail;
    const size_t patches = p->spectrum.count > 0 ? p->spectrum.count : 1;
    p->sample = calloc(MAX_TRACKS * patches, sizeof *p->sample);
    p->patch = calloc(patches, sizeof *p->patch);
    p->projection = calloc(patches, sizeof *p->projection);
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

/* The difference of two frequencies, which repeat after one cycle per pixel. */
static double apart(double a, double b)
{
    const double d = a - b;
    return fabs(d - round(d));
}

/* Whether two waves are the same to within dx, dy; a real wave has its mirrored frequency, too. */
static bool is_same(struct sheet_frequency a, struct sheet_frequency b, double dx, double dy)
{
    return (apart(a.fx, b.fx) < dx && apart(a.fy, b.fy) < dy) ||
           (apart(a.fx, -b.fx) < dx && apart(a.fy, -b.fy) < dy);
}

static void drop(struct periodic *p, unsigned i)
{
    p->track[i] = p->track[--p->tracks];
}

static void refuse(struct periodic *p, unsigned i, unsigned frames)
{
    p->refused[p->refused_next] = (struct refused){p->track[i].f, frames};
    p->refused_next = (p->refused_next + 1) % MAX_REFUSED;
    drop(p, i);
}

/* ---- the patches' verdict on a track ---- */

struct verdict {
    double seen, agreeing, patches;
    double complex correction; /* to the amplitude */
    double weight;
    double m[6], v[3]; /* normal equations of the frequency's error: 1, x, y */
};

static void hear_patch(struct verdict *ret, const struct patch *patch,
                       const struct patch_sample *sample, double amplitude,
                       double complex direction)
{
    const double off = cabs(sample->amplitude);
    const double weight = 1 / (sample->power + 0.01 * amplitude * amplitude + 1e-6);
    ret->patches++;
    if (amplitude * amplitude < 4 * sample->power_most)
        return;
    ret->seen++;
    if (off * off > 0.16 * amplitude * amplitude + 2 * sample->power_most)
        return;
    ret->agreeing++;
    ret->correction += weight * sample->amplitude;
    ret->weight += weight;
    const double turned = cimag(sample->amplitude * conj(direction)) / amplitude / (2 * M_PI);
    const double x = patch->to_x;
    const double y = patch->to_y;
    ret->m[0] += weight;
    ret->m[1] += weight * x;
    ret->m[2] += weight * y;
    ret->m[3] += weight * x * x;
    ret->m[4] += weight * x * y;
    ret->m[5] += weight * y * y;
    ret->v[0] += weight * turned;
    ret->v[1] += weight * turned * x;
    ret->v[2] += weight * turned * y;
}

/* Solves the three equations for the slopes. False: the patches do not determine them. */
static bool slopes(const struct verdict *v, double *ret_x, double *ret_y)
{
    if (v->m[0] <= 0)
        return false;
    const double xx = v->m[3] - v->m[1] * v->m[1] / v->m[0];
    const double xy = v->m[4] - v->m[1] * v->m[2] / v->m[0];
    const double yy = v->m[5] - v->m[2] * v->m[2] / v->m[0];
    const double tx = v->v[1] - v->m[1] * v->v[0] / v->m[0];
    const double ty = v->v[2] - v->m[2] * v->v[0] / v->m[0];
    const double det = xx * yy - xy * xy;
    if (!(det > 1e-3 * xx * yy))
        return false;
    *ret_x = (tx * yy - ty * xy) / det;
    *ret_y = (ty * xx - tx * xy) / det;
    return true;
}

static double clamp(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

static void correct_frequency(const struct periodic *p, struct track *t, const struct verdict *v)
{
    double dx;
    double dy;
    if (v->seen < 6 || !slopes(v, &dx, &dy))
        return;
    const double gain = t->age < 9 ? 1.0 / (t->age + 1) : 0.1;
    t->f.fx += gain * clamp(dx, 0.3 / p->sheet.width);
    t->f.fy += gain * clamp(dy, 0.3 / p->sheet.height);
}

/* Judges track i by the patches of this frame, and corrects it. */
static void judge(struct periodic *p, unsigned i, unsigned patches, int64_t captured_ns)
{
    struct track *t = &p->track[i];
    struct verdict v = {0};
    const double amplitude = cabs(t->amplitude);
    for (unsigned k = 0; k < patches && amplitude > 0; k++) {
        const unsigned at = p->patch[k];
        if (p->spectrum.patch[at].is_usable)
            hear_patch(&v, &p->spectrum.patch[at], &p->sample[i * p->spectrum.count + at],
                       amplitude, t->amplitude / amplitude);
    }
    t->age++;
    const double gain = t->age < 5 ? 1.0 / t->age : 0.2;
    if (v.patches > 0)
        t->seen += gain * (v.seen / v.patches - t->seen);
    if (v.seen > 0)
        t->agree += gain * (v.agreeing / v.seen - t->agree);
    if (v.weight > 0) {
        t->amplitude += v.correction / v.weight;
        /* Patches overlap by half along both axes, so that about every second one counts. */
        t->noise = sqrt(2 / v.weight);
        if (!p->is_frozen || !t->is_confirmed)
            correct_frequency(p, t, &v);
    }
    history_add(&t->history, &p->clock, captured_ns, t->amplitude);
}

/* ---- decisions ---- */

static bool is_strong(const struct periodic *p, const struct track *t)
{
    const double amplitude = cabs(t->amplitude);
    return amplitude >= p->options.min_amplitude && amplitude <= MOST_AMPLITUDE &&
           amplitude > 4 * t->noise;
}

/* Whether the sheet, from which all tracks are subtracted, or a track has power at a multiple. */
static bool has_harmonic(struct periodic *p, const struct track *t, unsigned multiple, double share)
{
    const struct spectrum *s = &p->spectrum;
    const struct sheet_frequency f = {multiple * t->f.fx, multiple * t->f.fy};
    const double least = share * cabs(t->amplitude);
    for (unsigned i = 0; i < p->tracks; i++)
        if (&p->track[i] != t &&
            is_same(p->track[i].f, f, 0.4 / p->sheet.width, 0.4 / p->sheet.height) &&
            cabs(p->track[i].amplitude) > least)
            return true;
    /* At zero and at the wave itself there is nothing to be told. */
    const double dc = 3.0 / s->length;
    if (is_same(f, (struct sheet_frequency){0, 0}, dc, dc) || is_same(f, t->f, dc, dc))
        return false;
    spectrum_project(s, &p->sheet, f, p->projection);
    double complex mean = 0;
    double power = 0;
    double count = 0;
    for (unsigned i = 0; i < s->count; i++)
        if (s->patch[i].is_usable) {
            mean += p->projection[i];
            power += cabs(p->projection[i]) * cabs(p->projection[i]);
            count++;
        }
    return count > 0 && cabs(mean) / count > least &&
           cabs(mean) * cabs(mean) / count > 9 * 2 * (power / count);
}

static bool is_texture(struct periodic *p, const struct track *t)
{
    return has_harmonic(p, t, 2, HARMONIC_2) || has_harmonic(p, t, 3, HARMONIC_3);
}

/* Refuses the waves of a pattern: one that repeats has many, and interference has few. */
static void refuse_pattern(struct periodic *p)
{
    unsigned confirmed = 0;
    for (unsigned i = 0; i < p->tracks; i++)
        confirmed += p->track[i].is_confirmed;
    for (unsigned i = p->tracks; i-- > 0 && confirmed > MOST_WAVES;)
        refuse(p, i, TEXTURE_AGE);
}

static void decide(struct periodic *p)
{
    if (!p->is_frozen)
        refuse_pattern(p);
    for (unsigned i = p->tracks; i-- > 0;) {
        struct track *t = &p->track[i];
        const bool is_even = t->agree > (t->is_confirmed ? AGREE_REFUSE : AGREE_CONFIRM);
        const bool is_supported = is_even && t->seen > SEEN && is_strong(p, t);
        t->without_support = is_supported ? 0 : t->without_support + 1;
        if (t->is_confirmed) {
            if (t->without_support > LOST_AGE && !p->is_frozen)
                drop(p, i);
        } else if (p->is_frozen || (t->age >= LEAST_AGE && t->agree < AGREE_REFUSE) ||
                   t->age >= MOST_AGE) {
            refuse(p, i, REFUSED_AGE);
        } else if (t->age >= LEAST_AGE && is_supported) {
            if (is_texture(p, t))
                refuse(p, i, TEXTURE_AGE);
            else
                t->is_confirmed = true;
        }
    }
    for (unsigned i = 0; i < MAX_REFUSED; i++)
        p->refused[i].left -= p->refused[i].left > 0;
}

/* ---- candidates ---- */

static bool is_known(const struct periodic *p, struct sheet_frequency f)
{
    const double near = 1.3 / p->spectrum.length;
    for (unsigned i = 0; i < p->tracks; i++)
        if (is_same(p->track[i].f, f, near, near))
            return true;
    for (unsigned i = 0; i < MAX_REFUSED; i++)
        if (p->refused[i].left > 0 && is_same(p->refused[i].f, f, near, near))
            return true;
    return false;
}

static void take_up(struct periodic *p, int64_t captured_ns)
{
    struct spectrum_peak peak[MAX_NEW * 4];
    const unsigned count = spectrum_peaks(&p->spectrum, peak, MAX_NEW * 4);
    unsigned taken = 0;
    for (unsigned i = 0; i < count && p->tracks < MAX_TRACKS && taken < MAX_NEW; i++) {
        struct track t = {.f = peak[i].f, .since_ns = captured_ns};
        if (is_known(p, t.f))
            continue;
        double dx = 0;
        double dy = 0;
        spectrum_project(&p->spectrum, &p->sheet, t.f, p->projection);
        const double coherence = periodic_search(&p->spectrum, &p->sheet, p->projection, &dx, &dy);
        t.f.fx += dx;
        t.f.fy += dy;
        p->track[p->tracks++] = t;
        taken++;
        if (!(coherence > COHERENT))
            refuse(p, p->tracks - 1, REFUSED_AGE);
    }
}

/* ---- frames ---- */

static bool accept_stamp(struct periodic *p, int64_t captured_ns)
{
    if (p->has_last && captured_ns == p->last_ns)
        return false;
    if (p->has_last && (captured_ns < p->last_ns || captured_ns - p->last_ns > GAP_NS)) {
        memset(&p->clock, 0, sizeof p->clock);
        for (unsigned i = 0; i < p->tracks; i++)
            memset(&p->track[i].history, 0, sizeof p->track[i].history);
    }
    p->has_last = true;
    p->last_ns = captured_ns;
    clock_add(&p->clock, captured_ns);
    return true;
}

void periodic_observe(struct periodic *p, const float *luma, int64_t captured_ns)
{
    struct sheet_frequency f[MAX_TRACKS];
    double complex amplitude[MAX_TRACKS];
    unsigned patches = 0;
    if (p->spectrum.count == 0 || !accept_stamp(p, captured_ns))
        return;
    sheet_load(&p->sheet, luma);
    spectrum_mark(&p->spectrum, &p->sheet);
    for (unsigned i = 0; i < p->tracks; i++)
        f[i] = p->track[i].f;
    sheet_measure(&p->sheet, f, p->tracks, amplitude);
    sheet_subtract(&p->sheet, f, amplitude, p->tracks);
    for (unsigned i = 0; i < p->tracks; i++)
        p->track[i].amplitude = amplitude[i];
    spectrum_process(&p->spectrum, &p->sheet, f, p->tracks, p->sample, p->patch, &patches);
    for (unsigned i = 0; i < p->tracks; i++)
        judge(p, i, patches, captured_ns);
    decide(p);
    if (!p->is_frozen)
        take_up(p, captured_ns);
}

bool periodic_wants_next(const struct periodic *p)
{
    return p->tracks > 0 && p->clock.count > 1 && clock_is_regular(&p->clock);
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

void periodic_get_model(const struct periodic *p, struct periodic_model *ret)
{
    const struct track *sorted[MAX_TRACKS];
    const unsigned tracks = sort_tracks(p, sorted);
    *ret = (struct periodic_model){.newest_ns = p->last_ns, .interval_ns = p->clock.interval_ns};
    for (unsigned i = 0; i < tracks && ret->count < p->options.max_waves; i++) {
        const struct track *t = sorted[i];
        const struct track_history *h = &t->history;
        if (t->without_support > 2 || !history_is_predictable(h) || h->count == 0 || h->step == 0)
            continue;
        const double complex amplitude =
            h->predicted *
            cexp(-M_PI * I * (t->f.fx * (p->sheet.width - 1) + t->f.fy * (p->sheet.height - 1)));
        ret->track[ret->count].wave = (struct wave){
            t->f.fx - round(t->f.fx), t->f.fy - round(t->f.fy), creal(amplitude), cimag(amplitude)};
        ret->track[ret->count].drift = h->drift;
        ret->track[ret->count++].step = h->step;
    }
}

unsigned periodic_waves(const struct periodic *p, int64_t at_ns,
                        struct wave ret[CORRECTION_MAX_WAVES])
{
    struct periodic_model model;
    periodic_get_model(p, &model);
    return periodic_model_waves(&model, at_ns, ret);
}

unsigned periodic_reports(const struct periodic *p,
                          struct periodic_report ret[PERIODIC_MAX_REPORTS])
{
    const struct track *sorted[MAX_TRACKS];
    unsigned count = sort_tracks(p, sorted);
    unsigned removed = 0;
    count = count < PERIODIC_MAX_REPORTS ? count : PERIODIC_MAX_REPORTS;
    for (unsigned i = 0; i < count; i++) {
        const struct track *t = sorted[i];
        const double fx = t->f.fx - round(t->f.fx);
        const double fy = t->f.fy - round(t->f.fy);
        const double sign = fx < 0 ? -1 : 1;
        const bool is_removed = t->without_support <= 2 && history_is_predictable(&t->history) &&
                                removed < p->options.max_waves;
        removed += is_removed;
        ret[i] = (struct periodic_report){
            .fx = sign * fx,
            .fy = sign * fy,
            .amplitude = cabs(t->amplitude),
            .drift = is_removed ? sign * (t->history.drift - round(t->history.drift)) : 0,
            .since_ns = t->since_ns,
            .is_removed = is_removed,
        };
    }
    return count;
}
