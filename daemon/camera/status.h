/* The status of a running camera: its state, its counters, and the parts of a frame's latency. */
#ifndef FFTD_CAMERA_STATUS_H
#define FFTD_CAMERA_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/budget.h"
#include "core/comparison.h"
#include "core/settings.h"
#include "core/stats.h"
#include "filters/view.h"
#include "transform/engine_options.h"
#include "fftd/ring.h"

enum camera_state {
    CAMERA_STARTING, /* no frame yet */
    CAMERA_ONLINE,
    CAMERA_STALLED, /* the source is open but delivers nothing */
    CAMERA_LOST,    /* the source is absent; the camera waits for it to return */
    CAMERA_REFUSED, /* the source is there but rejects the requested settings */
    CAMERA_FAILED,  /* the engine failed and is being rebuilt, and frames are dropped; or the source
                       could not be opened at the start, and is not waited for */
    CAMERA_PAUSED,  /* there are no readers, of the camera (idle = "pause") or of this output; the
                       next one starts it again */
    CAMERA_FINISHED /* the file has ended, or `output.frames` frames have been published */
};
extern const char *const camera_state_names[]; /* "online" */

/* Returns whether a frame can be expected from a camera in this state. */
bool camera_may_deliver(enum camera_state state);

/* The stages that a frame's latency is split into; each has a histogram. */
enum camera_stage {
    STAGE_CAPTURE, /* captured -> dequeued */
    STAGE_WAIT,    /* dequeued -> submitted to the engine */
    STAGE_UPLOAD,
    STAGE_KERNEL,
    STAGE_DOWNLOAD, /* upload, kernel and download as the engine measured them */
    STAGE_PUBLISH,  /* finished -> published, less the download */
    STAGE_TOTAL,    /* captured -> published */
    STAGE_COUNT
};
extern const char *const camera_stage_names[STAGE_COUNT];

/* The steps at which the processor may copy a frame or some of its planes. Upload, pass and
 * download are counted when a frame is published. */
enum camera_copy {
    COPY_CAPTURE,  /* by the source, to where it lends the frame */
    COPY_UPLOAD,   /* captured planes, to where the device reads them */
    COPY_PASS,     /* planes that are not filtered, to the result */
    COPY_DOWNLOAD, /* filtered planes, to the result */
    COPY_OBSERVE,  /* the plane with luma, for the observer's thread */
    COPY_COUNT
};
extern const char *const camera_copy_names[COPY_COUNT]; /* "capture" */

/* Counts of the source, however often it is opened. */
struct recovery_counts {
    uint64_t error;    /* frames the driver flagged as damaged */
    uint64_t stale;    /* frames skipped because a newer one was waiting */
    uint64_t lost;     /* gaps in the source's sequence that neither of these explains */
    uint64_t stalls;   /* times it delivered nothing for stall_timeout */
    uint64_t restarts; /* times streaming was stopped and started again as a remedy */
    uint64_t reopens;  /* times it was opened again, also after a change to another was refused */
    struct copy_count copied; /* COPY_CAPTURE */
};

#define CAMERA_TEXT 256

/* The status as the camera's thread reports it. Texts that do not fit are cut. (fields: a client
 * can read each of them.) */
struct camera_status {
    enum camera_state state;
    char state_reason[CAMERA_TEXT]; /* why it is not online; empty if it is */
    struct settings controls;       /* the camera's own, set whenever it is opened */
    int source_opening;             /* whether that is why it is starting; a D-Bus b, so an int */
    int open_error;                 /* a negative errno if the state is FAILED because the source
                                       could not be opened; otherwise 0 */
    char uri[CAMERA_TEXT];          /* the source in use, without its passwords */
    char source[CAMERA_TEXT];       /* the source's description of itself */
    char input[CAMERA_TEXT];        /* how frames reach the engine; empty: not known yet */
    char output[CAMERA_TEXT];       /* how results reach the ring; empty: not known yet */
    char motion[CAMERA_TEXT];       /* what finds motion, and why; empty: nothing */
    char engine[CAMERA_TEXT];       /* the engine's description of itself */
    char device[CAMERA_TEXT];
    const char *device_memory;   /* as gpu_device_memory describes it */
    struct budget budget;        /* memory: used and allowed */
    struct budget_use memory;    /* what the engine and its frames may use of it; 0: none yet */
    struct fftd_format format;   /* sums over published frames */
    struct fftd_format captured; /* what captured frames have; fourcc 0: not known yet */
    uint64_t filter_serial;      /* serial of the newest published frame's filter */
    uint64_t first_sequence;     /* the first frame with filter_serial */
    enum view_kind view;         /* view that the newest published frame shows */
    uint64_t wanted_serial;      /* serial of the newest accepted change */
    uint64_t used_serial;   /* serial of the filter that filters the next frame; 0: none does */
    uint64_t failed_serial; /* serial of the newest change that could not be made; 0: none failed */
    char preparing[CAMERA_TEXT]; /* what the newest accepted change waits for; empty: nothing, or
                                    nothing that takes long */
    char filter_problem[CAMERA_TEXT]; /* why the newest accepted change could not be made; empty if
                                         it could, or is not ready yet */
    uint64_t source_number;           /* number of the newest desired source that is settled */
    char source_problem[CAMERA_TEXT]; /* why the camera went back to the source before; empty if it
                                         took that source */
    struct recovery_counts counts;
    uint64_t published, dropped_engine;
    uint64_t engine_failures; /* times an engine lost, refused or kept a frame, or did not build */
    uint64_t newest_sequence;
    bool has_measures; /* the newest frame carries measures */
    struct fftd_measures measures;
    enum fftd_picture_state picture_state;
    unsigned match_count; /* how many matches the newest frame carries */
    struct fftd_match match[FFTD_MAX_MATCHES];
    bool has_similarity; /* the newest frame carries one */
    struct fftd_similarity similarity;
    unsigned stacked; /* frames in the stack that the newest frame shows; 0: there is none */
    uint32_t generation;
    double rate; /* frames published a second, over the last second or so */
    struct histogram latency[STAGE_COUNT];
    struct copy_count copied[COPY_COUNT];
    struct time_sum overhead[OVERHEAD_COUNT]; /* what publishing a frame takes, by part */
    struct time_sum step[ENGINE_MAX_STEPS];   /* their kernels, by engine_step_name */
    bool has_comparison;                      /* a search has compared the devices */
    struct comparison comparison;
};

#endif
