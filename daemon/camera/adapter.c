/* The camera's thread fills slots, the adapter's thread empties them. Each slot belongs to one of
 * the two at a time, so frames are copied and observed without the lock. What is shared is small:
 * what is wanted, and the newest model. */
#include "camera/adapter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/format.h"
#include "core/luma.h"
#include "service/log.h"

/* An observation of so much time of a processor is followed by twice as long a pause. */
#define SHARE    3

/* After a failure. */
#define RETRY_NS NS_PER_S

/* A frame, and the one after it if an estimator has asked for two consecutive ones. */
#define SLOTS    2

/* The frames that are to be observed; another number: everything is forgotten. */
struct frames_key {
    uint64_t source_version;
    uint32_t fourcc, width, height;
};

/* The estimators that are wanted, and the frames that they observe. */
struct job {
    struct filter_adaptation wanted;
    struct frames_key frames;
};

struct slot {
    bool is_filled; /* under the lock; filled: the adapter's thread owns what follows */
    uint8_t *bytes; /* rows without gaps */
    size_t capacity;
    struct frames_key frames;
    int64_t captured_ns;
};

struct model {
    struct frames_key frames; /* that it was found in */
    struct periodic_model waves;
    struct flicker_model flicker;
};

/* (fields: three groups, by the thread that may touch them.) */
struct adapter {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change; /* of anything under the lock; on CLOCK_MONOTONIC */

    /* Under the lock. */
    bool stop, ended;
    struct job job;
    struct slot slot[SLOTS];
    int64_t next_ns; /* no frame is wanted before */
    bool wants_next; /* the frame right after the next observed one is wanted, too */
    struct model model;
    struct adapter_status status;

    /* Of the camera's thread. */
    bool has_thread;
    bool is_pair; /* the next frame goes into the second slot */
    struct correction correction;
    float row_gain[FFTD_MAX_SIDE];

    /* Of the adapter's thread. */
    struct job applied; /* to the estimators */
    struct periodic *periodic;
    struct flicker *flicker;
    float *luma;
};

static bool is_same(const struct frames_key *a, const struct frames_key *b)
{
    return a->source_version == b->source_version && a->fourcc == b->fourcc &&
           a->width == b->width && a->height == b->height;
}

bool adapter_is_on(const struct filter_adaptation *wanted)
{
    return wanted->removes_waves || wanted->removes_flicker;
}

/* Whether both look for the same waves, or the same flicker. */
static bool is_same_waves(const struct filter_adaptation *a, const struct filter_adaptation *b)
{
    return a->removes_waves == b->removes_waves &&
           a->waves.min_amplitude == b->waves.min_amplitude &&
           a->waves.max_waves == b->waves.max_waves;
}

static bool is_same_flicker(const struct filter_adaptation *a, const struct filter_adaptation *b)
{
    return a->removes_flicker == b->removes_flicker &&
           a->flicker.frequency_hz == b->flicker.frequency_hz &&
           a->flicker.line_time_us == b->flicker.line_time_us;
}

/* ---- the adapter's thread ---- */

static void forget_waves(struct adapter *adapter)
{
    periodic_destroy(adapter->periodic);
    adapter->periodic = NULL;
}

static void forget_flicker(struct adapter *adapter)
{
    flicker_destroy(adapter->flicker);
    adapter->flicker = NULL;
}

static void forget(struct adapter *adapter)
{
    forget_waves(adapter);
    forget_flicker(adapter);
    free(adapter->luma);
    adapter->luma = NULL;
}

static int make_estimators(struct adapter *adapter, struct error *why)
{
    const struct filter_adaptation *wanted = &adapter->applied.wanted;
    const struct frames_key *frames = &adapter->applied.frames;
    int r = 0;
    if (adapter->luma == NULL)
        adapter->luma = malloc((size_t)frames->width * frames->height * sizeof(float));
    if (adapter->luma == NULL)
        return error_set(why, ENOMEM, "out of memory for the luma of a frame");
    if (wanted->removes_waves && adapter->periodic == NULL)
        r = periodic_create(&adapter->periodic, frames->width, frames->height, &wanted->waves, why);
    if (r == 0 && wanted->removes_flicker && adapter->flicker == NULL)
        r = flicker_create(&adapter->flicker, frames->width, frames->height, &wanted->flicker, why);
    if (r == 0 && wanted->removes_waves)
        periodic_freeze(adapter->periodic, wanted->is_frozen);
    return r;
}

/* Makes estimators for a job, and keeps those that have the same to look for. */
static int adopt(struct adapter *adapter, const struct job *job, struct error *why)
{
    const struct job *applied = &adapter->applied;
    if (!is_same(&job->frames, &applied->frames))
        forget(adapter);
    if (!is_same_waves(&job->wanted, &applied->wanted))
        forget_waves(adapter);
    if (!is_same_flicker(&job->wanted, &applied->wanted))
        forget_flicker(adapter);
    adapter->applied = *job;
    return make_estimators(adapter, why);
}

/* Observes a frame. Other measures of captured frames belong here, too. */
static void observe(struct adapter *adapter, const struct slot *slot)
{
    const struct format_info *format = format_by_fourcc(slot->frames.fourcc);
    const uint32_t width = slot->frames.width;
    luma_read(adapter->luma, format, width, slot->frames.height, slot->bytes,
              luma_row_bytes(format, width));
    if (adapter->periodic != NULL)
        periodic_observe(adapter->periodic, adapter->luma, slot->captured_ns);
    if (adapter->flicker != NULL)
        flicker_observe(adapter->flicker, adapter->luma, slot->captured_ns);
}

/* With the lock held. */
static void publish(struct adapter *adapter)
{
    struct adapter_status *status = &adapter->status;
    status->observed++;
    status->wave_count = 0;
    status->has_flicker = false;
    status->problem.text[0] = '\0';
    adapter->model = (struct model){.frames = adapter->applied.frames};
    adapter->wants_next = false;
    if (adapter->periodic != NULL) {
        periodic_get_model(adapter->periodic, &adapter->model.waves);
        status->wave_count = periodic_reports(adapter->periodic, status->wave);
        adapter->wants_next = periodic_wants_next(adapter->periodic);
    }
    if (adapter->flicker != NULL) {
        flicker_model_get(adapter->flicker, &adapter->model.flicker);
        status->has_flicker = flicker_report(adapter->flicker, &status->flicker);
    }
}

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* With the lock held. */
static void report_problem(struct adapter *adapter, const struct error *why)
{
    struct error *problem = &adapter->status.problem;
    if (strcmp(problem->text, why->text) != 0)
        log_error("captured frames are not observed: %s", why->text);
    *problem = *why;
    adapter->next_ns = clock_now_ns() + RETRY_NS;
}

/* With the lock held, which is released while the frame is observed. */
static void empty_slot(struct adapter *adapter, struct slot *slot)
{
    const struct job job = adapter->job;
    struct error why;
    if (!adapter_is_on(&job.wanted) || !is_same(&job.frames, &slot->frames)) {
        slot->is_filled = false;
        return;
    }
    const int64_t begun_ns = clock_now_ns(), used_ns = processor_ns();
    pthread_mutex_unlock(&adapter->lock);
    const int r = adopt(adapter, &job, &why);
    if (r == 0)
        observe(adapter, slot);
    const int64_t spent_ns = processor_ns() - used_ns;
    pthread_mutex_lock(&adapter->lock);
    slot->is_filled = false;
    adapter->next_ns =
        (adapter->next_ns > begun_ns ? adapter->next_ns : begun_ns) + SHARE * spent_ns;
    if (!is_same(&adapter->job.frames, &job.frames) ||
        !is_same_waves(&adapter->job.wanted, &job.wanted) ||
        !is_same_flicker(&adapter->job.wanted, &job.wanted))
        return;
    if (r == 0)
        publish(adapter);
    else
        report_problem(adapter, &why);
}

static struct slot *find_filled(struct adapter *adapter)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (adapter->slot[i].is_filled)
            return &adapter->slot[i];
    return NULL;
}

static void *adapter_thread(void *argument)
{
    struct adapter *adapter = argument;
    pthread_mutex_lock(&adapter->lock);
    while (!adapter->stop) {
        struct slot *slot = find_filled(adapter);
        if (slot != NULL)
            empty_slot(adapter, slot);
        else
            pthread_cond_wait(&adapter->change, &adapter->lock);
    }
    adapter->ended = true;
    pthread_cond_broadcast(&adapter->change);
    pthread_mutex_unlock(&adapter->lock);
    return NULL;
}

/* ---- life ---- */

int adapter_create(struct adapter **ret, struct error *why)
{
    struct adapter *adapter = calloc(1, sizeof *adapter);
    if (adapter == NULL)
        return error_set(why, ENOMEM, "out of memory while creating an adapter");
    pthread_mutex_init(&adapter->lock, NULL);
    clock_cond_init(&adapter->change);
    *ret = adapter;
    return 0;
}

int adapter_destroy(struct adapter *adapter, int64_t deadline_ns)
{
    if (adapter == NULL)
        return 0;
    const struct timespec deadline = clock_timespec(deadline_ns);
    int r = 0;
    pthread_mutex_lock(&adapter->lock);
    adapter->stop = true;
    pthread_cond_broadcast(&adapter->change);
    while (adapter->has_thread && !adapter->ended && r == 0)
        r = pthread_cond_timedwait(&adapter->change, &adapter->lock, &deadline);
    const bool ended = !adapter->has_thread || adapter->ended;
    pthread_mutex_unlock(&adapter->lock);
    if (!ended)
        return -EBUSY;
    if (adapter->has_thread)
        pthread_join(adapter->thread, NULL);
    forget(adapter);
    for (unsigned i = 0; i < SLOTS; i++)
        free(adapter->slot[i].bytes);
    pthread_cond_destroy(&adapter->change);
    pthread_mutex_destroy(&adapter->lock);
    free(adapter);
    return 0;
}

/* ---- the camera's thread ---- */

static int start_thread(struct adapter *adapter, struct error *why)
{
    const int r = -pthread_create(&adapter->thread, NULL, adapter_thread, adapter);
    if (r < 0)
        return error_set(why, -r, "cannot start a thread: %s", strerror(-r));
    pthread_setname_np(adapter->thread, "adapter");
    adapter->has_thread = true;
    return 0;
}

/* With the lock held: what was found is not shown any more. */
static void clear_status(struct adapter *adapter)
{
    adapter->model = (struct model){.waves = {.count = 0}};
    adapter->status = (struct adapter_status){.wanted = adapter->job.wanted};
    adapter->next_ns = 0;
}

int adapter_configure(struct adapter *adapter, const struct filter_adaptation *wanted,
                      struct error *why)
{
    if (adapter_is_on(wanted) && !adapter->has_thread) {
        const int r = start_thread(adapter, why);
        if (r < 0)
            return r;
    }
    pthread_mutex_lock(&adapter->lock);
    const struct filter_adaptation before = adapter->job.wanted;
    adapter->job.wanted = adapter->status.wanted = *wanted;
    adapter->status.problem.text[0] = '\0';
    if (!is_same_waves(&before, wanted))
        adapter->model.waves.count = adapter->status.wave_count = 0;
    if (!is_same_flicker(&before, wanted))
        adapter->model.flicker.is_valid = adapter->status.has_flicker = false;
    pthread_mutex_unlock(&adapter->lock);
    return 0;
}

void adapter_set_source(struct adapter *adapter, uint64_t source_version, uint32_t fourcc,
                        uint32_t width, uint32_t height)
{
    const struct frames_key frames = {source_version, fourcc, width, height};
    pthread_mutex_lock(&adapter->lock);
    if (!is_same(&adapter->job.frames, &frames)) {
        adapter->job.frames = frames;
        clear_status(adapter);
    }
    pthread_mutex_unlock(&adapter->lock);
}

/* The slot for a frame, or NULL if it is not wanted. */
static struct slot *choose_slot(struct adapter *adapter, struct frames_key *ret)
{
    struct slot *slot = NULL;
    pthread_mutex_lock(&adapter->lock);
    const bool is_idle = !adapter->slot[0].is_filled && !adapter->slot[1].is_filled;
    if (!adapter_is_on(&adapter->job.wanted))
        adapter->is_pair = false;
    else if (adapter->is_pair && !adapter->slot[1].is_filled)
        slot = &adapter->slot[1];
    else if (is_idle && clock_now_ns() >= adapter->next_ns)
        slot = &adapter->slot[0];
    adapter->is_pair = slot == &adapter->slot[0] && adapter->wants_next;
    *ret = adapter->job.frames;
    pthread_mutex_unlock(&adapter->lock);
    return slot;
}

static bool fill(struct slot *slot, const struct frames_key *frames,
                 const struct capture_frame *frame)
{
    const size_t row_bytes = luma_row_bytes(format_by_fourcc(frames->fourcc), frames->width);
    const size_t size = row_bytes * frames->height;
    if (slot->capacity < size) {
        uint8_t *bytes = realloc(slot->bytes, size);
        if (bytes == NULL)
            return false; /* the frame is not observed, another one will be */
        slot->bytes = bytes;
        slot->capacity = size;
    }
    for (uint32_t y = 0; y < frames->height; y++)
        memcpy(slot->bytes + y * row_bytes, frame->plane[0] + (size_t)y * frame->stride[0],
               row_bytes);
    slot->frames = *frames;
    slot->captured_ns = frame->captured_ns;
    return true;
}

void adapter_offer(struct adapter *adapter, const struct capture_frame *frame)
{
    struct frames_key frames;
    if (!adapter->has_thread) /* no chain has adapted yet */
        return;
    struct slot *slot = choose_slot(adapter, &frames);
    if (slot == NULL || !fill(slot, &frames, frame))
        return;
    pthread_mutex_lock(&adapter->lock);
    slot->is_filled = true;
    pthread_cond_broadcast(&adapter->change);
    pthread_mutex_unlock(&adapter->lock);
}

/* Brings amplitudes into the unit of the samples that the engine corrects. */
static void scale_waves(struct correction *correction, uint32_t fourcc)
{
    const double step = luma_step(format_by_fourcc(fourcc));
    for (unsigned i = 0; i < correction->wave_count; i++) {
        correction->wave[i].re *= step;
        correction->wave[i].im *= step;
    }
}

const struct correction *adapter_correct(struct adapter *adapter, int64_t captured_ns)
{
    struct model model;
    struct filter_adaptation wanted;
    if (!adapter->has_thread)
        return NULL;
    pthread_mutex_lock(&adapter->lock);
    model = adapter->model;
    wanted = adapter->job.wanted;
    const bool is_valid = is_same(&model.frames, &adapter->job.frames);
    pthread_mutex_unlock(&adapter->lock);
    if (!is_valid || !adapter_is_on(&wanted))
        return NULL;
    struct correction *correction = &adapter->correction;
    *correction = (struct correction){.row_gain = NULL};
    correction->wave_count = periodic_model_waves(&model.waves, captured_ns, correction->wave);
    scale_waves(correction, model.frames.fourcc);
    if (model.flicker.is_valid && captured_ns <= model.flicker.until_ns) {
        flicker_model_gains(&model.flicker, captured_ns, model.frames.height, adapter->row_gain);
        correction->row_gain = adapter->row_gain;
    }
    return correction->wave_count > 0 || correction->row_gain != NULL ? correction : NULL;
}

/* ---- any thread ---- */

void adapter_get_status(struct adapter *adapter, struct adapter_status *ret)
{
    pthread_mutex_lock(&adapter->lock);
    *ret = adapter->status;
    pthread_mutex_unlock(&adapter->lock);
}
