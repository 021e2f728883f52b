/* The FFT filter engine: frames in, filtered frames out, on one OpenCL device.
 *
 * The maths. A W x H plane is extended to Px x Py (plan.h) by the border mode; its 2D DFT is
 * multiplied by the response H sampled at the padded size's frequencies, u/Px and v/Py cycles per
 * pixel, u = -Px/2 .. , and transformed back; the first W x H samples, scaled, rounded to nearest
 * even and clamped, are the result. Samples keep their own units (0 .. 255 for 8 bits, 0 .. 4095
 * for 12), so H = 1 changes nothing. Planes that are not filtered are passed through untouched.
 * RGB: luma Y = 0.299 R + 0.587 G + 0.114 B (BT.601) is filtered and the change of Y is added to
 * R, G and B, which leaves the colour differences as they were.
 * Mosaics: each pixel's missing colours are the means of its nearest neighbours of that colour
 * (bilinear; the mosaic is mirrored at its edges, edge not repeated), in units of 0 .. 255 whatever
 * the bits of a sample. That RGB image is filtered as RGB is, in one go with the demosaicing, and
 * rounded to 8 bits only at the end.
 *
 * Threads: one thread submits, collects and applies; engine_design may run in another thread
 * meanwhile. */
#ifndef FFTD_GPU_ENGINE_H
#define FFTD_GPU_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/filter.h"
#include "core/format.h"
#include "core/frame_memory.h"
#include "core/plan.h"
#include "gpu/device.h"

enum engine_precision { ENGINE_FLOAT, ENGINE_HALF };
enum engine_planes { ENGINE_LUMA, ENGINE_ALL };
enum engine_technique { ENGINE_AUTO, ENGINE_FUSED, ENGINE_STAGED };
enum engine_tune { ENGINE_TUNE_OFF, ENGINE_TUNE_AUTO, ENGINE_TUNE_EXHAUSTIVE };

struct engine_options {
    enum engine_precision precision;
    enum engine_planes planes;
    enum engine_technique technique;
    enum engine_tune tune;
    enum plan_border border;
    double border_value; /* PLAN_CONSTANT: sample value outside the image, 0 .. 1 of full scale */
    int margin;          /* pixels added to each axis at least; -1: from the filter's support */
    unsigned in_flight;  /* frames under way at once, 1 .. ENGINE_MAX_IN_FLIGHT */
    uint32_t source;     /* fourcc of frames that come in otherwise than they go out
                            (format_published); 0: as they go out */
};

#define ENGINE_MAX_IN_FLIGHT 3

struct engine;
struct engine_response; /* H for every filtered plane of one engine, in the engine's own order */

/* Builds everything for frames that go out in this format. support_px: the support the margin has
 * to allow for where options->margin is -1 (filter_chain_support). cache_dir holds program
 * binaries; NULL or empty: none. Takes from milliseconds (warm cache) to many seconds (first
 * build). The first response is H = 1, serial 0. The device stays the caller's. */
int engine_create(struct engine **ret, struct gpu_device *device, const struct fftd_format *format,
                  const struct engine_options *options, double support_px, const char *cache_dir,
                  struct error *why);

/* Waits for the device, drops frames under way. NULL is allowed. */
void engine_destroy(struct engine *engine);

/* "fused float, rows first, 640x480 in 672x512, 3 dispatches ..." */
const char *engine_description(const struct engine *engine);

/* The plan of filtered image `index` (0: luma, or the first colour), NULL past the last. */
const struct plan *engine_plan(const struct engine *engine, unsigned index);

/* Whether it runs with settings that were measured on this device. */
bool engine_is_tuned(const struct engine *engine);

/* What the user should know but need not act on (a damaged cache file was ignored), or NULL. */
const char *engine_warning(const struct engine *engine);

/* Support in pixels this engine's padding allows for without wrap-around. */
double engine_support(const struct engine *engine);

/* Samples a chain's response at this engine's frequencies, into memory of the device. Any thread;
 * the engine is only read.
 * Takes tens of milliseconds at full HD. */
int engine_design(const struct engine *engine, const struct filter_chain *chain,
                  struct engine_response **ret, struct error *why);
void engine_response_free(struct engine_response *response);

/* Frames submitted from now on are filtered with this response; those under way keep theirs. The
 * engine takes the response over. */
void engine_apply(struct engine *engine, struct engine_response *response, uint64_t serial);

/* Memory of the engine's device for frames that come in. It serves every engine that it suits, and
 * may outlive them and the device. By the thread that submits. */
int engine_memory_create(struct frame_memory **ret, const struct engine *engine, struct error *why);
void engine_memory_destroy(struct frame_memory *memory); /* NULL is allowed */

/* Whether the engine reads frames from there: on the same device, laid out in the same way. */
bool engine_memory_suits(const struct frame_memory *memory, const struct engine *engine);

/* A frame to filter and where the result goes. Planes point into memory of the caller; strides in
 * bytes. `out` has the engine's format's own strides. */
struct engine_job {
    const uint8_t *in[FFTD_MAX_PLANES];
    uint32_t in_stride[FFTD_MAX_PLANES];
    struct frame_memory
        *memory;    /* where the filtered planes are, too: nothing is copied; or NULL */
    unsigned frame; /* which one there */
    uint8_t *out; /* first byte of the frame, laid out as the format says; yours until collected */
    void *tag;    /* comes back with the result */
};

struct engine_done {
    void *tag;
    uint64_t filter_serial;
    int64_t submitted_ns, finished_ns; /* CLOCK_MONOTONIC */
    /* Where the frame's time went; 0 where the device does not say. */
    int64_t upload_ns, kernel_ns, download_ns;
};

/* Starts a frame. The input has been taken when this returns, and may be given back to the camera;
 * in `memory` it is the device's until the frame is collected, and for nobody else to touch.
 * -EBUSY: in_flight frames are under way; -EIO: the device refused, the text says what. */
int engine_submit(struct engine *engine, const struct engine_job *job, struct error *why);

/* An eventfd that is readable while the oldest frame under way is finished; and once when another
 * is finished before it. Valid as long as the engine. */
int engine_fd(const struct engine *engine);

/* The oldest frame under way, if it is finished; `wait`: waits for it. -EAGAIN: none finished;
 * -EIO: the device failed, the frame (tag is set) is lost; -ECANCELED: it was abandoned. */
int engine_collect(struct engine *engine, bool wait, struct engine_done *ret, struct error *why);

/* Gives up the frames under way: whatever the device still does with them, memory of their jobs is
 * not touched any more. They go on being under way, and can be collected, until the device lets go
 * of them. */
void engine_abandon(struct engine *engine);

/* Frames under way. */
unsigned engine_in_flight(const struct engine *engine);

/* A search for the fastest settings for all that an engine filters, by measuring on its device. An
 * engine that is created afterwards, with the same cache directory, finds them. */
struct engine_search;

struct engine_search_progress {
    unsigned tried, total;      /* settings; the total may grow */
    double default_ms, best_ms; /* of a frame's kernels, with the settings to begin with and the
                                   best ones so far; 0: not measured yet */
};

/* The engine is only read, and only here; its device must outlive the search. -EINVAL: there is no
 * cache directory. */
int engine_search_create(struct engine_search **ret, const struct engine *engine, bool exhaustive,
                         const char *cache_dir, struct error *why);
void engine_search_destroy(struct engine_search *search);

/* Tries one choice of settings, which takes up to some seconds. 1: there is more to try; 0: it has
 * ended and the result is kept; -errno: it failed. One thread at a time. */
int engine_search_step(struct engine_search *search, struct error *why);
void engine_search_get(const struct engine_search *search, struct engine_search_progress *ret);

#endif
