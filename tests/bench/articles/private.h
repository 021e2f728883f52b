/* What the driver's own files know of the bench and of a pipeline. */
#ifndef FFTD_TESTS_BENCH_ARTICLES_PRIVATE_H
#define FFTD_TESTS_BENCH_ARTICLES_PRIVATE_H

#include "articles.h"

#define MAX_OWNED   80
#define MAX_SAMPLES 256
#define MAX_CHECKS  2

struct bench {
    struct gpu_device *device;
    cl_command_queue queue; /* in order */
    cl_mem counters;        /* two uint: bytes read and bytes written */
    void *json;             /* FILE *; NULL: nothing is written */
    double seconds;         /* to time each group, if 15 turns take less */
    enum sizes sizes;
    bool untimed, simulated;   /* as main.c describes */
    const char *group;         /* what the names of measured groups begin with */
    const char *kernels;       /* a folder with kernel files; NULL: those that were built in */
    unsigned measured, failed; /* groups, and pipelines */
};

enum state { STATE_OK, STATE_REFUSED, STATE_FAILED };

/* What a buffer holds after the first `after` steps. */
struct result {
    enum result_kind kind;
    cl_mem buffer;
    const float *host;          /* instead of a buffer */
    size_t count, width, pitch; /* width 0: no rows */
    const double *expected;
    double limit;
    unsigned after;
};

struct step {
    cl_kernel kernel; /* NULL: a call */
    struct shape shape;
    cl_uint rows; /* launches, each with the row's index as its offset in dimension 1 */
    int (*call)(void *context, struct error *why);
    void (*close)(void *context);
    void *context;
};

/* (fields: steps, what they own, the results, and what was measured of them.) */
struct pipeline {
    struct group *group;
    char name[96];
    enum state state;
    struct error why;
    struct step *step;
    unsigned step_count, more_dispatches; /* more: launches of calls */
    cl_mem buffer[MAX_OWNED];
    unsigned buffer_count;
    void *memory[MAX_OWNED];
    unsigned memory_count;
    struct result result, check[MAX_CHECKS];
    unsigned check_count;
    double error;      /* of the result; NAN: not compared */
    double equal;      /* share of bytes that are the rounded expected ones; NAN: no bytes */
    char *differences; /* of bytes; NULL: none, or too many (note_bytes in pipeline.c) */
    double read_bytes, written_bytes; /* a frame, counted; NAN: not counted */
    double moved_bytes;               /* both, from arithmetic; NAN: unknown */
    double
        samples_ms[MAX_SAMPLES]; /* of each turn: equal indices of a group's pipelines are pairs */
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
