/* Validation and timing.
 *
 * The load of a machine changes from second to second, so all subjects take turns. In a round each
 * of them gets a few frames one at a time, and then a batch in flight; medians are over all rounds.
 * The first frame of a turn does not count, because the caches are full of another subject's data.
 * If only one frame fits into a turn, none are put in flight. A subject that has had more than its
 * share of the time pauses until the others have had as much. */
#include "fft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS      5 /* at least */
#define TURN_FRAMES 16

static double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

static int run_frames(struct row *row, unsigned count, struct error *why)
{
    for (unsigned i = 0; i < count; i++) {
        const int r = row->peer->enqueue(row->run, why);
        if (r < 0)
            return r;
    }
    return row->peer->finish(row->run, why);
}

static double compare(const struct row *row, const struct scene *scene, const float *result,
                      const double *expected)
{
    const size_t count = (size_t)scene->width * scene->height;
    double largest = 0, difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = result[i] - expected[i];
        if (!(fabs(d) <= largest)) /* a NaN is the largest of all */
            largest = fabs(d);
        difference += d * d;
        norm += expected[i] * expected[i];
    }
    return row->subject->eight_bits ? largest : sqrt(difference / norm);
}

static int validate(struct row *row, const struct scene *scene, struct error *why)
{
    const size_t count = (size_t)scene->width * scene->height;
    float *result = malloc(count * sizeof *result);
    double *expected = malloc(count * sizeof *expected);
    int r = 0;
    if (result == NULL || expected == NULL) {
        r = error_set(why, ENOMEM, "out of memory while comparing results");
        goto out;
    }
    const unsigned before = fft_dispatches_so_far();
    if ((r = run_frames(row, 1, why)) < 0)
        goto out;
    if (row->cost.dispatches == 0)
        row->cost.dispatches = fft_dispatches_so_far() - before;
    if (row->cost.response_bytes != 0)
        row->cost.bytes_per_pixel =
            fft_pass_traffic(scene, row->cost.dispatches, row->cost.response_bytes);
    if ((r = row->peer->read(row->run, result, why)) < 0 ||
        (r = fft_oracle(expected, scene, &row->cost, why)) < 0)
        goto out;
    row->error = compare(row, scene, result, expected);
    if (!(row->error <= row->subject->error_limit))
        r = error_set(why, EDOM, "the error is %.2g: expected at most %.2g", row->error,
                      row->subject->error_limit);
out:
    free(result);
    free(expected);
    return r;
}

static void set_state(struct row *row, int r)
{
    row->state = r == 0          ? ROW_OK
                 : r == -ENOTSUP ? ROW_REFUSED
                 : r == -EDOM    ? ROW_WRONG
                                 : ROW_FAILED;
}

void fft_row_open(struct row *row, const struct scene *scene)
{
    row->cost = (struct cost){.padded_x = scene->width, .padded_y = scene->height, .frames = 1};
    int r = row->peer->open(&row->run, row->subject, scene, &row->cost, &row->why);
    if (r == 0)
        r = validate(row, scene, &row->why);
    if (r == 0) {
        const double begun = now_ms();
        r = run_frames(row, 1, &row->why);
        row->fastest_ms = now_ms() - begun;
    }
    set_state(row, r);
}

void fft_row_close(struct row *row)
{
    row->peer->close(row->run);
    row->run = NULL;
}

static void add_sample(struct row *row, enum row_mode mode, double ms)
{
    if (row->sample_count[mode] < ROW_MAX_SAMPLES)
        row->samples_ms[mode][row->sample_count[mode]++] = ms;
}

static unsigned frames_within(const struct row *row, double share_ms, unsigned most)
{
    const double frames = share_ms / row->fastest_ms;
    return frames >= most ? most : frames < 1 ? 1 : (unsigned)frames;
}

static int time_frames(struct row *row, enum row_mode mode, unsigned count)
{
    const double begun = now_ms();
    const int r = run_frames(row, count, &row->why);
    const double ms = (now_ms() - begun) / count;
    add_sample(row, mode, ms / row->cost.frames);
    if (mode == ONE_AT_A_TIME && ms < row->fastest_ms)
        row->fastest_ms = ms;
    return r;
}

static void take_turn(struct row *row, double share_ms)
{
    const unsigned frames = frames_within(row, share_ms, TURN_FRAMES);
    const double begun = now_ms();
    int r = frames > 1 ? run_frames(row, 1, &row->why)
                       : 0; /* a single long frame warms its own caches */
    for (unsigned i = 0; i < frames && r == 0; i++)
        r = time_frames(row, ONE_AT_A_TIME, 1);
    row->in_flight = frames_within(row, share_ms, IN_FLIGHT_FRAMES);
    if (r == 0 && row->in_flight > 1)
        r = time_frames(row, IN_FLIGHT, row->in_flight);
    row->spent_ms += now_ms() - begun;
    set_state(row, r);
}

static int compare_samples(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, unsigned count)
{
    qsort(samples, count, sizeof *samples, compare_samples);
    return count == 0       ? NAN
           : count % 2 != 0 ? samples[count / 2]
                            : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

void fft_measure(struct row *rows, unsigned count, double seconds)
{
    const double begun = now_ms();
    unsigned runnable = 0;
    for (unsigned i = 0; i < count; i++)
        runnable += rows[i].state == ROW_OK;
    if (runnable == 0)
        return;
    const double share_ms = seconds * 1e3 / (ROUNDS * MODE_COUNT * runnable);
    for (unsigned round = 0; round < ROUNDS || now_ms() - begun < seconds * 1e3; round++)
        for (unsigned i = 0; i < count; i++)
            if (rows[i].state == ROW_OK && rows[i].spent_ms <= round * MODE_COUNT * share_ms)
                take_turn(&rows[i], share_ms);
    for (unsigned i = 0; i < count; i++)
        for (int mode = 0; mode < MODE_COUNT; mode++)
            rows[i].ms[mode] = median(rows[i].samples_ms[mode], rows[i].sample_count[mode]);
}
