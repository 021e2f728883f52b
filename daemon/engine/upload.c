#include "engine/upload.h"

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

/* ---- a frame ------------------------------------------------------------------------------- */

/* Returns how many planes lie in the memory of the source as kernels expect them: those for which
 * it was made, and others that it happens to have. */
static unsigned count_lent(const struct upload_planes *planes, const struct engine_job *job)
{
    const struct fftd_plane *plane = planes->format->plane;
    unsigned p = job->memory->plane_count;
    while (p < planes->end && job->in_stride[p] == plane[p].stride &&
           job->in[p] == job->in[0] + (plane[p].offset - plane[0].offset))
        p++;
    return p;
}

/* Sends the other planes. Where their rows are another distance apart, they are copied first. */
static int send_others(const struct upload *upload, const struct upload_planes *planes,
                       const struct engine_job *job, uint64_t *copied_bytes, struct error *why)
{
    for (unsigned p = count_lent(planes, job); p < planes->end; p++) {
        const struct fftd_plane *plane = &planes->format->plane[p];
        const uint8_t *from = job->in[p];
        if (job->in_stride[p] != plane->stride) {
            const struct upload_planes one = {planes->format, p, p + 1};
            *copied_bytes += upload_copy_planes(&one, job, upload->host_in_at);
            from = (const uint8_t *)upload->host_in_at + plane->offset;
        }
        const size_t bytes = (size_t)plane->stride * (plane->rows - 1) + plane->row_bytes;
        const cl_int code = clEnqueueWriteBuffer(upload->queue, upload->in, CL_FALSE, plane->offset,
                                                 bytes, from, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clEnqueueWriteBuffer");
    }
    return 0;
}

int upload_frame(struct upload *upload, const struct upload_planes *planes, struct slot *slot,
                 cl_mem *ret, struct error *why)
{
    const struct engine_job *job = &slot->job;
    uint64_t *copied_bytes = &slot->result.copies.in_bytes;
    cl_int code;
    *ret = upload->in;
    if (job->memory != NULL) {
        const struct upload_planes lent = {planes->format, 0, count_lent(planes, job)};
        const int r = engine_memory_lend(job->memory, job->frame, upload->queue, upload_end(&lent),
                                         &upload->sent, ret, why);
        return r < 0 || upload->sent == NULL ? r
                                             : send_others(upload, planes, job, copied_bytes, why);
    }
    if (!upload->device->unified_memory) {
        *copied_bytes += upload_copy_planes(planes, job, upload->host_in_at);
        slot_account(slot, OVERHEAD_COPY);
        return opencl_write(upload->queue, upload->in, upload->host_in_at, upload->bytes, why);
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
