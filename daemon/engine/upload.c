#include "engine/upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"

int upload_init(struct upload *ret, const struct gpu_device *device, cl_command_queue queue,
                size_t bytes, struct error *why)
{
    const bool unified = device->unified_memory;
    *ret = (struct upload){.device = device, .queue = queue, .bytes = bytes};
    int r = opencl_make_buffer(&ret->in, device->context,
                               CL_MEM_READ_ONLY | (unified ? CL_MEM_ALLOC_HOST_PTR : 0), bytes,
                               NULL, why);
    if (r == 0 && !unified)
        r = opencl_make_pinned(&ret->host_in, &ret->host_in_at, device->context, queue,
                               CL_MAP_WRITE, bytes, why);
    return r;
}

void upload_finish(struct upload *upload)
{
    if (upload->host_in_at != NULL) {
        clEnqueueUnmapMemObject(upload->queue, upload->host_in, upload->host_in_at, 0, NULL, NULL);
        clFinish(upload->queue);
    }
    opencl_release_buffer(upload->host_in);
    opencl_release_buffer(upload->in);
    upload_release(upload);
}

void upload_release(struct upload *upload)
{
    opencl_release_buffer(upload->sent);
    upload->sent = NULL;
}

struct upload_planes upload_planes_of(const struct fftd_format *format, uint64_t first,
                                      uint64_t last)
{
    struct upload_planes ret = {.format = format};
    for (unsigned p = 0; p < format->plane_count; p++) {
        if (format->plane[p].offset <= first)
            ret.first = p;
        if (format->plane[p].offset <= last)
            ret.end = p + 1;
    }
    return ret;
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

uint64_t upload_copy_planes(const struct upload_planes *planes, const struct engine_job *job,
                            uint8_t *frame)
{
    uint64_t bytes = 0;
    for (unsigned i = planes->first; i < planes->end; i++) {
        const struct fftd_plane *plane = &planes->format->plane[i];
        copy_rows(frame + plane->offset, plane->stride, job->in[i], job->in_stride[i],
                  plane->row_bytes, plane->rows);
        bytes += (uint64_t)plane->row_bytes * plane->rows;
    }
    return bytes;
}

/* ---- chroma that becomes smaller ------------------------------------------------------------ */

/* The smaller chroma of the newest frame, for all engines that need this size. A frame number means
 * the same picture for all of them, so they can copy it. */
struct shared_chroma {
    struct shared_chroma *next;
    struct resampler_size size;
    unsigned users;
    uint64_t number; /* number of the frame; 0: none */
    uint8_t bytes[]; /* planes without padding */
};

static size_t plane_bytes(const struct resampler_size *size)
{
    return (size_t)size->to_columns * size->channels * size->to_rows;
}

uint64_t upload_chroma_bytes(const struct resampler_size *size)
{
    return sizeof(struct shared_chroma) + 2 * plane_bytes(size) / size->channels;
}

static bool has_size(const struct shared_chroma *chroma, const struct resampler_size *size)
{
    return chroma->size.columns == size->columns && chroma->size.rows == size->rows &&
           chroma->size.to_columns == size->to_columns && chroma->size.to_rows == size->to_rows &&
           chroma->size.channels == size->channels;
}

int upload_share_chroma(struct engine *engine, const struct resampler_size *size, struct error *why)
{
    struct engine_loads *loads = engine->options.loads;
    if (loads == NULL)
        return 0;
    pthread_mutex_lock(&loads->lock);
    struct shared_chroma *chroma = loads->chroma;
    while (chroma != NULL && !has_size(chroma, size))
        chroma = chroma->next;
    if (chroma == NULL && (chroma = malloc(upload_chroma_bytes(size))) != NULL) {
        *chroma = (struct shared_chroma){.next = loads->chroma, .size = *size};
        loads->chroma = chroma;
    }
    if (chroma != NULL)
        chroma->users++;
    pthread_mutex_unlock(&loads->lock);
    engine->chroma = chroma;
    return chroma != NULL
               ? 0
               : error_set(why, ENOMEM, "out of memory while preparing smaller planes of chroma");
}

void upload_leave_chroma(struct engine *engine)
{
    struct shared_chroma *chroma = engine->chroma;
    if (chroma == NULL)
        return;
    pthread_mutex_lock(&engine->options.loads->lock);
    if (--chroma->users == 0) {
        struct shared_chroma **at = &engine->options.loads->chroma;
        while (*at != chroma)
            at = &(*at)->next;
        *at = chroma->next;
        free(chroma);
    }
    pthread_mutex_unlock(&engine->options.loads->lock);
}

/* Makes plane i of the slot's frame smaller, or copies what another engine has made of it. */
static void make_smaller(const struct slot *slot, unsigned i, uint8_t *to, size_t stride)
{
    const struct engine_job *job = &slot->job;
    struct resampler *resampler = slot->engine->resampler;
    struct shared_chroma *chroma = slot->engine->chroma;
    const unsigned step = i == 0 ? 2 : 1; /* plane 0 has luma beside it */
    const uint8_t *from = job->in[i] + (i == 0 ? slot->engine->info->offset ^ 1u : 0);
    if (chroma == NULL || job->number == 0) {
        resampler_run(resampler, to, stride, from, job->in_stride[i], step);
        return;
    }
    const size_t row_bytes = (size_t)chroma->size.to_columns * chroma->size.channels;
    uint8_t *made = chroma->bytes + (i > 1 ? plane_bytes(&chroma->size) : 0);
    if (chroma->number != job->number)
        resampler_run(resampler, made, row_bytes, from, job->in_stride[i], step);
    copy_rows(to, stride, made, row_bytes, row_bytes, chroma->size.to_rows);
}

uint64_t upload_resample(struct slot *slot)
{
    const struct engine *engine = slot->engine;
    const struct engine_job *job = &slot->job;
    const uint32_t width = engine->format.width; /* two samples of chroma for two of luma */
    uint64_t bytes = 0;
    if (slot->chroma != NULL) {
        make_smaller(slot, 0, slot->chroma, width);
        bytes = (uint64_t)width * engine->format.height;
    }
    for (unsigned i = 1; i < engine->format.plane_count; i++) {
        const struct fftd_plane *plane = &engine->format.plane[i];
        make_smaller(slot, i, job->out + plane->offset, plane->stride);
        bytes += (uint64_t)plane->row_bytes * plane->rows;
    }
    if (engine->chroma != NULL && job->number != 0)
        engine->chroma->number = job->number;
    return bytes;
}

void upload_put_chroma(const struct slot *slot)
{
    const struct fftd_format *format = &slot->engine->format;
    const struct fftd_plane *plane = &format->plane[0];
    for (uint32_t y = 0; y < format->height; y++) {
        uint8_t *to = slot->job.out + plane->offset + (size_t)y * plane->stride;
        const uint8_t *from = slot->chroma + (size_t)y * format->width;
        to += slot->engine->info->offset ^ 1u;
        for (uint32_t x = 0; x < format->width; x++)
            to[2 * (size_t)x] = from[x];
    }
}

int upload_frame(struct upload *upload, const struct upload_planes *planes, struct slot *slot,
                 cl_mem *ret, struct error *why)
{
    const struct engine_job *job = &slot->job;
    uint64_t *copied_bytes = &slot->result.copies.in_bytes;
    cl_int code;
    *ret = upload->in;
    if (job->memory != NULL)
        return engine_memory_lend(job->memory, job->frame, upload->queue, &upload->sent, ret, why);
    if (!upload->device->unified_memory) {
        *copied_bytes += upload_copy_planes(planes, job, upload->host_in_at);
        slot_account(slot, OVERHEAD_COPY);
        code = clEnqueueWriteBuffer(upload->queue, upload->in, CL_FALSE, 0, upload->bytes,
                                    upload->host_in_at, 0, NULL, NULL);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueWriteBuffer");
    }
    uint8_t *at =
        clEnqueueMapBuffer(upload->queue, upload->in, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                           upload->bytes, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueMapBuffer");
    slot_account(slot, OVERHEAD_MAP);
    *copied_bytes += upload_copy_planes(planes, job, at);
    slot_account(slot, OVERHEAD_COPY);
    code = clEnqueueUnmapMemObject(upload->queue, upload->in, at, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueUnmapMemObject");
}
