/* Declarations shared by the files behind engine.h: engine.c (the engine and its slots), submit.c
 * (frames in flight), waiter.c (the thread that waits for them), component.c (what is filtered),
 * steps.c (the steps of a component), design.c (responses), memory.c (frames in memory shared with
 * a source), output.c (results in memory of the host). */
#ifndef FFTD_ENGINE_ENGINE_PRIVATE_H
#define FFTD_ENGINE_ENGINE_PRIVATE_H

#include <pthread.h>

#include "engine/chroma.h"
#include "engine/comparison.h"
#include "core/clock.h"
#include "engine/engine.h"
#include "engine/factor.h"
#include "engine/load.h"
#include "engine/step.h"
#include "engine/upload.h"
#include "gpu/device_private.h"
#include "transform/resampler.h"
#include "transform/transform.h"
#include "transform/tuner.h"

#define MAX_COMPONENTS 3

/* What engines of a camera share. */
struct engine_loads {
    pthread_mutex_t lock;
    struct transform_size size[ENGINE_MAX_LOAD_SIZES];
    unsigned size_count;
    struct load *first;
    unsigned made;    /* loads so far */
    unsigned changes; /* counts changes of who uses them */
    struct shared_chroma *chroma;
};

/* The images that share dispatches: luma, or colours of the same shape. The first component is
 * luma, or all colours, and the only one whose samples are corrected or calibrated. */
struct component {
    struct engine *engine;
    struct recipe recipe;
    struct tuner_subject subject;
    bool tuned;          /* the settings were found by measuring */
    double sub_x, sub_y; /* luma pixels per sample */
    struct component_step {
        void *part;
        struct transform_response data; /* for new frames */
    } step[ENGINE_MAX_STEPS];           /* in the order of engine_steps */
    struct load_use use;                /* its use of a load that other engines may use */
};

/* The part of step_transform, of whose plan others need to know. */
static inline struct transform *component_transform(const struct component *component)
{
    return component->step[TRANSFORM_STEP].part;
}

/* The events of a step's dispatches for a frame. */
struct step_times {
    cl_event first, last; /* NULL: the step had no kernel, or its time is not measured */
};

/* A frame in flight. Each slot has its own in-order queue, so that the device can overlap frames.
 * With unified memory the host maps `out`; otherwise it copies through pinned memory.
 * (fields: the device's and the host's memory of a frame, its commands, its job and result.) */
struct slot {
    struct engine *engine;
    cl_command_queue queue;
    void *frame[MAX_COMPONENTS][ENGINE_MAX_STEPS];
    struct step_times time[MAX_COMPONENTS][ENGINE_MAX_STEPS];
    struct upload upload;                   /* unused if every component has a load */
    struct load_slot *load[MAX_COMPONENTS]; /* NULL: none */
    cl_mem out;                             /* written by kernels */
    cl_mem host_out;                        /* pinned memory; NULL on unified memory */
    void *host_out_at;
    uint8_t *chroma;  /* smaller, waiting for the luma with which it alternates; else NULL */
    void *mapped_out; /* the result, if the host has it elsewhere than at host_out_at */
    cl_event first, last, done;
    cl_event dispatch[MAX_COMPONENTS * TRANSFORM_MAX_DISPATCHES]; /* if they are timed one by one */
    unsigned dispatch_count;                                      /* 0: they are not */
    int64_t accounted_ns; /* until when the time of the thread is in result.overhead */
    struct engine_job job;
    struct engine_done result;
    bool passed;   /* the host has copied the frame, and the device has nothing of it */
    bool complete; /* under the engine's mutex, like the next two */
    cl_int status;
    int64_t finished_ns;
};

/* The thread that waits for frames in flight, under the engine's mutex but for the first two. */
struct waiter {
    pthread_t thread;
    bool runs;
    pthread_cond_t work;        /* `submitted` or `stop` has changed */
    uint64_t submitted, waited; /* frames since the engine was created: the nth is in slot n modulo
                                   options.in_flight */
    bool stop;
};

/* (fields: what the engine is made of, its frames in flight, and their threads.) */
struct engine {
    struct gpu_device *device;
    struct engine_options options;
    struct fftd_format format;      /* what output frames have */
    struct fftd_format source;      /* what input frames have, as kernels read them */
    const struct format_info *info; /* about `source` */
    size_t source_bytes;            /* an input frame's device_planes */
    size_t frame_bytes;             /* the same planes in the result */
    unsigned filtered_planes;       /* planes 0 .. this - 1 are filtered */
    unsigned device_planes;         /* and these go through the device: all of them if it makes
                                       chroma smaller that is not filtered */
    bool may_pass;                  /* the result of a frame that nothing changes is the frame */
    bool may_multiply;              /* and the host may multiply it by a factor */
    struct component component[MAX_COMPONENTS];
    unsigned component_count;
    struct resampler *resampler;  /* makes unfiltered chroma smaller; NULL: there is none */
    struct shared_chroma *chroma; /* shared with other engines (upload.h); NULL: not shared */
    struct slot slot[ENGINE_MAX_IN_FLIGHT];
    unsigned oldest, in_flight;
    bool has_stray; /* the device was given a frame of an output, and its end cannot be awaited */
    struct {
        uint64_t serial;
        uint64_t change;   /* counts the responses that have come into use */
        struct fade *fade; /* into the components' responses; NULL: none */
        bool is_none;      /* it changes nothing */
        bool multiplies;   /* it is `factor`, which the host may do */
        struct factor factor;
    } filter; /* new frames are filtered with it */
    int event_fd;
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    struct waiter waiter;
    double asked_support_px; /* what engine_create was asked for */
    double support_px;       /* that the padding allows for */
    char description[320];
    struct error warning;
    struct error motion_problem; /* why it cannot find the motion that its recipe has; or empty */
};

struct engine_response {
    struct transform_response data[MAX_COMPONENTS][ENGINE_MAX_STEPS];
    struct fade *fade; /* with which it comes into use; NULL: at once */
    double factor;     /* that the chain is; 1: it changes nothing; negative: it is more */
};

/* Describes the engine for comparison.h, as one that is compared on this device. */
static inline struct comparison_subject engine_subject(const struct engine *engine,
                                                       const struct gpu_device *compared)
{
    return (struct comparison_subject){.device = compared,
                                       .format = engine->format,
                                       .options = engine->options,
                                       .support_px = engine->asked_support_px};
}

/* Sets what an engine is made for; the rest of *ret is zero. Nothing is allocated. The errors are
 * engine_create's. */
int engine_describe_frames(struct engine *ret, struct gpu_device *device,
                           const struct fftd_format *format, const struct engine_options *options,
                           struct error *why);

/* Returns the bytes of smaller chroma that alternates with luma and waits for it; 0: none does. */
static inline size_t engine_chroma_bytes(const struct engine *engine)
{
    struct resampler_size size;
    return chroma_resampled(engine, &size) && engine->info->plane_count == 1
               ? (size_t)size.to_columns * size.channels * size.to_rows
               : 0;
}

/* Lists the components that are filtered, without their steps. */
void engine_list_components(struct engine *engine, double support_px);

/* Returns whether the host may copy frames, or multiply them, instead of having them filtered. */
static inline bool engine_is_simple(const struct engine *engine)
{
    return engine->filter.multiplies || (engine->filter.is_none && engine->may_pass);
}

/* Returns whether frames are uploaded for this engine alone: not if all its components have loads.
 */
static inline bool engine_uploads(const struct engine *engine)
{
    bool uploads = false;
    for (unsigned i = 0; i < engine->component_count; i++)
        uploads |= engine->component[i].use.load == NULL;
    return uploads;
}

/* Plans and builds every component. */
int engine_make_components(struct engine *engine, double support_px, const char *cache_dir,
                           const struct engine_observer *observer, struct error *why);

/* transform_step.c: plans the component's transform, which the caller destroys; or makes it, and
 * lets it join a load. */
int component_sketch(struct transform **ret, struct component *component, const char *cache_dir,
                     struct error *why);
int component_make_transform(struct component *component, const char *cache_dir, struct error *why);

/* The steps of a component: whether it has one, preparing all, and destroying what was prepared.
 * The steps' other functions are called for all components at once. */
bool component_has(const struct component *component, unsigned step);

int component_prepare(struct component *component, const char *cache_dir, struct error *why);
void component_release(struct component *component);
int engine_build_steps(struct engine *engine, const char *cache_dir,
                       const struct engine_observer *observer, struct error *why);
int engine_create_frame(struct slot *slot, struct error *why);
void engine_destroy_frame(struct slot *slot);
void engine_collect_steps(struct slot *slot); /* after the frame was finished */

static inline bool job_is_shifted(const struct engine_job *job)
{
    return job->shift[0] != 0 || job->shift[1] != 0;
}

/* Adds the time since the last account of the submitting thread to a kind of overhead. */
static inline void slot_account(struct slot *slot, enum overhead_step step)
{
    const int64_t now_ns = clock_now_ns();
    slot->result.overhead.ns[step] += now_ns - slot->accounted_ns;
    slot->accounted_ns = now_ns;
}

/* Adds up what a frame costs in all steps of all components. */
struct step_cost engine_cost(const struct engine *engine);

/* Returns whether the device reads frames where the host has them, without sending or importing
 * them. NULL is allowed: false. */
bool engine_memory_is_in_place(const struct frame_memory *memory);

/* Lends a frame to the commands that follow in the queue, which read *ret. After them the frame
 * returns to its source. On entry *ret is a buffer of the device, into which `bytes` bytes of the
 * frame are sent if the device does not read it where it is; the caller then holds *ret_held, and
 * releases it when the frame has been collected. It has to be returned also if a command is
 * refused, because another engine may be lent it next: `result` is that command's, which stays the
 * result, with its *why. A frame that is not lent stays as it is. */
int engine_memory_lend(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                       size_t bytes, cl_mem *ret_held, cl_mem *ret, struct error *why);
int engine_memory_return(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                         int result, struct error *why);

/* A frame of an output, from engine_submit to engine_collect: it is taken and lent to the commands
 * that follow in the queue, which write *ret; if the device cannot write the output, *ret is left
 * alone. After them the frame of the slot's job is fetched, from slot->out in this case:
 * slot->mapped_out holds the result from slot->done on. Until the frame is given back, the output's
 * memory remains. */
void engine_output_take(struct engine_output *output, unsigned index);
int engine_output_lend(struct engine_output *output, unsigned index, cl_command_queue queue,
                       cl_mem *ret, struct error *why);
int engine_output_fetch(struct slot *slot, cl_map_flags flags, struct error *why);
void engine_output_give_back(struct engine_output *output, unsigned index, cl_command_queue queue);

/* Measures a whole frame of such an engine on a device, with the settings that it has there. Frames
 * are copied to the device and back, because only that is possible with every source. The call
 * takes as long as building an engine. */
int engine_time(struct gpu_device *device, const struct comparison_subject *subject,
                const char *cache_dir, double *ret_ms, struct error *why);

/* The second may only be called while no frame is in flight. */
int engine_start_waiter(struct engine *engine, struct error *why);
void engine_stop_waiter(struct engine *engine);

#endif
