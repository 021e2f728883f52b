#include "gpu/frame_ring.h"

#include <errno.h>
#include <stdlib.h>

struct frame_ring {
    unsigned count;  /* buffers */
    unsigned newest; /* that of the frame that was begun last */
    bool is_known;   /* the next frame may read it */
    struct {
        cl_mem buffer;
        cl_event written; /* NULL: no frame yet */
    } place[];
};

int frame_ring_create(struct frame_ring **ret, const struct gpu_device *device, size_t bytes,
                      unsigned in_flight, struct error *why)
{
    struct frame_ring *ring = calloc(1, sizeof *ring + (in_flight + 1) * sizeof ring->place[0]);
    if (ring == NULL)
        return error_set(why, ENOMEM, "out of memory for a ring of frames");
    ring->count = in_flight + 1;
    for (unsigned i = 0; i < ring->count; i++) {
        const int r = opencl_make_buffer(&ring->place[i].buffer, device->context, CL_MEM_READ_WRITE,
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
        opencl_release_buffer(ring->place[i].buffer);
        opencl_release_event(ring->place[i].written);
    }
    free(ring);
}

cl_mem frame_ring_begin(struct frame_ring *ring)
{
    ring->newest = (ring->newest + 1) % ring->count;
    opencl_release_event(ring->place[ring->newest].written);
    ring->place[ring->newest].written = NULL;
    return ring->place[ring->newest].buffer;
}

cl_mem frame_ring_previous(const struct frame_ring *ring, cl_event *ret_written)
{
    const unsigned before = (ring->newest + ring->count - 1) % ring->count;
    *ret_written = ring->is_known ? ring->place[before].written : NULL;
    return ring->is_known ? ring->place[before].buffer : NULL;
}

void frame_ring_end(struct frame_ring *ring, cl_event written)
{
    clRetainEvent(written);
    ring->place[ring->newest].written = written;
    ring->is_known = true;
}

void frame_ring_forget(struct frame_ring *ring)
{
    if (ring != NULL)
        ring->is_known = false;
}
