/* fftd/ring.h - the shared-memory ring of filtered frames, and the socket that passes it to
 * clients.
 *
 * This header is the ABI between the daemon and its clients, and is sufficient to write a reader in
 * any language. Programs in C should use fftd.h, which waits for frames and checks them.
 *
 * The ring is one memfd: a header page, then slot_count slots of slot_stride bytes. Each slot is
 * a struct fftd_slot followed, data_offset bytes into the slot, by one frame in the layout that
 * header.format describes. Every field is little-endian, fixed-width and naturally aligned, so
 * 32-bit and 64-bit programs see the same bytes. A client cannot make its descriptor writable.
 *
 * All times are CLOCK_MONOTONIC nanoseconds. Sequence numbers start at 1; 0 means "none yet".
 *
 * How to read without tearing (a seqlock per slot; fftd.h does exactly this):
 *   1. n = newest (load-acquire): sequence FFTD_NEWEST_SEQUENCE(n) is in slot
 *      FFTD_NEWEST_SLOT(n). (To find an older frame, search the slots for its sequence: slots are
 *      not reused in a fixed order, because held ones are skipped.)
 *   2. lock = slot.lock (load-acquire); odd: being rewritten, start again
 *   3. slot.sequence differs from the sequence in 1: overwritten, start again with a newer frame
 *   4. use the frame
 *   5. acquire fence; slot.lock (load-relaxed) == lock: the data used is one whole frame
 * How to wait: poll() on the wake-up socket, or FUTEX_WAIT (shared, works on a read-only mapping)
 * on the wake-up word, which takes half the time. Only this client has them. Load the word
 * (load-acquire), then newest; sleep on the value of the word if there is nothing new. A daemon
 * that crashes wakes nobody there, so such a wait needs a timeout, after which the client polls
 * the socket. Programs that trust all other readers can sleep on header.futex in the same way
 * without any request. Any reader can move the others' sleep there to another futex
 * (FUTEX_REQUEUE). */
#ifndef FFTD_RING_H
#define FFTD_RING_H

#include <stdint.h>

#ifdef __cplusplus
#define FFTD_STATIC_ASSERT static_assert
#else
#define FFTD_STATIC_ASSERT _Static_assert
#endif

#define FFTD_RING_MAGIC 0x474e495244544646ull /* the bytes "FFTDRING" */
#define FFTD_RING_ABI   1u

#define FFTD_MAX_PLANES 4
#define FFTD_MIN_SLOTS  4u
#define FFTD_MAX_SLOTS  64u
/* The largest width and height of a published frame, in pixels. */
#define FFTD_MAX_SIDE   8192u

/* DRM fourcc code (drm_fourcc.h): the four characters, first one lowest. */
#define FFTD_FOURCC(a, b, c, d)                                                                    \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* One plane of a frame. Row r begins offset + r * stride bytes into the frame and holds row_bytes
 * bytes of pixels; the plane has `rows` rows. */
struct fftd_plane {
    uint32_t offset;
    uint32_t stride;
    uint32_t row_bytes;
    uint32_t rows;
};

/* Memory layout and meaning of a frame. Colour fields are code points of ITU-T H.273 (2 =
 * unspecified); full_range is 0 (limited, 16..235) or 1. The rate is a fraction, 0/1 unknown. */
struct fftd_format {
    uint32_t fourcc;
    uint32_t width;  /* pixels */
    uint32_t height; /* pixels */
    uint32_t plane_count;
    struct fftd_plane plane[FFTD_MAX_PLANES];
    uint32_t frame_bytes; /* from the first byte of plane 0 to the end of the last plane */
    uint32_t rate_num;
    uint32_t rate_den;
    uint8_t primaries;
    uint8_t transfer;
    uint8_t matrix;
    uint8_t full_range;
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_format) == 96, "fftd_format is ABI");

enum fftd_state {
    FFTD_STATE_STARTING = 0, /* no frame yet */
    FFTD_STATE_LIVE = 1,
    FFTD_STATE_OFFLINE =
        2, /* the camera is lost, stalled or paused; frames may follow in this ring */
    FFTD_STATE_RETIRED = 3, /* no more frames in this ring: attach again */
};

/* Offset 0 of the memfd. The first 32 bytes have the same meaning in every ABI. */
struct fftd_ring_header {
    uint64_t magic;        /* FFTD_RING_MAGIC, written last: a ring without it is not ready */
    uint32_t abi;          /* FFTD_RING_ABI */
    uint32_t header_bytes; /* offset of slot 0, a multiple of 4096 */
    uint64_t ring_bytes;   /* size of the whole memfd */
    uint32_t slot_count;
    uint32_t data_offset; /* from a slot's first byte to its frame, a multiple of 128 */

    uint64_t slot_stride; /* bytes from one slot to the next, a multiple of 4096 */
    uint32_t generation;  /* which ring of this camera: +1 with each new ring */
    uint32_t reserved0;
    struct fftd_format format;
    uint64_t first_sequence; /* the first one of this generation */
    uint8_t reserved1[104];

    /* The bytes from here on change while the ring is in use. */
    uint64_t newest; /* the newest published frame: FFTD_NEWEST_SEQUENCE, FFTD_NEWEST_SLOT */
    uint32_t futex;
    uint32_t state;       /* enum fftd_state */
    int64_t heartbeat_ns; /* when the daemon last showed progress */
    uint32_t epoch;       /* which daemon process made this ring: +1 with each restart */
    uint32_t reserved2[9];
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_ring_header) == 320, "fftd_ring_header is ABI");

/* header.newest holds a sequence number and the slot of that frame, in one word so that both are
 * read at once. */
#define FFTD_NEWEST(sequence, slot)  ((uint64_t)(sequence) << 6 | (slot))
#define FFTD_NEWEST_SEQUENCE(newest) ((newest) >> 6)
#define FFTD_NEWEST_SLOT(newest)     ((unsigned)(63u & (newest)))

#define FFTD_FLAG_CHECKSUM           1u   /* slot.checksum is valid */
#define FFTD_FLAG_DISCONTINUITY      2u   /* the source lost frames just before this one */
#define FFTD_FLAG_BLENDED            4u   /* a fade: the previous filter also contributes */
#define FFTD_FLAG_MEASURES           8u   /* slot.measures is valid */
#define FFTD_FLAG_MATCH              16u  /* the slot has a struct fftd_match, which is valid */
#define FFTD_FLAG_VIEW               32u  /* shows what the filter does, and not the picture */
#define FFTD_FLAG_MOTION             64u  /* the slot has a struct fftd_motion, which is valid */
#define FFTD_FLAG_SIMILARITY         128u /* the slot has a struct fftd_similarity, which is valid */
#define FFTD_FLAG_MATCHES            2048u /* the slot has a struct fftd_matches, which is valid */

/* The state of the measured picture, in bits 8 to 10 of the flags; with FFTD_FLAG_MEASURES.
 * Older daemons leave it unknown. */
enum fftd_picture_state {
    FFTD_PICTURE_UNKNOWN = 0, /* smaller than 16 x 16 pixels, or not measured */
    FFTD_PICTURE_FINE = 1,
    FFTD_PICTURE_DEFOCUSED = 2,   /* measures.sharpness is below 0.055 cycles/pixel */
    FFTD_PICTURE_COVERED = 3,     /* nothing to see: dark, covered, or a plain surface */
    FFTD_PICTURE_OVEREXPOSED = 4, /* half of it or more is white */
};
#define FFTD_PICTURE_STATE(flags)      (7u & (uint32_t)(flags) >> 8)
#define FFTD_FLAG_PICTURE_STATE(state) ((uint32_t)(state) << 8)

/* Measures of luma in a picture before the filter. If output.measures is set, fftd takes them
 * outside the path of the frames, and not from every frame. So the measures of a frame are those of
 * a picture that was captured at the same time or earlier; `age` says how much earlier. A float
 * that was not measured is NaN, and a count is 0. */
struct fftd_measures {
    float sharpness; /* the root mean square of the spatial frequency, weighted by the power
                        beyond the noise; cycles/pixel, 0 .. 0.5. It falls with blur. 0: there
                        is nothing but noise. */
    float noise;     /* standard deviation of white noise, in 1/255 of the range of samples */
    float mean;      /* mean of all samples, scaled to 0 .. 255 whatever their bits */
    float clipped;   /* share of samples at or beyond black or white, 0 .. 1; these are 0 and
                        255, or 16 and 235 if format.full_range is 0 and the picture does not
                        go well beyond them */
    float shift_x, shift_y; /* pixels a frame that the picture moves right and down, on average
                               since the picture that was measured before; NaN after a cut, and
                               where nothing can be followed */
    float shift_confidence; /* how well one shift explains both pictures, 0 .. 1 */
    float flicker_hz;    /* frequency of the light's flicker, 0 while none is found; NaN unless the
                            chain has deflicker, which looks for it */
    float flicker_depth; /* its amplitude as a share of the mean, 0 .. 1; NaN and 0 as above */
    float peak_strength; /* amplitude of the strongest periodic interference, in samples of 0 ..
                            255; 0 while none is found; NaN unless the chain has auto-notch */
    uint32_t peaks;      /* periodic interferences that were found */
    uint32_t age;        /* frames that the daemon took from the camera since the measured one;
                            0: this one. As long as none of them was lost, the measured frame has
                            the number sequence - age. */
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_measures) == 48, "fftd_measures is ABI");

struct fftd_slot {
    uint32_t lock; /* odd while the daemon writes the slot */
    uint32_t flags;
    uint64_t sequence;        /* the frame's number: +1 with each frame, never reused */
    uint64_t source_sequence; /* the camera's own count; gaps are frames lost before the daemon */
    uint64_t filter_serial;   /* which filter made this frame; grows with every change. With
                                 FFTD_FLAG_BLENDED: the filter that the fade leads to */
    int64_t captured_ns;      /* start of exposure or of readout, as the driver says */
    int64_t dequeued_ns;      /* the daemon received it from the driver */
    int64_t submitted_ns;     /* its work was submitted to the GPU */
    int64_t finished_ns;      /* the GPU had finished it */
    int64_t published_ns;
    uint64_t checksum; /* FNV-1a (64 bit) of the frame's bytes, row by row without padding */
    struct fftd_measures measures; /* with FFTD_FLAG_MEASURES; older daemons store zeros */
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_slot) == 128, "fftd_slot is ABI");

/* The position at which the picture before the filter is most similar to the template of the
 * chain's first `match` filter. The picture is the one that slot.measures describes. */
struct fftd_match {
    float x, y;        /* pixels from the centre of the top left pixel to the template's middle, its
                          column columns / 2 and row rows / 2, rounded down; NaN: the picture has no
                          contrast anywhere */
    float score;       /* their correlation coefficient there, -1 .. 1; 1: equal except for
                          brightness and contrast */
    uint32_t reserved; /* 0 */
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_match) == 16, "fftd_match is ABI");

/* The matches of all `match` filters of the chain, in their order: `count` of struct fftd_match,
 * `offset` bytes from the slot's first byte. The first one is also at FFTD_MATCH_OFFSET. All
 * outputs of a camera together look for at most FFTD_MAX_MATCHES templates; the matches of further
 * ones have NaN as x and y, and the score 0. */
#define FFTD_MAX_MATCHES 16
struct fftd_matches {
    uint32_t count;  /* 1 .. FFTD_MAX_MATCHES */
    uint32_t offset; /* a multiple of 4; the last match ends before the frame */
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_matches) == 8, "fftd_matches is ABI");

/* How the scene has moved as a whole in the picture before the filter, per frame, on average over
 * the time between the two pictures of the field of motion that this was fitted to: it turns and
 * grows about the middle of the picture, and then shifts. It is what most of the field of motion
 * agrees on (output.motion), whatever moves otherwise. */
struct fftd_similarity {
    float x, y;        /* pixels to the right and down, of the middle of the picture */
    float angle;       /* degrees, clockwise */
    float zoom;        /* factor by which distances grow */
    float agreement;   /* 0 .. 1: the share of the field's confidence that agrees */
    uint32_t reserved; /* 0 */
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_similarity) == 24, "fftd_similarity is ABI");

/* Additions to slots are stored between struct fftd_slot and the frame, at a fixed offset from the
 * slot's first byte. A flag says that an addition is present; older daemons leave no room for it,
 * and never set the flag. */
#define FFTD_MATCH_OFFSET      128u
#define FFTD_SIMILARITY_OFFSET 144u
#define FFTD_MATCHES_OFFSET    168u
#define FFTD_MOTION_OFFSET     256u

/* The field of motion between two pictures before the filter. The device compares this frame with
 * the one before. The observer (output.motion_by) compares the picture of slot.measures with the
 * one that was measured before that. Blocks overlap by half. The middle of block (column, row) is
 * at (block / 2 + column * block / 2, block / 2 + row * block / 2) pixels from the top left corner.
 *
 * It is followed, at FFTD_MOTION_VECTORS_OFFSET, by rows * columns vectors of two int16_t, row by
 * row: by how many 1/64 pixels (FFTD_MOTION_UNIT) the content of the block has moved right and down
 * since the picture before; and then, without a gap, by as many confidences of one byte: the
 * estimated probability that the vector is right to 0.1 pixel, as a share of 255. From
 * FFTD_MOTION_SURE on it can be relied on. All confidences are 0 after a cut, and in the first
 * field. Vectors of blocks that see little are those around them. */
struct fftd_motion {
    int64_t captured_ns; /* time of the picture, as slot.captured_ns of its frame; differs from
                            field to field, so that a client sees whether a frame has a new one */
    int64_t since_ns;    /* when the picture before was captured */
    uint16_t columns, rows;
    uint16_t block;    /* pixels of a side */
    uint16_t reserved; /* 0 */
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_motion) == 24, "fftd_motion is ABI");

#define FFTD_MOTION_VECTORS_OFFSET (FFTD_MOTION_OFFSET + 24u)
#define FFTD_MOTION_UNIT           64 /* units in a pixel */
#define FFTD_MOTION_SURE           230
/* Bytes of the vectors and confidences of a number of blocks, padded to a multiple of four. */
#define FFTD_MOTION_BYTES(blocks)  (((blocks)*5u + 3u) & ~3u)

/* The `frames` socket: AF_UNIX SOCK_SEQPACKET, one fixed-size message a packet.
 *
 * The client sends ATTACH first. The daemon answers every message except READ, in order. It answers
 * a message of the wrong size, magic or kind with an error and closes the connection. A reply's
 * `result` is 0 or a negative errno, in Linux's generic numbering.
 *   ATTACH   value = the client's FFTD_RING_ABI. A reply of 0 carries two descriptors (SCM_RIGHTS):
 *            the ring, read-only, and a wake-up socket (AF_UNIX, SOCK_STREAM). The daemon sends a
 *            byte there after every publication and change of state; read it empty to clear it.
 *            End of file means that the daemon has ended or has no ring any more. -EPROTO:
 *            another ABI, `value` is the daemon's; -EAGAIN: no ring yet; -EUSERS: too many
 *            clients, sent as soon as a client connects, without waiting for its request.
 *            ATTACH on an existing connection returns the next generation's ring and another
 *            wake-up socket. A connection that makes no request within 3 s is closed.
 *            With FFTD_ATTACH_WORD in `generation` a third descriptor follows: a page, read-only,
 *            whose first four bytes are the wake-up word. The daemon increments it after every
 *            publication and change of state and wakes one thread that sleeps on it; only if none
 *            does, it sends the byte. A daemon that does not know the flag sends two descriptors.
 *            With FFTD_ATTACH_LOSSLESS the ring waits for this client: `value` of the reply is
 *            the first frame that stays until the client has sent READ for it, or is gone.
 *            -EOPNOTSUPP: output.lossless is not set, or the source cannot wait. A daemon that
 *            does not know the flag replies with 0 in `value`.
 *   HOLD     value = a sequence; the daemon will not reuse its slot until RELEASE or
 *            disconnect. -ENOENT: the frame is overwritten; -EBUSY: no more slots may be held, or
 *            no more by this client.
 *   RELEASE  value = a sequence held by this client. -ENOENT: the client does not hold it.
 *   READ     value = a sequence: the client needs neither this frame nor an older one. Only after
 *            ATTACH with FFTD_ATTACH_LOSSLESS; it has no reply. A client that waits for a frame
 *            must have sent it for all that it has read, and otherwise sends it for several.
 * `text` is empty or explains `result` in words. The daemon disconnects a client that leaves more
 * than a few replies unread.
 *
 * A daemon that is restarted may leave its connections to its successor. The wake-up socket then
 * ends, but the connection stays open. ATTACH on it returns the successor's ring, which has the
 * next generation, the next epoch and the next sequence numbers. Nobody writes the old ring any
 * more: its frames stay as they are for as long as a client maps it, and need no holds.
 *
 * Neither an eventfd nor a pipe would do instead of the wake-up socket. Both sides of an eventfd
 * share its open file: a client could switch it to blocking and fill it. A client can keep a pipe
 * locked in the kernel. Either would stop the thread that wakes all other clients. */
#define FFTD_FRAMES_MAGIC          0x46544446u /* the bytes "FDTF" */

enum fftd_request {
    FFTD_REQUEST_ATTACH = 1,
    FFTD_REQUEST_HOLD = 2,
    FFTD_REQUEST_RELEASE = 3,
    FFTD_REQUEST_READ = 4,
};

/* Flags for `generation` in ATTACH requests. */
#define FFTD_ATTACH_WORD     (1u << 31)
#define FFTD_ATTACH_LOSSLESS (1u << 30)

struct fftd_message {
    uint32_t magic;
    uint32_t kind; /* enum fftd_request; a reply has that of its request */
    uint64_t value;
    int32_t result;      /* 0 in requests */
    uint32_t generation; /* the generation of the ring that the message is about; FFTD_ATTACH_...
                            in ATTACH requests */
    char text[104];      /* replies only, NUL-terminated */
};
FFTD_STATIC_ASSERT(sizeof(struct fftd_message) == 128, "fftd_message is ABI");

#endif
