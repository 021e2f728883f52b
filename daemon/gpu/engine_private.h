/* What the files behind engine.h share: engine.c (frames in flight), component.c (what is filtered,
 * and by which transform and response), memory.c (frames that are where kernels read them). */
#ifndef FFTD_GPU_ENGINE_PRIVATE_H
#define FFTD_GPU_ENGINE_PRIVATE_H

#include <pthread.h>

#include "gpu/engine.h"
#include "gpu/opencl.h"
#include "gpu/transform.h"
#include "gpu/tuner.h"

#define MAX_COMPONENTS 3

/* What goes through the same dispatches: luma, or colours alike. */
struct component {
    struct tuner_subject subject;
    struct transform *transform;
    bool tuned;          /* the settings were found by measuring */
    double sub_x, sub_y; /* luma pixels a sample */
    cl_mem response;     /* the one new frames get */
};

/* A frame under way. Its queue is in order and its own, so that frames overlap as the device
 * likes; a device without memory of its own maps `in` and `out`, another copies from and to pinned
 * memory. */
struct slot {
    struct engine *engine;
    cl_command_queue queue;
    struct transform_frame *frame[MAX_COMPONENTS];
    cl_mem in, out;           /* what kernels read, but for frames in frame_memory, and write */
    cl_mem host_in, host_out; /* pinned memory; NULL on unified memory */
    void *host_in_at, *host_out_at;
    void *mapped_out; /* unified: while the result is there to be read */
    cl_event first, last, done;
    struct engine_job job;
    struct engine_done result;
    bool complete; /* under the engine's mutex, as the next two */
    cl_int status;
    int64_t finished_ns;
};

struct engine {
    struct gpu_device *device;
    struct engine_options options;
    struct fftd_format format;      /* of frames that go out */
    struct fftd_format source;      /* of frames that come in, as kernels read them */
    const struct format_info *info; /* about `source` */
    size_t source_bytes;            /* of the leading part of a frame that is filtered */
    size_t frame_bytes;             /* of that part of the result */
    unsigned filtered_planes;       /* planes 0 .. this - 1 go through the device */
    struct component component[MAX_COMPONENTS];
    unsigned component_count;
    struct slot slot[ENGINE_MAX_IN_FLIGHT];
    unsigned oldest, in_flight;
    uint64_t serial;
    int event_fd;
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    double support_px;
    char description[256];
    struct error warning;
};

struct engine_response {
    cl_mem buffer[MAX_COMPONENTS];
};

/* Plans and builds a transform for every component that is filtered. */
int engine_make_components(struct engine *engine, double support_px, const char *cache_dir,
                           struct error *why);
void engine_release_components(struct engine *engine);

/* Gives a frame to the commands that follow in the queue, *ret is what they read, and, behind them,
 * back to its source. */
int engine_memory_lend(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                       cl_mem *ret, struct error *why);
int engine_memory_return(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                         struct error *why);

/* Fills engine->description. */
void engine_describe(struct engine *engine);

#endif
