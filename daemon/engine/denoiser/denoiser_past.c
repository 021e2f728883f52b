#include "engine/denoiser/denoiser_past.h"

#include <errno.h>
#include <stdlib.h>

#include "transform/engine_options.h"

#define MAX_HISTORIES (ENGINE_MAX_IN_FLIGHT + 1)

struct denoiser_past {
    unsigned count;  /* histories, a ring */
    unsigned newest; /* that of the frame that was begun last */
    bool is_known;   /* the next frame is joined to it */
    cl_mem history[MAX_HISTORIES];
    cl_event joined[MAX_HISTORIES]; /* NULL: no frame yet */
};

int denoiser_past_create(struct denoiser_past **ret, const struct gpu_device *device, size_t bytes,
                         unsigned in_flight, struct error *why)
{
    struct denoiser_past *past = calloc(1, sizeof *past);
    if (past == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing noise reduction");
    past->count = in_flight + 1;
    for (unsigned i = 0; i < past->count; i++) {
        const int r = opencl_make_buffer(&past->history[i], device->context, CL_MEM_READ_WRITE,
                                         bytes, NULL, why);
        if (r < 0) {
            denoiser_past_destroy(past);
            return r;
        }
    }
    *ret = past;
    return 0;
}

void denoiser_past_destroy(struct denoiser_past *past)
{
    if (past == NULL)
        return;
    for (unsigned i = 0; i < past->count; i++) {
        opencl_release_buffer(past->history[i]);
        opencl_release_event(past->joined[i]);
    }
    free(past);
}

cl_mem denoiser_past_begin(struct denoiser_past *past)
{
    past->newest = (past->newest + 1) % past->count;
    opencl_release_event(past->joined[past->newest]);
    past->joined[past->newest] = NULL;
    return past->history[past->newest];
}

cl_mem denoiser_past_get(const struct denoiser_past *past, cl_event *ret_joined)
{
    const unsigned before = (past->newest + past->count - 1) % past->count;
    *ret_joined = past->is_known ? past->joined[before] : NULL;
    return past->is_known ? past->history[before] : NULL;
}

void denoiser_past_add(struct denoiser_past *past, cl_event joined)
{
    clRetainEvent(joined);
    past->joined[past->newest] = joined;
    past->is_known = true;
}

void denoiser_past_forget(struct denoiser_past *past)
{
    if (past != NULL)
        past->is_known = false;
}
