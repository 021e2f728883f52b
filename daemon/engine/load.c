#include "engine/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"

#define MAX_RESULTS 16 /* for a frame; others load it again */
#define SHARED_BY   3  /* results for which pairs are completed; for two that saves no time */

/* A frame that was loaded. (fields under the lock: next, number, band, users.) */
struct load_slot {
    struct load *load;
    struct load_slot *next;
    struct upload upload; /* with a queue of its own */
    struct transform_frame *frame;
    cl_event loaded;
    cl_mem image;
    bool is_lent;               /* the image is memory of the source */
    uint64_t number;            /* number of the frame; 0: nobody else may use it */
    uint32_t band;              /* pairs that were stored; 0: all */
    uint32_t completed;         /* pairs that were transformed along both axes */
    unsigned users;             /* results that are not finished */
    cl_event read[MAX_RESULTS]; /* by the results so far */
    unsigned read_count;
};

struct load {
    struct engine_loads *all;
    struct load *next;
    unsigned number;
    struct gpu_device *device; /* its own, of the engines' context */
    struct transform *transform;
    struct fftd_format source;
    struct upload_planes planes; /* in which the component has samples, and what results need
                                    besides; under the lock */
    pthread_mutex_t building;    /* held while programs are compiled */
    struct load_use *uses;
    struct load_slot *slots;
    uint64_t lent_number;   /* the newest frame that was read in the source's own memory */
    struct load_slot *lent; /* where it was loaded last */
};

/* ---- which load ---------------------------------------------------------------------------- */

bool load_is_shared(const struct component *component, const struct transform *own)
{
    return component->engine->options.loads != NULL && transform_loads_plainly(own);
}

/* The lowest number of an output that uses it. With the lock held. */
static unsigned rank_of(const struct load *load)
{
    unsigned rank = UINT32_MAX;
    for (const struct load_use *use = load->uses; use != NULL; use = use->next)
        rank = use->output < rank ? use->output : rank;
    return rank;
}

/* A smaller picture can have other lengths than those that suit its filter best. */
static bool has_lengths(const struct load *load, const struct component *component)
{
    const struct plan *plan = transform_plan(load->transform);
    const struct load_use *use = &component->use;
    return component->subject.image.smaller.width > 0 ||
           (plan->x.length == use->length_x && plan->y.length == use->length_y);
}

/* Returns the load that a component should use; NULL: there is none. With the lock held. */
static struct load *find(const struct component *component)
{
    const struct engine *engine = component->engine;
    struct load *best = NULL;
    for (struct load *load = engine->options.loads->first; load != NULL; load = load->next)
        if (load->device->context == engine->device->context &&
            load->source.fourcc == engine->source.fourcc && has_lengths(load, component) &&
            transform_load_suits(load->transform, &component->subject.image,
                                 &component->subject.border, &component->recipe) &&
            (best == NULL || rank_of(load) < rank_of(best)))
            best = load;
    return best;
}

bool load_has_better(const struct component *component)
{
    const struct load *used = component->use.load;
    if (used == NULL)
        return false;
    pthread_mutex_lock(&used->all->lock);
    const struct load *best = find(component);
    const bool ret = best != NULL && rank_of(best) < rank_of(used);
    pthread_mutex_unlock(&used->all->lock);
    return ret;
}

unsigned load_number(const struct load *load)
{
    return load->number;
}

const struct transform *load_transform(const struct load *load)
{
    return load->transform;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void destroy_slot(struct load_slot *slot)
{
    if (slot->upload.queue != NULL)
        clFinish(slot->upload.queue);
    transform_frame_destroy(slot->frame);
    opencl_release_event(slot->loaded);
    if (slot->upload.queue != NULL) {
        upload_finish(&slot->upload);
        clReleaseCommandQueue(slot->upload.queue);
    }
    free(slot);
}

static void destroy(struct load *load)
{
    for (struct load_slot *slot, *next = load->slots; (slot = next) != NULL; destroy_slot(slot))
        next = slot->next;
    transform_destroy(load->transform);
    gpu_device_close(load->device);
    pthread_mutex_destroy(&load->building);
    free(load);
}

/* With the settings of the component's own transform. */
static int sketch(struct transform **ret, const struct component *component,
                  const struct gpu_device *device, const struct transform *own, struct error *why)
{
    const struct tuner_subject *subject = &component->subject;
    struct engine_loads *loads = component->engine->options.loads;
    struct transform_size size[ENGINE_MAX_LOAD_SIZES];
    struct transform_tuning tuning = *transform_tuning(own);
    pthread_mutex_lock(&loads->lock);
    const unsigned count = loads->size_count;
    for (unsigned i = 0; i < count; i++)
        size[i] = (struct transform_size){
            (uint32_t)((loads->size[i].width + component->sub_x - 1) / component->sub_x),
            (uint32_t)((loads->size[i].height + component->sub_y - 1) / component->sub_y)};
    pthread_mutex_unlock(&loads->lock);
    tuning.recipe = component->recipe;
    return transform_sketch_load(ret, device, &subject->image, &subject->border, &tuning, size,
                                 count, why);
}

static int make(struct load **ret, const struct component *component, const struct transform *own,
                struct error *why)
{
    const struct engine *engine = component->engine;
    const struct transform_image *image = &component->subject.image;
    struct load *load = calloc(1, sizeof *load);
    if (load == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a load");
    pthread_mutex_init(&load->building, NULL);
    load->all = engine->options.loads;
    load->source = engine->source;
    load->planes = upload_planes_of(&load->source, image->offset,
                                    image->offset + (image->count - 1) * image->apart);
    load->device = gpu_device_twin(engine->device);
    int r = load->device == NULL ? error_set(why, ENOMEM, "out of memory while creating a load")
                                 : sketch(&load->transform, component, load->device, own, why);
    if (r == 0)
        r = transform_equip(load->transform, why);
    if (r < 0) {
        destroy(load);
        return r;
    }
    *ret = load;
    return 0;
}

/* With the lock held. */
static void add_use(struct load *load, struct component *component)
{
    struct load_use *use = &component->use;
    use->load = load;
    use->output = component->engine->options.output;
    use->band = 0;
    use->newest = 0;
    if (component->engine->device_planes > component->engine->filtered_planes)
        load->planes.end = component->engine->device_planes;
    use->next = load->uses;
    load->uses = use;
    load->all->changes++;
}

int load_join(struct transform **ret, struct component *component, const struct transform *own,
              struct error *why)
{
    struct engine_loads *all = component->engine->options.loads;
    struct transform *planned;
    int r = sketch(&planned, component, component->engine->device, own, why);
    if (r < 0)
        return r;
    component->use.length_x = transform_plan(planned)->x.length;
    component->use.length_y = transform_plan(planned)->y.length;
    transform_destroy(planned);
    pthread_mutex_lock(&all->lock);
    struct load *load = find(component);
    if (load != NULL)
        add_use(load, component);
    pthread_mutex_unlock(&all->lock);
    if (load == NULL) {
        r = make(&load, component, own, why);
        if (r < 0)
            return r;
        pthread_mutex_lock(&all->lock);
        load->number = ++all->made;
        load->next = all->first;
        all->first = load;
        add_use(load, component);
        pthread_mutex_unlock(&all->lock);
    }
    r = transform_sketch_result(ret, load->transform, &component->subject.image, &component->recipe,
                                why);
    if (r < 0)
        load_leave(&component->use);
    return r;
}

void load_leave(struct load_use *use)
{
    struct load *load = use->load;
    if (load == NULL)
        return;
    pthread_mutex_lock(&load->all->lock);
    struct load_use **at = &load->uses;
    while (*at != use)
        at = &(*at)->next;
    *at = use->next;
    load->all->changes++;
    const bool is_unused = load->uses == NULL;
    if (is_unused) {
        struct load **place = &load->all->first;
        while (*place != load)
            place = &(*place)->next;
        *place = load->next;
    }
    pthread_mutex_unlock(&load->all->lock);
    use->load = NULL;
    if (is_unused)
        destroy(load);
}

int load_build(struct load *load, bool compile, const char *cache_dir, struct error *warning,
               struct error *why)
{
    pthread_mutex_lock(&load->building);
    const int r = transform_build(load->transform, compile, cache_dir, warning, why);
    pthread_mutex_unlock(&load->building);
    return r;
}

int load_sketch(struct transform **ret, struct transform **ret_result,
                const struct component *component, const struct transform *own)
{
    int r = sketch(ret, component, component->engine->device, own, NULL);
    if (r < 0)
        return r;
    r = transform_sketch_result(ret_result, *ret, &component->subject.image, &component->recipe,
                                NULL);
    if (r < 0)
        transform_destroy(*ret);
    return r;
}

/* ---- frames -------------------------------------------------------------------------------- */

static int make_slot(struct load_slot **ret, struct load *load, size_t bytes, struct error *why)
{
    struct load_slot *slot = calloc(1, sizeof *slot);
    if (slot == NULL)
        return error_set(why, ENOMEM, "out of memory while loading a frame");
    *slot = (struct load_slot){.load = load, .users = 1};
    int r = opencl_make_queue(&slot->upload.queue, load->device, CL_QUEUE_PROFILING_ENABLE, why);
    if (r == 0)
        r = upload_init(&slot->upload, load->device, slot->upload.queue, bytes, why);
    if (r == 0)
        r = transform_frame_create(&slot->frame, load->transform, why);
    if (r < 0) {
        destroy_slot(slot);
        return r;
    }
    pthread_mutex_lock(&load->all->lock);
    slot->next = load->slots;
    load->slots = *ret = slot;
    pthread_mutex_unlock(&load->all->lock);
    return 0;
}

uint32_t load_band(const struct load *load, uint64_t number)
{
    uint32_t band = 1;
    for (const struct load_use *use = load->uses; use != NULL; use = use->next)
        band = load_use_has_frames(use, number) ? load_wider(band, use->band) : band;
    return band;
}

uint32_t load_shared_pairs(const struct load *load, uint64_t number)
{
    uint32_t widest[SHARED_BY] = {0};
    for (const struct load_use *use = load->uses; use != NULL; use = use->next) {
        uint32_t pairs = !load_use_has_frames(use, number) ? 0
                         : use->band == 0                  ? UINT32_MAX
                                                           : use->band;
        for (unsigned i = 0; i < SHARED_BY; i++) {
            const uint32_t before = widest[i];
            widest[i] = pairs > before ? pairs : before;
            pairs = pairs > before ? before : pairs;
        }
    }
    return transform_whole_groups(load->transform, widest[SHARED_BY - 1], widest[0]);
}

/* Returns a slot that has the frame already, or one that is free and has room for it; NULL: there
 * is neither. With the lock held. */
static struct load_slot *find_slot(struct load *load, uint64_t number, uint32_t band, size_t bytes,
                                   bool *ret_is_loaded)
{
    struct load_slot *free_slot = NULL;
    *ret_is_loaded = false;
    for (struct load_slot *slot = load->slots; slot != NULL; slot = slot->next) {
        if (slot->users == 0)
            free_slot = slot->upload.bytes >= bytes ? slot : free_slot;
        else if (number != 0 && slot->number == number &&
                 load_wider(slot->band, band) == slot->band && slot->users < MAX_RESULTS) {
            *ret_is_loaded = true;
            return slot;
        }
    }
    return free_slot;
}

/* Notes that a slot reads a frame in the source's memory. If another slot has read it before, this
 * one waits for that: when this load has ended, no load reads the memory any more. */
static int lend(struct load *load, struct load_slot *slot, uint64_t number, struct error *why)
{
    const struct load_slot *other = load->lent_number == number ? load->lent : NULL;
    const bool waits = other != NULL && other != slot && other->loaded != NULL;
    load->lent_number = number;
    load->lent = slot;
    const cl_int code =
        waits ? clEnqueueBarrierWithWaitList(slot->upload.queue, 1, &other->loaded, NULL)
              : CL_SUCCESS;
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueBarrierWithWaitList");
}

/* Uploads and transforms. The slot belongs to the caller alone. */
static int load_frame(struct load_slot *load_slot, struct slot *slot,
                      const struct upload_planes *planes, struct error *why)
{
    struct load *load = load_slot->load;
    struct engine_job *job = &slot->job;
    struct frame_memory *memory = job->memory;
    struct transform_buffers buffers = {.response.band = load_slot->band,
                                        .completed = load_slot->completed};
    cl_command_queue queue = load_slot->upload.queue;
    /* If this load has already read the frame in memory of the source, it is copied this time,
     * except for output 0, which holds that memory. */
    if (slot->engine->component_count > 1 ||
        (load->lent_number == job->number && slot->engine->options.output != 0))
        job->memory = NULL;
    int r = job->memory != NULL ? lend(load, load_slot, job->number, why) : 0;
    if (r == 0)
        r = upload_frame(&load_slot->upload, planes, slot, &load_slot->image, why);
    load_slot->is_lent = job->memory != NULL && load_slot->upload.sent == NULL;
    buffers.image = load_slot->image;
    if (r == 0)
        r = transform_frame_enqueue(load_slot->frame, queue, &buffers, NULL, NULL, why);
    if (job->memory != NULL)
        r = engine_memory_return(job->memory, job->frame, queue, r, why);
    job->memory = memory;
    opencl_release_event(load_slot->loaded);
    load_slot->loaded = NULL;
    /* Also after an error: what was enqueued before it may still read the source's memory. */
    const cl_int code = clEnqueueMarkerWithWaitList(queue, 0, NULL, &load_slot->loaded);
    clFlush(queue);
    return r < 0 || code == CL_SUCCESS ? r : opencl_fail(why, code, "clEnqueueMarkerWithWaitList");
}

/* Makes the commands that follow wait for the load; and, in place, for the results that read it. */
static int wait_for_load(const struct load_slot *load_slot, cl_command_queue queue, bool in_place,
                         struct error *why)
{
    cl_event events[MAX_RESULTS + 1] = {load_slot->loaded};
    cl_uint count = 1;
    for (unsigned i = 0; in_place && i < load_slot->read_count; i++)
        events[count++] = load_slot->read[i];
    const cl_int code = clEnqueueBarrierWithWaitList(queue, count, events, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueBarrierWithWaitList");
}

int load_take(struct load_slot **ret, struct load_use *use, struct slot *slot, uint32_t band,
              bool may_write, struct transform_buffers *buffers, struct error *why)
{
    const bool in_place = may_write && use->output == 0;
    struct load *load = use->load;
    const uint64_t number = slot->job.number;
    bool is_loaded;
    int r = 0;
    pthread_mutex_lock(&load->all->lock);
    use->band = band;
    use->newest = number > 0 ? number : use->newest;
    const struct upload_planes planes = load->planes;
    const size_t end = upload_end(&planes), own = slot->engine->source_bytes;
    const size_t bytes = end > own ? end : own;
    struct load_slot *load_slot = find_slot(load, number, band, bytes, &is_loaded);
    if (load_slot != NULL) {
        load_slot->users++;
        if (!is_loaded)
            load_slot->number = 0;
    }
    const uint32_t widest = load_wider(load_band(load, number), band);
    const uint32_t shared = load_shared_pairs(load, number);
    pthread_mutex_unlock(&load->all->lock);
    if (load_slot == NULL)
        r = make_slot(&load_slot, load, bytes, why);
    if (r < 0)
        return r;
    if (!is_loaded) {
        load_slot->band = widest;
        load_slot->completed = shared;
        r = load_frame(load_slot, slot, &planes, why);
    }
    if (r == 0)
        r = wait_for_load(load_slot, slot->queue, in_place, why);
    if (r < 0) {
        load_give_back(load_slot);
        return r;
    }
    pthread_mutex_lock(&load->all->lock);
    load_slot->number = in_place ? 0 : number;
    pthread_mutex_unlock(&load->all->lock);
    buffers->image = load_slot->image;
    buffers->spectrum = transform_frame_spectrum(load_slot->frame);
    buffers->complete = transform_frame_complete(load_slot->frame);
    buffers->completed = load_slot->completed;
    buffers->in_place = in_place;
    *ret = load_slot;
    return 0;
}

void load_note_read(struct load_slot *slot, cl_event event)
{
    if (slot->read_count == MAX_RESULTS)
        return; /* it has as many users, so none is made in place any more */
    clRetainEvent(event);
    slot->read[slot->read_count++] = event;
}

void load_give_back(struct load_slot *slot)
{
    if (slot == NULL)
        return;
    pthread_mutex_lock(&slot->load->all->lock);
    if (--slot->users == 0) {
        while (slot->read_count > 0)
            clReleaseEvent(slot->read[--slot->read_count]);
        if (slot->is_lent)
            transform_frame_drop(slot->frame, true);
        upload_release(&slot->upload);
    }
    pthread_mutex_unlock(&slot->load->all->lock);
}
