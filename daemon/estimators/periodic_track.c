#include "estimators/periodic_track.h"

#include <math.h>

/* Times the expected error of an amplitude, which an amplitude of noise exceeds by a chance of
 * exp(-16) = 1e-7. */
#define NOISES       4.0

/* Multiples of the strongest of the 16 frequencies around. Noise alone exceeds c times that with
 * the probability 1 / binomial(16 + c, c): once in 4845 patches for 4, in 153 for 2. */
#define SEEN         4
#define NOT_ITS_OWN  2
/* The share of the amplitude by which a patch may differ from the others. Chosen on the clips of
 * tests/unit/periodic.c. */
#define UNEVEN       0.4

/* Chosen there as well; in brackets as in periodic.c. */
#define LINE_AGREE   0.4  /* share of the patches, for a wave that may be texture [false] */
#define LINE_SEEN    0.05 /* [false, changed] */
#define PLAIN_AGREE  0.95 /* the same for a wave that is taken at once */
#define PLAIN_SEEN   0.9
#define PLAIN_NOISES 30.0
#define PLAIN_ALONE  0.3 /* share of its amplitude that no new line has */

/* 1/width, 1/height: from where on a frame's frequency counts as it is; and the share with which
 * one counts that is hardly off. */
#define DRIFTS       0.1
#define STAYS        0.1

/* A wave takes the place of one that is removed if it is so many times as strong. Each change makes
 * the estimator of flicker forget its frames, and noise alone must not bring one about. */
#define REPLACES     1.2

/* What the patches of a frame say about one wave. */
struct verdict {
    double patches, seen, agreeing; /* patches: all, where the wave can be seen, where it is even */
    double complex correction;      /* to the amplitude, times weight */
    double weight;
};

static void add_patch(struct verdict *ret, const struct patch_sample *sample, double amplitude)
{
    const double off = cabs(sample->amplitude);
    const double weight = 1 / (sample->power + 0.01 * amplitude * amplitude + 1e-6);
    ret->patches++;
    if (amplitude * amplitude < SEEN * sample->power_most)
        return;
    ret->seen++;
    if (off * off > UNEVEN * UNEVEN * amplitude * amplitude + NOT_ITS_OWN * sample->power_most)
        return;
    ret->agreeing++;
    ret->correction += weight * sample->amplitude;
    ret->weight += weight;
}

void track_judge(struct track *t, const struct spectrum *spectrum,
                 const struct patch_sample *sample, const unsigned *patch, unsigned patches)
{
    struct verdict v = {0};
    const double amplitude = cabs(t->amplitude);
    for (unsigned k = 0; k < patches && amplitude > 0; k++)
        if (spectrum->patch[patch[k]].is_usable)
            add_patch(&v, &sample[patch[k]], amplitude);
    t->age++;
    const double gain = t->age < 3 ? 1.0 / t->age : 0.3;
    if (v.patches > 0)
        t->seen += gain * (v.seen / v.patches - t->seen);
    if (v.seen > 0)
        t->agree += gain * (v.agreeing / v.seen - t->agree);
    if (v.weight > 0) {
        t->amplitude += v.correction / v.weight;
        /* Patches overlap by half along both axes, so that about every second one counts. */
        t->noise = sqrt(2 / v.weight);
    }
}

void track_follow(struct track *t, const struct sheet *sheet, struct sheet_frequency f)
{
    const double dx = f.fx - t->f.fx, dy = f.fy - t->f.fy;
    const double off = hypot(dx * sheet->width, dy * sheet->height);
    const double gain = t->age < 3 ? 1 : fmin(fmax(off / DRIFTS, STAYS), 1);
    t->f.fx += gain * dx;
    t->f.fy += gain * dy;
}

double track_least(const struct track *t)
{
    return NOISES * t->noise;
}

struct texture_line track_line(const struct track *t)
{
    return (struct texture_line){t->f, cabs(t->amplitude)};
}

bool track_is_line(const struct track *t)
{
    return t->age >= 1 && t->agree > LINE_AGREE && t->seen > LINE_SEEN &&
           cabs(t->amplitude) > track_least(t);
}

bool track_may_be_line(const struct track *t)
{
    return track_is_line(t) || (t->age >= 1 && t->seen > TRACK_SEEN);
}

bool track_is_disturbed(const struct track *t)
{
    return t->age >= 1 && t->seen > PLAIN_SEEN && t->agree < LINE_AGREE;
}

bool track_is_plain(const struct track *t, double newest)
{
    const double amplitude = cabs(t->amplitude);
    return t->agree > PLAIN_AGREE && t->seen > PLAIN_SEEN && amplitude > PLAIN_NOISES * t->noise &&
           newest < PLAIN_ALONE * amplitude;
}

/* Returns whether a wave is to be removed as far as single frames have it. */
static bool is_removable(const struct track *t)
{
    return t->is_confirmed && t->without_support <= 2;
}

void track_choose(struct track *track, unsigned tracks, unsigned most)
{
    bool was_removed[SHEET_MAX_WAVES];
    for (unsigned i = 0; i < tracks; i++) {
        was_removed[i] = track[i].is_removed;
        track[i].is_removed = false;
    }
    for (unsigned n = 0; n < most; n++) {
        struct track *best = NULL;
        double strongest = 0;
        for (unsigned i = 0; i < tracks; i++) {
            const double amplitude = cabs(track[i].amplitude) * (was_removed[i] ? REPLACES : 1);
            if (is_removable(&track[i]) && !track[i].is_removed && amplitude > strongest) {
                best = &track[i];
                strongest = amplitude;
            }
        }
        if (best == NULL)
            return;
        best->is_removed = true;
    }
}
