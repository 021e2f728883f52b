/* watch CAMERA FRAMES SECONDS: reads so many consecutive frames and checks each, or until it gives
 * up or gets SIGTERM.
 *
 * Prints one line of JSON: how many frames came, how many were missed in between, torn (overwritten
 * while they were read) or corrupt (their checksum does not fit), how many the source itself lost,
 * which filters made them, which lives of the daemon (epochs) and of which sizes, in order, which
 * states the ring was seen in, and the longest time without a frame. The exit code is 0 if all
 * frames came, whatever was wrong with them: judging is the caller's. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fftd/fftd.h>

#define MAX_VALUES 64

/* The values something had, one after the other. */
struct values {
    uint64_t value[MAX_VALUES];
    unsigned count;
};

struct tally {
    uint64_t frames, missed, torn, corrupt, unchecked, source_lost, backwards;
    uint64_t last_source, last_sequence;
    struct values serials, epochs, widths, heights, states;
    int64_t first_ns, last_ns, worst_latency_ns;
    int64_t seen_ns, longest_gap_ns; /* by this program's clock, not the frames' */
};

static bool is_last(const struct values *values, uint64_t value)
{
    return values->count > 0 && values->value[values->count - 1] == value;
}

static void count_value(struct values *values, uint64_t value)
{
    if (!is_last(values, value) && values->count < MAX_VALUES)
        values->value[values->count++] = value;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void count_gap(struct tally *tally)
{
    const int64_t seen_ns = now_ns();
    if (tally->frames > 0 && seen_ns - tally->seen_ns > tally->longest_gap_ns)
        tally->longest_gap_ns = seen_ns - tally->seen_ns;
    tally->seen_ns = seen_ns;
}

static void count_frame(struct tally *tally, const struct fftd *camera,
                        const struct fftd_frame *frame)
{
    const uint64_t sum = fftd_frame_checksum(frame);
    if (!fftd_frame_valid(camera, frame))
        tally->torn++;
    else if ((frame->flags & FFTD_FLAG_CHECKSUM) == 0)
        tally->unchecked++;
    else if (sum != frame->checksum)
        tally->corrupt++;

    if (tally->frames == 0)
        tally->first_ns = frame->captured_ns;
    else if (frame->sequence <= tally->last_sequence)
        tally->backwards++;
    else
        tally->missed += frame->sequence - tally->last_sequence - 1;
    /* A daemon that takes over counts the source's frames, and its filters, from the start. */
    const bool same_life = is_last(&tally->epochs, fftd_epoch(camera));
    const uint64_t serial =
        tally->serials.count > 0 ? tally->serials.value[tally->serials.count - 1] : 0;
    if (same_life) {
        tally->source_lost += frame->source_sequence - tally->last_source - 1;
        tally->backwards += frame->filter_serial < serial;
    }
    tally->frames++;
    tally->last_sequence = frame->sequence;
    tally->last_source = frame->source_sequence;
    tally->last_ns = frame->captured_ns;
    const int64_t latency_ns = frame->published_ns - frame->captured_ns;
    if (latency_ns > tally->worst_latency_ns)
        tally->worst_latency_ns = latency_ns;
    count_value(&tally->serials, frame->filter_serial);
    count_value(&tally->epochs, fftd_epoch(camera));
    count_value(&tally->widths, frame->format->width);
    count_value(&tally->heights, frame->format->height);
}

static void print_values(const char *name, const struct values *values)
{
    printf(", \"%s\": [", name);
    for (unsigned i = 0; i < values->count; i++)
        printf("%s%" PRIu64, i > 0 ? ", " : "", values->value[i]);
    printf("]");
}

static void print(const struct tally *tally)
{
    printf("{\"frames\": %" PRIu64 ", \"missed\": %" PRIu64 ", \"torn\": %" PRIu64
           ", \"corrupt\": %" PRIu64 ", \"unchecked\": %" PRIu64 ", \"source_lost\": %" PRIu64
           ", \"backwards\": %" PRIu64 ", \"seconds\": %.3f, \"worst_latency_ms\": %.3f"
           ", \"longest_gap_ms\": %.1f",
           tally->frames, tally->missed, tally->torn, tally->corrupt, tally->unchecked,
           tally->source_lost, tally->backwards, (double)(tally->last_ns - tally->first_ns) / 1e9,
           (double)tally->worst_latency_ns / 1e6, (double)tally->longest_gap_ns / 1e6);
    print_values("serials", &tally->serials);
    print_values("epochs", &tally->epochs);
    print_values("widths", &tally->widths);
    print_values("heights", &tally->heights);
    print_values("states", &tally->states);
    printf("}\n");
}

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: watch CAMERA FRAMES SECONDS\n");
        return 64;
    }
    const uint64_t wanted = strtoull(argv[2], NULL, 10);
    const int64_t deadline_ns = now_ns() + strtoll(argv[3], NULL, 10) * 1000000000;

    struct fftd *camera;
    int r = fftd_open(&camera, argv[1]);
    if (r < 0) {
        fprintf(stderr, "watch: %s: %s\n", argv[1], strerror(-r));
        return 1;
    }
    struct tally tally = {0};
    signal(SIGTERM, on_signal);
    while (tally.frames < wanted && now_ns() < deadline_ns && !told_to_end) {
        /* The newest one first: the oldest in the ring is about to be overwritten. */
        struct fftd_frame frame;
        count_value(&tally.states, (uint64_t)fftd_state(camera));
        r = tally.frames == 0 ? fftd_frame(camera, &frame) : fftd_next(camera, &frame);
        if (r == 0) {
            count_gap(&tally);
            count_frame(&tally, camera, &frame);
        } else {
            fftd_wait(camera, 100); /* which says nothing of a change of state alone */
        }
    }
    fftd_close(camera);
    print(&tally);
    return tally.frames < wanted;
}
