/* The main thread's side of outputs that begin and end while the camera runs. Which there are is
 * desired state; what each needs is made here before it is desired, and destroyed once the camera's
 * thread and the output's own do not use it any more. */
#include "camera/camera_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "camera/output_change.h"

int camera_check_list(struct camera *camera, struct error *why)
{
    struct camera_status status;
    camera_get_status(camera, CAMERA_MAIN, &status); /* settles a source whose result is known */
    return camera_is_source_settled(camera)
               ? 0
               : error_set(why, EBUSY,
                           "the camera is still opening another source: try again then");
}

bool camera_is_free(struct camera *camera, unsigned output)
{
    camera_free_places(camera);
    return camera->output[output].designer == NULL;
}

/* config: the output's. share: where the memory is reserved. */
static int check_frames(const struct camera *camera, const struct config *config,
                        const struct designer_share *share, const struct fftd_format *captured,
                        struct engine_frames *ret, struct error *why)
{
    struct recipe recipe = config->engine.options.recipe;
    int r = engine_frames_describe(ret, config, captured, why);
    if (r < 0)
        return r;
    engine_frames_set_captured(&recipe, ret);
    r = recipe_check_frames(&recipe, &ret->format, &config->filter, why);
    return r < 0 ? r
                 : designer_check_beside(camera->output[CAMERA_MAIN].designer, config, share, ret,
                                         why);
}

int camera_check_output(struct camera *camera, const struct config_named_output *named,
                        struct error *why)
{
    const struct designer_share alone = {.output = CAMERA_MAIN + 1};
    struct camera_status status;
    struct engine_frames frames;
    camera_get_status(camera, CAMERA_MAIN, &status);
    if (status.captured.fourcc == 0)
        return 0;
    struct config *config = malloc(sizeof *config);
    if (config == NULL)
        return error_set(why, ENOMEM, "out of memory while checking an output");
    config_of_named(config, &camera->config, named);
    const int r = check_frames(camera, config, &alone, &status.captured, &frames, why);
    free(config);
    return r;
}

/* Sets the sizes of all outputs, and of one that may be about to be added. */
static unsigned list_sizes(const struct camera *camera, unsigned added,
                           uint32_t ret[CONFIG_MAX_OUTPUTS][2])
{
    const struct config *config = &camera->config;
    unsigned count = 0;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        const struct config_named_output *named = i > 0 ? &config->outputs.output[i - 1] : NULL;
        if (i != added && !camera_has_output(camera, i))
            continue;
        ret[count][0] = named != NULL ? named->width : config->output.width;
        ret[count++][1] = named != NULL ? named->height : config->output.height;
    }
    return count;
}

/* Plans the memory of all other outputs as well, each of which may get another engine with a load.
 */
static int make_plan(struct camera *camera, unsigned added, struct designer_plan *ret,
                     struct error *why)
{
    uint32_t sizes[CONFIG_MAX_OUTPUTS][2];
    struct engine_frames frames;
    struct filter_chain filter;
    int r = engine_loads_create(&ret->loads, sizes, list_sizes(camera, added, sizes), why);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS && r == 0; i++) {
        if (!camera_has_output(camera, i) || !camera_get_frames(camera, i, &frames))
            continue;
        camera_get_filter(camera, i, &filter);
        r = designer_plan(camera->output[i].designer, &frames, &filter, camera_get_view(camera, i),
                          ret, why);
    }
    return r;
}

/* Checks the output's frames, reserves memory for them, and makes its ring. */
static int prepare_frames(struct camera *camera, unsigned output,
                          const struct fftd_format *captured, struct error *why)
{
    const struct config *config = &camera->output[output].config;
    struct designer_plan plan = {.loads = NULL};
    const struct designer_share share = {&camera->shares, output, &plan};
    struct engine_frames frames;
    int r = make_plan(camera, output, &plan, why);
    if (r == 0)
        r = check_frames(camera, config, &share, captured, &frames, why);
    engine_loads_destroy(plan.loads);
    return r < 0 ? r
                 : output_change_make_ring(&camera->mailbox.output[output].ring, config, &frames,
                                           captured, why);
}

int camera_prepare_output(struct camera *camera, unsigned output,
                          const struct config_named_output *named, struct error *why)
{
    struct reconciler_output *made = &camera->output[output];
    struct output_mailbox *box = &camera->mailbox.output[output];
    const struct designer_share share = {.shares = &camera->shares, .output = output};
    struct camera_status status;
    int r = camera_check_list(camera, why);
    if (r < 0)
        return r;
    camera_get_status(camera, CAMERA_MAIN, &status);
    camera->config.outputs.output[output - 1] = *named;
    config_of_output(&made->config, &camera->config, output);
    if (status.captured.fourcc != 0)
        r = prepare_frames(camera, output, &status.captured, why);
    if (r == 0)
        r = designer_create(&made->designer, camera->output[CAMERA_MAIN].designer, &made->config,
                            camera->mailbox.wake_fd, &share, why);
    if (r < 0) {
        output_mailbox_destroy_rings(box);
        designer_share_release(&share);
        return r;
    }
    filter_chain_hold(&made->config.filter);
    box->ended = false;
    box->events = 0;
    box->published_ns = 0;
    box->status = (struct camera_status){.controls = status.controls,
                                         .source_number = status.source_number,
                                         .device_memory = status.device_memory,
                                         .budget = status.budget,
                                         .captured = status.captured};
    if (box->ring != NULL) {
        box->status.format = *ring_format(box->ring);
        box->status.generation = ring_generation(box->ring);
    }
    memcpy(box->status.uri, status.uri, sizeof status.uri);
    memcpy(box->status.source, status.source, sizeof status.source);
    memcpy(box->status.device, status.device, sizeof status.device);
    memcpy(box->status.source_problem, status.source_problem, sizeof status.source_problem);
    return 0;
}

void camera_discard_output(struct camera *camera, unsigned output)
{
    struct output_mailbox *box = &camera->mailbox.output[output];
    box->ended = true;
    designer_end(camera->output[output].designer, camera->mailbox.event_fd);
}

static void share_loads(struct camera *camera, unsigned added)
{
    uint32_t sizes[CONFIG_MAX_OUTPUTS][2];
    const unsigned count = list_sizes(camera, added, sizes);
    designer_shares_set_sizes(&camera->shares, sizes, count);
}

void camera_begin_output(struct camera *camera, unsigned output)
{
    const struct filter_chain *filter = &camera->output[output].config.filter;
    camera->newest_serial[output] = 1;
    camera->events[output] = 0;
    share_loads(camera, output); /* before an engine is built for it */
    struct desired_output *begun = &mailbox_begin_change(&camera->mailbox)->output[output];
    *begun = (struct desired_output){.exists = true, .id = ++camera->begun, .filter_serial = 1};
    filter_chain_assign(&begun->filter, filter);
    mailbox_end_change(&camera->mailbox);
}

void camera_end_output(struct camera *camera, unsigned output)
{
    struct desired_output *ended = &mailbox_begin_change(&camera->mailbox)->output[output];
    filter_chain_drop(&ended->filter);
    *ended = (struct desired_output){.id = ended->id};
    mailbox_end_change(&camera->mailbox);
    share_loads(camera, CAMERA_MAIN);
}
