/* Finds the fastest settings of a transform on a device by measuring, and stores them in the cache.
 * Settings change only the speed (transform.h). Those found with a real response serve a complex
 * one, too, which only reads more. */
#ifndef FFTD_TRANSFORM_TUNER_H
#define FFTD_TRANSFORM_TUNER_H

#include <stdbool.h>

#include "transform/transform.h"

/* The transform to tune. */
struct tuner_subject {
    const struct gpu_device *device;
    struct transform_image image;
    struct transform_border border;
    enum recipe_precision precision;
    struct taps_reach reach;
    bool any_technique; /* false: only `technique` */
    enum transform_technique technique;
};

/* Returns the settings that a transform has before it is tuned. If any technique is allowed, it is
 * the one that is taken to be fastest on the device. */
void tuner_start(struct transform_tuning *ret, const struct tuner_subject *subject);

/* Changes to the next technique, the fastest of the others that are taken to be slower, because
 * this one cannot handle the size (-ERANGE). Returns false if no other is allowed. */
bool tuner_fall_back(struct transform_tuning *tuning, const struct tuner_subject *subject);

/* Calls a function several times that filters a frame and sets its time, and returns the time of
 * the fastest: other load on the machine, such as the frames of the camera, only increases times.
 */
typedef int tuner_time_fn(void *context, double *ret_ms, struct error *why);
int tuner_time(tuner_time_fn *time_frame, void *context, double *ret_ms, struct error *why);

struct tuner;

struct tuner_progress {
    unsigned tried, total; /* combinations; the total of an exhaustive search may grow */
    double default_ms;     /* a frame's kernels with the initial settings; 0: not measured yet */
    double best_ms;        /* the same with the best ones: default_ms times ratios of pairs.h */
};

/* Creates a search. A quick one tries about thirty combinations. An exhaustive one tries some
 * hundreds, until no change of a single setting is faster. Both end with the initial settings if
 * those that were found do not prove faster a second time. */
int tuner_create(struct tuner **ret, const struct tuner_subject *subject, bool exhaustive,
                 struct error *why);
void tuner_destroy(struct tuner *tuner);

/* Builds and measures the next combination, or at the end the initial one again, which can take
 * seconds. Other work on the device at the same time is slowed down and disturbs the measurement.
 * Returns 1 if more remain, 0 after the last one, or -errno if not even the default works. */
int tuner_step(struct tuner *tuner, struct error *why);

void tuner_get_progress(const struct tuner *tuner, struct tuner_progress *ret);
void tuner_get_best(const struct tuner *tuner, struct transform_tuning *ret);

/* Stores the best settings in a cache directory, and finds them for the same driver, image size and
 * sample kind; the border does not matter. tuner_find leaves `ret` unchanged if it finds nothing.
 * `warning` is as in program.h. */
int tuner_keep(const struct tuner *tuner, const char *cache_dir, struct error *why);
bool tuner_find(struct transform_tuning *ret, const struct tuner_subject *subject,
                const char *cache_dir, struct error *warning);

#endif
