/* Where frames come from: one interface, three sources (v4l2.c, pattern.c, file.c).
 *
 * A source is named by a URI: v4l2:/dev/video0, pattern:zoneplate, file:clip.y4m. A camera does
 * not wait: frames that nobody takes in time are lost, and pattern: behaves like one. file: waits.
 *
 * Life: capture_open negotiates and fixes the format; capture_start begins streaming;
 * capture_fd becomes readable when capture_dequeue may have something; every dequeued frame is
 * given back by capture_release, in any order; capture_stop, capture_close. All calls come from
 * one thread. After a failure that says so (below), capture_stop + capture_start or
 * capture_close + capture_open are what the caller may try: recovery policy is not here. */
#ifndef FFTD_CAPTURE_H
#define FFTD_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format.h"
#include "core/frame_memory.h"
#include "core/settings.h"

/* What is asked for; 0 or NULL: the source's choice. */
struct capture_request {
    const char *uri;
    uint32_t width, height; /* pixels */
    double rate;            /* frames a second; a camera may deliver another: see format */
    uint32_t fourcc;        /* DRM */
    unsigned buffers;       /* frames that may be lent or waiting at once; 0 = 4 */
    bool loop;     /* file: begin again at the end; otherwise capture_dequeue says -ENODATA */
    uint32_t seed; /* pattern: */
};

struct capture_frame {
    const uint8_t *plane[FFTD_MAX_PLANES];
    uint32_t stride[FFTD_MAX_PLANES]; /* bytes */
    uint64_t sequence;   /* the source's own count, from 0 at every capture_start; gaps are frames
                            the source lost, or that were dropped as counted below */
    int64_t captured_ns; /* CLOCK_MONOTONIC; the driver's timestamp if it is on that clock, else
                            dequeued_ns */
    int64_t dequeued_ns;
    unsigned index; /* private to the source */
    int memory;     /* its number in the frame memory it came in; -1: it is only where the planes
                       are, and must be copied */
    unsigned run;   /* private to the source's owner */
};

#define CAPTURE_MIN_BUFFERS 2
#define CAPTURE_MAX_BUFFERS FRAME_MEMORY_MAX
#define CAPTURE_MIN_RATE    0.01
#define CAPTURE_MAX_RATE    1000.0

struct capture_ops;

struct capture {
    const struct capture_ops *ops;
    struct fftd_format format; /* what it delivers, rate and colour included; strides are nominal:
                                  each frame carries its own */
    char description[128];     /* "vivid (platform:vivid-000), NV12 640x360 at 30 fps" */
    uint64_t dropped_error;    /* frames flagged as damaged or too short, given back unseen */
    uint64_t dropped_stale;    /* frames given back because a newer one was waiting (newest wins) */
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
const char *capture_control_type_name(enum capture_control_type type); /* "integer" */

struct capture_menu_entry {
    int64_t value;
    char name[32];
};

struct capture_control {
    char name[SETTINGS_NAME_BYTES]; /* as v4l2-ctl calls it: "white_balance_automatic" */
    char label[32];                 /* as the driver does: "White Balance, Automatic" */
    enum capture_control_type type;
    int64_t minimum, maximum, step, initial; /* CAPTURE_TEXT: of its length */
    int64_t value;
    char text[64]; /* CAPTURE_TEXT: the value, as far as it fits */
    bool read_only;
    bool inactive;  /* has no effect now: another control, usually an automatic one, decides */
    bool has_value; /* false: a button, or the driver did not tell */
    struct capture_menu_entry *entry; /* CAPTURE_MENU; lies behind the controls */
    unsigned entry_count;
};

struct capture_controls {
    unsigned count;
    struct capture_control control[];
};

struct capture_ops {
    int (*start)(struct capture *capture, enum frame_way way, struct frame_memory *memory,
                 struct error *why);
    void (*stop)(struct capture *capture);
    int (*fd)(const struct capture *capture);
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
 * offers), a damaged file. The caller owns the result. */
int capture_open(struct capture **ret, const struct capture_request *request, struct error *why);

/* Starts streaming, in memory of the source's own. -EIO: somebody has set another format since it
 * was opened. */
int capture_start(struct capture *capture, struct error *why);

/* The same in memory of whoever reads the frames, with as many buffers more as are held there;
 * FRAME_COPIED: in the source's own. After a failure another way may do. -EOPNOTSUPP: frames of
 * this source do not come in this one. */
int capture_start_in(struct capture *capture, enum frame_way way, struct frame_memory *memory,
                     struct error *why);

/* Stops streaming, and lets go of the memory; frames still out are void. Harmless when not started.
 */
void capture_stop(struct capture *capture);

/* A descriptor to poll for POLLIN and POLLPRI (POLLERR and POLLHUP mean: call capture_dequeue to
 * hear why). */
int capture_fd(const struct capture *capture);

/* The newest frame that waits; older ones go back to the source and are counted. Never blocks.
 * -EAGAIN: none; -ENODATA: the file has ended; -EIO: streaming must be restarted; -ESTALE: what is
 * captured has another size or rate now, and must be opened anew; -ENODEV: the device has gone. */
int capture_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why);

void capture_release(struct capture *capture, const struct capture_frame *frame);

/* The controls with what they are set to now, in one piece of memory that the caller frees. Asks
 * the camera for each value, which takes milliseconds behind USB. -EOPNOTSUPP: a source that has
 * none; -ENODEV; -EIO. */
int capture_list_controls(struct capture *capture, struct capture_controls **ret,
                          struct error *why);

/* Sets controls in the order given: all or, as far as the camera takes its old values back, none.
 * Values are whole numbers, true or false, a menu entry's number or name, or text. -EINVAL: there
 * is no such control, or it does not take the value: the text names the control, the value and what
 * it takes; -EBUSY: not now; -EOPNOTSUPP, -ENODEV, -EIO. */
int capture_set_controls(struct capture *capture, const struct settings *settings,
                         struct error *why);

/* NULL is allowed. */
void capture_close(struct capture *capture);

/* The sources' own openers, used by capture_open only. path is the URI after its scheme. */
int capture_open_v4l2(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why);
int capture_open_pattern(struct capture **ret, const char *path,
                         const struct capture_request *request, struct error *why);
int capture_open_file(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why);

/* Draws frame `index` of a named scene into a frame of that layout (format.h): what the pattern:
 * source delivers, for tests and benches too. Deterministic in scene, format, index and seed.
 * -EINVAL: no such scene; the text lists them. */
int pattern_draw(const char *scene, const struct fftd_format *format, uint64_t index, uint32_t seed,
                 uint8_t *frame, struct error *why);

/* One line per camera on this machine, and under it what it offers and what fftd would choose, to
 * the given stream; with json, one array of objects. Returns the number of cameras. */
int capture_list_devices(void *stdio_file, bool json);

#endif
