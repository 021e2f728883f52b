/* Prints a line for each frame of a camera.
 *
 *     cc reader.c $(pkg-config --cflags --libs libfftd) && ./a.out [NAME | RUNTIME-DIRECTORY] */
#include <fftd/fftd.h>

#include <inttypes.h>
#include <stdio.h>

/* A placeholder for real work on the image. */
static unsigned mean_of_first_plane(const struct fftd_frame *frame)
{
    const struct fftd_plane *plane = &frame->format->plane[0];
    uint64_t sum = 0, count = (uint64_t)plane->rows * plane->row_bytes;
    for (uint32_t row = 0; row < plane->rows; row++)
        for (uint32_t i = 0; i < plane->row_bytes; i++)
            sum += frame->plane[0][(size_t)row * frame->stride[0] + i];
    return count > 0 ? (unsigned)(sum / count) : 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "default";
    char why[256];
    struct fftd *camera;
    int r = fftd_open(&camera, name);
    if (r < 0) {
        fftd_explain(name, r, why, sizeof why);
        fprintf(stderr, "reader: cannot open the camera: %s\n", why);
        return 1;
    }
    while ((r = fftd_wait(camera, 5000)) >= 0) {
        struct fftd_frame frame;
        if (r == 0 || fftd_frame(camera, &frame) < 0)
            continue;
        unsigned mean = mean_of_first_plane(&frame);
        if (!fftd_frame_valid(camera, &frame))
            continue; /* overwritten during the sum, which then covers two frames */
        printf("frame %" PRIu64 ": %ux%u, mean %u, %" PRIu64 " missed\n", frame.sequence,
               frame.format->width, frame.format->height, mean, frame.missed);
    }
    fftd_explain(name, r, why, sizeof why);
    fprintf(stderr, "reader: lost the camera: %s\n", why);
    fftd_close(camera);
    return 1;
}
