/* The FFT filter engine: it filters frames on one OpenCL device.
 *
 * The maths. A W x H plane is extended to Px x Py (plan.h) by the border mode; its 2D DFT is
 * multiplied by the response H sampled at the padded size's frequencies, u/Px and v/Py cycles per
 * pixel, u = -Px/2 .. , and transformed back; the first W x H samples, scaled, rounded to nearest
 * even and clamped, are the result. Samples keep their own units (0 .. 255 for 8 bits, 0 .. 4095
 * for 12), so H = 1 changes nothing. Planes that are not filtered pass through unchanged.
 * RGB: luma Y = 0.299 R + 0.587 G + 0.114 B (BT.601) is filtered and the change of Y is added to
 * R, G and B, which keeps the colour differences.
 * A chain may correct captured samples (filters/calibration.h): luma, or all colours of RGB and of
 * a mosaic, before the border is made and before a mosaic is demosaiced, but no chroma. Where RGB
 * is filtered as luma, its colours are corrected before the change of Y is added. A chain may move
 * the corrected pixels (filters/warp.h), also before the border is made, and after a mosaic is
 * demosaiced: luma, the colours of RGB, and chroma if it is filtered. A chain may reduce noise in
 * blocks (filters/denoise.h) after that: of what is filtered, in units of its samples. Nothing is
 * rounded between noise reduction and H. If it joins past frames, these are the frames that were
 * submitted last, in the order of submission, from the last one that is_first on; and none from
 * before a change of the table that corrects or moves captured samples. A chain may have a
 * threshold (filters/filter_kind.h): each number F of the DFT is then multiplied by max(0, 1 - T /
 * |F|) before it is multiplied by H. A correction (correction.h) changes the samples of luma, or of
 * all colours if they are filtered, before they are extended by the border. Its waves are in units
 * of these samples. Mosaics: each pixel's missing colours are interpolated (core/mosaic.h; the
 * mosaic is mirrored at its edges, edge not repeated), in units of 0 .. 255 whatever the bits of a
 * sample. That RGB image is filtered like RGB, in the same dispatches as the demosaicing, and
 * rounded and clamped to 8 bits only at the end.
 *
 * Threads: one thread submits, collects and applies; engine_design may run in another thread at the
 * same time. */
#ifndef FFTD_ENGINE_ENGINE_H
#define FFTD_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "filters/correction.h"
#include "transform/engine_options.h"
#include "core/error.h"
#include "estimators/motion/motion_aligner.h"
#include "estimators/motion/motion_field.h"
#include "filters/filter.h"
#include "core/frame_memory.h"
#include "core/similarity.h"
#include "transform/plan.h"
#include "core/stats.h"
#include "gpu/device.h"

#define ENGINE_OUTPUT_MAX FFTD_MAX_SLOTS /* frames */

struct engine;
struct engine_response; /* H for every filtered plane of one engine, in the engine's own order */

/* Reports the progress of building an engine. on_build is called by the thread that builds: with
 * done = 0 before the first kernel is compiled, then after each program, until done = total. It is
 * not called if the cache holds all kernels. If it fails, so does building. NULL is allowed. */
struct engine_observer {
    int (*on_build)(void *context, unsigned done, unsigned total, struct error *why);
    void *context;
};

/* Sets the settings of a recipe that say for which filters an engine on this device may do without
 * a transform of the whole image: those with which it may be faster, or that the technique demands.
 */
void engine_set_reach(struct engine_options *options, const struct gpu_device *device);

/* Creates an engine whose output has this format. support_px: the filter support for which the
 * margin is computed if options->margin is -1 (filter_chain_support). cache_dir holds program
 * binaries; NULL or empty: no cache. observer: NULL, or valid during the call. The call takes
 * milliseconds if the kernels are in the cache, and up to many seconds otherwise. The first
 * response is H = 1 with serial 0. The caller keeps ownership of the device. An engine filters only
 * chains that its recipe allows (recipe_check); options->recipe.shifts needs complex_response.
 * -EINVAL: it filters no such frames (recipe_check_frames). */
int engine_create(struct engine **ret, struct gpu_device *device, const struct fftd_format *format,
                  const struct engine_options *options, double support_px, const char *cache_dir,
                  const struct engine_observer *observer, struct error *why);

/* Waits for the device and drops frames in flight. NULL is allowed. */
void engine_destroy(struct engine *engine);

/* The loads that the engines of a camera's outputs share (options->loads; engine/load.h): what all
 * of them would do for a frame alike is done once. Engines share loads if they are on devices of
 * one context (gpu_device_twin). `sizes`: those of the results that are smaller than captured
 * frames; a width of 0 does not count. All engines must be destroyed before. */
#define ENGINE_MAX_LOAD_SIZES 16
int engine_loads_create(struct engine_loads **ret, const uint32_t (*sizes)[2], unsigned count,
                        struct error *why);
void engine_loads_destroy(struct engine_loads *loads);

/* Replaces the sizes for loads that begin from now on. Any thread. */
void engine_loads_set_sizes(struct engine_loads *loads, const uint32_t (*sizes)[2], unsigned count);

/* Returns the number of those sizes, and sets them. */
unsigned engine_loads_sizes(struct engine_loads *loads, uint32_t ret[ENGINE_MAX_LOAD_SIZES][2]);

/* Goes up whenever engines join loads or leave them. */
unsigned engine_loads_changes(struct engine_loads *loads);

/* Returns whether an engine may read a frame in memory that `last` holds, which is given the frame
 * after it. Both have to share a load, and `last` to finish a frame only after that load has read
 * it. */
bool engine_waits_for_load(const struct engine *last, const struct engine *engine);

/* Returns the same for engines without loads. They read each frame one after the other, because
 * what `last` does with it begins when the engine before has finished. So that one must be short:
 * it only convolves with the taps of a short filter. */
bool engine_reads_before(const struct engine *last, const struct engine *engine,
                         const struct frame_memory *memory);

/* Returns whether an engine like this one that is created with these loads (NULL: none) would share
 * a load with an output of a lower number, which was not there when this one was created; or would
 * have a load where this one has none, or none where this one has one. Any thread. */
bool engine_has_better_load(const struct engine *engine, const struct engine_loads *loads);

/* "fused float, rows first, 640x480 in 672x512, 3 dispatches ..." */
const char *engine_description(const struct engine *engine);

/* The plan of filtered image `index` (0: luma, or the first colour), NULL past the last. */
const struct plan *engine_plan(const struct engine *engine, unsigned index);

/* Returns whether all its settings were found by measuring on this device. */
bool engine_is_tuned(const struct engine *engine);

/* The device that engine_create was given. */
const struct gpu_device *engine_device(const struct engine *engine);

/* Returns a warning for the user that needs no action, such as an ignored cache file, or NULL. */
const char *engine_warning(const struct engine *engine);

/* Returns why engine_done.motion has no grid, or NULL if it has one. Empty: options->recipe.motion
 * is 0. */
const char *engine_motion_problem(const struct engine *engine);

/* Returns the largest filter support, in pixels, for which this engine's padding prevents
 * wrap-around; HUGE_VAL if it pads nothing. */
double engine_support(const struct engine *engine);

/* Samples a chain's response at this engine's frequencies, into device memory. Any thread may call
 * it, because it only reads the engine. It takes tens of milliseconds at full HD, and seconds for
 * dozens of large kernels. -EINVAL: the engine's recipe does not allow the chain (recipe_check),
 * or the chain does not suit the frames (recipe_check_frames, warp_fill, calibration_fill).
 * -ERANGE: it moves a pixel too far. */
int engine_design(const struct engine *engine, const struct filter_chain *chain,
                  struct engine_response **ret, struct error *why);
void engine_response_free(struct engine_response *response);

/* Prepares a response to come into use gradually: frame i of `frames` frames is filtered with
 * from + i/frames (response - from). `from` is NULL, or a response of this engine, which is taken
 * over, on failure too. NULL: the fade begins at the response in use when engine_apply is called;
 * if that is in a fade, at the blend that the last frame was filtered with. A correction of
 * captured samples is not blended: the first frame of the fade has the new one. The thread that
 * designs calls it. */
int engine_design_fade(struct engine *engine, struct engine_response *response, unsigned frames,
                       struct engine_response *from, struct error *why);

/* Filters the frames submitted after this call with the response; frames in flight keep theirs. The
 * engine takes ownership of the response. */
void engine_apply(struct engine *engine, struct engine_response *response, uint64_t serial);

/* Returns whether the next frame may be filtered with a blend of two responses. */
bool engine_is_fading(const struct engine *engine);

/* Creates memory of the engine's device for input frames. Every engine that it suits can use it,
 * and it may outlive them and the device. Only the submitting thread uses it. */
int engine_memory_create(struct frame_memory **ret, const struct engine *engine, struct error *why);
void engine_memory_destroy(struct frame_memory *memory); /* NULL is allowed */

/* Returns whether the engine can read frames from the memory: same device, same layout. */
bool engine_memory_suits(const struct frame_memory *memory, const struct engine *engine);

/* Creates the device's access to memory of the host, such as the slots of a ring, so that kernels
 * store results where they are read, or the device sends them there, and the processor copies none.
 * Each frame begins at frame[], in the layout of the engine's format, with the padding of rows and
 * the unused byte of XRGB32 cleared; nothing else is in the last page of a frame. While a frame is
 * the device's, only the device writes its filtered planes, and others may read them. The host's
 * and the device's caches are kept coherent; output.c says by whom. Every engine that it suits can
 * use it, and it may outlive them and the device. Only the submitting thread uses it. `release` is
 * called once, in any thread, when neither the device nor the caller needs the memory any more,
 * which is never if the device does not finish a frame there. -EOPNOTSUPP: results have to be
 * copied, because frames do not begin on pages, or share cache lines of the device with planes that
 * are not filtered, or the device has no such buffers, or it imports memory, but not this one;
 * `release` is not called then. */
struct engine_output;
struct engine_output_memory {
    uint8_t *frame[ENGINE_OUTPUT_MAX];
    unsigned count;
    void (*release)(void *context);
    void *context;
};
int engine_output_create(struct engine_output **ret, const struct engine *engine,
                         const struct engine_output_memory *memory, struct error *why);

/* Frames in flight may still be written there. NULL is allowed. */
void engine_output_destroy(struct engine_output *output);

/* How results get there: "stored by the device (imported)". The string is static. */
const char *engine_output_description(const struct engine_output *output);

/* Returns whether the engine can store frames there: same device, same layout. */
bool engine_output_suits(const struct engine_output *output, const struct engine *engine);

/* A frame to filter and the destination of the result. `in` points to the caller's planes, with
 * strides in bytes; `out` has the strides of the engine's format. */
struct engine_job {
    const uint8_t *in[FFTD_MAX_PLANES];
    uint32_t in_stride[FFTD_MAX_PLANES];
    struct frame_memory *memory;  /* contains the filtered planes, which are not copied; or NULL.
                                     Nobody writes there until the frame is collected, from this
                                     engine or from one for which engine_waits_for_load or
                                     engine_reads_before is true */
    unsigned frame;               /* index of the frame in `memory` */
    uint8_t *out;                 /* destination frame; must stay valid until collected */
    struct engine_output *output; /* has `out` as frame `output_frame`, which is the device's until
                                     the frame is collected; NULL: the result is copied to `out` */
    unsigned output_frame;
    const struct correction *correction; /* what this frame is corrected by, for an engine with
                                            options->recipe.corrections; copied; NULL: none */
    bool is_first;   /* after a start of the source: no frame before it is joined to it */
    double shift[2]; /* pixels by which the picture is moved to the right and down, cyclically in
                        the padded size, for an engine with options->recipe.shifts; 0: it is not */
    struct similarity similarity; /* by which the picture is moved, about its middle, for an engine
                                     with options->recipe.similarities; all 0: it is not */
    enum stack_place stack;       /* how the frame takes part in a stack, if the chain has one */
    uint64_t number; /* numbers the captured frame: engines with options->loads know by it that they
                        were given the same one; 0: it is loaded for this engine alone. Different
                        frames have different numbers, and all engines get the same pictures in
                        `in` for one number. Output 0 should be the last one to which it is
                        submitted. */
    bool is_dispatched; /* it goes through the device even if nothing changes it, because kernels
                           are to be measured or loaded */
    void *tag;          /* returned with the result */
};

/* Bytes of a frame that the processor copied. What the device or its driver moves is not counted.
 */
struct engine_copies {
    uint64_t in_bytes;     /* captured planes, to where the device reads them */
    uint64_t passed_bytes; /* planes that are not filtered, to the result */
    uint64_t out_bytes;    /* filtered planes, to the result */
};

/* The steps of which kernels consist, in the order of a frame: "denoise", "transform" ...; NULL
 * past the last. The string is static. */
const char *engine_step_name(unsigned step);

/* The motion since the frame that was submitted before, as the device has found it: for engines
 * with options->recipe.motion whose device can. Valid until the next frame is submitted. */
struct engine_motion {
    const struct motion_grid *grid;     /* NULL: this engine finds none */
    const struct motion_vector *vector; /* NULL: there was no frame before */
};

struct engine_done {
    void *tag;
    uint64_t filter_serial;
    bool blended;                      /* with the response before, by a fade */
    enum view_kind view;               /* what the result is: options->recipe.view */
    unsigned stacked;                  /* frames in the stack, with this one if it has joined;
                                          0: there is no stack */
    int64_t submitted_ns, finished_ns; /* CLOCK_MONOTONIC */
    /* Duration of each part; 0 if the device does not report it. */
    int64_t upload_ns, kernel_ns, download_ns;
    /* Kernels of each step (engine_step_name); negative: not measured in this frame. */
    int64_t step_ns[ENGINE_MAX_STEPS];
    struct engine_copies copies;
    struct overhead overhead;
    struct engine_motion motion;
};

/* Starts a frame without waiting for the device. The input has been copied when this returns, so
 * its buffer may be returned to the camera; a frame in `memory` belongs to the device until it is
 * collected. One that nothing changes may be copied, and is then finished when those before it are.
 * -EBUSY: in_flight frames are in flight already; -EIO: the device refused a command,
 * which the text names; -EINVAL: the correction has too many waves, or the engine was built without
 * corrections, shifts or similarities. If the device refused only a part, the frame stays in flight
 * as an abandoned one: engine_collect returns -ECANCELED for it once the device has finished the
 * other part. */
int engine_submit(struct engine *engine, const struct engine_job *job, struct error *why);

/* Returns an eventfd that is readable while the oldest frame in flight is finished. Valid as long
 * as the engine. */
int engine_fd(const struct engine *engine);

/* Collects the oldest frame in flight if it is finished; with `wait`, waits for it. -EAGAIN: it is
 * not finished; -EIO: the device failed and the frame (tag is set) is lost; -ECANCELED: the frame
 * was abandoned. The caller may write into the result of a view that is drawn over
 * (view_is_drawn_over) until it submits another frame with that memory. */
int engine_collect(struct engine *engine, bool wait, struct engine_done *ret, struct error *why);

/* Abandons the frames in flight: the engine no longer accesses the memory of their jobs. They stay
 * in flight until the device finishes them, and are collected as usual. Returns whether the device
 * may still write frames of an engine_output. */
bool engine_abandon(struct engine *engine);

/* Returns the number of frames in flight. */
unsigned engine_in_flight(const struct engine *engine);

/* A search for the fastest settings for all components of an engine, by measuring on its device. An
 * engine created afterwards with the same cache directory uses them. The search ends with whole
 * frames on two devices, if there are two to compare (engine/comparison.h). */
struct engine_search;

struct engine_search_progress {
    unsigned tried, total;      /* settings; the total may grow */
    double default_ms, best_ms; /* time of a frame's kernels with the initial and with the best
                                   settings; 0: not measured yet */
};

/* A device that is compared with the CPU device beside it, and what opens it. The engine is on
 * either. */
struct engine_compared {
    const struct gpu_device *device; /* may be an outline */
    const char *selector;
};

/* Only this call reads the engine, but its device and what `compared` points to must outlive the
 * search. -EINVAL: there is no cache directory. */
int engine_search_create(struct engine_search **ret, const struct engine *engine, bool exhaustive,
                         const struct engine_compared *compared, const char *cache_dir,
                         struct error *why);
void engine_search_destroy(struct engine_search *search);

/* Tries one combination of settings, or measures frames on one device, which can take seconds.
 * Returns 1 if more remain, 0 if the search has ended and its result is in the cache, or -errno.
 * Only one thread may call it at a time. */
int engine_search_step(struct engine_search *search, struct error *why);
void engine_search_get(const struct engine_search *search, struct engine_search_progress *ret);

#endif
