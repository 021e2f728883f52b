/* The benchmark of the FFT engine and its peers: the interface between the harness (fft.c) and each
 * subject (peer_*.c).
 *
 * A subject filters one frame repeatedly: forward transform, product with a real response, inverse
 * transform. "pairs" filter two frames in the same dispatches, but all figures are per frame. fftd
 * does its complete task from 8-bit frame to 8-bit frame, including the border. The others take and
 * return floats and wrap around. All data stays on the device. Each frame is submitted as soon as
 * it is enqueued, because a camera delivers frames one by one. There is one thread. */
#ifndef FFTD_TESTS_BENCH_FFT_H
#define FFTD_TESTS_BENCH_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/device_private.h"

/* The input of all subjects at one size. */
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

/* The costs of a subject, determined while it is set up or run. */
struct cost {
    uint32_t padded_x, padded_y; /* size of the transform, at which its result wraps around */
    unsigned frames;             /* per enqueue */
    double bytes_per_pixel;      /* read and written in main memory; NAN: unknown */
    unsigned dispatches;         /* per enqueue; 0: the harness counts OpenCL launches */
    /* How often the response is read, in bytes a coefficient, by a subject whose traffic follows
     * from its dispatches (fft_pass_traffic); 0: it does not. */
    unsigned response_bytes;
};

struct subject {
    const char *name;
    unsigned variant; /* meaning defined by the peer */
    bool eight_bits;  /* returns pixels instead of floats; the error is in units of a pixel */
    double error_limit;
};

/* A library, fftd, or the articles; each has one file. Every function returns 0, or -errno with the
 * reason. Only the peer uses `state`. */
struct peer {
    const char *name;
    void (*version)(char *text, size_t size);
    const struct subject *subjects;
    unsigned subject_count;
    /* -ENOTSUP: the size is not supported. Fills in the known fields of *cost. Initially the padded
     * size is that of the frame, `frames` is 1, and all else is 0. */
    int (*open)(void **ret, const struct subject *subject, const struct scene *scene,
                struct cost *cost, struct error *why);
    int (*enqueue)(void *state, struct error *why); /* enqueues and submits a frame or a pair */
    int (*finish)(void *state, struct error *why);  /* waits for all enqueued frames */
    int (*read)(void *state, float *result,
                struct error *why); /* the last frame's width x height */
    void (*close)(void *state);     /* NULL is allowed */
};

/* ---- fft_opencl.c: functions for OpenCL subjects ---- */

/* Creates a device buffer with a copy of `data`, unless that is NULL. */
int fft_buffer(cl_mem *ret, const struct scene *scene, size_t size, const void *data,
               struct error *why);
void fft_buffer_release(cl_mem buffer); /* NULL is allowed */

/* Builds one of the benchmark's kernel files and creates a kernel from it. The buffers are its
 * first arguments. */
int fft_program(cl_program *ret, const struct scene *scene, const char *file, const char *options,
                struct error *why);
int fft_kernel(cl_kernel *ret, cl_program program, const char *name, const cl_mem *buffers,
               unsigned count, struct error *why);

/* Submits the queue's commands to the device. Every enqueue ends with it, except with --pile-up,
 * which submits only the last frame. */
int fft_submit(cl_command_queue queue, struct error *why);
void fft_let_frames_pile_up(void);

int fft_finish(const struct scene *scene, struct error *why);

/* The product with the response, for libraries without one. Coefficients are interleaved in the
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

/* Returns the number of kernels that this program and its libraries have enqueued so far. */
unsigned fft_dispatches_so_far(void);

/* Returns the bytes per pixel of `passes` passes over half a spectrum. Each pass reads and writes
 * it once, but the first one reads samples, and the last one writes samples. */
double fft_pass_traffic(const struct scene *scene, unsigned passes, unsigned response_bytes);

/* ---- fft_measure.c: a subject's row ---- */

enum row_state { ROW_OK, ROW_REFUSED, ROW_WRONG, ROW_FAILED };
enum row_mode { ONE_AT_A_TIME, IN_FLIGHT, MODE_COUNT };

#define ROW_MAX_SAMPLES 1024

struct row {
    const struct peer *peer;
    const struct subject *subject;
    enum row_state state;
    struct error why; /* set unless ROW_OK */
    void *run;
    struct cost cost;
    double error;      /* from the oracle: largest, in units of a pixel, or relative L2 */
    double fastest_ms; /* of a single enqueue so far; predicts the next ones */
    double spent_ms;   /* in all turns */
    unsigned in_flight;
    double samples_ms[MODE_COUNT][ROW_MAX_SAMPLES];
    unsigned sample_count[MODE_COUNT];
    double ms[MODE_COUNT]; /* medians per frame */
};

#define IN_FLIGHT_FRAMES 64

/* Sets the subject up and compares its frame with the oracle's. Fills in the row except the times.
 */
void fft_row_open(struct row *row, const struct scene *scene);
void fft_row_close(struct row *row);

/* Times the rows that are ROW_OK, in turns, for about `seconds`. */
void fft_measure(struct row *rows, unsigned count, double seconds);

/* ---- fft_report.c ---- */

struct report_head {
    const char *device, *machine;
    double load;
};

void fft_report_text(const struct report_head *head, const struct scene *scene,
                     const struct row *rows, unsigned count);
/* Appends one line with a JSON object for each row and mode to a FILE *. */
void fft_report_json(void *stdio_file, const struct report_head *head, const struct scene *scene,
                     const struct row *rows, unsigned count);

/* ---- fft_oracle.c ---- */

/* The filter chain and its expected result; see fft_oracle.c. */
extern const char fft_chain[];
int fft_oracle(double *result, const struct scene *scene, const struct cost *cost,
               struct error *why);

#endif
