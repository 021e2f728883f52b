#include "estimators/periodic_track.h"

#include <math.h>

/* Times the expected error of an amplitude, which an amplitude of noise exceeds by a chance of
 * exp(-16) = 1e-7. */
#define NOISES        4.0

/* Multiples of the strongest of the 16 frequencies around. Noise alone exceeds c times that with
 * the probability 1 / binomial(16 + c, c): once in 4845 patches for 4, in 153 for 2. */
#define SEEN          4
#define NOT_ITS_OWN   2
/* The share of the amplitude by which a patch may differ from the others. Chosen on the clips of
 * tests/unit/periodic.c. */
#define UNEVEN        0.4

/* Chosen there as well; in brackets as in periodic.c. */
#define LINE_AGREE    0.4  /* share of the patches, for a wave that may be texture [false] */
#define LINE_SEEN     0.05 /* [false, changed] */
#define PLAIN_AGREE   0.95 /* the same for a wave that is taken at once */
#define PLAIN_SEEN    0.9
#define PLAIN_NOISES  30.0
#define PLAIN_ALONE   0.3 /* share of its amplitude that no new line has */

/* For waves that single patches do not see. FAINT_SEEN: how many times the power of the wave
 * exceeds that of the error of a region's mean, on average; more than FAINT_MOST counts as that.
 * FAINT_UNEVEN: the share of the amplitude by which a region may differ from the whole, averaged
 * over the frames with FAINT_GAIN. Chosen on clips of another generator. */
#define FAINT_SEEN    4.0
#define FAINT_MOST    40.0
#define FAINT_UNEVEN  0.25
#define FAINT_GAIN    0.1
#define FAINT_PATCHES 3u /* the least of a region */
#define FAINT_REGIONS 5  /* the least of a frame */

/* 1/width, 1/height: from where on a frame's frequency counts as it is; and the share with which
 * one counts that is hardly off. */
#define DRIFTS        0.1
#define STAYS         0.1

/* A wave takes the place of one that is removed if it is so many times as strong. Each change makes
 * the estimator of flicker forget its frames, and noise alone must not bring one about. */
#define REPLACES      1.2

/* What the patches of a frame say about one wave. */
struct verdict {
    double patches, seen, agreeing; /* patches: all, where the wave can be seen, where it is even */
    double complex correction;      /* to the amplitude, times weight */
    double weight;
};

static double weight_of(const struct patch_sample *sample, double amplitude)
{
    return 1 / (sample->power + 0.01 * amplitude * amplitude + 1e-6);
}

static void add_patch(struct verdict *ret, const struct patch_sample *sample, double amplitude)
{
    const double off = cabs(sample->amplitude);
    const double weight = weight_of(sample, amplitude);
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

/* What the patches of a region have in common, once a wave is subtracted from them. */
struct region {
    unsigned patches;
    double complex sum; /* times weight */
    double weight;
    double squares; /* the sum of the squared, weighted differences from their mean */
};

static struct region *region_of(struct region *all, const struct spectrum *s, unsigned patch)
{
    const unsigned column = patch % s->columns * TRACK_REGIONS / s->columns;
    const unsigned row = patch / s->columns * TRACK_REGIONS / s->rows;
    return &all[row * TRACK_REGIONS + column];
}

static void sum_regions(struct region *ret, const struct spectrum *s,
                        const struct patch_sample *sample, const unsigned *patch, unsigned patches,
                        double amplitude)
{
    for (unsigned k = 0; k < patches; k++) {
        struct region *r = region_of(ret, s, patch[k]);
        if (!s->patch[patch[k]].is_usable)
            continue;
        const double weight = weight_of(&sample[patch[k]], amplitude);
        r->patches++;
        r->sum += weight * sample[patch[k]].amplitude;
        r->weight += weight;
    }
    for (unsigned k = 0; k < patches; k++) {
        struct region *r = region_of(ret, s, patch[k]);
        if (!s->patch[patch[k]].is_usable)
            continue;
        const double off = cabs(sample[patch[k]].amplitude - r->sum / r->weight);
        const double weighted = weight_of(&sample[patch[k]], amplitude) * off;
        r->squares += weighted * weighted;
    }
}

/* Judges a wave that is weaker than what the scene has at its frequency in single patches. That
 * differs from patch to patch, and in time if the scene moves or the phase of the wave drifts. The
 * wave is the same everywhere, so the mean of many patches shows it, compared with how much they
 * differ. */
static void judge_regions(struct track *t, const struct spectrum *s,
                          const struct patch_sample *sample, const unsigned *patch,
                          unsigned patches, struct verdict *ret)
{
    struct region region[TRACK_REGIONS * TRACK_REGIONS] = {{0}};
    struct verdict all = {0};
    const double amplitude = cabs(t->amplitude);
    const double gain = fmax(1.0 / t->age, FAINT_GAIN);
    double most_off = 0, seen = 0;
    sum_regions(region, s, sample, patch, patches, amplitude);
    for (unsigned i = 0; i < TRACK_REGIONS * TRACK_REGIONS; i++) {
        const struct region *r = &region[i];
        if (r->patches < FAINT_PATCHES)
            continue;
        t->off[i] += gain * (r->sum / r->weight / t->amplitude - t->off[i]);
        most_off = fmax(most_off, cabs(t->off[i]));
        /* Patches overlap, so about half of them are independent. */
        const double error = 2 * r->squares * r->patches / (r->patches - 1) + 1e-9;
        const double size = amplitude * r->weight;
        seen += fmin(size * size / error, FAINT_MOST);
        all.patches++;
        all.correction += r->sum;
        all.weight += r->weight;
    }
    t->is_faint = all.patches >= FAINT_REGIONS && seen > FAINT_SEEN * all.patches;
    if (!t->is_faint)
        return;
    all.seen = all.patches;
    all.agreeing = most_off < FAINT_UNEVEN ? all.patches : 0;
    *ret = all;
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
    t->is_faint = false;
    if (amplitude > 0 && v.seen < TRACK_SEEN * v.patches)
        judge_regions(t, spectrum, sample, patch, patches, &v);
    /* Regions have averaged over the frames already. */
    const double gain = t->is_faint ? 1 : t->age < 3 ? 1.0 / t->age : 0.3;
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
    return !t->is_faint && t->agree > PLAIN_AGREE && t->seen > PLAIN_SEEN &&
           amplitude > PLAIN_NOISES * t->noise && newest < PLAIN_ALONE * amplitude;
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
