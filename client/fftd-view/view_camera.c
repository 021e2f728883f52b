#include "view_camera.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <fftd/fftd.h>

#include "common/frames.h"
#include "core/clock.h"
#include "encoder.h"

#define WAIT_MS        100 /* how long to wait for a frame before the thread checks deadlines */
#define RETRY_NS       (NS_PER_S / 4)
#define FRESH_NS       (NS_PER_S / 4) /* a snapshot may be a picture of this age */
#define SPECTRUM_NS    NS_PER_S       /* the least time between the starts of two spectra */
/* Spectra may take 1 / SPECTRUM_SHARE of the thread's time, because pictures wait for them. */
#define SPECTRUM_SHARE 8

struct camera {
    struct camera_options options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* somebody waits, or stopping is set */
    /* The lock protects these. */
    bool stopping;
    struct waiter *waiters;
    struct image *newest[2]; /* one for each kind of waiter; NULL: none yet */
    /* The thread owns these. */
    struct fftd *ring; /* NULL while nobody looks */
    struct encoder *encoder;
    int64_t next_picture_ns, next_spectrum_ns;
};

/* ---- the thread ---- */

static struct image *exchange(struct image **at, struct image *image)
{
    struct image *old = *at;
    *at = image;
    return old;
}

static void publish(struct camera *camera, enum waiter_kind kind, struct image *image,
                    const struct fftd_frame *frame)
{
    image->sequence = frame->sequence;
    image->serial = frame->filter_serial;
    image->captured_ns = frame->captured_ns;
    image->width = frame->format->width;
    image->height = frame->format->height;
    image->made_ns = clock_now_ns();
    pthread_mutex_lock(&camera->lock);
    struct image *old = exchange(&camera->newest[kind], image);
    waiter_resume(&camera->waiters, kind);
    pthread_mutex_unlock(&camera->lock);
    image_unref(old);
}

/* Makes the wanted images from a frame, unless the frame was overwritten during the copy. */
static void make(struct camera *camera, const struct fftd_frame *frame, bool wants_picture,
                 bool wants_spectrum)
{
    const uint8_t *memory = frame->plane[0] - frame->format->plane[0].offset;
    const int64_t began_ns = clock_now_ns();
    struct image *image;
    if (encoder_load(camera->encoder, frame->format, memory) < 0 ||
        !fftd_frame_valid(camera->ring, frame))
        return;
    if (wants_picture && began_ns >= camera->next_picture_ns &&
        encoder_picture(camera->encoder, &image) == 0) {
        /* The average interval stays right, and no burst follows a gap. */
        const int64_t interval_ns = NS_PER_S / camera->options.fps;
        camera->next_picture_ns += interval_ns;
        if (camera->next_picture_ns < began_ns)
            camera->next_picture_ns = began_ns + interval_ns / 2;
        publish(camera, WAITER_PICTURE, image, frame);
    }
    if (wants_spectrum && began_ns >= camera->next_spectrum_ns &&
        encoder_spectrum(camera->encoder, &image) == 0) {
        const int64_t took_ns = clock_now_ns() - began_ns;
        camera->next_spectrum_ns =
            began_ns +
            (SPECTRUM_SHARE * took_ns > SPECTRUM_NS ? SPECTRUM_SHARE * took_ns : SPECTRUM_NS);
        publish(camera, WAITER_SPECTRUM, image, frame);
    }
}

/* Sleeps until the time, or until somebody waits or the program ends. The lock is held. */
static void sleep_until(struct camera *camera, int64_t until_ns)
{
    const struct timespec until = clock_timespec(until_ns);
    pthread_cond_timedwait(&camera->changed, &camera->lock, &until);
}

static int open_ring(struct camera *camera)
{
    int r = fftd_open(&camera->ring, camera->options.place);
    if (r == 0)
        frames_skip_old(camera->ring);
    return r;
}

static void close_ring(struct camera *camera)
{
    fftd_close(camera->ring);
    camera->ring = NULL;
}

/* Waits for a frame and makes the wanted images. False: the daemon cannot be reached. */
static bool serve(struct camera *camera, bool wants_picture, bool wants_spectrum)
{
    struct fftd_frame frame;
    if (camera->ring == NULL && open_ring(camera) < 0)
        return false;
    int r = fftd_wait(camera->ring, WAIT_MS);
    if (r < 0) {
        close_ring(camera);
        return false;
    }
    if (r > 0 && fftd_frame(camera->ring, &frame) == 0)
        make(camera, &frame, wants_picture, wants_spectrum);
    return true;
}

/* Returns when the next frame is needed: neither a picture nor a spectrum may be made too early. */
static int64_t next_due_ns(const struct camera *camera, bool wants_picture, bool wants_spectrum)
{
    const int64_t spectrum_ns = wants_spectrum ? camera->next_spectrum_ns : INT64_MAX;
    const int64_t picture_ns = wants_picture ? camera->next_picture_ns : INT64_MAX;
    return picture_ns < spectrum_ns ? picture_ns : spectrum_ns;
}

/* Works for one turn while somebody waits. Releases the lock for the work and takes it again. */
static void turn(struct camera *camera)
{
    const bool wants_picture = waiter_wants(camera->waiters, WAITER_PICTURE);
    const bool wants_spectrum = waiter_wants(camera->waiters, WAITER_SPECTRUM);
    const int64_t now_ns = clock_now_ns();
    const int64_t due_ns = next_due_ns(camera, wants_picture, wants_spectrum);
    if (due_ns > now_ns) {
        sleep_until(camera, due_ns < now_ns + RETRY_NS ? due_ns : now_ns + RETRY_NS);
    } else {
        pthread_mutex_unlock(&camera->lock);
        const bool is_reached = serve(camera, wants_picture, wants_spectrum);
        pthread_mutex_lock(&camera->lock);
        if (!is_reached && !camera->stopping)
            sleep_until(camera, clock_now_ns() + RETRY_NS);
    }
    waiter_resume_late(&camera->waiters, clock_now_ns());
}

/* Waits while nobody wants an image, then closes the ring, so that the camera can pause. */
static void rest(struct camera *camera, int64_t *idle_since_ns)
{
    if (camera->ring == NULL) {
        pthread_cond_wait(&camera->changed, &camera->lock);
        return;
    }
    if (*idle_since_ns == 0)
        *idle_since_ns = clock_now_ns();
    if (clock_now_ns() < *idle_since_ns + CAMERA_LINGER_NS) {
        sleep_until(camera, *idle_since_ns + CAMERA_LINGER_NS);
        return;
    }
    struct image *old[2] = {exchange(&camera->newest[0], NULL), exchange(&camera->newest[1], NULL)};
    pthread_mutex_unlock(&camera->lock);
    close_ring(camera);
    image_unref(old[0]);
    image_unref(old[1]);
    pthread_mutex_lock(&camera->lock);
}

static void *run(void *userdata)
{
    struct camera *camera = userdata;
    int64_t idle_since_ns = 0;
    pthread_mutex_lock(&camera->lock);
    while (!camera->stopping)
        if (camera->waiters != NULL) {
            idle_since_ns = 0;
            turn(camera);
        } else {
            rest(camera, &idle_since_ns);
        }
    pthread_mutex_unlock(&camera->lock);
    close_ring(camera);
    return NULL;
}

/* ---- from other threads ---- */

int camera_create(struct camera **ret, const struct camera_options *options)
{
    struct camera *camera = calloc(1, sizeof *camera);
    if (camera == NULL)
        return -ENOMEM;
    camera->options = *options;
    int r = encoder_create(&camera->encoder, options->quality);
    if (r < 0) {
        free(camera);
        return r;
    }
    pthread_mutex_init(&camera->lock, NULL);
    clock_cond_init(&camera->changed);
    r = -pthread_create(&camera->thread, NULL, run, camera);
    if (r < 0) {
        encoder_destroy(camera->encoder);
        free(camera);
        return r;
    }
    *ret = camera;
    return 0;
}

void camera_stop(struct camera *camera)
{
    pthread_mutex_lock(&camera->lock);
    camera->stopping = true;
    waiter_resume_all(&camera->waiters);
    pthread_cond_signal(&camera->changed);
    pthread_mutex_unlock(&camera->lock);
}

void camera_destroy(struct camera *camera)
{
    if (camera == NULL)
        return;
    pthread_join(camera->thread, NULL);
    image_unref(camera->newest[0]);
    image_unref(camera->newest[1]);
    encoder_destroy(camera->encoder);
    pthread_cond_destroy(&camera->changed);
    pthread_mutex_destroy(&camera->lock);
    free(camera);
}

const char *camera_place(const struct camera *camera)
{
    return camera->options.place;
}

const char *camera_name_of(const char *place)
{
    const char *slash = strrchr(place, '/');
    return slash != NULL ? slash + 1 : place;
}

/* A stream takes the next picture, whatever its age. A snapshot needs a fresh one. */
static bool is_wanted(const struct image *image, uint64_t after, enum waiter_kind kind)
{
    const int64_t fresh_ns = kind == WAITER_PICTURE ? FRESH_NS : SPECTRUM_NS;
    return image != NULL &&
           (after != 0 ? image->sequence != after : clock_now_ns() - image->made_ns < fresh_ns);
}

int camera_take(struct camera *camera, struct waiter *waiter, uint64_t after, struct image **ret)
{
    int r = 0;
    pthread_mutex_lock(&camera->lock);
    struct image *image = camera->newest[waiter->kind];
    if (is_wanted(image, after, waiter->kind)) {
        *ret = image_ref(image);
        waiter->deadline_ns = 0;
    } else if (camera->stopping) {
        r = -ECANCELED;
    } else if (waiter->is_over) {
        r = -ETIMEDOUT;
    } else {
        waiter_add(&camera->waiters, waiter);
        pthread_cond_signal(&camera->changed);
        r = -EAGAIN;
    }
    pthread_mutex_unlock(&camera->lock);
    return r;
}
