#include "camera/measuring.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/format.h"
#include "core/luma.h"
#include "core/measures.h"
#include "core/motion.h"
#include "service/log.h"

#define ROUNDING 1e-3F /* of luma, less than the step of any format */
#define REST     2     /* times what a frame has taken; 1 / (1 + REST) of a processor */

/* A copy of the first plane of a frame. */
struct copy {
    uint64_t number; /* of the frame */
    unsigned start;  /* of the source */
    const struct format_info *info;
    uint32_t width, height; /* pixels */
    bool is_full_range;
    size_t row_bytes;
    uint8_t *bytes;
    size_t capacity;
    int64_t took_ns; /* to make it */
};

struct measuring_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct mailbox *mailbox;

    /* Under the lock. The copy belongs to the thread while it is busy. */
    bool stop, busy;
    int64_t rest_until_ns;
    struct copy copy;

    /* Of the thread alone. */
    struct measurer *measurer;
    struct motion_estimator *motion; /* NULL: pictures are too small for it */
    uint32_t width, height;          /* of their pictures */
    float *luma;
    uint64_t last_number; /* of the picture measured before; 0: none */
    unsigned start;       /* of the source, for that picture */
};

/* ---- the thread ---- */

/* Gets ready for pictures of another size. */
static int resize(struct measuring_thread *thread, uint32_t width, uint32_t height,
                  struct error *why)
{
    struct measurer *measurer = NULL;
    struct motion_estimator *motion = NULL;
    int r;

    if (thread->measurer != NULL && thread->width == width && thread->height == height)
        return 0;
    float *luma = malloc((size_t)width * height * sizeof *luma);
    r = luma != NULL ? measurer_create(&measurer, width, height, why)
                     : error_set(why, ENOMEM, "out of memory for luma of %ux%u", width, height);
    if (r == 0 && width >= MOTION_MIN_SIZE && height >= MOTION_MIN_SIZE)
        r = motion_create(&motion, width, height, why);
    if (r < 0) {
        measurer_destroy(measurer);
        free(luma);
        return r;
    }
    measurer_destroy(thread->measurer);
    motion_destroy(thread->motion);
    free(thread->luma);
    thread->measurer = measurer;
    thread->motion = motion;
    thread->last_number = 0;
    thread->luma = luma;
    thread->width = width;
    thread->height = height;
    return 0;
}

/* A level of the limited range, which is defined for 8 bits, in luma of 0 .. 255 (luma.h). */
static float limited_level(const struct format_info *info, unsigned level)
{
    return (float)(level << (info->bits - 8)) * 255 / (float)((1u << info->bits) - 1);
}

/* How the picture has moved since the one that was measured before. */
static void measure_shift(struct measuring_thread *thread, struct fftd_measures *ret)
{
    struct motion motion;
    const uint64_t number = thread->copy.number;
    const bool is_first = thread->copy.start != thread->start || thread->last_number == 0;
    const double frames = (double)(number - thread->last_number);

    thread->last_number = number;
    thread->start = thread->copy.start;
    if (thread->motion == NULL)
        return;
    if (is_first)
        motion_reset(thread->motion);
    motion_observe(thread->motion, thread->luma, &motion);
    if (is_first)
        return;
    ret->shift_confidence = (float)motion.confidence;
    if (motion.is_sure) {
        ret->shift_x = (float)(motion.dx / frames);
        ret->shift_y = (float)(motion.dy / frames);
    }
}

static void measure(struct measuring_thread *thread)
{
    const struct copy *copy = &thread->copy;
    struct measures measures;

    if (resize(thread, copy->width, copy->height, NULL) < 0)
        return; /* the next frame tries again */
    luma_read(thread->luma, copy->info, copy->width, copy->height, copy->bytes, copy->row_bytes);
    const struct measures_picture picture = {
        .samples = thread->luma,
        .is_float = true,
        .width = copy->width,
        .height = copy->height,
        .stride = copy->width,
        .black = copy->is_full_range ? 0 : limited_level(copy->info, 16) + ROUNDING,
        .white = (copy->is_full_range ? 255 : limited_level(copy->info, 235)) - ROUNDING,
    };
    measurer_measure(thread->measurer, &picture, &measures);
    struct camera_measures result = {
        .number = copy->number,
        .values = {.sharpness = measures.sharpness,
                   .noise = measures.noise,
                   .mean = measures.mean,
                   .clipped = measures.clipped,
                   .shift_x = NAN,
                   .shift_y = NAN,
                   .shift_confidence = NAN,
                   .flicker_hz = NAN,
                   .flicker_depth = NAN,
                   .peak_strength = NAN},
    };
    measure_shift(thread, &result.values);
    mailbox_put_measures(thread->mailbox, &result);
}

static void *run(void *argument)
{
    struct measuring_thread *thread = argument;
    pthread_mutex_lock(&thread->lock);
    for (;;) {
        while (!thread->stop && !thread->busy)
            pthread_cond_wait(&thread->change, &thread->lock);
        if (thread->stop)
            break;
        pthread_mutex_unlock(&thread->lock);
        const int64_t begin_ns = clock_now_ns();
        measure(thread);
        const int64_t end_ns = clock_now_ns();
        pthread_mutex_lock(&thread->lock);
        thread->rest_until_ns = end_ns + REST * (end_ns - begin_ns + thread->copy.took_ns);
        thread->busy = false;
    }
    pthread_mutex_unlock(&thread->lock);
    return NULL;
}

/* ---- the camera's thread ---- */

static int start_thread(struct measuring_thread **ret, struct mailbox *mailbox, struct error *why)
{
    struct measuring_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL)
        return error_set(why, ENOMEM, "out of memory");
    thread->mailbox = mailbox;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_cond_init(&thread->change, NULL);
    int r = -pthread_create(&thread->thread, NULL, run, thread);
    if (r < 0) {
        pthread_cond_destroy(&thread->change);
        pthread_mutex_destroy(&thread->lock);
        free(thread);
        error_set(why, -r, "cannot start a thread: %s", strerror(-r));
        return r;
    }
    pthread_setname_np(thread->thread, "measures");
    *ret = thread;
    return 0;
}

/* 0 or -ENOMEM. */
static int make_copy(struct copy *copy, const struct format_info *info,
                     const struct fftd_format *format, const struct capture_frame *frame)
{
    const size_t row_bytes = luma_row_bytes(info, format->width);
    const size_t bytes = row_bytes * format->height;
    const int64_t begin_ns = clock_now_ns();
    if (copy->bytes == NULL || bytes > copy->capacity) {
        uint8_t *larger = realloc(copy->bytes, bytes);
        if (larger == NULL)
            return -ENOMEM;
        copy->bytes = larger;
        copy->capacity = bytes;
    }
    for (uint32_t y = 0; y < format->height; y++)
        memcpy(copy->bytes + y * row_bytes, frame->plane[0] + (size_t)y * frame->stride[0],
               row_bytes);
    copy->info = info;
    copy->width = format->width;
    copy->height = format->height;
    copy->is_full_range = format->full_range != 0 || info->family == FAMILY_MOSAIC;
    copy->row_bytes = row_bytes;
    copy->took_ns = clock_now_ns() - begin_ns;
    return 0;
}

/* The lock is held only for moments by the other side. */
static void offer(struct measuring_thread *thread, const struct format_info *info,
                  const struct fftd_format *format, const struct capture_frame *frame,
                  uint64_t number)
{
    pthread_mutex_lock(&thread->lock);
    const bool may = !thread->busy && clock_now_ns() >= thread->rest_until_ns;
    pthread_mutex_unlock(&thread->lock);
    if (!may || make_copy(&thread->copy, info, format, frame) < 0)
        return;
    thread->copy.number = number;
    thread->copy.start = frame->start;
    pthread_mutex_lock(&thread->lock);
    thread->busy = true;
    pthread_cond_signal(&thread->change);
    pthread_mutex_unlock(&thread->lock);
}

void measuring_init(struct measuring *ret, bool is_on, struct mailbox *mailbox)
{
    *ret = (struct measuring){.is_on = is_on, .mailbox = mailbox};
}

void measuring_finish(struct measuring *measuring)
{
    struct measuring_thread *thread = measuring->thread;
    if (thread == NULL)
        return;
    measuring->thread = NULL;
    pthread_mutex_lock(&thread->lock);
    thread->stop = true;
    pthread_cond_signal(&thread->change);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->thread, NULL);
    pthread_cond_destroy(&thread->change);
    pthread_mutex_destroy(&thread->lock);
    measurer_destroy(thread->measurer);
    motion_destroy(thread->motion);
    free(thread->luma);
    free(thread->copy.bytes);
    free(thread);
}

uint64_t measuring_take(struct measuring *measuring, const struct fftd_format *format,
                        uint32_t captured, const struct capture_frame *frame)
{
    const struct format_info *info = format_by_fourcc(captured);
    struct error why;

    const uint64_t number = ++measuring->frames;
    if (frame->start != measuring->start || measuring->first == 0)
        measuring->first = number;
    measuring->start = frame->start;
    if (!measuring->is_on || info == NULL)
        return number;
    if (measuring->thread == NULL &&
        start_thread(&measuring->thread, measuring->mailbox, &why) < 0) {
        log_warning("output.measures: frames carry no measures: %s", why.text);
        measuring->is_on = false;
        return number;
    }
    offer(measuring->thread, info, format, frame, number);
    return number;
}

void measuring_label(const struct measuring *measuring, uint64_t number, struct ring_meta *meta)
{
    struct camera_measures newest;
    if (!measuring->is_on)
        return;
    mailbox_get_measures(measuring->mailbox, &newest);
    if (newest.number < measuring->first || newest.number > number)
        return;
    const uint64_t age = number - newest.number;
    meta->measures = newest.values;
    meta->measures.age = age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
    meta->flags |= FFTD_FLAG_MEASURES;
}
