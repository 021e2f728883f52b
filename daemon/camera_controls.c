/* Errands: what other threads want of the camera itself. One is handed to the camera's thread,
 * which alone may talk to the source, and comes back to the main thread with its result. */
#include "camera.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "camera_private.h"

struct errand {
    struct errand *next;
    camera_controls_fn *done;
    void *context;
    enum { ERRAND_LIST, ERRAND_SET, ERRAND_SOURCE } kind;
    union {
        struct settings settings;
        struct config config;
    } wanted;
    struct capture_controls *controls;
    int result;
    struct error why;
};

static void append(struct errand **to, struct errand *list)
{
    while (*to != NULL)
        to = &(*to)->next;
    *to = list;
}

/* An errand that is to be filled in and sent; NULL: no memory. */
static struct errand *create(int kind, camera_controls_fn *done, void *context)
{
    struct errand *errand = calloc(1, sizeof *errand);
    if (errand != NULL)
        *errand = (struct errand){.kind = kind, .done = done, .context = context};
    return errand;
}

static int send_errand(struct camera *camera, struct errand *errand)
{
    pthread_mutex_lock(&camera->lock);
    append(&camera->errands, errand);
    pthread_mutex_unlock(&camera->lock);
    eventfd_write(camera->wake_fd, 1);
    return 0;
}

int camera_list_controls(struct camera *camera, camera_controls_fn *done, void *context)
{
    struct errand *errand = create(ERRAND_LIST, done, context);
    return errand != NULL ? send_errand(camera, errand) : -ENOMEM;
}

int camera_set_controls(struct camera *camera, const struct settings *settings,
                        camera_controls_fn *done, void *context)
{
    struct errand *errand = create(ERRAND_SET, done, context);
    if (errand == NULL)
        return -ENOMEM;
    errand->wanted.settings = *settings;
    return send_errand(camera, errand);
}

int camera_change_source(struct camera *camera, const struct config *config,
                         camera_controls_fn *done, void *context)
{
    struct errand *errand = create(ERRAND_SOURCE, done, context);
    if (errand == NULL)
        return -ENOMEM;
    errand->wanted.config = *config;
    return send_errand(camera, errand);
}

static int list_controls(struct source *source, struct errand *errand)
{
    if (source->capture != NULL)
        return capture_list_controls(source->capture, &errand->controls, &errand->why);
    return error_set(&errand->why, ENODEV, "the camera is %s: %s", camera_state_name(source->state),
                     source->reason.text);
}

static void do_errand(struct source *source, struct errand *errand)
{
    switch (errand->kind) {
    case ERRAND_LIST:
        errand->result = list_controls(source, errand);
        break;
    case ERRAND_SET:
        errand->result = source_set_controls(source, &errand->wanted.settings, &errand->why);
        break;
    case ERRAND_SOURCE:
        errand->result = source_change(source, &errand->wanted.config, &errand->why);
        break;
    }
}

void camera_do_errands(struct camera *camera)
{
    pthread_mutex_lock(&camera->lock);
    struct errand *errands = camera->errands;
    camera->errands = NULL;
    pthread_mutex_unlock(&camera->lock);
    if (errands == NULL)
        return;
    for (struct errand *each = errands; each != NULL; each = each->next)
        do_errand(&camera->source, each);
    pthread_mutex_lock(&camera->lock);
    append(&camera->done_errands, errands);
    camera_post_events(camera, 0);
    pthread_mutex_unlock(&camera->lock);
}

void camera_answer_errands(struct errand *done)
{
    while (done != NULL) {
        struct errand *next = done->next;
        done->done(done->context, done->result, done->why.text, done->controls);
        free(done->controls);
        free(done);
        done = next;
    }
}

void camera_cancel_errands(struct camera *camera)
{
    for (struct errand *each = camera->errands; each != NULL; each = each->next)
        each->result = error_set(&each->why, ECANCELED, "fftd is stopping");
    append(&camera->done_errands, camera->errands);
    struct errand *done = camera->done_errands;
    camera->errands = camera->done_errands = NULL;
    camera_answer_errands(done);
}
