/* Reads several cameras in one poll() loop, as a program with an event loop would.
 *
 *     cc poll_reader.c $(pkg-config --cflags --libs libfftd) && ./a.out front rear */
#include <fftd/fftd.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define MAX_CAMERAS 8

static void take_frames(struct fftd *camera, const char *name)
{
    struct fftd_frame frame;
    /* A timeout of 0 handles the event that made the descriptor readable, and never blocks. */
    if (fftd_wait(camera, 0) != 1)
        return;
    while (fftd_next(camera, &frame) == 0)
        printf("%s: frame %" PRIu64 " with filter %" PRIu64 ", %.1f ms after capture\n", name,
               frame.sequence, frame.filter_serial,
               (double)(frame.published_ns - frame.captured_ns) / 1e6);
}

int main(int argc, char **argv)
{
    struct fftd *camera[MAX_CAMERAS];
    struct pollfd watched[MAX_CAMERAS];
    int count = 0;

    for (; count < argc - 1 && count < MAX_CAMERAS; count++) {
        int r = fftd_open(&camera[count], argv[count + 1]);
        if (r < 0) {
            fprintf(stderr, "poll_reader: %s: %s\n", argv[count + 1], strerror(-r));
            break;
        }
        watched[count] = (struct pollfd){.fd = fftd_fd(camera[count]), .events = POLLIN};
    }
    /* The library attaches again automatically when a daemon is restarted. */
    while (count == argc - 1 && count > 0 && poll(watched, (nfds_t)count, -1) >= 0)
        for (int i = 0; i < count; i++)
            if (watched[i].revents != 0)
                take_frames(camera[i], argv[i + 1]);
    for (int i = 0; i < count; i++)
        fftd_close(camera[i]);
    return 1;
}
