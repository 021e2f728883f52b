/* One side of the ring, to be built for two machines and crossed:
 *
 *     peer serve DIRECTORY    serves a ring, publishes a frame every 5 ms until its input ends
 *     peer read DIRECTORY     reads 50 frames, holding each third; exits 0 if all were as published
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/frames.h"

#include "fftd/fftd.h"

#define NV12           FFTD_FOURCC('N', 'V', '1', '2')
#define FRAMES         50
/* Beyond 32 bits, so that a number cut short somewhere shows. */
#define FIRST_SEQUENCE (UINT64_C(1) << 40)

static int serve(const char *dir)
{
    struct frames frames;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct ring *ring = frames_ring(NV12, 322, 182, 8, 3, FIRST_SEQUENCE);
    frames_start(&frames, dir, 4);
    ring_set_state(ring, FFTD_STATE_LIVE, 1);
    frames_set_ring(&frames, ring);
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 5) == 0)
        frames_publish(ring);
    frames_stop(&frames);
    ring_destroy(ring);
    return 0;
}

static const char *look_at(struct fftd *camera, unsigned n)
{
    struct fftd_frame frame;
    if (fftd_wait(camera, 5000) != 1 || fftd_frame(camera, &frame) < 0)
        return "no frame came";
    if (n % 3 == 0 && fftd_hold(camera, &frame) < 0)
        return "a frame could not be held";
    if (frame.sequence < FIRST_SEQUENCE || frame.filter_serial != frame.sequence * 10 ||
        frame.source_sequence != frame.sequence + 1000 || frame.finished_ns != 4 ||
        frame.format->width != 322 || frame.plane[1] != frame.plane[0] + 322 * 182)
        return "a frame's description is not what was published";
    struct fftd_measures expected, measures = {0};
    const int measured = fftd_frame_measures(camera, &frame, &measures);
    if (frames_measures(frame.sequence, &expected) ? measured == -ENODATA : measured != -ENODATA)
        return "a frame has measures, and should have none, or the other way round";
    /* Bytes, because some of the numbers are NaN. */
    const void *const seen = &measures, *const right = &expected;
    if (measured == 0 && memcmp(seen, right, sizeof measures) != 0)
        return "a frame's measures are not what was published";
    if (n % 3 == 0)
        poll(NULL, 0, 60); /* longer than the ring would keep it */
    bool whole = frames_match(frame.format, frame.plane[0], frame.sequence);
    if (fftd_frame_valid(camera, &frame) ? !whole : n % 3 == 0)
        return "a frame is not what was published";
    if (n % 3 == 0 && fftd_release(camera, &frame) < 0)
        return "a frame could not be released";
    return NULL;
}

static int read_frames(const char *dir)
{
    struct fftd *camera;
    const char *complaint = NULL;
    if (fftd_open(&camera, dir) < 0)
        complaint = "the camera could not be opened";
    for (unsigned n = 0; n < FRAMES && complaint == NULL; n++)
        complaint = look_at(camera, n);
    if (complaint == NULL && fftd_state(camera) != FFTD_STATE_LIVE)
        complaint = "the state is not what was published";
    if (complaint != NULL)
        printf("# %s\n", complaint);
    return complaint != NULL;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2]);
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        return read_frames(argv[2]);
    fprintf(stderr, "peer: expected serve DIRECTORY or read DIRECTORY\n");
    return 64;
}
