/* Recordings that are read frame by frame: Y4M and raw frames from a file or a pipe, and whatever
 * the program ffmpeg can read. */
#ifndef FFTD_RECORDING_INPUT_H
#define FFTD_RECORDING_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <fftd/formats.h>
#include <fftd/ring.h>

#include "pictures/y4m.h"

#define INPUT_WHY_BYTES 640
#define INPUT_LINE      1024

struct input {
    const char *path; /* the caller's; "-" is standard input */
    FILE *file;
    int fd;                    /* the file, while its deadlines are watched */
    int patience_ms;           /* see struct input_request */
    int64_t deadline_ns;       /* for the header, or the frame, that is being read */
    pid_t decoder;             /* ffmpeg; 0: none */
    char header[INPUT_LINE];   /* the line of a Y4M stream; empty: raw frames */
    struct fftd_format format; /* what frames have, without gaps between rows; rate 0/1: unknown */
    struct y4m_shape shape;    /* the usual one if the recording does not say */
    uint64_t total;            /* frames, as far as it is known; 0: it is not */
    double seconds;            /* that it lasts, as far as ffprobe knows; 0: it is not known */
    uint64_t count;            /* frames read */
    uint64_t first_number;     /* a sequence of pictures begins with it; otherwise 0 */
    char notice[160];          /* what ffmpeg has to change, in words; empty: nothing */
    char why[INPUT_WHY_BYTES]; /* says what failed */
};

/* How raw frames are laid out; width 0: the recording says so itself. */
struct input_request {
    uint32_t width, height;
    const struct fftd_pixel_format *layout;
    uint32_t rate_num, rate_den; /* frames a second; 0/1: unknown */
    int patience_ms; /* for each frame of a recording that must be Y4M; 0: waits for ever */
};

/* Reads two numbers with a character between them, as in 640x480. False: the text is something
 * else. */
bool input_parse_pair(const char *text, char between, uint32_t *ret_first, uint32_t *ret_second);

/* Opens a recording, and reads its header. 0 or -errno with the reason in ret->why: -ENOENT,
 * -EINVAL: it cannot be read; -ENOPKG: ffmpeg is needed and not installed. input_close is called in
 * both cases. */
int input_open(struct input *ret, const char *path, const struct input_request *request);

/* Reads the next frame of format.frame_bytes bytes. 1, 0 at the end, -ENODATA: truncated, -EINVAL:
 * damaged, -ETIMEDOUT, or another error, with the reason in why. */
int input_read(struct input *input, uint8_t *frame);

/* Closes the file, and ends the decoder. */
void input_close(struct input *input);

/* Does the same in a process whose child reads on: the file's position is the child's, and the
 * decoder goes on. The caller waits for it or ends it (program.h). */
void input_leave(struct input *input);

#endif
