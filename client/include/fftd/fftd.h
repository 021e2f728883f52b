/* fftd/fftd.h: reads the frames of a filtered camera.
 *
 *     struct fftd *camera;
 *     int r = fftd_open(&camera, "front");         // or "/run/fftd/front", a runtime directory
 *     if (r < 0) {
 *         char why[256];
 *         fftd_explain("front", r, why, sizeof why);
 *         fprintf(stderr, "cannot open the camera: %s\n", why);
 *         return 1;
 *     }
 *     while ((r = fftd_wait(camera, 1000)) >= 0) { // milliseconds
 *         struct fftd_frame frame;
 *         if (r == 0 || fftd_frame(camera, &frame) < 0)
 *             continue;                            // timeout or overwritten: wait again
 *         use(frame.plane[0], frame.stride[0]);
 *         if (!fftd_frame_valid(camera, &frame))   // overwritten during use
 *             discard();
 *     }
 *     fftd_close(camera);
 *
 * "front:small" is the output `small` of the camera `front`, and "front" its output `main`. Frames
 * that were made of one captured frame have the same source_sequence and captured_ns.
 *
 * The library starts no threads, does not log, and allocates nothing after fftd_open. Functions
 * return 0, a positive count or a negative errno. Only one thread may use a struct fftd at a time;
 * a process may open several. The daemon waits for no reader but those of fftd_open_lossless: a
 * reader slower than the camera misses frames, and each frame says how many. */
#ifndef FFTD_FFTD_H
#define FFTD_FFTD_H

#include <stdbool.h>
#include <stdint.h>

#include <fftd/formats.h>
#include <fftd/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fftd;

/* The version of the library that runs, such as "0.1.0". */
const char *fftd_version(void);

/* One frame in shared memory; nothing is copied. The pointers stay mapped until fftd_close, or the
 * first fftd_wait after a change of format. The daemon may overwrite the pixels unless the frame
 * is held, so call fftd_frame_valid after use.
 *
 * Callers allocate this struct and those of ring.h, so their sizes never change while the library
 * is libfftd.so.0; what is added comes by functions such as fftd_frame_measures. C++ needs the word
 * `struct`, too: the function fftd_frame hides the plain name. */
struct fftd_frame {
    uint64_t sequence;
    uint64_t source_sequence;
    uint64_t filter_serial;
    int64_t captured_ns, dequeued_ns, submitted_ns, finished_ns, published_ns;
    uint64_t missed;   /* frames published between the last one returned and this one */
    uint64_t checksum; /* valid with FFTD_FLAG_CHECKSUM; see ring.h */
    uint32_t flags;    /* FFTD_FLAG_... of ring.h */
    uint32_t lock;     /* lock, slot and ring are private to the library */
    uint32_t slot;
    uint32_t ring;
    const struct fftd_format *format;
    const uint8_t *plane[FFTD_MAX_PLANES];
    uint32_t stride[FFTD_MAX_PLANES]; /* bytes */
};

/* Connects to a camera. A `name` with a '/' is a runtime directory. Any other name (NULL:
 * "default") is looked up as the daemon does: /run/fftd/NAME, $XDG_RUNTIME_DIR/fftd/NAME (if that
 * directory belongs to this user), then the private directory under /tmp. The caller closes the
 * result. A daemon that has no frame yet is not an error. Blocks for at most 2 s.
 *   -ENOENT, -ECONNREFUSED  no such daemon
 *   -EACCES     permission denied
 *   -EPROTO     the daemon speaks another ABI, or its ring is not safe to read: expected a memfd on
 *               ordinary pages, sealed against shrinking
 *   -EUSERS     the daemon's client limit is reached
 *   -EMFILE     too few descriptors left; a connection takes five
 *   -ETIMEDOUT  the daemon does not reply */
int fftd_open(struct fftd **ret, const char *name);

/* As fftd_open, for a client that must get every frame of a recording, once and in order, whether
 * it is slow or the daemon is. The ring keeps each frame until it has been read: fftd_next never
 * misses one, and its frame stays whole until the next call of fftd_next, fftd_frame or fftd_wait.
 * The first such client of a daemon gets all frames, from the first one on; one that follows it
 * continues behind the last frame that was read. A client that stops reading stops the source, and
 * all its readers. fftd_wait has this error, too:
 *   -EOPNOTSUPP  the daemon's configuration does not have output.lossless, or its source cannot
 *                wait, as a camera cannot */
int fftd_open_lossless(struct fftd **ret, const char *name);

/* Writes why one of these two, or fftd_wait, has returned `error` (a negative errno) for the camera
 * `name`, into text[size]: one line that names the socket and what would be right, cut if it is
 * longer; 256 bytes are usually enough. It looks at the file system, and asks no daemon. */
void fftd_explain(const char *name, int error, char *text, unsigned size);

/* Frees everything; NULL is allowed. Held frames are released. */
void fftd_close(struct fftd *camera);

/* Waits until there is a frame newer than the last one returned. timeout_ms < 0 waits for ever;
 * 0 only checks, and never waits for the daemon. Returns 1 if there is such a frame, 0 after the
 * timeout or a signal. Attaches again automatically after a change of format or a restart.
 *   -EPIPE   the connection was lost and the daemon did not come back within the timeout; the
 *            next call tries again
 *   -EPROTO  the daemon that came back speaks another ABI
 *   -EBUSY   the format changed several times while frames of each were held or pinned */
int fftd_wait(struct fftd *camera, int timeout_ms);

/* Returns the newest frame. -EAGAIN: there is none newer than the last one returned. */
int fftd_frame(struct fftd *camera, struct fftd_frame *ret);

/* Returns the frame after the last one returned, or the oldest newer one that is still in the
 * ring: for clients that want every frame. -EAGAIN: there is none. */
int fftd_next(struct fftd *camera, struct fftd_frame *ret);

/* Returns whether the frame has not been overwritten: all data read from it so far is one whole
 * frame. */
bool fftd_frame_valid(const struct fftd *camera, const struct fftd_frame *frame);

/* Returns the FNV-1a checksum of the current pixels, to compare with frame->checksum. */
uint64_t fftd_frame_checksum(const struct fftd_frame *frame);

/* Copies the measures of the picture that the frame was made from, or of one a little earlier; see
 * ring.h. -ENODATA: the frame has none (output.measures is not set, or there are none yet);
 * -ENOENT: the frame has been overwritten. */
int fftd_frame_measures(const struct fftd *camera, const struct fftd_frame *frame,
                        struct fftd_measures *ret);

/* Copies the place where that picture resembles a template; see struct fftd_match in ring.h.
 * -ENODATA: the frame has none (the chain has no filter `match`, or as above); -ENOENT: the frame
 * has been overwritten. */
int fftd_frame_match(const struct fftd *camera, const struct fftd_frame *frame,
                     struct fftd_match *ret);

/* Copies the matches of the chain's templates, in the order of its `match` filters, to `ret`, which
 * has room for `capacity` of them. Returns the number of templates, 1 .. FFTD_MAX_MATCHES, which
 * may exceed `capacity`. Older daemons have one at most. -ENODATA, -ENOENT: as above. */
int fftd_frame_matches(const struct fftd *camera, const struct fftd_frame *frame,
                       struct fftd_match *ret, uint32_t capacity);

/* Copies how the scene has moved as a whole in that picture; see struct fftd_similarity in ring.h.
 * -ENODATA: the frame has none (output.motion is not set, no motion is sure, or as above); -ENOENT:
 * the frame has been overwritten. */
int fftd_frame_similarity(const struct fftd *camera, const struct fftd_frame *frame,
                          struct fftd_similarity *ret);

/* Copies the field of motion of that picture; see struct fftd_motion in ring.h. `vectors` has room
 * for 2 * capacity numbers and `confidences` for capacity, row by row. -ENODATA: the frame has none
 * (output.motion is not set, or as above); -ENOBUFS: the field has more than `capacity` blocks,
 * columns * rows of *ret, which is set; -ENOENT: the frame has been overwritten. */
int fftd_frame_motion(const struct fftd *camera, const struct fftd_frame *frame,
                      struct fftd_motion *ret, int16_t *vectors, uint8_t *confidences,
                      uint32_t capacity);

/* Keeps the frame from being overwritten until fftd_release or fftd_close, also across a change of
 * format. A frame can be held several times. A restarted daemon is asked to hold it again;
 * fftd_frame_valid returns false if that was too late. Blocks until the daemon replies, for at most
 * 2 s.
 *   -ENOENT     the frame has been overwritten
 *   -EBUSY      the daemon lends no more slots, or no more to this client: of N slots it lends
 *               N - 4 in all, and half of these, rounded up, to one client (2 of the default 8)
 *   -EPIPE      the connection was lost
 *   -ETIMEDOUT  the daemon does not reply */
int fftd_hold(struct fftd *camera, const struct fftd_frame *frame);

/* Ends one hold; the frame may then be overwritten at any moment. Like fftd_wait with a timeout of
 * 0, it never waits for the daemon. A request is sent if the socket takes it at once, and a later
 * call reads its reply. If the socket does not take it, the connection is closed, which releases
 * all frames; the next fftd_wait connects again and asks for the remaining holds. -ENOENT: the
 * frame is not held.
 *
 * A slow or stopped daemon cannot block these two calls, but a malicious one can: if it keeps a
 * copy of the client's wake-up socket, it can hold that socket's lock in the kernel. */
int fftd_release(struct fftd *camera, const struct fftd_frame *frame);

/* Keeps the frame's memory mapped across changes of format until fftd_unpin or fftd_close. The
 * pixels may still be overwritten. This is for bindings to languages in which a pointer must never
 * dangle. -ENOENT: the memory is no longer mapped, or was not pinned. */
int fftd_pin(struct fftd *camera, const struct fftd_frame *frame);
int fftd_unpin(struct fftd *camera, const struct fftd_frame *frame);

/* Returns a descriptor for poll(), readable when there is a frame or another event to handle. Call
 * fftd_wait(camera, 0) each time it is. It belongs to the library and does not change until
 * fftd_close. */
int fftd_fd(const struct fftd *camera);

/* Return the layout of the frames (NULL before the first ring), the camera's state
 * (FFTD_STATE_OFFLINE without a daemon), and the daemon's epoch (ring.h). */
const struct fftd_format *fftd_format(const struct fftd *camera);
enum fftd_state fftd_state(const struct fftd *camera);
uint32_t fftd_epoch(const struct fftd *camera);

/* Describes a fourcc: where the samples of a frame are, and the names of the format in V4L2,
 * GStreamer and Y4M. NULL: the library does not know it. fftd_pixel_format_at lists all formats
 * that a frame can have, from index 0 on, and returns NULL after the last one. The result is
 * constant. */
const struct fftd_pixel_format *fftd_pixel_format(uint32_t fourcc);
const struct fftd_pixel_format *fftd_pixel_format_at(unsigned index);

/* Writes the runtime directory that fftd_open would use for `name` into path[size]: the first of
 * those above that contains a `frames` socket, or else /run/fftd/NAME. -EINVAL: not a name;
 * -ENAMETOOLONG. */
int fftd_runtime_dir(const char *name, char *path, unsigned size);

#ifdef __cplusplus
}
#endif

#endif
