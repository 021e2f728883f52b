/* The bench of the FFT engine beside its peers: what the harness (fft.c) and each subject
 * (peer_*.c) know of each other.
 *
 * A subject filters one frame, over and over: forward transform, product with a real response,
 * inverse transform; "pairs" do two frames in the same dispatches, and all figures are still of
 * one. fftd does its whole job, from an 8-bit frame to an 8-bit frame, border included; the others
 * get floats, and give floats, and wrap around. All data stays on the device. A camera's frames
 * come one by one, so each is handed to the device as soon as it is enqueued. Threads: one. */
#ifndef FFTD_TESTS_BENCH_FFT_H
#define FFTD_TESTS_BENCH_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/opencl.h"

/* What all subjects get at one size. */
struct scene {
    const struct gpu_device *device;
    cl_command_queue queue; /* in order */
    uint32_t width, height;
    const uint8_t *pixels; /* width x height */
    const float *samples;  /* the same, as floats */
    /* H / (width height) at the frequencies of an unpadded transform: response[v][u],
     * u = 0 .. width / 2, v = 0 .. height - 1. */
    const float *response;
};

/* What was found out about a subject while it was set up or run. */
struct cost {
    uint32_t padded_x, padded_y; /* the transform's own size: where its result wraps around */
    unsigned frames;             /* that one enqueue does */
    double bytes_per_pixel;      /* main memory, read and written; NAN: not known */
    unsigned dispatches;         /* of one enqueue; 0: to be counted by the harness, at OpenCL */
    /* How often the response is read, in bytes a coefficient, by a subject whose traffic follows
     * from its dispatches (fft_pass_traffic); 0: it does not. */
    unsigned response_bytes;
};

struct subject {
    const char *name;
    unsigned variant; /* the peer's own business */
    bool eight_bits;  /* gives pixels, not floats: its error is counted in their units */
    double error_limit;
};

/* A library, or fftd, or the articles: one file each. Every function returns 0 or -errno and says
 * why; `state` is the peer's own. */
struct peer {
    const char *name;
    void (*version)(char *text, size_t size);
    const struct subject *subjects;
    unsigned subject_count;
    /* -ENOTSUP: it does not do this size. Fills in what it knows of *cost, which is 0 but for the
     * padded size, which is the frame's, and frames, which is 1. */
    int (*open)(void **ret, const struct subject *subject, const struct scene *scene,
                struct cost *cost, struct error *why);
    int (*enqueue)(void *state, struct error *why); /* one frame, or a pair, and submits it */
    int (*finish)(void *state, struct error *why);  /* waits for all that were enqueued */
    int (*read)(void *state, float *result,
                struct error *why); /* the last frame's width x height */
    void (*close)(void *state);     /* takes NULL, too */
};

/* ---- fft_opencl.c: what those on OpenCL share ---- */

/* A buffer on the device, with `data` in it unless that is NULL. */
int fft_buffer(cl_mem *ret, const struct scene *scene, size_t size, const void *data,
               struct error *why);
void fft_buffer_release(cl_mem buffer); /* takes NULL, too */

/* Builds one of the bench's own kernel files and takes a kernel from it; buffers are its first
 * arguments. */
int fft_program(cl_program *ret, const struct scene *scene, const char *file, const char *options,
                struct error *why);
int fft_kernel(cl_kernel *ret, cl_program program, const char *name, const cl_mem *buffers,
               unsigned count, struct error *why);

/* Hands what is in the queue to the device: the last that every enqueue does, unless frames are to
 * pile up until somebody waits for them. */
int fft_submit(cl_command_queue queue, struct error *why);
void fft_let_frames_pile_up(void);

int fft_finish(const struct scene *scene, struct error *why);

/* The product with the response, for libraries that do not do it: coefficients interleaved, in the
 * order of scene->response. */
struct product {
    const struct scene *scene;
    cl_program program;
    cl_kernel kernel;
    cl_mem response;
};
int fft_product_open(struct product *ret, const struct scene *scene, cl_mem spectrum,
                     struct error *why);
int fft_product_enqueue(const struct product *product, struct error *why);
void fft_product_close(struct product *product);

/* Kernels any part of this program, or any library it uses, has enqueued so far. */
unsigned fft_dispatches_so_far(void);

/* Bytes a pixel of so many passes over half a spectrum, each of which reads it once and writes
 * it once, but for the first, which reads samples, and the last, which writes them. */
double fft_pass_traffic(const struct scene *scene, unsigned passes, unsigned response_bytes);

/* ---- fft_measure.c: a subject's row ---- */

enum row_state { ROW_OK, ROW_REFUSED, ROW_WRONG, ROW_FAILED };
enum row_mode { ONE_AT_A_TIME, IN_FLIGHT, MODE_COUNT };

#define ROW_MAX_SAMPLES 1024

struct row {
    const struct peer *peer;
    const struct subject *subject;
    enum row_state state;
    struct error why; /* unless ROW_OK */
    void *run;
    struct cost cost;
    double error;      /* against the oracle: largest, in units of a pixel, or relative L2 */
    double fastest_ms; /* of an enqueue on its own so far: what to expect */
    double spent_ms;   /* on all of its turns */
    unsigned in_flight;
    double samples_ms[MODE_COUNT][ROW_MAX_SAMPLES];
    unsigned sample_count[MODE_COUNT];
    double ms[MODE_COUNT]; /* medians, of a frame */
};

#define IN_FLIGHT_FRAMES 64

/* Sets the subject up and compares its frame with the oracle's; fills in all of the row but the
 * times. */
void fft_row_open(struct row *row, const struct scene *scene);
void fft_row_close(struct row *row);

/* Times the rows which are ROW_OK, by turns, for about so long. */
void fft_measure(struct row *rows, unsigned count, double seconds);

/* ---- fft_report.c ---- */

struct report_head {
    const char *device, *machine;
    double load;
};

void fft_report_text(const struct report_head *head, const struct scene *scene,
                     const struct row *rows, unsigned count);
/* One JSON object a row and mode, one a line, appended to a FILE *. */
void fft_report_json(void *stdio_file, const struct report_head *head, const struct scene *scene,
                     const struct row *rows, unsigned count);

/* ---- fft_oracle.c ---- */

/* The chain that is filtered with, and what it should give: see there. */
extern const char fft_chain[];
int fft_oracle(double *result, const struct scene *scene, const struct cost *cost,
               struct error *why);

#endif
