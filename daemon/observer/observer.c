/* The camera's thread fills buffers, and the observer's thread empties them. A buffer belongs to
 * one of the two at a time, so frames are copied and observed without the lock. Both share only the
 * job and the newest findings. */
#include "observer/observer.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/format.h"
#include "estimators/luma.h"
#include "observer/correcting.h"
#include "service/log.h"

/* The observer uses at most 1 / SHARE of a processor. */
#define SHARE 3

struct frame_buffer {
    bool is_filled; /* under the lock; if true, the observer's thread owns the other fields */
    struct observed_frame frame;
    int64_t copied_ns; /* processor time that the copy took */
};

/* Private to the camera's thread: how frames are numbered, and their corrections. */
struct camera_side {
    bool has_thread;
    bool takes_measures;
    bool adapts;   /* frames are observed for the applied chain */
    bool corrects; /* it corrects samples */
    uint64_t frames;
    uint64_t first; /* the number of the first one since the source was started */
    unsigned start; /* the newest start of the source; see capture_frame */
    struct correcting correcting;
    unsigned motion_block;     /* pixels; 0: no fields of motion */
    struct moving_copy motion; /* what frames carry */
    struct moving_copy field;  /* of an engine; carried instead */
};

struct observer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change; /* signalled when a field below changes; waits use CLOCK_MONOTONIC */

    /* Under the lock. */
    bool stop, ended;
    struct estimators_job job;
    struct frame_buffer buffer;
    int64_t next_ns; /* no frame is wanted before this time */
    struct observer_status status;
    struct copy_count copied;
    struct moving_copy motion; /* motion of the newest measured frame */
    struct handed_field handed;

    struct camera_side camera;

    /* Private to the observer's thread. */
    struct estimators *estimators;
    struct handed_field fitted;
};

static bool corrects_samples(const struct filter_adaptation *wanted)
{
    return wanted->removes_waves || wanted->removes_flicker;
}

bool observer_is_wanted(const struct filter_adaptation *wanted)
{
    return corrects_samples(wanted) || wanted->estimates_noise;
}

static bool has_work(const struct estimators_job *job)
{
    return job->takes_measures || observer_is_wanted(&job->wanted);
}

/* ---- the observer's thread ---- */

/* With the lock held. problem: empty if there is none. */
static void publish(struct observer *observer, const struct findings *found,
                    const struct error *problem)
{
    struct observer_status *status = &observer->status;
    status->found = *found;
    status->found.motion = NULL;
    if (observer->camera.motion_block > 0)
        moving_copy_set(&observer->motion, found->measured_number, found->motion,
                        found->motion_bytes);
    if (observer_is_wanted(&status->wanted))
        status->observed++;
    if (problem->text[0] != '\0' && strcmp(status->problem.text, problem->text) != 0)
        log_error("some estimators do not observe the captured frames: %s", problem->text);
    status->problem = *problem;
}

static bool is_same_job(const struct estimators_job *a, const struct estimators_job *b)
{
    return observed_frames_equal(&a->frames, &b->frames) && estimators_same_match(a, b) &&
           estimators_same_waves(&a->wanted, &b->wanted) &&
           estimators_same_flicker(&a->wanted, &b->wanted) &&
           estimators_same_noise(&a->wanted, &b->wanted);
}

/* With the lock held, which is released while the frame is observed. */
static void empty_buffer(struct observer *observer)
{
    struct frame_buffer *buffer = &observer->buffer;
    const struct estimators_job job = observer->job;
    struct findings found;
    struct error problem = {""};
    if (!has_work(&job) || !observed_frames_equal(&job.frames, &buffer->frame.frames)) {
        buffer->is_filled = false;
        return;
    }
    const int64_t begun_ns = clock_now_ns(), used_ns = clock_processor_ns();
    estimators_hold(&job.wanted); /* another job may come during the observation */
    const bool has_field =
        handed_field_take(&observer->handed, &observer->fitted, buffer->frame.start);
    pthread_mutex_unlock(&observer->lock);
    estimators_adopt(observer->estimators, &job, &problem);
    estimators_observe(observer->estimators, &buffer->frame, &found);
    if (has_field)
        found.has_similarity = handed_field_fit(&observer->fitted, job.frames.width,
                                                job.frames.height, &found.similarity);
    const int64_t spent_ns = buffer->copied_ns + clock_processor_ns() - used_ns;
    pthread_mutex_lock(&observer->lock);
    estimators_drop(&job.wanted);
    buffer->is_filled = false;
    observer->next_ns =
        (observer->next_ns > begun_ns ? observer->next_ns : begun_ns) + SHARE * spent_ns;
    if (is_same_job(&observer->job, &job))
        publish(observer, &found, &problem);
}

static void *observer_thread(void *argument)
{
    struct observer *observer = argument;
    pthread_mutex_lock(&observer->lock);
    while (!observer->stop) {
        if (observer->buffer.is_filled) {
            empty_buffer(observer);
            pthread_cond_broadcast(&observer->change);
        } else
            pthread_cond_wait(&observer->change, &observer->lock);
    }
    observer->ended = true;
    pthread_cond_broadcast(&observer->change);
    pthread_mutex_unlock(&observer->lock);
    return NULL;
}

/* ---- life ---- */

int observer_create(struct observer **ret, bool takes_measures, struct error *why)
{
    struct observer *observer = calloc(1, sizeof *observer);
    if (observer == NULL)
        return error_set(why, ENOMEM, "out of memory while creating an observer");
    const int r = estimators_create(&observer->estimators, why);
    if (r < 0) {
        free(observer);
        return r;
    }
    observer->camera.takes_measures = observer->job.takes_measures = takes_measures;
    pthread_mutex_init(&observer->lock, NULL);
    clock_cond_init(&observer->change);
    *ret = observer;
    return 0;
}

void observer_take_motion(struct observer *observer, unsigned block)
{
    if (block == 0 || !observer->camera.takes_measures)
        return;
    observer->camera.motion_block = observer->job.motion_block = block;
}

int observer_destroy(struct observer *observer, int64_t deadline_ns)
{
    if (observer == NULL)
        return 0;
    const struct timespec deadline = clock_timespec(deadline_ns);
    const bool has_thread = observer->camera.has_thread;
    int r = 0;
    pthread_mutex_lock(&observer->lock);
    observer->stop = true;
    pthread_cond_broadcast(&observer->change);
    while (has_thread && !observer->ended && r == 0)
        r = pthread_cond_timedwait(&observer->change, &observer->lock, &deadline);
    const bool ended = !has_thread || observer->ended;
    pthread_mutex_unlock(&observer->lock);
    if (!ended)
        return -EBUSY;
    if (has_thread)
        pthread_join(observer->thread, NULL);
    estimators_destroy(observer->estimators);
    estimators_drop(&observer->job.wanted);
    correcting_finish(&observer->camera.correcting);
    free(observer->buffer.frame.bytes);
    free(observer->motion.bytes);
    free(observer->camera.motion.bytes);
    free(observer->camera.field.bytes);
    free(observer->handed.vectors.bytes);
    free(observer->fitted.vectors.bytes);
    pthread_cond_destroy(&observer->change);
    pthread_mutex_destroy(&observer->lock);
    free(observer);
    return 0;
}

/* ---- the camera's thread: what is wanted ---- */

static int start_thread(struct observer *observer, struct error *why)
{
    const int r = -pthread_create(&observer->thread, NULL, observer_thread, observer);
    if (r < 0)
        return error_set(why, -r, "cannot start a thread: %s", strerror(-r));
    pthread_setname_np(observer->thread, "observer");
    observer->camera.has_thread = true;
    return 0;
}

int observer_configure(struct observer *observer, const struct filter_adaptation *wanted,
                       struct error *why)
{
    observer->camera.adapts = observer_is_wanted(wanted);
    if (observer->camera.adapts && !observer->camera.has_thread) {
        const int r = start_thread(observer, why);
        if (r < 0) {
            observer->camera.adapts = false;
            return r;
        }
    }
    observer->camera.corrects = corrects_samples(wanted);
    pthread_mutex_lock(&observer->lock);
    const struct estimators_job before = observer->job;
    struct findings *found = &observer->status.found;
    estimators_hold(wanted); /* before the old one is dropped */
    estimators_drop(&before.wanted);
    observer->job.wanted = observer->status.wanted = *wanted;
    observer->status.problem.text[0] = '\0';
    if (!estimators_same_match(&before, &observer->job))
        found->match_count = 0;
    if (!estimators_same_waves(&before.wanted, wanted))
        found->waves.count = found->wave_count = 0;
    if (!estimators_same_flicker(&before.wanted, wanted))
        found->flicker.is_valid = found->has_flicker = false;
    if (!estimators_same_noise(&before.wanted, wanted))
        found->noise = 0;
    pthread_mutex_unlock(&observer->lock);
    return 0;
}

void observer_set_source(struct observer *observer, uint64_t source_number,
                         const struct fftd_format *captured, enum demosaic demosaic)
{
    const struct observed_frames frames = {
        .source_number = source_number,
        .fourcc = captured->fourcc,
        .width = captured->width,
        .height = captured->height,
        .is_full_range = captured->full_range != 0 ||
                         format_by_fourcc(captured->fourcc)->family == FAMILY_MOSAIC,
        .demosaic = demosaic,
    };
    pthread_mutex_lock(&observer->lock);
    if (!observed_frames_equal(&observer->job.frames, &frames)) {
        observer->job.frames = frames;
        observer->status = (struct observer_status){.wanted = observer->job.wanted};
        observer->next_ns = 0;
    }
    pthread_mutex_unlock(&observer->lock);
}

/* ---- the camera's thread: frames ---- */

/* The buffer for a frame, or NULL if it is not wanted. */
static struct frame_buffer *choose_buffer(struct observer *observer, bool waits,
                                          struct observed_frames *ret)
{
    pthread_mutex_lock(&observer->lock);
    const bool is_wanted =
        !observer->buffer.is_filled && (waits || clock_now_ns() >= observer->next_ns);
    *ret = observer->job.frames;
    pthread_mutex_unlock(&observer->lock);
    return is_wanted ? &observer->buffer : NULL;
}

static bool fill(struct frame_buffer *buffer, const struct observed_frames *frames, uint64_t number,
                 const struct capture_frame *frame)
{
    const int64_t used_ns = clock_processor_ns();
    struct observed_frame *copy = &buffer->frame;
    const size_t row_bytes = luma_row_bytes(format_by_fourcc(frames->fourcc), frames->width);
    const size_t size = row_bytes * frames->height;
    if (copy->capacity < size) {
        uint8_t *bytes = realloc(copy->bytes, size);
        if (bytes == NULL)
            return false; /* the frame is not observed, another one will be */
        copy->bytes = bytes;
        copy->capacity = size;
    }
    for (uint32_t y = 0; y < frames->height; y++)
        memcpy(copy->bytes + y * row_bytes, frame->plane[0] + (size_t)y * frame->stride[0],
               row_bytes);
    copy->frames = *frames;
    copy->number = number;
    copy->start = frame->start;
    copy->captured_ns = frame->captured_ns;
    copy->scene_ns = capture_scene_ns(frame);
    buffer->copied_ns = clock_processor_ns() - used_ns;
    return true;
}

/* The thread that takes measures starts with the first frame. */
static bool is_ready(struct observer *observer)
{
    struct camera_side *camera = &observer->camera;
    struct error why;
    if (camera->takes_measures && !camera->has_thread && start_thread(observer, &why) < 0) {
        log_warning("output.measures: frames carry no measures: %s", why.text);
        camera->takes_measures = false;
    }
    return camera->has_thread && (camera->takes_measures || camera->adapts);
}

/* Waits until the frame in the buffer was observed. */
static void wait_until_observed(struct observer *observer)
{
    pthread_mutex_lock(&observer->lock);
    while (observer->buffer.is_filled && !observer->stop)
        pthread_cond_wait(&observer->change, &observer->lock);
    pthread_mutex_unlock(&observer->lock);
}

uint64_t observer_offer(struct observer *observer, const struct capture_frame *frame,
                        bool is_unpaced)
{
    struct camera_side *camera = &observer->camera;
    struct observed_frames frames;
    const uint64_t number = ++camera->frames;
    if (frame->start != camera->start || camera->first == 0)
        camera->first = number;
    camera->start = frame->start;
    if (!is_ready(observer))
        return number;
    const bool waits = is_unpaced && camera->adapts && camera->corrects;
    if (waits)
        wait_until_observed(observer);
    struct frame_buffer *buffer = choose_buffer(observer, waits, &frames);
    if (buffer == NULL || !fill(buffer, &frames, number, frame))
        return number;
    pthread_mutex_lock(&observer->lock);
    buffer->is_filled = true;
    copy_count_add(&observer->copied,
                   frames.height * luma_row_bytes(format_by_fourcc(frames.fourcc), frames.width));
    pthread_cond_broadcast(&observer->change);
    pthread_mutex_unlock(&observer->lock);
    if (waits)
        wait_until_observed(observer);
    return number;
}

const struct correction *observer_correct(struct observer *observer,
                                          const struct capture_frame *frame)
{
    struct camera_side *camera = &observer->camera;
    if (!camera->adapts || !camera->corrects)
        return NULL;
    pthread_mutex_lock(&observer->lock);
    const struct observed_frames frames = observer->status.found.frames;
    const struct wave_model waves = observer->status.found.waves;
    const struct flicker_model flicker = observer->status.found.flicker;
    pthread_mutex_unlock(&observer->lock);
    if (frames.fourcc == 0) /* nothing was found yet */
        return NULL;
    return correcting_fit(&camera->correcting, &frames, &waves, &flicker, frame);
}

/* With the lock held. Gives the frame the matches of these templates. */
static void label_matches(const struct observer *observer, const struct filter_adaptation *wanted,
                          struct ring_meta *meta)
{
    const struct filter_adaptation *job = &observer->job.wanted;
    const struct findings *found = &observer->status.found;
    meta->match_count = found->match_count > 0 ? wanted->match_count : 0;
    for (unsigned i = 0; i < meta->match_count; i++) {
        meta->match[i] = (struct fftd_match){.x = NAN, .y = NAN};
        for (unsigned k = 0; k < found->match_count; k++)
            if (job->match_image[k] == wanted->match_image[i])
                meta->match[i] = found->match[k];
    }
}

/* With the lock held. Gives the frame everything but the field of motion. */
static void label_findings(const struct observer *observer, uint64_t number,
                           const struct filter_adaptation *wanted, struct ring_meta *meta)
{
    const struct findings *found = &observer->status.found;
    const uint64_t age = number - found->measured_number;
    meta->measures = found->measures;
    meta->measures.age = age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
    /* The flags of older measures. */
    meta->flags &= ~(FFTD_FLAG_PICTURE_STATE(7) | FFTD_FLAG_SIMILARITY);
    meta->flags |= FFTD_FLAG_MEASURES | FFTD_FLAG_PICTURE_STATE(found->picture_state);
    label_matches(observer, wanted, meta);
    if (found->has_similarity) {
        meta->similarity = found->similarity;
        meta->flags |= FFTD_FLAG_SIMILARITY;
    }
}

void observer_take_field(struct observer *observer, const struct observed_field *field)
{
    struct camera_side *camera = &observer->camera;
    if (camera->motion_block == 0)
        return;
    pthread_mutex_lock(&observer->lock);
    observer->job.motion_block = field->grid == NULL ? camera->motion_block : 0;
    if (observed_field_is_known(field) && field->number >= camera->first)
        handed_field_set(&observer->handed, field, camera->start);
    pthread_mutex_unlock(&observer->lock);
    moving_copy_set_field(&camera->field, field);
}

void observer_label(struct observer *observer, uint64_t number,
                    const struct filter_adaptation *wanted, struct ring_meta *meta)
{
    if (!observer->camera.takes_measures)
        return;
    pthread_mutex_lock(&observer->lock);
    const uint64_t measured = observer->status.found.measured_number;
    const bool belongs = measured >= observer->camera.first && measured <= number;
    if (belongs)
        label_findings(observer, number, wanted, meta);
    struct moving_copy *motion = &observer->camera.motion;
    if (observer->camera.motion_block > 0 && observer->motion.number != 0) {
        const struct moving_copy old = *motion;
        *motion = observer->motion;
        observer->motion = old; /* whose memory the next one has */
        observer->motion.number = 0;
    }
    pthread_mutex_unlock(&observer->lock);
    meta->motion = NULL; /* an older label's memory may have another field by now */
    const struct moving_copy *field = &observer->camera.field;
    if (belongs && motion->number == measured) {
        meta->motion = motion->bytes;
        meta->motion_bytes = motion->size;
    }
    if (field->number != 0 && field->number >= observer->camera.first && field->number <= number) {
        meta->motion = field->bytes;
        meta->motion_bytes = field->size;
    }
}

/* ---- any thread ---- */

void observer_get_copied(struct observer *observer, struct copy_count *ret)
{
    pthread_mutex_lock(&observer->lock);
    *ret = observer->copied;
    pthread_mutex_unlock(&observer->lock);
}

double observer_noise(struct observer *observer)
{
    pthread_mutex_lock(&observer->lock);
    const double noise = observer->status.found.noise;
    pthread_mutex_unlock(&observer->lock);
    return noise;
}

void observer_get_status(struct observer *observer, struct observer_status *ret)
{
    pthread_mutex_lock(&observer->lock);
    *ret = observer->status;
    pthread_mutex_unlock(&observer->lock);
}
