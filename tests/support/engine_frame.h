/* One frame through an engine, for tests that look at its result. */
#ifndef FFTD_TEST_ENGINE_FRAME_H
#define FFTD_TEST_ENGINE_FRAME_H

#include "core/format.h"
#include "engine/engine.h"
#include "support/cmocka.h"

/* Filters the frame whose planes lie in `in` as the layout says, and waits for the result. `job`
 * has everything else; kernels make the result, whatever the filter is; `what` is in the message of
 * a test that fails. */
static inline void engine_frame(struct engine *engine, struct engine_job job,
                                const struct fftd_format *layout, const uint8_t *in,
                                const char *what)
{
    struct engine_done done;
    struct error why;
    job.is_dispatched = true;
    for (unsigned p = 0; p < layout->plane_count; p++) {
        job.in[p] = in + layout->plane[p].offset;
        job.in_stride[p] = layout->plane[p].stride;
    }
    if (engine_submit(engine, &job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s: %s", what, why.text);
}

#endif
