#include "engine/denoiser_past.h"

#include <errno.h>
#include <stdlib.h>

#include "transform/engine_options.h"

#define MAX_PLANES (ENGINE_MAX_IN_FLIGHT + DENOISE_MAX_PAST)

struct denoiser_past {
    unsigned count;  /* frames that are joined to each */
    unsigned planes; /* in use, a ring */
    unsigned newest; /* plane of the frame that was begun last */
    unsigned known;  /* frames up to it that later ones are joined to, at most `count` */
    cl_mem plane[MAX_PLANES];
    cl_event loaded[MAX_PLANES]; /* NULL: no frame yet */
};

int denoiser_past_create(struct denoiser_past **ret, const struct gpu_device *device, size_t bytes,
                         unsigned count, unsigned in_flight, struct error *why)
{
    struct denoiser_past *past = calloc(1, sizeof *past);
    if (past == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing noise reduction");
    past->count = count;
    past->planes = in_flight + count;
    for (unsigned i = 0; i < past->planes; i++) {
        const int r = opencl_make_buffer(&past->plane[i], device->context, CL_MEM_READ_WRITE, bytes,
                                         NULL, why);
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
    for (unsigned i = 0; i < past->planes; i++) {
        opencl_release_buffer(past->plane[i]);
        opencl_release_event(past->loaded[i]);
    }
    free(past);
}

cl_mem denoiser_past_begin(struct denoiser_past *past)
{
    past->newest = (past->newest + 1) % past->planes;
    opencl_release_event(past->loaded[past->newest]);
    past->loaded[past->newest] = NULL;
    return past->plane[past->newest];
}

unsigned denoiser_past_get(const struct denoiser_past *past, cl_mem ret_plane[DENOISE_MAX_PAST],
                           cl_event ret_loaded[DENOISE_MAX_PAST])
{
    for (unsigned i = 0; i < past->known; i++) {
        const unsigned before = (past->newest + past->planes - 1 - i) % past->planes;
        ret_plane[i] = past->plane[before];
        ret_loaded[i] = past->loaded[before];
    }
    return past->known;
}

void denoiser_past_add(struct denoiser_past *past, cl_event loaded)
{
    clRetainEvent(loaded);
    past->loaded[past->newest] = loaded;
    past->known += past->known < past->count;
}

void denoiser_past_forget(struct denoiser_past *past)
{
    if (past != NULL)
        past->known = 0;
}
