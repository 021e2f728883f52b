/* The state that the main thread and the camera's thread share.
 *
 *     main thread    -- desired state, requests -->           camera's thread
 *     main thread    <-- status, events, answers, the ring -- camera's thread
 *
 * Desired state holds until it is changed; only the main thread writes it. The camera's thread
 * copies it, compares it with what it has applied, and acts on the difference (reconcile.h). Only
 * the camera's thread writes the status. Outputs share the source and its controls; each has a
 * filter, readers, a status and a ring of its own. Which outputs there are is desired state, too.
 *
 * One mutex guards everything that is not marked otherwise. Nobody holds it for longer than it
 * takes to copy a struct. */
#ifndef FFTD_CAMERA_MAILBOX_H
#define FFTD_CAMERA_MAILBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "camera/request.h"
#include "camera/status.h"
#include "config/config.h"
#include "core/error.h"
#include "filters/filter.h"
#include "core/settings.h"
#include "ring/ring.h"

/* A source that is asked for, with its controls and its filter. All of it is used, or nothing. */
struct desired_source {
    uint64_t number; /* goes up with each, even for the same source; 0: none was asked for */
    struct capture_request request;
    struct settings controls;
    struct filter_chain filter;
    uint64_t filter_serial; /* 0: no filter came with it, or the source is settled */
};

struct desired_output {
    bool exists;
    uint64_t id; /* number of the newest output in this place, unique; 0: there was none */
    struct filter_chain filter; /* used unless a source brings a newer one */
    enum view_kind view;        /* what is published of the filtered frames */
    uint64_t filter_serial;     /* goes up with every change of a filter or of the view */
    unsigned fade_frames;       /* length of the fade into `filter`; 0: at once */
    bool has_readers;           /* at least one client reads its frames */
};

struct desired {
    uint64_t version; /* goes up with every change of what follows */
    struct desired_source source;
    struct settings controls; /* from the configuration; clients set controls by requests */
    uint64_t controls_version;
    struct desired_output output[CONFIG_MAX_OUTPUTS];
    bool stop;
};

/* Returns whether the newest filter of an output is the one that came with a source. A source
 * brings one for the first output only. Both have the same serial if the view was changed since: it
 * holds with either filter. */
static inline bool desired_is_of_source(const struct desired *desired, unsigned output)
{
    return output == 0 && desired->source.filter_serial >= desired->output[0].filter_serial;
}

/* Returns the newest filter of an output, and its serial. */
static inline const struct filter_chain *desired_filter(const struct desired *desired,
                                                        unsigned output)
{
    return desired_is_of_source(desired, output) ? &desired->source.filter
                                                 : &desired->output[output].filter;
}

static inline uint64_t desired_serial(const struct desired *desired, unsigned output)
{
    return desired_is_of_source(desired, output) ? desired->source.filter_serial
                                                 : desired->output[output].filter_serial;
}

/* Releases the images of the filters. */
void desired_drop(struct desired *desired);

/* What the camera's thread reports of one output. */
struct output_mailbox {
    struct mailbox *mailbox;
    unsigned output; /* its number */
    struct camera_status status;
    int64_t published_ns; /* time of the newest published frame */
    unsigned events;      /* CAMERA_EVENT_... */
    struct ring *ring;    /* frames are published here */
    struct ring *served;  /* the main loop serves this one; it changes to `ring` when
                             CAMERA_EVENT_RING says so */
    struct ring *retired; /* was served before; the main loop will destroy it */
    bool ended;           /* the camera's thread uses nothing of the output any more */
};

/* Main thread, once nobody uses the rings. */
void output_mailbox_destroy_rings(struct output_mailbox *output);

struct mailbox {
    pthread_mutex_t lock;
    int wake_fd;  /* eventfd: wakes the camera's thread */
    int event_fd; /* eventfd: wakes the main loop */

    /* From the main thread to the camera's. */
    struct desired desired;
    struct request *requests;

    /* From the camera's thread to the main one. */
    struct output_mailbox output[CONFIG_MAX_OUTPUTS];
    struct request *answered;
    bool ended; /* the camera's thread has returned */
    pthread_cond_t ended_cond;

    _Atomic int64_t progress_ns; /* any thread, without the lock */
};

/* -ENFILE, -EMFILE, -ENOMEM. mailbox_finish may be called even after a failure. */
int mailbox_init(struct mailbox *ret, const struct config *config, struct error *why);
void mailbox_finish(struct mailbox *mailbox); /* both threads are done with it */

/* Main thread: locks the mailbox to change the desired state; unlocks it and wakes the thread. */
struct desired *mailbox_begin_change(struct mailbox *mailbox);
void mailbox_end_change(struct mailbox *mailbox);

/* Main thread: hands a request over. */
void mailbox_send(struct mailbox *mailbox, struct request *request);

/* Camera's thread: updates *desired, which was read before or is zero. Its filters hold their
 * images, so the caller ends with desired_drop. */
void mailbox_read_desired(struct mailbox *mailbox, struct desired *desired);

/* Camera's thread: the requests that have come since the last call, in order. */
struct request *mailbox_take_requests(struct mailbox *mailbox);

/* Camera's thread: hands answered requests back. */
void mailbox_answer(struct mailbox *mailbox, struct request *answered);

/* Camera's thread: locks the mailbox to change an output's status; unlocks it and posts events, if
 * any. */
struct camera_status *mailbox_begin_report(struct output_mailbox *output);
void mailbox_end_report(struct output_mailbox *output, unsigned events);

#endif
