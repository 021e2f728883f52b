/* A step is one stage of the work of a device on a frame. It is one file with a `struct step`, and
 * a row of the table in steps.c, whose order is the order in a frame. Nothing else lists steps: an
 * engine's preparation, its responses, its frames, its description and its statistics walk over the
 * table.
 *
 * A component (engine_private.h) has each step that applies to its recipe. What a step makes for a
 * component is its `part`; what it makes for a frame in flight is its `frame`; and what it computes
 * from a chain is its `data`, which is replaced between two frames. Each is NULL (data.numbers)
 * where the step has no function that makes it.
 *
 * Threads: `design` in any thread while the engine is used, because it only reads; what concerns
 * frames in the submitting thread; the others in the thread that creates or destroys the engine. */
#ifndef FFTD_ENGINE_STEP_H
#define FFTD_ENGINE_STEP_H

#include "transform/engine_options.h"
#include "transform/transform.h"

struct component;
struct engine_done;
struct slot;

/* One frame, of which a step enqueues its part for one component. */
struct step_run {
    struct slot *slot;
    const struct component *component;
    unsigned index; /* the component's number */
    void *part, *frame;
    struct transform_response data;
    struct transform_buffers *buffers; /* read by the steps that follow, which may replace them */
    /* NULL (both), or receive the events of the step's first and last dispatch, which the engine
     * releases, on failure too. A step that enqueues no kernel for a frame leaves them alone. */
    cl_event *first, *last;
    bool times_each; /* if the step can, it puts the event of each dispatch into slot->dispatch;
                        first and last are not NULL then */
};

/* Reports the first dispatch's event as the last one's, too, if events are wanted. */
static inline void step_run_set_only_event(const struct step_run *run)
{
    if (run->first != NULL)
        clRetainEvent(*run->last = *run->first);
}

/* Kernels of a frame: how many are launched, and the bytes of main memory that they read and write.
 */
struct step_cost {
    unsigned dispatches;
    double bytes;
};

/* The memory of a step, bytes, in 64 bits on every machine. (fields: by when it is allocated.) */
struct step_bytes {
    uint64_t device; /* buffers of the device */
    uint64_t pinned; /* buffers in memory of the host, with CL_MEM_ALLOC_HOST_PTR */
    uint64_t host;   /* other memory of the host; small structures do not count */
};
struct step_memory {
    struct step_bytes part;  /* what the part takes */
    struct step_bytes frame; /* for each frame in flight */
    uint64_t data;           /* on the device, for the data of one chain */
    uint64_t fading;         /* on the device, for each frame in flight during a fade */
    uint64_t scratch; /* on the host, at most: what one function of the step takes and gives back,
                         besides what filling the response takes (transform_filling_bytes) */
};

/* Every function but `applies` and `enqueue` may be NULL, except that what is made has a function
 * that destroys it. Functions that return int return 0 or
 * -errno with a reason in *why. */
struct step {
    const char *name; /* in statistics: "denoise" */

    /* Whether a component with this recipe has the step. */
    bool (*applies)(const struct recipe *recipe);

    /* Makes the part, after the component's transform. On failure *ret_part may be set, and is
     * destroyed. */
    int (*prepare)(void **ret_part, struct component *component, struct error *why);
    void (*destroy)(void *part);

    /* Gets the programs that are in the cache; with `compile`, compiles the others. Returns how
     * many are missing then. */
    int (*build)(void *part, bool compile, const char *cache_dir, struct error *warning,
                 struct error *why);

    /* Computes the data of a chain that recipe_check has accepted. */
    int (*design)(struct transform_response *ret, const void *part,
                  const struct component *component, const struct filter_chain *chain,
                  struct error *why);

    /* Makes what a frame in flight needs; its commands go to this queue, in order. The queue is
     * empty when it is destroyed. */
    int (*create_frame)(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why);
    void (*destroy_frame)(void *frame);

    /* Enqueues a frame's kernels, if it needs any. */
    int (*enqueue)(struct step_run *run, struct error *why);

    /* Drops the frame's reference to the image, or to the result, which the engine does not own. */
    void (*drop)(void *frame, bool image);

    /* Adds what the kernels have found in a frame that is finished to its result. */
    void (*collect)(const void *part, const void *frame, struct engine_done *ret);

    /* What it costs in each frame; not counted are steps that only some frames need. */
    struct step_cost (*cost)(const void *part);

    /* The memory that the functions above take. It asks the component for its images and its
     * transform, of which only the plan exists (transform_sketch): it is called before anything is
     * prepared. NULL: none. */
    struct step_memory (*memory)(const struct component *component);
};

/* The steps in the order in which a frame passes them, ended by NULL. TRANSFORM_STEP is
 * step_transform's index. That step's data is the response, and its part is the component's
 * transform (component_make_transform). */
extern const struct step *const engine_steps[];
#define TRANSFORM_STEP 8

extern const struct step step_table;      /* table.c: the table with which samples are loaded */
extern const struct step step_similarity; /* similarity.c: where the samples of a frame come from */
extern const struct step step_correct;    /* corrector.c: periodic noise and flicker of a frame */
extern const struct step step_denoise;    /* denoise.c */
extern const struct step step_stack;      /* stack.c */
extern const struct step step_blend;      /* fade.c: blends two responses */
extern const struct step step_shift;      /* ramp.c: moves a frame */
extern const struct step step_chroma;     /* chroma.c: makes unfiltered chroma smaller */
extern const struct step step_transform;  /* transform_step.c: load, FFT, response, view, store */
extern const struct step step_motion;     /* motion.c: the field of motion of what is captured */

#endif
