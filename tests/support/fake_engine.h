/* A fake engine and device under the test's control. This header defines the gpu_device_* and
 * engine_* functions instead of daemon/gpu, so exactly one file of a test program includes it. A
 * result has the samples of the first plane increased by the number of stages in the chain. It is
 * thread-safe. */
#ifndef FFTD_TESTS_FAKE_ENGINE_H
#define FFTD_TESTS_FAKE_ENGINE_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "filters/calibration.h"
#include "filters/warp.h"
#include "core/clock.h"
#include "engine/comparison.h"
#include "engine/engine.h"
#include "engine/forecast.h"

struct engine_response {
    unsigned stages;
    unsigned fade_frames;
    bool has_from; /* the fade begins at a response that was designed for it */
};

struct engine {
    int fd;
    struct gpu_device *device;
    bool abandoned;
    struct fftd_format format;
    double support_px;
    struct recipe recipe;
    unsigned stages, in_flight, capacity;
    unsigned fade_left; /* frames */
    uint64_t serial;
    struct engine_done done[ENGINE_MAX_IN_FLIGHT];
    struct engine_job job[ENGINE_MAX_IN_FLIGHT]; /* of the same frames */
    unsigned load;
};

/* Of the memory that results are stored into. */
struct engine_output {
    struct gpu_device *device;
    struct engine_output_memory memory;
    unsigned references; /* of its owner, and one for each frame in flight */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    /* Their behaviour, set by the test. */
    int device_result, create_result, design_result, submit_result, collect_result;
    unsigned programs;           /* reported to the observer as compiled by engine_create */
    unsigned load;               /* the best one; each has a number, and is better than the last */
    int cpu_result;              /* of gpu_device_open for "cpu" */
    bool gate_closed;            /* engine_create and engine_design wait */
    bool plans_slowly;           /* engine_true_recipe waits, too */
    unsigned slow_output;        /* engine_create waits for this one; 0: for none */
    bool hold;                   /* frames finish only when released or waited for */
    bool copies;                 /* there are no outputs */
    bool transforms;             /* engines do, whatever the filter is */
    unsigned stage_bytes;        /* engine_forecast */
    struct engine_motion motion; /* found in every frame but the first of a start, by an engine that
                                    was asked for it */
    bool has_own_memory;         /* devices do */
    /* The calls they received. */
    unsigned devices_opened, engines_created, designs, complex_designs, submitted, looked;
    unsigned devices, engines, responses; /* existing now */
    unsigned memories, lent;              /* existing now; frames lent to sources */
    unsigned submitted_there;             /* frames submitted in frame_memory */
    unsigned outputs;                     /* existing now */
    unsigned stored, stored_late;         /* frames stored in outputs; of these, abandoned ones */
    double designed; /* the magnitude of the last designed response at 0.2 cycles/pixel */
    unsigned waiting_at_gate, planning;
    unsigned fades, fades_from; /* begun; of these, at a response that was designed for it */
    unsigned searches;          /* created */
    unsigned search_steps;
    int search_result;
    bool tuned;
    struct comparison comparison; /* in the cache; device_ms 0: none */
    int held_fd;                  /* event_fd of the engine that received the last frame */
} fake_engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void fake_engine_reset(void)
{
    memset(&fake_engine, 0, sizeof fake_engine);
    pthread_mutex_init(&fake_engine.lock, NULL);
    pthread_cond_init(&fake_engine.change, NULL);
}

/* Access one of the fields above while other threads may. */
#define FAKE_ENGINE_SET(field, value)                                                              \
    do {                                                                                           \
        pthread_mutex_lock(&fake_engine.lock);                                                     \
        fake_engine.field = (value);                                                               \
        pthread_cond_broadcast(&fake_engine.change);                                               \
        pthread_mutex_unlock(&fake_engine.lock);                                                   \
    } while (0)

static inline void fake_engine_let_go(void)
{
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.hold = false;
    eventfd_write(fake_engine.held_fd, 1);
    pthread_mutex_unlock(&fake_engine.lock);
}

static inline unsigned fake_engine_get(const unsigned *field)
{
    pthread_mutex_lock(&fake_engine.lock);
    unsigned value = *field;
    pthread_mutex_unlock(&fake_engine.lock);
    return value;
}

struct gpu_device {
    bool is_outline, is_cpu;
    unsigned engines;  /* on it now */
    unsigned *context; /* devices that have it; NULL: an outline */
};

int gpu_device_open(struct gpu_device **ret, const char *selector, struct error *why)
{
    pthread_mutex_lock(&fake_engine.lock);
    const bool is_cpu = strcmp(selector, "cpu") == 0;
    int r = is_cpu ? fake_engine.cpu_result : fake_engine.device_result;
    if (r < 0) {
        error_set(why, -r, "no device is %s", selector);
    } else {
        fake_engine.devices_opened++;
        fake_engine.devices++;
        *ret = calloc(1, sizeof **ret);
        (*ret)->is_cpu = is_cpu;
        (*ret)->context = calloc(1, sizeof(unsigned));
        *(*ret)->context = 1;
    }
    pthread_mutex_unlock(&fake_engine.lock);
    return r;
}

void gpu_device_close(struct gpu_device *device)
{
    if (device == NULL)
        return;
    pthread_mutex_lock(&fake_engine.lock);
    if (device->engines > 0)
        abort(); /* an engine still uses it */
    if (device->context != NULL && --*device->context == 0) {
        fake_engine.devices--;
        free(device->context);
    }
    pthread_mutex_unlock(&fake_engine.lock);
    free(device);
}

struct gpu_device *gpu_device_outline(const struct gpu_device *device)
{
    struct gpu_device *outline = calloc(1, sizeof *outline);
    outline->is_cpu = device->is_cpu;
    outline->is_outline = true;
    return outline;
}

struct gpu_device *gpu_device_twin(const struct gpu_device *device)
{
    struct gpu_device *twin = gpu_device_outline(device);
    pthread_mutex_lock(&fake_engine.lock);
    twin->is_outline = false;
    twin->context = device->context;
    ++*twin->context;
    pthread_mutex_unlock(&fake_engine.lock);
    return twin;
}

bool gpu_device_is_twin(const struct gpu_device *a, const struct gpu_device *b)
{
    return a->context == b->context;
}

uint64_t gpu_device_bytes(const struct gpu_device *device)
{
    (void)device;
    return UINT64_MAX;
}

bool gpu_device_shares_memory(const struct gpu_device *device)
{
    (void)device;
    return !fake_engine.has_own_memory;
}

bool gpu_device_is_cpu(const struct gpu_device *device)
{
    (void)device;
    return true;
}

const char *gpu_device_name(const struct gpu_device *device)
{
    return device->is_cpu ? "a fake CPU" : "a fake device";
}

const char *gpu_device_memory(const struct gpu_device *device)
{
    (void)device;
    return "imagined";
}

/* Filters may be short, but none is made of tiles. */
void engine_set_reach(struct engine_options *options, const struct gpu_device *device)
{
    (void)device;
    options->recipe.reach.is_short = options->recipe.chroma_reach.is_short =
        options->technique == ENGINE_AUTO || options->technique == ENGINE_DIRECT;
}

int engine_output_create(struct engine_output **ret, const struct engine *engine,
                         const struct engine_output_memory *memory, struct error *why)
{
    pthread_mutex_lock(&fake_engine.lock);
    const bool copies = fake_engine.copies;
    fake_engine.outputs += !copies;
    pthread_mutex_unlock(&fake_engine.lock);
    if (copies)
        return error_set(why, EOPNOTSUPP, "the device copies");
    *ret = calloc(1, sizeof **ret);
    **ret = (struct engine_output){engine->device, *memory, 1};
    return 0;
}

static void fake_output_drop(struct engine_output *output)
{
    if (output == NULL)
        return;
    pthread_mutex_lock(&fake_engine.lock);
    const bool last = --output->references == 0;
    fake_engine.outputs -= last;
    pthread_mutex_unlock(&fake_engine.lock);
    if (!last)
        return;
    output->memory.release(output->memory.context);
    free(output);
}

void engine_output_destroy(struct engine_output *output)
{
    fake_output_drop(output);
}

const char *engine_output_description(const struct engine_output *output)
{
    (void)output;
    return "stored";
}

bool engine_output_suits(const struct engine_output *output, const struct engine *engine)
{
    return output->device == engine->device;
}

static void fake_engine_pass_gate(void)
{
    fake_engine.waiting_at_gate++;
    while (fake_engine.gate_closed)
        pthread_cond_wait(&fake_engine.change, &fake_engine.lock);
    fake_engine.waiting_at_gate--;
}

static void fake_engine_wait_for(unsigned output)
{
    while (output != 0 && fake_engine.slow_output == output)
        pthread_cond_wait(&fake_engine.change, &fake_engine.lock);
}

/* An engine takes fake_engine.stage_bytes for each stage of the chain. */
int engine_forecast(struct engine_forecast *ret, struct gpu_device *device,
                    const struct fftd_format *format, const struct engine_options *options,
                    double support_px, const struct filter_chain *chain, const char *cache_dir,
                    struct error *why)
{
    (void)device, (void)format, (void)options, (void)support_px, (void)cache_dir, (void)why;
    pthread_mutex_lock(&fake_engine.lock);
    *ret = (struct engine_forecast){
        .part = {{"stages", 0, chain->count * (uint64_t)fake_engine.stage_bytes}}, .part_count = 1};
    pthread_mutex_unlock(&fake_engine.lock);
    return 0;
}

struct recipe engine_true_recipe(struct gpu_device *device, const struct fftd_format *format,
                                 const struct engine_options *options, const char *cache_dir)
{
    struct recipe ret = options->recipe;
    (void)device, (void)format, (void)cache_dir;
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.planning++;
    while (fake_engine.plans_slowly)
        pthread_cond_wait(&fake_engine.change, &fake_engine.lock);
    fake_engine.planning--;
    if (fake_engine.transforms)
        ret.reach = ret.chroma_reach = (struct taps_reach){.is_short = false};
    pthread_mutex_unlock(&fake_engine.lock);
    return ret;
}

int engine_create(struct engine **ret, struct gpu_device *device, const struct fftd_format *format,
                  const struct engine_options *options, double support_px, const char *cache_dir,
                  const struct engine_observer *observer, struct error *why)
{
    (void)cache_dir;
    pthread_mutex_lock(&fake_engine.lock);
    const unsigned programs = fake_engine.programs;
    pthread_mutex_unlock(&fake_engine.lock);
    if (programs > 0 && observer != NULL &&
        observer->on_build(observer->context, 0, programs, why) < 0)
        return -EIO;
    pthread_mutex_lock(&fake_engine.lock);
    const unsigned load = fake_engine.load;
    fake_engine_wait_for(options->output);
    fake_engine_pass_gate();
    const struct filter_chain none = {.count = 0};
    int r = fake_engine.create_result;
    if (recipe_check_frames(&options->recipe, format, &none, why) < 0) {
        r = -EINVAL;
    } else if (r < 0) {
        error_set(why, -r, "the kernels do not build");
    } else {
        struct engine *engine = calloc(1, sizeof *engine);
        engine->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        engine->device = device;
        engine->format = *format;
        engine->support_px = support_px;
        engine->recipe = options->recipe;
        engine->capacity = options->in_flight;
        engine->load = load;
        fake_engine.engines_created++;
        fake_engine.engines++;
        device->engines++;
        *ret = engine;
    }
    pthread_mutex_unlock(&fake_engine.lock);
    return r;
}

void engine_destroy(struct engine *engine)
{
    if (engine == NULL)
        return;
    for (unsigned i = 0; i < engine->in_flight; i++)
        fake_output_drop(engine->job[i].output);
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.engines--;
    engine->device->engines--;
    pthread_mutex_unlock(&fake_engine.lock);
    close(engine->fd);
    free(engine);
}

const char *engine_description(const struct engine *engine)
{
    (void)engine;
    return "a fake engine";
}

const char *engine_warning(const struct engine *engine)
{
    (void)engine;
    return NULL;
}

const char *engine_motion_problem(const struct engine *engine)
{
    return engine->recipe.motion > 0 ? NULL : "";
}

const struct gpu_device *engine_device(const struct engine *engine)
{
    return engine->device;
}

/* Finds fake_engine.comparison, if its times are set. */
bool comparison_find(struct comparison *ret, const struct comparison_subject *subject,
                     const char *cache_dir, struct error *warning)
{
    (void)subject, (void)cache_dir, (void)warning;
    pthread_mutex_lock(&fake_engine.lock);
    const bool found = fake_engine.comparison.device_ms > 0;
    if (found)
        *ret = fake_engine.comparison;
    pthread_mutex_unlock(&fake_engine.lock);
    return found;
}

bool engine_is_tuned(const struct engine *engine)
{
    (void)engine;
    return fake_engine.tuned;
}

/* Memory for frames that suits every engine on its device. */
struct fake_memory {
    struct frame_memory base;
    const struct gpu_device *device;
    unsigned lent;
};

static int fake_memory_share(struct frame_memory *memory, unsigned index, size_t bytes,
                             struct error *why)
{
    (void)index, (void)bytes, (void)why;
    pthread_mutex_lock(&fake_engine.lock);
    ((struct fake_memory *)memory)->lent++;
    fake_engine.lent++;
    pthread_mutex_unlock(&fake_engine.lock);
    return 0;
}

static void fake_memory_clear(struct frame_memory *memory)
{
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.lent -= ((struct fake_memory *)memory)->lent;
    ((struct fake_memory *)memory)->lent = 0;
    pthread_mutex_unlock(&fake_engine.lock);
}

int engine_memory_create(struct frame_memory **ret, const struct engine *engine, struct error *why)
{
    static const struct frame_memory_ops ops = {.share = fake_memory_share,
                                                .clear = fake_memory_clear};
    struct fake_memory *memory = calloc(1, sizeof *memory);
    (void)why;
    memory->base.ops = &ops;
    memory->device = engine->device;
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.memories++;
    pthread_mutex_unlock(&fake_engine.lock);
    *ret = &memory->base;
    return 0;
}

void engine_memory_destroy(struct frame_memory *memory)
{
    if (memory == NULL)
        return;
    if (((struct fake_memory *)memory)->lent != 0)
        abort(); /* the source still uses the memory */
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.memories--;
    pthread_mutex_unlock(&fake_engine.lock);
    free(memory);
}

bool engine_memory_suits(const struct frame_memory *memory, const struct engine *engine)
{
    return ((const struct fake_memory *)memory)->device == engine->device;
}

/* A search of fake_engine.search_steps steps. */
struct engine_search {
    unsigned tried;
};

int engine_search_create(struct engine_search **ret, const struct engine *engine, bool exhaustive,
                         const struct engine_compared *compared, const char *cache_dir,
                         struct error *why)
{
    (void)compared;
    (void)engine;
    (void)exhaustive;
    (void)cache_dir;
    *ret = calloc(1, sizeof **ret);
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.searches++;
    pthread_mutex_unlock(&fake_engine.lock);
    return *ret != NULL ? 1 : error_set(why, ENOMEM, "no memory");
}

void engine_search_destroy(struct engine_search *search)
{
    free(search);
}

int engine_search_step(struct engine_search *search, struct error *why)
{
    int r = 1;
    pthread_mutex_lock(&fake_engine.lock);
    while (fake_engine.gate_closed) {
        fake_engine.waiting_at_gate++;
        pthread_cond_broadcast(&fake_engine.change);
        pthread_cond_wait(&fake_engine.change, &fake_engine.lock);
        fake_engine.waiting_at_gate--;
    }
    if (fake_engine.search_result < 0) {
        r = error_set(why, -fake_engine.search_result, "the device will not");
    } else if (++search->tried >= fake_engine.search_steps) {
        fake_engine.tuned = true;
        r = 0;
    }
    pthread_mutex_unlock(&fake_engine.lock);
    return r;
}

void engine_search_get(const struct engine_search *search, struct engine_search_progress *ret)
{
    *ret = (struct engine_search_progress){
        .tried = search->tried, .total = 10, .default_ms = 2, .best_ms = 1};
}

double engine_support(const struct engine *engine)
{
    return engine->support_px;
}

int engine_design(const struct engine *engine, const struct filter_chain *chain,
                  struct engine_response **ret, struct error *why)
{
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine_pass_gate();
    int r = fake_engine.design_result;
    if (recipe_check(&engine->recipe, chain, NULL) < 0)
        abort(); /* this engine cannot filter the chain */
    fake_engine.complex_designs += engine->recipe.complex_response;
    fake_engine.designs++;
    fake_engine.designed = cabs(filter_chain_response(chain, 0.2, 0));
    if (recipe_check_frames(&engine->recipe, &engine->format, chain, why) < 0) {
        r = -EINVAL;
    } else if (r < 0) {
        error_set(why, -r, "the response does not fit");
    } else {
        *ret = calloc(1, sizeof **ret);
        (*ret)->stages = chain->count;
        fake_engine.responses++;
    }
    pthread_mutex_unlock(&fake_engine.lock);
    return r;
}

void engine_response_free(struct engine_response *response)
{
    if (response == NULL)
        return;
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.responses--;
    pthread_mutex_unlock(&fake_engine.lock);
    free(response);
}

int engine_design_fade(struct engine *engine, struct engine_response *response, unsigned frames,
                       struct engine_response *from, struct error *why)
{
    (void)engine, (void)why;
    response->fade_frames = frames;
    response->has_from = from != NULL;
    engine_response_free(from);
    return 0;
}

bool engine_is_fading(const struct engine *engine)
{
    return engine->fade_left > 0;
}

void engine_apply(struct engine *engine, struct engine_response *response, uint64_t serial)
{
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.fades += response->fade_frames > 0;
    fake_engine.fades_from += response->has_from;
    pthread_mutex_unlock(&fake_engine.lock);
    engine->fade_left = response->fade_frames;
    engine->stages = response->stages;
    engine->serial = serial;
    engine_response_free(response);
}

int engine_submit(struct engine *engine, const struct engine_job *job, struct error *why)
{
    pthread_mutex_lock(&fake_engine.lock);
    int r = fake_engine.submit_result;
    bool hold = fake_engine.hold;
    fake_engine.held_fd = engine->fd;
    fake_engine.submitted++;
    fake_engine.submitted_there += job->memory != NULL;
    fake_engine.stored += job->output != NULL;
    if (r == 0 && job->output != NULL && engine->in_flight < engine->capacity)
        job->output->references++;
    pthread_mutex_unlock(&fake_engine.lock);
    if (r < 0)
        return error_set(why, -r, "the device takes nothing");
    if (engine->in_flight == engine->capacity)
        return error_set(why, EBUSY, "%u frames are in flight", engine->in_flight);

    const struct fftd_plane *plane = &engine->format.plane[0];
    for (uint32_t row = 0; row < plane->rows; row++)
        for (uint32_t x = 0; x < plane->row_bytes; x++)
            job->out[plane->offset + row * plane->stride + x] =
                (uint8_t)(job->in[0][row * job->in_stride[0] + x] + engine->stages);
    int64_t now_ns = clock_now_ns();
    if (engine->fade_left > 0)
        engine->fade_left--;
    engine->job[engine->in_flight] = *job;
    engine->done[engine->in_flight++] = (struct engine_done){
        .tag = job->tag,
        .filter_serial = engine->serial,
        .blended = engine->fade_left > 0,
        .view = engine->recipe.view,
        .submitted_ns = now_ns,
        .finished_ns = now_ns,
    };
    if (engine->recipe.motion > 0)
        engine->done[engine->in_flight - 1].motion = (struct engine_motion){
            fake_engine.motion.grid, job->is_first ? NULL : fake_engine.motion.vector};
    if (!hold)
        eventfd_write(engine->fd, 1);
    return 0;
}

int engine_fd(const struct engine *engine)
{
    return engine->fd;
}

int engine_collect(struct engine *engine, bool wait, struct engine_done *ret, struct error *why)
{
    pthread_mutex_lock(&fake_engine.lock);
    fake_engine.looked++;
    int r = fake_engine.collect_result;
    bool finished = engine->in_flight > 0 && (wait || !fake_engine.hold);
    if (!finished) {
        eventfd_t count;
        eventfd_read(engine->fd, &count);
    }
    pthread_mutex_unlock(&fake_engine.lock);
    if (!finished)
        return -EAGAIN;
    *ret = engine->done[0];
    const struct engine_job job = engine->job[0];
    memmove(engine->done, engine->done + 1, --engine->in_flight * sizeof *engine->done);
    memmove(engine->job, engine->job + 1, engine->in_flight * sizeof *engine->job);
    if (engine->abandoned && job.output != NULL) {
        /* The device stores the frame after all. */
        memset(job.out, 0xdd, engine->format.plane[0].row_bytes);
        FAKE_ENGINE_SET(stored_late, fake_engine.stored_late + 1);
    }
    fake_output_drop(job.output);
    if (engine->abandoned)
        return -ECANCELED;
    return r < 0 ? error_set(why, -r, "the device has hung up") : 0;
}

bool engine_abandon(struct engine *engine)
{
    bool writes = false;
    for (unsigned i = 0; i < engine->in_flight; i++)
        writes |= engine->job[i].output != NULL;
    engine->abandoned = true;
    return writes;
}

unsigned engine_in_flight(const struct engine *engine)
{
    return engine->in_flight;
}

/* ---- loads: numbers ---- */

int engine_loads_create(struct engine_loads **ret, const uint32_t (*sizes)[2], unsigned count,
                        struct error *why)
{
    (void)sizes;
    (void)count;
    (void)why;
    *ret = NULL;
    return 0;
}

void engine_loads_destroy(struct engine_loads *loads)
{
    (void)loads;
}

void engine_loads_set_sizes(struct engine_loads *loads, const uint32_t (*sizes)[2], unsigned count)
{
    (void)loads;
    (void)sizes;
    (void)count;
}

unsigned engine_loads_sizes(struct engine_loads *loads, uint32_t ret[ENGINE_MAX_LOAD_SIZES][2])
{
    (void)loads;
    (void)ret;
    return 0;
}

unsigned engine_loads_changes(struct engine_loads *loads)
{
    (void)loads;
    return fake_engine_get(&fake_engine.load);
}

bool engine_has_better_load(const struct engine *engine, const struct engine_loads *loads)
{
    return loads != NULL && engine->load < fake_engine_get(&fake_engine.load);
}

bool engine_waits_for_load(const struct engine *last, const struct engine *engine)
{
    (void)last;
    (void)engine;
    return false;
}

bool engine_reads_before(const struct engine *last, const struct engine *engine,
                         const struct frame_memory *memory)
{
    (void)last;
    (void)engine;
    (void)memory;
    return false;
}

#endif
