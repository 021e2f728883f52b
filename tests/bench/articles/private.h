/* What the driver's own files know of the bench and of a pipeline. */
#ifndef FFTD_TESTS_BENCH_ARTICLES_PRIVATE_H
#define FFTD_TESTS_BENCH_ARTICLES_PRIVATE_H

#include "articles.h"

#define MAX_OWNED   80
#define MAX_SAMPLES 512

struct bench {
    struct gpu_device *device;
    cl_command_queue queue; /* in order */
    cl_mem counters;        /* two uint: bytes read and bytes written */
    void *json;             /* FILE *; NULL: nothing is written */
    double seconds;         /* to time each group */
    bool quick, small;      /* as main.c describes; with neither, pipelines are timed */
    const char *group;      /* what the names of measured groups begin with */
    char machine[160], date[16];
    unsigned wrong; /* pipelines whose result is not right */
};

struct step {
    cl_kernel kernel; /* NULL: a call */
    struct shape shape;
    cl_uint rows; /* launches, each with the row's index as its offset in dimension 1 */
    int (*call)(void *context, struct error *why);
    void (*close)(void *context);
    void *context;
};

/* (fields: steps, what they own, the result, and what was measured of them.) */
struct pipeline {
    struct group *group;
    char name[96];
    bool refused;
    struct error why;
    struct step *step;
    unsigned step_count, more_dispatches; /* more: launches of calls */
    cl_mem buffer[MAX_OWNED];
    unsigned buffer_count;
    void *memory[MAX_OWNED];
    unsigned memory_count;
    enum result_kind result_kind;
    cl_mem result;
    const float *host_result;
    size_t result_count, result_width, result_pitch; /* width 0: no rows */
    const double *expected;
    double error_limit, error;
    double equal, psnr; /* share of bytes that are the rounded expected ones; NAN: no bytes, none */
    char *differences;  /* of bytes; NULL: none, or too many (note_bytes in pipeline.c) */
    double read_bytes, written_bytes; /* a frame, counted; NAN: not counted */
    double moved_bytes;               /* both, from arithmetic; NAN: unknown */
    double samples_ms[MAX_SAMPLES];
    unsigned sample_count;
    double fastest_ms;
};

/* Returns whether the options ask for a group. */
bool bench_wants(const struct bench *bench, const struct group_head *head);

int pipeline_run(struct pipeline *p, unsigned frames, struct error *why);
int pipeline_validate(struct pipeline *p, struct error *why);
unsigned pipeline_dispatches(const struct pipeline *p);
void pipeline_free(struct pipeline *p);
void pipeline_programs_release(void);

#endif
