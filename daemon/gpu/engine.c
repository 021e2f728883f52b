/* Frames in flight. A frame is uploaded, filtered by kernels, and downloaded. Each slot has its own
 * queue, so these steps overlap with those of other slots. Frames share only tables and responses,
 * which kernels only read. A replaced response stays valid for the frames that use it, because
 * OpenCL keeps a buffer while commands use it. */
#include "gpu/engine_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "gpu/fade.h"

#define SOURCE_ALIGN_BYTES 64

/* ---- memory -------------------------------------------------------------------------------- */

static int make_queue(struct slot *slot, struct error *why)
{
    cl_int code;
    const struct gpu_device *device = slot->engine->device;
    slot->queue =
        clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateCommandQueue");
}

static int make_buffer(cl_mem *ret, struct engine *engine, cl_mem_flags flags, size_t size,
                       struct error *why)
{
    cl_int code;
    *ret = clCreateBuffer(engine->device->context, flags, size, NULL, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateBuffer");
}

/* Allocates pinned memory and maps it permanently. */
static int pin(struct slot *slot, cl_mem *ret, size_t size, void **ret_at, cl_map_flags flags,
               struct error *why)
{
    cl_int code;
    int r = make_buffer(ret, slot->engine, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, why);
    if (r < 0)
        return r;
    *ret_at = clEnqueueMapBuffer(slot->queue, *ret, CL_TRUE, flags, 0, size, 0, NULL, NULL, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueMapBuffer");
}

/* Clears the frame, because no kernel writes the padding of rows and clients must not see old
 * memory there. */
static int clear(struct slot *slot, cl_mem buffer, struct error *why)
{
    const cl_uchar zero = 0;
    const cl_int code = clEnqueueFillBuffer(slot->queue, buffer, &zero, sizeof zero, 0,
                                            slot->engine->frame_bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueFillBuffer");
}

static int make_slot(struct slot *slot, struct engine *engine, struct error *why)
{
    const bool unified = engine->device->unified_memory;
    const cl_mem_flags host = unified ? CL_MEM_ALLOC_HOST_PTR : 0;
    slot->engine = engine;
    int r = make_queue(slot, why);
    if (r == 0)
        r = make_buffer(&slot->in, engine, CL_MEM_READ_ONLY | host, engine->source_bytes, why);
    if (r == 0)
        r = make_buffer(&slot->out, engine, CL_MEM_READ_WRITE | host, engine->frame_bytes, why);
    if (r == 0)
        r = clear(slot, slot->out, why);
    if (r == 0 && !unified)
        r = pin(slot, &slot->host_in, engine->source_bytes, &slot->host_in_at, CL_MAP_WRITE, why);
    if (r == 0 && !unified)
        r = pin(slot, &slot->host_out, engine->frame_bytes, &slot->host_out_at, CL_MAP_READ, why);
    for (unsigned i = 0; i < engine->component_count && r == 0; i++)
        r = transform_frame_create(&slot->frame[i], engine->component[i].transform, why);
    return r;
}

static void release_slot(struct slot *slot)
{
    if (slot->queue == NULL)
        return;
    if (slot->host_in_at != NULL)
        clEnqueueUnmapMemObject(slot->queue, slot->host_in, slot->host_in_at, 0, NULL, NULL);
    if (slot->host_out_at != NULL)
        clEnqueueUnmapMemObject(slot->queue, slot->host_out, slot->host_out_at, 0, NULL, NULL);
    clFinish(slot->queue);
    const cl_mem buffers[] = {slot->in, slot->out, slot->host_in, slot->host_out};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (buffers[i] != NULL)
            clReleaseMemObject(buffers[i]);
    for (unsigned i = 0; i < MAX_COMPONENTS; i++)
        transform_frame_destroy(slot->frame[i]);
    clReleaseCommandQueue(slot->queue);
}

static size_t plane_end(const struct fftd_plane *plane)
{
    return plane->offset + (size_t)plane->stride * plane->rows;
}

static void copy_rows(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride,
                      size_t row_bytes, unsigned rows)
{
    if (to_stride == from_stride && to_stride == row_bytes) {
        memcpy(to, from, row_bytes * rows);
        return;
    }
    for (unsigned i = 0; i < rows; i++)
        memcpy(to + i * to_stride, from + i * from_stride, row_bytes);
}

/* Copies planes first .. end - 1 of the input into a frame with the layout of the format. */
static void take_planes(const struct fftd_format *format, const struct engine_job *job,
                        uint8_t *frame, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        const struct fftd_plane *plane = &format->plane[i];
        copy_rows(frame + plane->offset, plane->stride, job->in[i], job->in_stride[i],
                  plane->row_bytes, plane->rows);
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

static int set_identity(struct engine *engine, struct error *why)
{
    const struct filter_chain none = {.count = 0};
    struct engine_response *response;
    const int r = engine_design(engine, &none, &response, why);
    if (r == 0)
        engine_apply(engine, response, 0);
    return r;
}

static int build(struct engine *engine, double support_px, const char *cache_dir,
                 const struct engine_observer *observer, struct error *why)
{
    int r = 0;
    engine->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (engine->event_fd < 0)
        return error_set(why, errno, "cannot create an eventfd: %s", strerror(errno));
    r = engine_make_components(engine, support_px, cache_dir, observer, why);
    for (unsigned i = 0; i < engine->options.in_flight && r == 0; i++)
        r = make_slot(&engine->slot[i], engine, why);
    return r < 0 ? r : set_identity(engine, why);
}

/* Chooses the layout of input frames: that of the output, or, for another pixel format, one whose
 * rows begin at cache lines. */
static int lay_out_source(struct fftd_format *ret, const struct fftd_format *format,
                          uint32_t source, struct error *why)
{
    if (source == 0 || source == format->fourcc) {
        *ret = *format;
        return 0;
    }
    if (format_published(source) != format->fourcc)
        return error_set(why, EINVAL, "the engine cannot convert pixel format 0x%08x to 0x%08x",
                         source, format->fourcc);
    return format_layout(ret, source, format->width, format->height, SOURCE_ALIGN_BYTES, why);
}

int engine_create(struct engine **ret, struct gpu_device *device, const struct fftd_format *format,
                  const struct engine_options *options, double support_px, const char *cache_dir,
                  const struct engine_observer *observer, struct error *why)
{
    struct fftd_format source;
    if (format_by_fourcc(format->fourcc) == NULL)
        return error_set(why, EINVAL, "the engine does not support pixel format 0x%08x",
                         format->fourcc);
    if (format->width < 16 || format->height < 16 || format->width > FFTD_MAX_SIDE ||
        format->height > FFTD_MAX_SIDE)
        return error_set(why, EINVAL, "a frame of %ux%u is out of range: expected 16x16 .. %ux%u",
                         format->width, format->height, FFTD_MAX_SIDE, FFTD_MAX_SIDE);
    if (options->in_flight < 1 || options->in_flight > ENGINE_MAX_IN_FLIGHT)
        return error_set(why, EINVAL, "%u frames in flight is out of range: expected 1 .. %d",
                         options->in_flight, ENGINE_MAX_IN_FLIGHT);
    int r = lay_out_source(&source, format, options->source, why);
    if (r < 0)
        return r;

    struct engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the engine");
    engine->device = device;
    engine->options = *options;
    engine->format = *format;
    engine->source = source;
    engine->info = format_by_fourcc(source.fourcc);
    engine->event_fd = -1;
    engine->filtered_planes = options->planes == ENGINE_ALL ? format->plane_count : 1;
    engine->source_bytes = plane_end(&source.plane[engine->filtered_planes - 1]);
    engine->frame_bytes = plane_end(&format->plane[engine->filtered_planes - 1]);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->finished, NULL);

    r = build(engine, support_px, cache_dir, observer, why);
    if (r < 0) {
        engine_destroy(engine);
        return r;
    }
    engine_describe(engine);
    *ret = engine;
    return 0;
}

void engine_destroy(struct engine *engine)
{
    struct engine_done done;
    if (engine == NULL)
        return;
    while (engine->in_flight > 0)
        engine_collect(engine, true, &done, NULL);
    for (unsigned i = 0; i < ENGINE_MAX_IN_FLIGHT; i++)
        release_slot(&engine->slot[i]);
    fade_destroy(engine->filter.fade);
    engine_release_components(engine);
    if (engine->event_fd >= 0)
        close(engine->event_fd);
    pthread_cond_destroy(&engine->finished);
    pthread_mutex_destroy(&engine->mutex);
    free(engine);
}

const char *engine_description(const struct engine *engine)
{
    return engine->description;
}

const char *engine_warning(const struct engine *engine)
{
    return engine->warning.text[0] != '\0' ? engine->warning.text : NULL;
}

double engine_support(const struct engine *engine)
{
    return engine->support_px;
}

int engine_fd(const struct engine *engine)
{
    return engine->event_fd;
}

unsigned engine_in_flight(const struct engine *engine)
{
    return engine->in_flight;
}

/* ---- frames -------------------------------------------------------------------------------- */

/* Uploads the planes to be filtered and returns the buffer that kernels read. The slot's queue must
 * be empty, because the map blocks. */
static int upload_frame(struct slot *slot, const struct engine_job *job, cl_mem *ret,
                        struct error *why)
{
    struct engine *engine = slot->engine;
    cl_int code;
    if (job->memory != NULL)
        return engine_memory_lend(job->memory, job->frame, slot->queue, ret, why);
    *ret = slot->in;
    if (!engine->device->unified_memory) {
        take_planes(&engine->source, job, slot->host_in_at, 0, engine->filtered_planes);
        code = clEnqueueWriteBuffer(slot->queue, slot->in, CL_FALSE, 0, engine->source_bytes,
                                    slot->host_in_at, 0, NULL, NULL);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueWriteBuffer");
    }
    uint8_t *at = clEnqueueMapBuffer(slot->queue, slot->in, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION,
                                     0, engine->source_bytes, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueMapBuffer");
    take_planes(&engine->source, job, at, 0, engine->filtered_planes);
    code = clEnqueueUnmapMemObject(slot->queue, slot->in, at, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueUnmapMemObject");
}

static int run_kernels(struct slot *slot, cl_mem image, struct error *why)
{
    struct engine *engine = slot->engine;
    struct fade *fade = engine->filter.fade = fade_next(engine->filter.fade);
    slot->result.blended = fade != NULL;
    for (unsigned i = 0; i < engine->component_count; i++) {
        struct transform_buffers buffers = {image, slot->out, engine->component[i].response};
        cl_event *first = i == 0 ? &slot->first : NULL;
        cl_event *last = i + 1 == engine->component_count ? &slot->last : NULL;
        int r = 0;
        if (fade != NULL)
            r = fade_enqueue(fade, slot, i, buffers.response, &buffers.response, first, why);
        if (r == 0)
            r = transform_frame_enqueue(slot->frame[i], slot->queue, &buffers,
                                        fade != NULL ? NULL : first, last, why);
        if (r < 0)
            return r;
    }
    return 0;
}

static int fetch_result(struct slot *slot, struct error *why)
{
    struct engine *engine = slot->engine;
    cl_int code;
    if (engine->device->unified_memory) {
        slot->mapped_out = clEnqueueMapBuffer(slot->queue, slot->out, CL_FALSE, CL_MAP_READ, 0,
                                              engine->frame_bytes, 0, NULL, &slot->done, &code);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueMapBuffer");
    }
    code = clEnqueueReadBuffer(slot->queue, slot->out, CL_FALSE, 0, engine->frame_bytes,
                               slot->host_out_at, 0, NULL, &slot->done);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
}

/* Runs in a thread of the driver. */
static void CL_CALLBACK on_done(cl_event event, cl_int status, void *context)
{
    struct slot *slot = context;
    struct engine *engine = slot->engine;
    (void)event;
    pthread_mutex_lock(&engine->mutex);
    slot->finished_ns = clock_now_ns();
    slot->status = status;
    slot->complete = true;
    pthread_cond_signal(&engine->finished);
    eventfd_write(engine->event_fd, 1);
    /* The unlock comes last, because the engine may be destroyed after it. */
    pthread_mutex_unlock(&engine->mutex);
}

static void release_events(struct slot *slot)
{
    cl_event *const events[] = {&slot->first, &slot->last, &slot->done};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (*events[i] != NULL) {
            clReleaseEvent(*events[i]);
            *events[i] = NULL;
        }
}

static void unmap_result(struct slot *slot)
{
    if (slot->mapped_out == NULL)
        return;
    clEnqueueUnmapMemObject(slot->queue, slot->out, slot->mapped_out, 0, NULL, NULL);
    clFlush(slot->queue);
    slot->mapped_out = NULL;
}

/* Releases the references of a finished frame to memory that does not belong to the engine. */
static void drop_image(struct slot *slot)
{
    for (unsigned i = 0; slot->job.memory != NULL && i < slot->engine->component_count; i++)
        transform_frame_drop_image(slot->frame[i]);
}

static int watch_done(struct slot *slot, struct error *why)
{
    /* The callback is set before the flush, because some drivers never call it for an event that is
     * already complete. */
    const cl_int code = clSetEventCallback(slot->done, CL_COMPLETE, on_done, slot);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clSetEventCallback");
    clFlush(slot->queue);
    slot->engine->in_flight++;
    return 0;
}

/* Abandons a frame of which the device refused a part. The device may never finish the accepted
 * part, so nothing here waits for it. The slot stays in use until a marker after that part
 * completes. If the device refuses the marker too, the slot is released at once. */
static void leave_refused(struct slot *slot)
{
    unmap_result(slot);
    if (slot->done != NULL)
        clReleaseEvent(slot->done);
    slot->done = NULL;
    slot->job.out = NULL;
    if (clEnqueueMarkerWithWaitList(slot->queue, 0, NULL, &slot->done) == CL_SUCCESS &&
        watch_done(slot, NULL) == 0)
        return;
    drop_image(slot);
    release_events(slot);
}

int engine_submit(struct engine *engine, const struct engine_job *job, struct error *why)
{
    if (engine->in_flight == engine->options.in_flight)
        return error_set(why, EBUSY, "%u frames are already in flight, which is the limit",
                         engine->in_flight);
    struct slot *slot =
        &engine->slot[(engine->oldest + engine->in_flight) % engine->options.in_flight];
    slot->job = *job;
    slot->complete = false;
    slot->result = (struct engine_done){.tag = job->tag, .filter_serial = engine->filter.serial};

    const int64_t begun_ns = clock_now_ns();
    take_planes(&engine->format, job, job->out, engine->filtered_planes, engine->info->plane_count);
    cl_mem image;
    int r = upload_frame(slot, job, &image, why);
    slot->result.submitted_ns = clock_now_ns();
    slot->result.upload_ns = slot->result.submitted_ns - begun_ns;
    if (r == 0)
        r = run_kernels(slot, image, why);
    if (r == 0 && job->memory != NULL)
        r = engine_memory_return(job->memory, job->frame, slot->queue, why);
    if (r == 0)
        r = fetch_result(slot, why);
    if (r == 0)
        r = watch_done(slot, why);
    if (r < 0)
        leave_refused(slot);
    return r;
}

static int64_t kernel_time(const struct slot *slot)
{
    cl_ulong start, end;
    if (clGetEventProfilingInfo(slot->first, CL_PROFILING_COMMAND_START, sizeof start, &start,
                                NULL) != CL_SUCCESS ||
        clGetEventProfilingInfo(slot->last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) !=
            CL_SUCCESS)
        return 0;
    return (int64_t)(end - start);
}

/* Whether the frame after the oldest is finished. The caller holds the mutex. */
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

    /* Some drivers make progress only while a thread waits in them. */
    if (wait)
        clWaitForEvents(1, &slot->done);
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
    if (slot->job.out == NULL) {
        r = error_set(why, ECANCELED, "the frame was abandoned");
    } else if (slot->status < 0) {
        opencl_fail(why, slot->status, "filtering a frame");
        r = -EIO;
    } else {
        const int64_t begun_ns = clock_now_ns();
        slot->result.finished_ns = slot->finished_ns;
        slot->result.kernel_ns = kernel_time(slot);
        const uint8_t *from = slot->mapped_out != NULL ? slot->mapped_out : slot->host_out_at;
        memcpy(slot->job.out, from, engine->frame_bytes);
        slot->result.download_ns = clock_now_ns() - begun_ns;
    }
    unmap_result(slot);
    drop_image(slot);
    release_events(slot);
    *ret = slot->result;
    engine->oldest = (engine->oldest + 1) % engine->options.in_flight;
    engine->in_flight--;
    return r;
}

void engine_abandon(struct engine *engine)
{
    for (unsigned i = 0; i < engine->in_flight; i++)
        engine->slot[(engine->oldest + i) % engine->options.in_flight].job.out = NULL;
}
