/* Frames in flight. A frame is uploaded, filtered by kernels, and downloaded. Each slot has its own
 * queue, so these steps overlap with those of other slots. Frames share only tables and responses,
 * which kernels only read. A replaced response stays valid for the frames that use it, because
 * OpenCL keeps a buffer while commands use it. */
#include "engine/engine_private.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "engine/fade.h"
#include "engine/corrector.h"

#define NEUTRAL_CHROMA 128

/* One frame in this many has an event for each dispatch and for each step, because events cost the
 * driver time. */
#define TIMED_FRAMES   32

/* Accounts for memory that passes to the device or back, as `step` if it works there: a device with
 * memory of its own is sent a copy, or told to send one. */
static void account_memory(struct slot *slot, enum overhead_step step)
{
    slot_account(slot, slot->engine->device->unified_memory ? step : OVERHEAD_ENQUEUE);
}

/* Copies the planes that are not filtered into the result, or makes them smaller. Beside a view
 * they are neutral. Returns the number of bytes that were written. */
static uint64_t pass_planes(struct slot *slot)
{
    const struct engine *engine = slot->engine;
    const struct engine_job *job = &slot->job;
    const struct fftd_format *format = &engine->format;
    if (engine->resampler != NULL)
        return chroma_resample(slot);
    if (engine->device_planes == format->plane_count)
        return 0;
    if (view_has_picture(engine->options.recipe.view))
        return upload_copy_planes(
            &(struct upload_planes){format, engine->filtered_planes, format->plane_count}, job,
            job->out);
    for (unsigned i = engine->filtered_planes; i < format->plane_count; i++)
        memset(job->out + format->plane[i].offset, NEUTRAL_CHROMA,
               (size_t)format->plane[i].stride * format->plane[i].rows);
    return 0;
}

/* Enqueues one step of a component. Its events are kept if its time is measured, or if it is the
 * first of the frame that has a kernel, or the last one. */
static int enqueue_step(struct slot *slot, unsigned component, unsigned step, bool is_timed,
                        struct transform_buffers *buffers, struct error *why)
{
    struct engine *engine = slot->engine;
    struct component *c = &engine->component[component];
    struct step_times *times = &slot->time[component][step];
    const bool is_last = component + 1 == engine->component_count && step == TRANSFORM_STEP;
    struct step_run run = {.slot = slot,
                           .component = c,
                           .index = component,
                           .part = c->step[step].part,
                           .frame = slot->frame[component][step],
                           .data = c->step[step].data,
                           .buffers = buffers,
                           .times_each = is_timed};
    const bool reads_load = slot->load[component] != NULL && step == TRANSFORM_STEP;
    if (is_timed || slot->first == NULL || is_last || reads_load) {
        run.first = &times->first;
        run.last = &times->last;
    }
    const int r = engine_steps[step]->enqueue(&run, why);
    if (slot->first == NULL && times->first != NULL)
        clRetainEvent(slot->first = times->first);
    if (is_last && times->last != NULL)
        clRetainEvent(slot->last = times->last);
    if (reads_load && times->first != NULL)
        load_note_read(slot->load[component], times->first);
    return r;
}

/* Has the components' loads load the frame, and sets what the kernels of each of them read. */
static int take_loads(struct slot *slot, struct transform_buffers ret[MAX_COMPONENTS],
                      struct error *why)
{
    struct engine *engine = slot->engine;
    int r = 0;
    for (unsigned i = 0; i < engine->component_count && r == 0; i++) {
        struct component *c = &engine->component[i];
        const uint32_t band = c->step[TRANSFORM_STEP].data.band;
        if (c->use.load != NULL)
            r = load_take(&slot->load[i], &c->use, slot,
                          engine->filter.fade == NULL ? band : load_wider(band, c->use.band),
                          c->subject.image.smaller.width == 0, &ret[i], why);
    }
    return r;
}

/* Gives the device the planes to be filtered, for which a load may have done that. */
static int upload(struct slot *slot, struct transform_buffers ret[MAX_COMPONENTS],
                  struct error *why)
{
    struct engine *engine = slot->engine;
    const struct upload_planes planes = {&engine->source, 0, engine->device_planes};
    cl_mem image = NULL;
    int r = take_loads(slot, ret, why);
    if (r == 0 && engine_uploads(engine))
        r = upload_frame(&slot->upload, &planes, slot, &image, why);
    for (unsigned i = 0; i < engine->component_count; i++)
        if (slot->load[i] == NULL)
            ret[i].image = image;
    return r;
}

/* With an output, the result is stored there if the device can. *ret_stores: whether a dispatch
 * that stores a part of the result was enqueued, on failure too. */
static int run_kernels(struct slot *slot, struct transform_buffers of[MAX_COMPONENTS],
                       bool *ret_stores, struct error *why)
{
    const struct engine_job *job = &slot->job;
    struct engine *engine = slot->engine;
    cl_mem result = slot->out;
    int r = job->output == NULL
                ? 0
                : engine_output_lend(job->output, job->output_frame, slot->queue, &result, why);
    if (r < 0)
        return r;
    account_memory(slot, OVERHEAD_UNMAP);
    const bool is_timed = engine->waiter.submitted % TIMED_FRAMES == TIMED_FRAMES - 1;
    slot->result.blended = engine->filter.fade != NULL;
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct component *c = &engine->component[i];
        struct transform_buffers buffers = of[i];
        buffers.result = result;
        buffers.response = c->step[TRANSFORM_STEP].data;
        for (unsigned k = 0; engine_steps[k] != NULL && r == 0; k++)
            if (component_has(c, k))
                r = enqueue_step(slot, i, k, is_timed, &buffers, why);
        slot_account(slot, OVERHEAD_ENQUEUE);
        if (r < 0)
            return r;
        *ret_stores = true;
    }
    return 0;
}

static int fetch_result(struct slot *slot, struct error *why)
{
    struct engine *engine = slot->engine;
    cl_int code;
    if (slot->job.output != NULL) {
        const bool writes = slot->chroma != NULL || view_is_drawn_over(engine->options.recipe.view);
        return engine_output_fetch(slot, CL_MAP_READ | (writes ? CL_MAP_WRITE : 0), why);
    }
    if (engine->device->unified_memory) {
        slot->mapped_out = clEnqueueMapBuffer(slot->queue, slot->out, CL_FALSE, CL_MAP_READ, 0,
                                              engine->frame_bytes, 0, NULL, &slot->done, &code);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueMapBuffer");
    }
    code = clEnqueueReadBuffer(slot->queue, slot->out, CL_FALSE, 0, engine->frame_bytes,
                               slot->host_out_at, 0, NULL, &slot->done);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
}

static void watch_done(struct slot *slot)
{
    struct engine *engine = slot->engine;
    clFlush(slot->queue);
    engine->in_flight++;
    pthread_mutex_lock(&engine->mutex);
    engine->waiter.submitted++;
    pthread_cond_signal(&engine->waiter.work);
    pthread_mutex_unlock(&engine->mutex);
}

/* ---- frames that nothing changes, or a factor ---------------------------------------------- */

/* Returns whether the host copies the next frame instead of having it filtered. A device with
 * memory of its own that is sent frames from where they are, or one that reads them there, takes
 * less of the processor's time than a copy would. */
static bool passes(const struct engine *engine, const struct engine_job *job)
{
    return engine_is_simple(engine) && engine->filter.fade == NULL &&
           (job->memory == NULL || gpu_device_is_cpu(engine->device)) && !job->is_dispatched &&
           job->correction == NULL && !job_is_shifted(job);
}

/* False for luma with colour beside it: storing the result reads the captured frame once more,
 * after the load. Also false for a GPU that shares the host's memory, because the host could not
 * read the chroma while the frame is lent. */
bool engine_waits_for_load(const struct engine *last, const struct engine *engine)
{
    const struct engine *const both[] = {last, engine};
    const struct load *load = last->component[0].use.load;
    const struct gpu_device *device = last->device;
    bool waits = load != NULL && (gpu_device_is_cpu(device) || !device->unified_memory) &&
                 last->info->step == 1 && last->info->kind == SAMPLE_U8 && !engine_is_simple(last);
    for (unsigned i = 0; i < 2; i++)
        waits &= both[i]->component_count == 1 && both[i]->component[0].use.load == load;
    return waits;
}

static void multiply_plane(const struct engine *engine, const struct engine_job *job)
{
    const struct fftd_plane *plane = &engine->format.plane[0];
    for (unsigned i = 0; i < plane->rows; i++)
        factor_multiply(engine->filter.factor, job->out + plane->offset + (size_t)i * plane->stride,
                        job->in[0] + (size_t)i * job->in_stride[0], plane->row_bytes);
}

/* The frame is finished when those before it are, so usually at once. */
static void pass_frame(struct slot *slot)
{
    struct engine *engine = slot->engine;
    struct waiter *waiter = &engine->waiter;
    const int64_t begun_ns = slot->accounted_ns = clock_now_ns();
    const bool is_same = engine->filter.is_none;
    if (!is_same)
        multiply_plane(engine, &slot->job);
    const struct upload_planes planes = {&engine->format, is_same ? 0 : 1,
                                         engine->format.plane_count};
    slot->result.copies.passed_bytes = upload_copy_planes(&planes, &slot->job, slot->job.out);
    slot_account(slot, OVERHEAD_COPY);
    slot->passed = true;
    slot->job.memory = NULL;
    slot->job.output = NULL;
    slot->status = CL_SUCCESS;
    slot->finished_ns = slot->result.submitted_ns = slot->accounted_ns;
    slot->result.upload_ns = slot->accounted_ns - begun_ns;
    engine->in_flight++;
    pthread_mutex_lock(&engine->mutex);
    slot->complete = waiter->waited == waiter->submitted++;
    if (slot->complete) {
        waiter->waited++;
        eventfd_write(engine->event_fd, 1);
    } else {
        pthread_cond_signal(&waiter->work);
    }
    pthread_mutex_unlock(&engine->mutex);
    slot_account(slot, OVERHEAD_ENQUEUE);
}

/* ---- the life of a frame ------------------------------------------------------------------- */

static void release_events(struct slot *slot)
{
    cl_event *const events[] = {&slot->first, &slot->last, &slot->done};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (*events[i] != NULL) {
            clReleaseEvent(*events[i]);
            *events[i] = NULL;
        }
    for (unsigned i = 0; i < MAX_COMPONENTS; i++)
        for (unsigned k = 0; k < ENGINE_MAX_STEPS; k++) {
            struct step_times *times = &slot->time[i][k];
            opencl_release_event(times->first);
            opencl_release_event(times->last);
            *times = (struct step_times){NULL, NULL};
        }
    while (slot->dispatch_count > 0)
        clReleaseEvent(slot->dispatch[--slot->dispatch_count]);
}

static void unmap_result(struct slot *slot)
{
    if (slot->mapped_out == NULL)
        return;
    if (slot->job.output == NULL) {
        clEnqueueUnmapMemObject(slot->queue, slot->out, slot->mapped_out, 0, NULL, NULL);
        clFlush(slot->queue);
    }
    slot->mapped_out = NULL;
}

/* Has the steps drop the frame's image, or its result. */
static void drop(struct slot *slot, bool image)
{
    for (unsigned i = 0; i < slot->engine->component_count; i++)
        for (unsigned k = 0; engine_steps[k] != NULL; k++)
            if (slot->frame[i][k] != NULL && engine_steps[k]->drop != NULL)
                engine_steps[k]->drop(slot->frame[i][k], image);
}

/* Gives the frame of an output back to its owner. */
static void give_back_output(struct slot *slot)
{
    if (slot->job.output == NULL)
        return;
    engine_output_give_back(slot->job.output, slot->job.output_frame, slot->queue);
    drop(slot, false);
    slot->job.output = NULL;
}

/* Releases the references of a finished frame to memory that does not belong to the engine. */
static void drop_borrowed(struct slot *slot)
{
    if (slot->job.memory != NULL && slot->upload.sent == NULL)
        drop(slot, true);
    upload_release(&slot->upload);
    for (unsigned i = 0; i < MAX_COMPONENTS; i++) {
        load_give_back(slot->load[i]);
        slot->load[i] = NULL;
    }
    give_back_output(slot);
}

/* Abandons a frame of which the device refused a part. The device may never finish the accepted
 * part, so nothing here waits for it. The slot stays in use until a marker after that part
 * completes. If the device refuses the marker too, the slot is released at once. The frame of an
 * output is the owner's again if no dispatch that stores into it was accepted. */
static void leave_refused(struct slot *slot, bool stores)
{
    unmap_result(slot);
    if (!stores)
        give_back_output(slot);
    opencl_release_event(slot->done);
    slot->done = NULL;
    slot->job.out = NULL;
    if (clEnqueueMarkerWithWaitList(slot->queue, 0, NULL, &slot->done) == CL_SUCCESS) {
        watch_done(slot);
        return;
    }
    slot->engine->has_stray |= slot->job.output != NULL;
    drop_borrowed(slot);
    release_events(slot);
}

int engine_submit(struct engine *engine, const struct engine_job *job, struct error *why)
{
    if (engine->in_flight == engine->options.in_flight)
        return error_set(why, EBUSY, "%u frames are already in flight, which is the limit",
                         engine->in_flight);
    int r = corrector_check(job->correction, engine->options.recipe.corrections, why);
    if (r == 0 && job_is_shifted(job) && !engine->options.recipe.shifts)
        r = error_set(why, EINVAL, "a frame has a shift: expected an engine with shifts");
    if (r == 0 && !similarity_is_none(&job->similarity) && !engine->options.recipe.similarities)
        r = error_set(why, EINVAL,
                      "a frame has a similarity: expected an engine with similarities");
    if (r < 0)
        return r;
    struct slot *slot =
        &engine->slot[(engine->oldest + engine->in_flight) % engine->options.in_flight];
    slot->job = *job;
    slot->complete = slot->passed = false;
    slot->result = (struct engine_done){.tag = job->tag,
                                        .filter_serial = engine->filter.serial,
                                        .view = engine->options.recipe.view,
                                        .overhead = {.ns[OVERHEAD_GAP] = -1}};

    if (passes(engine, job)) {
        pass_frame(slot);
        return 0;
    }
    const int64_t begun_ns = slot->accounted_ns = clock_now_ns();
    if (job->output != NULL)
        engine_output_take(job->output, job->output_frame);
    slot->result.copies.passed_bytes = pass_planes(slot);
    slot_account(slot, OVERHEAD_COPY);
    struct transform_buffers buffers[MAX_COMPONENTS] = {{.image = NULL}};
    bool stores = false;
    engine->filter.fade = fade_next(engine->filter.fade);
    r = upload(slot, buffers, why);
    account_memory(slot, OVERHEAD_UNMAP);
    slot->result.submitted_ns = slot->accounted_ns;
    slot->result.upload_ns = slot->result.submitted_ns - begun_ns;
    if (r == 0)
        r = run_kernels(slot, buffers, &stores, why);
    if (job->memory != NULL && engine_uploads(engine))
        r = engine_memory_return(job->memory, job->frame, slot->queue, r, why);
    if (r == 0)
        r = fetch_result(slot, why);
    account_memory(slot, OVERHEAD_MAP);
    if (r == 0)
        watch_done(slot);
    else
        leave_refused(slot, stores);
    slot_account(slot, OVERHEAD_ENQUEUE);
    return r;
}

/* From the start of one dispatch to the end of another one; 0: the device does not report it. */
static int64_t device_time(cl_event first, cl_event last)
{
    cl_ulong start, end;
    if (first == NULL ||
        clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) !=
            CL_SUCCESS ||
        clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) !=
            CL_SUCCESS)
        return 0;
    return (int64_t)(end - start);
}

/* How long the device ran no kernel between the first dispatch and the end of the last one;
 * negative: not measured. */
static int64_t gap_time(const struct slot *slot)
{
    int64_t gap_ns = slot->result.kernel_ns;
    if (slot->dispatch_count == 0 || gap_ns == 0)
        return -1;
    for (unsigned i = 0; i < slot->engine->component_count; i++)
        for (unsigned k = 0; engine_steps[k] != NULL; k++)
            if (k != TRANSFORM_STEP && slot->time[i][k].first != NULL)
                return -1; /* another step's dispatches have no events of their own */
    for (unsigned i = 0; i < slot->dispatch_count; i++)
        gap_ns -= device_time(slot->dispatch[i], slot->dispatch[i]);
    return gap_ns > 0 ? gap_ns : 0;
}

/* Sets the time of each step, which are all measured in the frame or all not. */
static void set_step_times(struct slot *slot)
{
    for (unsigned k = 0; engine_steps[k] != NULL; k++) {
        slot->result.step_ns[k] = slot->dispatch_count > 0 ? 0 : -1;
        for (unsigned i = 0; slot->dispatch_count > 0 && i < slot->engine->component_count; i++)
            if (slot->time[i][k].first != NULL)
                slot->result.step_ns[k] +=
                    device_time(slot->time[i][k].first, slot->time[i][k].last);
    }
}

/* Returns whether the frame after the oldest is finished. The caller holds the mutex. */
static bool is_next_complete(const struct engine *engine)
{
    return engine->in_flight > 1 &&
           engine->slot[(engine->oldest + 1) % engine->options.in_flight].complete;
}

int engine_collect(struct engine *engine, bool wait, struct engine_done *ret, struct error *why)
{
    if (engine->in_flight == 0)
        return error_set(why, EAGAIN, "no frame is in flight");
    struct slot *slot = &engine->slot[engine->oldest];
    eventfd_t count;

    pthread_mutex_lock(&engine->mutex);
    while (wait && !slot->complete)
        pthread_cond_wait(&engine->finished, &engine->mutex);
    const bool complete = slot->complete;
    if (!complete || !is_next_complete(engine))
        eventfd_read(engine->event_fd, &count);
    pthread_mutex_unlock(&engine->mutex);
    if (!complete)
        return error_set(why, EAGAIN, "no frame is finished yet");

    int r = 0;
    slot->accounted_ns = clock_now_ns();
    if (slot->job.out == NULL) {
        r = error_set(why, ECANCELED, "the frame was abandoned");
    } else if (slot->status < 0) {
        opencl_fail(why, slot->status, "filtering a frame");
        r = -EIO;
    } else {
        const int64_t begun_ns = slot->accounted_ns;
        slot->result.finished_ns = slot->finished_ns;
        slot->result.kernel_ns = device_time(slot->first, slot->last);
        slot->result.overhead.ns[OVERHEAD_GAP] = gap_time(slot);
        set_step_times(slot);
        if (!slot->passed)
            engine_collect_steps(slot);
        slot_account(slot, OVERHEAD_ENQUEUE);
        const uint8_t *from = slot->mapped_out != NULL ? slot->mapped_out : slot->host_out_at;
        if (!slot->passed && from != slot->job.out) {
            memcpy(slot->job.out, from, engine->frame_bytes);
            slot->result.copies.out_bytes = engine->frame_bytes;
        }
        if (slot->chroma != NULL)
            chroma_put(slot);
        slot_account(slot, OVERHEAD_COPY);
        slot->result.download_ns = slot->accounted_ns - begun_ns;
    }
    unmap_result(slot);
    drop_borrowed(slot);
    release_events(slot);
    slot_account(slot, OVERHEAD_UNMAP);
    *ret = slot->result;
    engine->oldest = (engine->oldest + 1) % engine->options.in_flight;
    engine->in_flight--;
    return r;
}

bool engine_abandon(struct engine *engine)
{
    bool writes = engine->has_stray;
    pthread_mutex_lock(&engine->mutex);
    for (unsigned i = 0; i < engine->in_flight; i++) {
        struct slot *slot = &engine->slot[(engine->oldest + i) % engine->options.in_flight];
        writes |= slot->job.output != NULL && !slot->complete;
        slot->job.out = NULL;
    }
    pthread_mutex_unlock(&engine->mutex);
    return writes;
}
