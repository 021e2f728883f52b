/* The field of motion of a picture (estimators/motion/motion_field.h), found by an OpenCL device.
 *
 * It equals the processor's field up to rounding, except in few blocks. Where nothing that is known
 * explains a block, the processor searches block after block and passes on each result; the device
 * searches all of them at once, and passes results on to neighbours in FIELD_SPREADS steps.
 *
 * A frame needs the pictures of the frame before it, which may be in another queue: its commands
 * wait there for those that made them, and for nothing else. The vectors come back in memory of the
 * host when the queue has executed what was enqueued. Nothing waits for the device.
 *
 * Threads: a field and its frames are used by one thread at a time. */
#ifndef FFTD_ENGINE_FIELD_FIELD_H
#define FFTD_ENGINE_FIELD_FIELD_H

#include <stdint.h>

#include "engine/field/field_layout.h"
#include "estimators/motion/motion_field.h"
#include "gpu/device_private.h"

#define FIELD_SPREADS 4 /* an even number */

struct field;

/* Makes memory for the pictures. The device must outlive the field. -EINVAL: motion_grid_make()
 * refuses the size. */
int field_prepare(struct field **ret, const struct gpu_device *device,
                  const struct field_size *size, struct error *why);
void field_destroy(struct field *field); /* NULL is allowed */

/* As program_get. */
int field_build(struct field *field, bool compile, const char *cache_dir, struct error *warning,
                struct error *why);

const struct motion_grid *field_grid(const struct field *field);

/* Dispatches of a frame that has one before it. */
unsigned field_dispatches(const struct field *field);
double field_traffic(const struct field *field); /* bytes that they read and write */

/* Bytes on the device for the pictures, and for each frame in flight, which also takes pinned
 * memory of the host. 0: there is no field of such pictures. */
void field_bytes(const struct field_size *size, uint64_t *ret_pictures, uint64_t *ret_frame,
                 uint64_t *ret_pinned);

/* The kernels and buffers of one frame in flight. Queues must execute in order; this one must
 * outlive the frame. The field must have been built. */
struct field_frame;
int field_frame_create(struct field_frame **ret, const struct field *field, cl_command_queue queue,
                       struct error *why);
void field_frame_destroy(struct field_frame *frame); /* NULL is allowed */

/* Enqueues a frame. is_first: do not compare it with the previous one. If `last` is not NULL, it
 * receives the event of the last dispatch, which the caller releases. */
int field_frame_enqueue(struct field_frame *frame, struct field *field, cl_command_queue queue,
                        cl_mem samples, bool is_first, cl_event *last, struct error *why);

/* After the commands have been executed, until the next ones are enqueued: the vectors of the
 * grid's blocks, row by row; NULL: the frame was the first. */
const struct motion_vector *field_frame_vectors(const struct field_frame *frame);

#endif
