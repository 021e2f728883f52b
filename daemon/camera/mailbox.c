#include "camera/mailbox.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"

int mailbox_init(struct mailbox *ret, const struct config *config, struct error *why)
{
    *ret = (struct mailbox){
        .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .desired = {.version = 1, .controls = config->camera.controls, .controls_version = 1},
    };
    int err = errno;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        ret->output[i].mailbox = ret;
        ret->output[i].output = i;
    }
    for (unsigned i = 0; i < config_output_count(config); i++) {
        const bool is_main = i == 0;
        ret->desired.output[i] = (struct desired_output){
            .exists = true,
            .id = i + 1,
            .filter = is_main ? config->filter : config->outputs.output[i - 1].filter,
            .view = is_main ? config->engine.options.recipe.view : VIEW_PICTURE,
            .filter_serial = 1};
        filter_chain_hold(&ret->desired.output[i].filter);
    }
    pthread_mutex_init(&ret->lock, NULL);
    clock_cond_init(&ret->ended_cond);
    return ret->wake_fd < 0 || ret->event_fd < 0
               ? error_set(why, err, "cannot create an eventfd: %s", strerror(err))
               : 0;
}

void desired_drop(struct desired *desired)
{
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        filter_chain_drop(&desired->output[i].filter);
    filter_chain_drop(&desired->source.filter);
}

void output_mailbox_destroy_rings(struct output_mailbox *output)
{
    ring_destroy(output->retired);
    if (output->served != output->ring)
        ring_destroy(output->served);
    ring_destroy(output->ring);
    output->retired = output->served = output->ring = NULL;
}

void mailbox_finish(struct mailbox *mailbox)
{
    desired_drop(&mailbox->desired);
    if (mailbox->event_fd >= 0)
        close(mailbox->event_fd);
    if (mailbox->wake_fd >= 0)
        close(mailbox->wake_fd);
    pthread_cond_destroy(&mailbox->ended_cond);
    pthread_mutex_destroy(&mailbox->lock);
}

struct desired *mailbox_begin_change(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    mailbox->desired.version++;
    return &mailbox->desired;
}

void mailbox_end_change(struct mailbox *mailbox)
{
    pthread_mutex_unlock(&mailbox->lock);
    eventfd_write(mailbox->wake_fd, 1);
}

void mailbox_send(struct mailbox *mailbox, struct request *request)
{
    pthread_mutex_lock(&mailbox->lock);
    request_append(&mailbox->requests, request);
    pthread_mutex_unlock(&mailbox->lock);
    eventfd_write(mailbox->wake_fd, 1);
}

void mailbox_read_desired(struct mailbox *mailbox, struct desired *desired)
{
    pthread_mutex_lock(&mailbox->lock);
    if (mailbox->desired.version != desired->version) {
        for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) /* before the old ones are dropped */
            filter_chain_hold(&mailbox->desired.output[i].filter);
        filter_chain_hold(&mailbox->desired.source.filter);
        desired_drop(desired);
        *desired = mailbox->desired;
    }
    pthread_mutex_unlock(&mailbox->lock);
}

struct request *mailbox_take_requests(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    struct request *requests = mailbox->requests;
    mailbox->requests = NULL;
    pthread_mutex_unlock(&mailbox->lock);
    return requests;
}

void mailbox_answer(struct mailbox *mailbox, struct request *answered)
{
    if (answered == NULL)
        return;
    pthread_mutex_lock(&mailbox->lock);
    request_append(&mailbox->answered, answered);
    pthread_mutex_unlock(&mailbox->lock);
    eventfd_write(mailbox->event_fd, 1);
}

struct camera_status *mailbox_begin_report(struct output_mailbox *output)
{
    pthread_mutex_lock(&output->mailbox->lock);
    return &output->status;
}

void mailbox_end_report(struct output_mailbox *output, unsigned events)
{
    struct mailbox *mailbox = output->mailbox;
    output->events |= events;
    pthread_mutex_unlock(&mailbox->lock);
    if (events != 0)
        eventfd_write(mailbox->event_fd, 1);
}
