#include "estimators/periodic_track.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"

#define WINDOW_NS   1100000000.0 /* how far back a fit reaches: a little more than ahead */
#define MAX_STEP    4            /* frames that the shortest seen interval may hold */
/* Of an interval, how far stamps may be off the multiples. Half of one would leave the number of
 * frames in doubt. */
#define JITTER      0.2
/* Periods per frame of a drift that is taken for what it is, though ambiguous. An error of as much
 * is 7 degrees, and leaves 1.6 % of the power. */
#define SLOW        0.02
#define ENOUGH      3u   /* amplitudes before a prediction counts; drift and amplitude take two */
#define LEAST_PROOF 2u   /* predictions that must have been checked */
#define WORST_ERROR 0.15 /* of the power that may be left: 8 dB less */
/* Of a second in which predictions fail, from which on a wave is unpredictable, and below which it
 * is no longer. Chosen on the clips of tests/unit/periodic_notches.c: what moves are its counts of
 * changes, and of frames until a notch goes. */
#define FAILS       0.8
#define SUCCEEDS    0.2
#define OFFSET_GAIN 0.1

/* The share of the differences that are multiples of the interval. */
static double share_of_multiples(const struct frame_clock *clock, double interval)
{
    unsigned good = 0;
    for (unsigned i = 0; i + 1 < clock->count; i++) {
        const double frames = (double)(clock->stamp[i] - clock->stamp[i + 1]) / interval;
        good += fabs(frames - round(frames)) < JITTER;
    }
    return (double)good / (clock->count - 1);
}

void clock_add(struct frame_clock *clock, int64_t stamp_ns)
{
    memmove(clock->stamp + 1, clock->stamp, (CLOCK_STAMPS - 1) * sizeof *clock->stamp);
    clock->stamp[0] = stamp_ns;
    if (clock->count < CLOCK_STAMPS)
        clock->count++;
    if (clock->count < 2)
        return;
    double least = INFINITY;
    for (unsigned i = 0; i + 1 < clock->count; i++)
        least = fmin(least, (double)(clock->stamp[i] - clock->stamp[i + 1]));
    double interval = least;
    for (int step = 1; step <= MAX_STEP; step++)
        if (share_of_multiples(clock, least / step) > 0.85) {
            interval = least / step;
            break;
        }
    /* The average over all stamps is better than the shortest. */
    double frames = 0;
    for (unsigned i = 0; i + 1 < clock->count; i++)
        frames += round((double)(clock->stamp[i] - clock->stamp[i + 1]) / interval);
    const double average = (double)(clock->stamp[0] - clock->stamp[clock->count - 1]) / frames;
    clock->interval_ns = fabs(average - interval) < JITTER * interval ? average : interval;
}

bool clock_is_regular(const struct frame_clock *clock)
{
    for (unsigned i = 0; i + 1 < clock->count; i++)
        if ((double)(clock->stamp[i] - clock->stamp[i + 1]) > 1.5 * clock->interval_ns)
            return false;
    return true;
}

/* How many frames before the newest each amplitude was measured; returns how many are in the
 * window. */
static unsigned count_frames(const struct track_history *h, const struct frame_clock *clock,
                             double *frame)
{
    unsigned count = 0;
    double at = 0;
    while (count < h->count && (double)(h->stamp[0] - h->stamp[count]) < WINDOW_NS) {
        if (count > 0)
            at -= round((double)(h->stamp[count - 1] - h->stamp[count]) / clock->interval_ns);
        frame[count++] = at;
    }
    return count;
}

static unsigned common_step(const double *frame, unsigned count)
{
    unsigned step = 0;
    for (unsigned i = 1; i < count; i++) {
        unsigned a = (unsigned)-frame[i];
        while (a != 0) {
            const unsigned rest = step % a;
            step = a;
            a = rest;
        }
    }
    return step > 0 ? step : 1;
}

/* How well a drift explains the amplitudes, as their sum turned back. */
static double complex sum_turned(const struct track_history *h, const double *frame, unsigned count,
                                 double drift)
{
    double complex sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += h->amplitude[i] * cexp(-2 * M_PI * I * drift * frame[i]);
    return sum;
}

static void fit(struct track_history *h, const struct frame_clock *clock)
{
    double frame[TRACK_HISTORY];
    const unsigned count = count_frames(h, clock, frame);
    h->step = common_step(frame, count);
    if (count == 0)
        return;
    const double span = fmax(1, -frame[count - 1]);
    const double grid = 1 / (4 * span);
    double best = -1;
    double drift = 0;
    const int steps = (int)(0.5 / h->step / grid + 0.5);
    for (int k = 0; k <= steps; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double tried = sign * k * grid;
            const double score = cabs(sum_turned(h, frame, count, tried));
            if (score > best * (1 + 1e-9)) {
                best = score;
                drift = tried;
            }
        }
    /* A straight line through what is left of the phases. */
    double complex mean = sum_turned(h, frame, count, drift) / count;
    double line = 0;
    for (int pass = 0; pass < 2 && count > 1; pass++) {
        double s0 = 0, s1 = 0, s2 = 0, t0 = 0, t1 = 0;
        for (unsigned i = 0; i < count; i++) {
            const double complex left =
                h->amplitude[i] * cexp(-2 * M_PI * I * drift * frame[i]) * conj(mean);
            const double phase = carg(left) / (2 * M_PI);
            s0 += 1;
            s1 += frame[i];
            s2 += frame[i] * frame[i];
            t0 += phase;
            t1 += phase * frame[i];
        }
        line = (s0 * t1 - s1 * t0) / (s0 * s2 - s1 * s1);
        drift += line;
        mean = sum_turned(h, frame, count, drift) / count;
    }
    h->drift = drift;
    h->predicted = mean;
}

bool track_turn(double drift, double step, double interval_ns, double after_ns, double *ret)
{
    if (fabs(after_ns) > TRACK_AHEAD_NS)
        return false;
    if (interval_ns == 0) {
        *ret = 0;
        return true;
    }
    const double frames = after_ns / interval_ns;
    const double whole = round(frames);
    const bool is_between = fabs(frames - whole) > JITTER || fmod(fabs(whole), step) > 0.5;
    if (is_between && fabs(drift) > SLOW)
        return false;
    *ret = drift * (is_between ? frames : whole);
    return true;
}

/* The amplitude at a time near the newest stamp. False: it cannot be said. */
static bool predict(const struct track_history *h, const struct frame_clock *clock, int64_t at_ns,
                    double complex *ret)
{
    double turn;
    if (h->count == 0 || h->step == 0 ||
        !track_turn(h->drift, h->step, clock->interval_ns, (double)(at_ns - h->stamp[0]), &turn))
        return false;
    *ret = h->predicted * cexp(2 * M_PI * I * turn);
    return true;
}

/* Single frames decide nothing: a skipped frame, or the end of a loop, spoils a few predictions. */
static void judge_predictions(struct track_history *h, int64_t after_ns)
{
    const double gain = fmin(1, (double)after_ns / NS_PER_S);
    if (h->predictions < LEAST_PROOF)
        return;
    h->failing += gain * (!history_is_predictable(h) - h->failing);
    if (h->failing > FAILS)
        h->is_unpredictable = true;
    else if (h->failing < SUCCEEDS)
        h->is_unpredictable = false;
}

void history_restart(struct track_history *h)
{
    *h = (struct track_history){
        .failing = h->failing, .is_unpredictable = h->is_unpredictable, .spread2 = h->spread2};
}

void history_add_offset(struct track_history *h, double dx, double dy)
{
    h->spread2 += OFFSET_GAIN * (dx * dx + dy * dy - h->spread2);
}

void history_add(struct track_history *h, const struct frame_clock *clock, int64_t stamp_ns,
                 double complex amplitude)
{
    double complex expected;
    if (h->count >= ENOUGH && predict(h, clock, stamp_ns, &expected)) {
        const double gain = h->predictions < 4 ? 1.0 / (h->predictions + 1) : 0.25;
        const double off = cabs(amplitude - expected);
        h->error += gain * (off * off - h->error);
        h->power += gain * (cabs(amplitude) * cabs(amplitude) - h->power);
        h->predictions++;
        judge_predictions(h, stamp_ns - h->stamp[0]);
    }
    memmove(h->stamp + 1, h->stamp, (TRACK_HISTORY - 1) * sizeof *h->stamp);
    memmove(h->amplitude + 1, h->amplitude, (TRACK_HISTORY - 1) * sizeof *h->amplitude);
    h->stamp[0] = stamp_ns;
    h->amplitude[0] = amplitude;
    if (h->count < TRACK_HISTORY)
        h->count++;
    if (clock->interval_ns > 0)
        fit(h, clock);
}

bool history_is_predictable(const struct track_history *h)
{
    return h->predictions >= LEAST_PROOF && h->error < WORST_ERROR * h->power;
}
