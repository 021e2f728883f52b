/* Recordings that are written frame by frame: Y4M and raw frames into a file or a pipe, and what
 * the program ffmpeg writes.
 *
 * A file grows under the name OUT.part, and gets its own when it is complete. Y4M and raw frames
 * can be continued there after the program was killed. */
#ifndef FFTD_RECORDING_RECORDING_H
#define FFTD_RECORDING_RECORDING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/output.h"
#include "pictures/pixels.h"
#include "pictures/y4m.h"

enum recording_kind {
    RECORDING_Y4M,
    RECORDING_RAW,
    RECORDING_VIDEO,    /* by ffmpeg */
    RECORDING_PICTURES, /* by ffmpeg: a file for each frame, whose names are not changed */
};

struct recording_writer {
    const char *path; /* the caller's; "-" is standard output */
    bool is_stream;   /* it is written into, and cannot be renamed */
    enum recording_kind kind;
    const char *muxer;     /* RECORDING_VIDEO: its name in ffmpeg */
    bool is_exact;         /* by ffmpeg: no bit is lost */
    uint64_t first_number; /* RECORDING_PICTURES: of the first one; 0 unless the caller sets it */
    char part[PATH_MAX];
    struct output_file to;     /* while there is a file to be written */
    pid_t encoder;             /* 0: none */
    FILE *file;                /* where frames go */
    struct fftd_format format; /* what frames have; fourcc 0 before the first one */
    struct y4m_shape shape;    /* the usual one unless the caller sets it */
    uint8_t *row;
    size_t header_bytes, frame_bytes; /* for RECORDING_Y4M and RECORDING_RAW */
    uint64_t count;                   /* frames in it */
    uint64_t finished;                /* written before it was continued */
    char why[400];                    /* says what failed */
};

/* Looks at the name of a recording. -EINVAL: there is no such kind of file; -EPERM: this kind
 * cannot be continued, but was to be. */
int recording_init(struct recording_writer *ret, const char *path, bool raw, bool resume);

/* Returns whether a program that was killed has left a partial file. */
bool recording_is_begun(const struct recording_writer *recording);

/* Finds how many whole frames are in it, which have these sizes, and keeps on writing behind them.
 */
int recording_resume(struct recording_writer *recording, size_t header_bytes, size_t frame_bytes);

/* Creates the file for frames of this format, or continues it after recording_resume. -ENOPKG:
 * ffmpeg is needed and not installed; otherwise -errno. */
int recording_begin(struct recording_writer *recording, const struct fftd_format *format);

/* Writes a frame. -EPIPE: the reader of the stream has left. */
int recording_write(struct recording_writer *recording, const struct pixels *pixels);

/* Completes the file, or with `keep` leaves what there is for another time. Returns the first
 * error. */
int recording_finish(struct recording_writer *recording, bool keep);

#endif
