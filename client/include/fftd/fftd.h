/* fftd/fftd.h - read the frames of a filtered camera.
 *
 *     struct fftd *camera;
 *     int r = fftd_open(&camera, "default");       // or "/run/fftd/NAME", a runtime directory
 *     while ((r = fftd_wait(camera, 1000)) >= 0) { // milliseconds
 *         struct fftd_frame frame;
 *         if (r == 0 || fftd_frame(camera, &frame) < 0)
 *             continue;                            // timeout, or overtaken: take the next one
 *         use(frame.plane[0], frame.stride[0]);
 *         if (!fftd_frame_valid(camera, &frame))   // overwritten while it was being used
 *             discard();
 *     }
 *     fftd_close(camera);
 *
 * The library starts no thread, logs nothing and allocates nothing after fftd_open. Functions
 * return 0 or a positive count, or a negative errno. One struct fftd is used by one thread at a
 * time; a process may open as many as it likes. The daemon never waits for a reader: one that is
 * slower than the camera misses frames and is told how many. */
#ifndef FFTD_FFTD_H
#define FFTD_FFTD_H

#include <stdbool.h>
#include <stdint.h>

#include <fftd/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fftd;

/* One frame as it lies in shared memory; nothing is copied. Pointers stay mapped until
 * fftd_close or the next fftd_wait that follows a change of format, but what they point to may
 * be overwritten unless the frame is held: ask fftd_frame_valid after use. */
struct fftd_frame {
    uint64_t sequence;
    uint64_t source_sequence;
    uint64_t filter_serial;
    int64_t captured_ns, dequeued_ns, submitted_ns, finished_ns, published_ns;
    uint64_t missed;   /* frames published since the last fftd_frame and never seen here */
    uint64_t checksum; /* of FFTD_FLAG_CHECKSUM frames; see ring.h */
    uint32_t flags;
    uint32_t lock; /* these three are private to the library */
    uint32_t slot;
    uint32_t ring;
    const struct fftd_format *format;
    const uint8_t *plane[FFTD_MAX_PLANES];
    uint32_t stride[FFTD_MAX_PLANES]; /* bytes */
};

/* Connects to a camera: a NAME (NULL: "default") looked up as the daemon does (/run/fftd/NAME, then
 * $XDG_RUNTIME_DIR/fftd/NAME, then the private directory under /tmp), or a runtime directory if
 * it holds a '/'. -ENOENT or -ECONNREFUSED: no such daemon; -EPROTO: it speaks another ABI;
 * -EACCES: not allowed; -EUSERS: it serves as many clients as it may; -EMFILE: this process has no
 * descriptors left (a connection takes five); -ETIMEDOUT: it does not answer. A daemon that has no
 * frame yet is no failure. The caller owns the result. */
int fftd_open(struct fftd **ret, const char *name);

/* Frees everything; NULL is allowed. Held frames are released. */
void fftd_close(struct fftd *camera);

/* Waits until a frame newer than the last one returned by fftd_frame is there. timeout_ms < 0
 * waits for ever, 0 only looks. Returns 1 if there is one, 0 on timeout or interruption by a
 * signal. Attaches anew by itself when the daemon changed the format or came back after a
 * restart; -EPIPE only if the daemon has gone and did not come back within the timeout: waiting
 * again goes on trying. -EPROTO: what came back speaks another ABI; -EBUSY: the format changed
 * again and again while frames of each were held or pinned. */
int fftd_wait(struct fftd *camera, int timeout_ms);

/* The newest frame. -EAGAIN: none newer than the last one returned. */
int fftd_frame(struct fftd *camera, struct fftd_frame *ret);

/* The frame after the last one returned by fftd_frame or fftd_next, as long as it is still in
 * the ring, otherwise the oldest that still is: for clients that want every frame. */
int fftd_next(struct fftd *camera, struct fftd_frame *ret);

/* Whether everything read from the frame so far belongs to one whole frame. */
bool fftd_frame_valid(const struct fftd *camera, const struct fftd_frame *frame);

/* The FNV-1a sum of the frame's pixels as they are now, to compare with frame->checksum. */
uint64_t fftd_frame_checksum(const struct fftd_frame *frame);

/* Keeps the frame from being overwritten until fftd_release or fftd_close, also across a change of
 * format. Holds of one frame add up. Should the daemon die meanwhile, its successor is asked to go
 * on holding; whether that came in time, fftd_frame_valid tells. -ENOENT: too late; -EBUSY: the
 * daemon lends no more slots; -EPIPE: it has gone; -ETIMEDOUT: it does not answer. */
int fftd_hold(struct fftd *camera, const struct fftd_frame *frame);
/* Ends one hold. -ENOENT: the frame is not held. */
int fftd_release(struct fftd *camera, const struct fftd_frame *frame);

/* Keeps the memory a frame lies in mapped across changes of format, until fftd_unpin or fftd_close;
 * what is in it may be overwritten all the same. For bindings to languages in which a pointer must
 * not dangle, whatever the program does. -ENOENT: it is not mapped any more, or was not pinned. */
int fftd_pin(struct fftd *camera, const struct fftd_frame *frame);
int fftd_unpin(struct fftd *camera, const struct fftd_frame *frame);

/* A descriptor for poll(): readable when a frame came or there is something else to be done. It
 * belongs to the library and stays the same until fftd_close. Call fftd_wait(camera, 0) each time
 * it fired. */
int fftd_fd(const struct fftd *camera);

/* Layout of the frames, or NULL before the first ring; state of the camera (offline while the
 * daemon has gone); the daemon's epoch. */
const struct fftd_format *fftd_format(const struct fftd *camera);
enum fftd_state fftd_state(const struct fftd *camera);
uint32_t fftd_epoch(const struct fftd *camera);

/* The directory NAME's sockets lie in, as fftd_open finds it (the first one of those above with a
 * `frames` socket in it, else /run/fftd/NAME), into path[size]. -ENAMETOOLONG; -EINVAL: not a
 * name. */
int fftd_runtime_dir(const char *name, char *path, unsigned size);

#ifdef __cplusplus
}
#endif

#endif
