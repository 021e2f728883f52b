/* Declarations shared by the files behind engine.h: engine.c (the engine and its slots), submit.c
 * (frames in flight), component.c (components, their transforms and responses), memory.c (frames in
 * memory shared with a source). */
#ifndef FFTD_GPU_ENGINE_PRIVATE_H
#define FFTD_GPU_ENGINE_PRIVATE_H

#include <pthread.h>

#include "gpu/corrector.h"
#include "gpu/engine.h"
#include "gpu/device_private.h"
#include "gpu/transform.h"
#include "gpu/tuner.h"

#define MAX_COMPONENTS 3

/* The images that share dispatches: luma, or colours of the same shape. The first component is
 * luma, or all colours, and the only one that is corrected or calibrated. */
struct component {
    struct tuner_subject subject;
    struct transform *transform;
    bool tuned;          /* the settings were found by measuring */
    double sub_x, sub_y; /* luma pixels per sample */
    cl_mem response;     /* for new frames */
};

/* A frame in flight. Each slot has its own in-order queue, so that the device can overlap frames.
 * With unified memory the host maps `in` and `out`; otherwise it copies through pinned memory. */
struct slot {
    struct engine *engine;
    cl_command_queue queue;
    struct transform_frame *frame[MAX_COMPONENTS];
    cl_mem in, out; /* read and written by kernels; `in` is unused for frames in frame_memory */
    cl_mem host_in, host_out; /* pinned memory; NULL on unified memory */
    void *host_in_at, *host_out_at;
    struct corrector *corrector; /* of the first component; NULL: none */
    void *mapped_out;            /* unified memory: the mapped result */
    cl_event first, last, done;
    struct engine_job job;
    struct engine_done result;
    bool complete; /* under the engine's mutex, like the next two */
    cl_int status;
    int64_t finished_ns;
};

struct engine {
    struct gpu_device *device;
    struct engine_options options;
    struct fftd_format format;      /* of output frames */
    struct fftd_format source;      /* of input frames, as kernels read them */
    const struct format_info *info; /* about `source` */
    size_t source_bytes;      /* of the leading planes of an input frame, which are filtered */
    size_t frame_bytes;       /* of the same planes of the result */
    unsigned filtered_planes; /* planes 0 .. this - 1 go through the device */
    struct component component[MAX_COMPONENTS];
    unsigned component_count;
    struct slot slot[ENGINE_MAX_IN_FLIGHT];
    unsigned oldest, in_flight;
    struct {
        uint64_t serial;
        struct fade *fade;  /* into component.response; NULL: none */
        cl_mem calibration; /* the table of the first component; NULL: none */
    } filter;               /* of new frames */
    int event_fd;
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    double support_px;
    char description[256];
    struct error warning;
};

struct engine_response {
    cl_mem buffer[MAX_COMPONENTS];
    cl_mem calibration; /* NULL: the engine has none */
    struct fade *fade;  /* with which it comes into use; NULL: at once */
};

/* Plans and builds a transform for every component that is filtered. */
int engine_make_components(struct engine *engine, double support_px, const char *cache_dir,
                           const struct engine_observer *observer, struct error *why);
void engine_release_components(struct engine *engine);

/* Lends a frame to the commands that follow in the queue, which read *ret. After them the frame
 * returns to its source. */
int engine_memory_lend(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                       cl_mem *ret, struct error *why);
int engine_memory_return(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                         struct error *why);

/* Fills engine->description. */
void engine_describe(struct engine *engine);

#endif
