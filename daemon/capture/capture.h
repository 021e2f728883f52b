/* Sources of frames: one interface, five implementations (v4l2.c, pattern.c, file.c, pipe.c,
 * gst.c).
 *
 * A URI names a source: v4l2:/dev/video0, pattern:zoneplate, file:clip.y4m, pipe:-, gst:PIPELINE. A
 * camera does not wait: it loses frames that are not dequeued in time. pattern: behaves like a
 * camera; file: and pipe: wait; gst: does as its pipeline does.
 *
 * An unpaced source has a frame ready whenever it has a free buffer, and loses none. Its frames are
 * captured when they are dequeued, and its format has no rate.
 *
 * Life: capture_open negotiates and fixes the format, or begins to; capture_open_more continues
 * until that is done. No call waits for another process. capture_start begins streaming. `fd`
 * becomes readable when capture_dequeue may have something. Every dequeued frame is given back by
 * capture_release, in any order. capture_stop and capture_close end it. All calls come from one
 * thread. After some failures (below) the caller may try capture_stop + capture_start or
 * capture_close + capture_open; the caller decides which. */
#ifndef FFTD_CAPTURE_CAPTURE_H
#define FFTD_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format.h"
#include "core/frame_memory.h"
#include "core/settings.h"
#include "core/stats.h"

#define CAPTURE_URI_BYTES 256 /* with the final zero byte */

/* Where frames come from, as asked for; 0 in a field leaves the choice to the source. Nothing here
 * checks the ranges again that the configuration has checked (config/keys.c). */
struct capture_request {
    char uri[CAPTURE_URI_BYTES]; /* "v4l2:/dev/video0" */
    uint32_t width, height;      /* pixels; both or neither */
    double rate;                 /* frames a second; a camera may deliver another: see format;
                                    INFINITY: unpaced, only for pattern: and file: */
    uint32_t fourcc;             /* DRM */
    unsigned buffers;            /* frames that may be lent or waiting at once, within the
                                    two limits below; 0 = 4 */
    enum memory_mode memory;     /* how its owner should start it (capture_start); copied where
                                    that does not work */
    bool loop;                   /* file:, and gst: that reads a file: begin again at the end;
                                    otherwise capture_dequeue returns -ENODATA */
    uint32_t seed;               /* pattern: */
};

struct capture_frame {
    const uint8_t *plane[FFTD_MAX_PLANES];
    uint32_t stride[FFTD_MAX_PLANES]; /* bytes */
    uint64_t sequence;   /* the source's own count, from 0 at every capture_start; gaps are frames
                            that the source lost or dropped, as counted below */
    int64_t captured_ns; /* CLOCK_MONOTONIC; the driver's timestamp if it is on that clock, else
                            dequeued_ns */
    int64_t dequeued_ns;
    int64_t recorded_ns; /* time in a recording that is read at another speed; 0: as captured_ns */
    unsigned index;      /* private to the source */
    int memory;          /* its index in the frame memory; -1: it is not in frame memory and must be
                            copied */
    unsigned start;      /* private to the source's owner */
};

/* Returns when the scene was as the frame shows it, on a clock that a recording has of its own. */
static inline int64_t capture_scene_ns(const struct capture_frame *frame)
{
    return frame->recorded_ns != 0 ? frame->recorded_ns : frame->captured_ns;
}

#define CAPTURE_MIN_BUFFERS     2
#define CAPTURE_MAX_BUFFERS     FRAME_MEMORY_MAX
#define CAPTURE_DEFAULT_BUFFERS 4
#define CAPTURE_MIN_RATE        0.01
#define CAPTURE_MAX_RATE        1000.0

struct capture_ops;

struct capture {
    const struct capture_ops *ops;
    int fd; /* to poll for POLLIN and POLLPRI; on POLLERR and POLLHUP capture_dequeue returns the
               reason. -1: nothing can be done before a frame is released, or the device is
               gone. Each opener sets it */
    struct fftd_format
        format; /* with rate and colour; strides are nominal: each frame has its own */
    int64_t opening_until_ns; /* CLOCK_MONOTONIC; 0: it is open, and all else here is valid.
                                 Otherwise capture_open_more is called whenever `fd` is
                                 readable, and at this time at the latest */
    bool unpaced;             /* the reader of its frames sets the pace */
    bool is_patient;          /* its silence is no fault, however long */
    bool waits;             /* frames that are not dequeued in time come later, and none is lost */
    char description[128];  /* "vivid (platform:vivid-000), NV12 640x360 at 30 fps" */
    uint64_t dropped_error; /* frames that were damaged or too short, returned unread */
    uint64_t dropped_stale; /* frames returned because a newer one was ready */
    struct copy_count copied;  /* frames that the processor copied before they were lent */
    struct error stall_reason; /* why no frames come, if none do; empty: not known */
};

/* A control of the camera itself: brightness, exposure, focus ... */
enum capture_control_type {
    CAPTURE_INTEGER,
    CAPTURE_BOOLEAN,
    CAPTURE_MENU,
    CAPTURE_BITMASK,
    CAPTURE_BUTTON, /* does something when set; has no value */
    CAPTURE_TEXT,
};
extern const char *const capture_control_type_names[]; /* "integer" */

struct capture_menu_entry {
    int64_t value;
    char name[32];
};

struct capture_control {
    char name[SETTINGS_NAME_BYTES]; /* as v4l2-ctl calls it: "white_balance_automatic" */
    char label[32];                 /* as the driver calls it: "White Balance, Automatic" */
    enum capture_control_type type;
    int64_t minimum, maximum, step, initial; /* CAPTURE_TEXT: limits of its length */
    int64_t value;
    char text[64]; /* CAPTURE_TEXT: the value, as far as it fits */
    bool read_only;
    bool inactive;  /* has no effect now: another control, usually an automatic one, overrides it */
    bool has_value; /* false: a button, or the driver did not report it */
    struct capture_menu_entry *entry; /* CAPTURE_MENU; stored after the controls */
    unsigned entry_count;
};

struct capture_controls {
    unsigned count;
    struct capture_control control[];
};

/* A source's own struct begins with its struct capture. */
struct capture_ops {
    int (*open_more)(struct capture *capture, struct error *why); /* NULL: opens at once */
    int (*start)(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                 struct error *why);
    void (*stop)(struct capture *capture);
    int (*dequeue)(struct capture *capture, struct capture_frame *ret, struct error *why);
    void (*release)(struct capture *capture, const struct capture_frame *frame);
    void (*close)(struct capture *capture);
    /* NULL: there are no controls. */
    int (*list_controls)(struct capture *capture, struct capture_controls **ret, struct error *why);
    int (*set_controls)(struct capture *capture, const struct settings *settings,
                        struct error *why);
};

/* Opens and negotiates. -ENOLINK: its input has no signal; -ENOENT / -ENODEV: no such source;
 * -EBUSY; -EACCES; -EINVAL: the URI, or a format or size the source refuses (the text lists what it
 * offers), a damaged file. The caller owns the result. While it is opening (opening_until_ns),
 * only capture_open_more and capture_close may be called. */
int capture_open(struct capture **ret, const struct capture_request *request, struct error *why);

/* Continues the opening. Never blocks. -EAGAIN: it is still opening; otherwise as capture_open.
 * After a failure only capture_close may be called. */
int capture_open_more(struct capture *capture, struct error *why);

/* Starts streaming in the given memory mode; `memory` belongs to the reader of the frames, and the
 * source makes more buffers by the number that the reader holds. MEMORY_COPIED uses the source's
 * own memory. After a failure another mode may work. -EOPNOTSUPP: the source does not support this
 * mode; -EIO: another program has changed the format since the source was opened. */
int capture_start(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                  struct error *why);

/* Stops streaming and releases the memory; dequeued frames become invalid. Does nothing when not
 * started. */
void capture_stop(struct capture *capture);

/* Takes the newest frame that is ready; older ones are returned to the source and counted. Never
 * blocks. -EAGAIN: there is none; -ENODATA: the file has ended; -EIO: streaming must be restarted;
 * -ESTALE: the signal has another size or rate now, and the source must be opened again; -ENODEV:
 * the device was removed. */
int capture_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why);

void capture_release(struct capture *capture, const struct capture_frame *frame);

/* Lists the controls and their current values, in one allocation that the caller frees. Reads each
 * value from the camera, which takes milliseconds over USB. -EOPNOTSUPP: the source has none;
 * -ENODEV; -EIO. */
int capture_list_controls(struct capture *capture, struct capture_controls **ret,
                          struct error *why);

/* Sets controls in the order given: all of them or, as far as the camera accepts its old values
 * again, none. Values are integers, true or false, a menu entry's number or name, or text. -EINVAL:
 * there is no such control, or it refuses the value; the text names the control, the value and the
 * accepted values. -EBUSY: not now; -EOPNOTSUPP, -ENODEV, -EIO. */
int capture_set_controls(struct capture *capture, const struct settings *settings,
                         struct error *why);

/* NULL is allowed. */
void capture_close(struct capture *capture);

/* Writes the cameras of this machine to the stream: a line for each, and below it the formats that
 * it offers and the one that fftd would choose. With json: one array of objects. Returns the number
 * of cameras. */
int capture_list_devices(void *stdio_file, bool json);

#endif
