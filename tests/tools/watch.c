/* watch CAMERA FRAMES SECONDS: reads so many consecutive frames and checks each, or until it gives
 * up or gets SIGTERM.
 *
 * Prints one line of JSON: how many frames came, how many were missed in between, torn (overwritten
 * while they were read) or corrupt (their checksum does not fit), how many the source itself lost,
 * and which filters made them, in order. The exit code is 0 if all frames came, whatever was wrong
 * with them: judging is the caller's. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fftd/fftd.h>

#define MAX_SERIALS 64

struct tally {
    uint64_t frames, missed, torn, corrupt, unchecked, source_lost, backwards;
    uint64_t last_source, last_sequence;
    uint64_t serial[MAX_SERIALS];
    unsigned serials;
    int64_t first_ns, last_ns, worst_latency_ns;
};

static void count_serial(struct tally *tally, uint64_t serial)
{
    if (tally->serials > 0 && tally->serial[tally->serials - 1] == serial)
        return;
    if (tally->serials > 0 && tally->serial[tally->serials - 1] > serial)
        tally->backwards++;
    if (tally->serials < MAX_SERIALS)
        tally->serial[tally->serials++] = serial;
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
    else {
        tally->missed += frame->sequence - tally->last_sequence - 1;
        tally->source_lost += frame->source_sequence - tally->last_source - 1;
    }
    tally->frames++;
    tally->last_sequence = frame->sequence;
    tally->last_source = frame->source_sequence;
    tally->last_ns = frame->captured_ns;
    const int64_t latency_ns = frame->published_ns - frame->captured_ns;
    if (latency_ns > tally->worst_latency_ns)
        tally->worst_latency_ns = latency_ns;
    count_serial(tally, frame->filter_serial);
}

static void print(const struct tally *tally)
{
    printf("{\"frames\": %" PRIu64 ", \"missed\": %" PRIu64 ", \"torn\": %" PRIu64
           ", \"corrupt\": %" PRIu64 ", \"unchecked\": %" PRIu64 ", \"source_lost\": %" PRIu64
           ", \"backwards\": %" PRIu64 ", \"seconds\": %.3f, \"worst_latency_ms\": %.3f"
           ", \"serials\": [",
           tally->frames, tally->missed, tally->torn, tally->corrupt, tally->unchecked,
           tally->source_lost, tally->backwards, (double)(tally->last_ns - tally->first_ns) / 1e9,
           (double)tally->worst_latency_ns / 1e6);
    for (unsigned i = 0; i < tally->serials; i++)
        printf("%s%" PRIu64, i > 0 ? ", " : "", tally->serial[i]);
    printf("]}\n");
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
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
        r = tally.frames == 0 ? fftd_frame(camera, &frame) : fftd_next(camera, &frame);
        if (r == 0)
            count_frame(&tally, camera, &frame);
        else
            fftd_wait(camera, 1000);
    }
    fftd_close(camera);
    print(&tally);
    return tally.frames < wanted;
}
