#include "camera/ring_change.h"

#include "observer/moving.h"

/* Epoch of a ring that no previous process has left. */
#define FIRST_EPOCH 1

void ring_change_continue(struct frame_path *path, struct mailbox *mailbox,
                          const struct config_output *output, struct ring *ring)
{
    ring_set_checksum(ring, output->checksum);
    ring_set_lossless(ring, output->lossless); /* until the source is open */
    frame_path_set_ring(path, ring);
    path->frames.format = *ring_format(ring);
    struct camera_status *status = mailbox_begin_report(mailbox);
    mailbox->ring = ring;
    status->format = *ring_format(ring);
    status->generation = ring_generation(ring);
    status->newest_sequence = ring_newest(ring);
    mailbox_end_report(mailbox, 0);
}

uint32_t ring_change_motion_bytes(const struct config_output *output,
                                  const struct fftd_format *captured)
{
    return moving_bytes(captured->width, captured->height, config_motion_block(output->motion));
}

void ring_change_set_lossless(struct frame_path *path, const struct config_output *output)
{
    const struct capture *capture = path->recovery.capture;
    ring_set_lossless(path->ring, output->lossless && capture != NULL && capture->waits);
}

/* A client that sees the old ring retired must find the new one. This thread therefore puts the new
 * ring into the mailbox and posts an event; the main loop switches its server; only then is the old
 * ring retired. */
int ring_change_replace(struct frame_path *path, struct mailbox *mailbox,
                        const struct config_output *output, const struct fftd_format *format,
                        uint32_t motion_bytes, struct error *why)
{
    struct ring *old = path->ring;
    const uint64_t first_sequence = old != NULL ? ring_newest(old) + 1 : 1;
    const uint32_t generation = old != NULL ? ring_generation(old) + 1 : 1;
    const uint32_t epoch = old != NULL ? ring_epoch(old) : FIRST_EPOCH;
    struct ring *ring;
    int r = ring_create_with_motion(&ring, format, output->slots, motion_bytes, generation, epoch,
                                    first_sequence, why);
    if (r < 0)
        return r;
    ring_set_checksum(ring, output->checksum);
    frame_path_set_ring(path, ring);
    ring_change_set_lossless(path, output);
    path->frames.format = *format;

    struct camera_status *status = mailbox_begin_report(mailbox);
    /* A ring that the main loop has never served may be destroyed here. */
    struct ring *unserved = old != mailbox->served ? old : NULL;
    mailbox->ring = ring;
    status->format = *format;
    status->generation = generation;
    mailbox_end_report(mailbox, CAMERA_EVENT_RING);
    ring_destroy(unserved);
    report_heartbeat(path->report, ring, frame_path_is_healthy(path));
    return 0;
}

void ring_change_replace_lost(struct frame_path *path, struct mailbox *mailbox,
                              const struct config_output *output)
{
    if (!path->ring_lost)
        return;
    const struct fftd_format format = *ring_format(path->ring);
    struct error why;
    const uint32_t motion_bytes = ring_motion_room(path->ring);
    if (ring_change_replace(path, mailbox, output, &format, motion_bytes, &why) < 0)
        path->failure = why; /* the next call tries again */
}
