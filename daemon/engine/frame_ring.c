#include "engine/frame_ring.h"

#include <errno.h>
#include <stdlib.h>

#include "transform/engine_options.h"

#define MAX_BUFFERS (ENGINE_MAX_IN_FLIGHT + 1)

struct frame_ring {
    unsigned count;  /* buffers */
    unsigned newest; /* that of the frame that was begun last */
    bool is_known;   /* the next frame may read it */
    cl_mem buffer[MAX_BUFFERS];
    cl_event written[MAX_BUFFERS]; /* NULL: no frame yet */
};

int frame_ring_create(struct frame_ring **ret, const struct gpu_device *device, size_t bytes,
                      unsigned in_flight, struct error *why)
{
    struct frame_ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the engine");
    ring->count = in_flight + 1;
    for (unsigned i = 0; i < ring->count; i++) {
        const int r = opencl_make_buffer(&ring->buffer[i], device->context, CL_MEM_READ_WRITE,
                                         bytes, NULL, why);
        if (r < 0) {
            frame_ring_destroy(ring);
            return r;
        }
    }
    *ret = ring;
    return 0;
}

void frame_ring_destroy(struct frame_ring *ring)
{
    if (ring == NULL)
        return;
    for (unsigned i = 0; i < ring->count; i++) {
        opencl_release_buffer(ring->buffer[i]);
        opencl_release_event(ring->written[i]);
    }
    free(ring);
}

cl_mem frame_ring_begin(struct frame_ring *ring)
{
    ring->newest = (ring->newest + 1) % ring->count;
    opencl_release_event(ring->written[ring->newest]);
    ring->written[ring->newest] = NULL;
    return ring->buffer[ring->newest];
}

cl_mem frame_ring_get(const struct frame_ring *ring, cl_event *ret_written)
{
    const unsigned before = (ring->newest + ring->count - 1) % ring->count;
    *ret_written = ring->is_known ? ring->written[before] : NULL;
    return ring->is_known ? ring->buffer[before] : NULL;
}

void frame_ring_add(struct frame_ring *ring, cl_event written)
{
    clRetainEvent(written);
    ring->written[ring->newest] = written;
    ring->is_known = true;
}

void frame_ring_forget(struct frame_ring *ring)
{
    if (ring != NULL)
        ring->is_known = false;
}
