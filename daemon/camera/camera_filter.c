/* What is asked of one output: its filter, its view, and whether it has readers. */
#include "camera/camera_private.h"

#include <errno.h>

#include "filters/filter_edit.h"

bool camera_get_frames(struct camera *camera, unsigned output, struct engine_frames *ret)
{
    struct camera_status status;
    camera_get_status(camera, output, &status);
    *ret = (struct engine_frames){.captured = status.captured.fourcc,
                                  .width = status.captured.width,
                                  .height = status.captured.height,
                                  .format = status.format};
    return status.format.width != 0 && status.captured.fourcc != 0 &&
           camera_is_source_settled(camera);
}

/* Checks that a chain suits an output's frames, and that there is memory to filter them. Any view
 * may follow, so it must suit the picture. While the frames' format is unknown, or another source
 * is being tried, the check is left to the camera's thread. */
static int check_frames(struct camera *camera, unsigned output, const struct filter_chain *chain,
                        struct error *why)
{
    struct recipe recipe = camera->output[output].config.engine.options.recipe;
    struct engine_frames frames;
    if (!camera_get_frames(camera, output, &frames))
        return 0;
    recipe.view = VIEW_PICTURE;
    engine_frames_set_captured(&recipe, &frames);
    const int r = recipe_check_frames(&recipe, &frames.format, chain, why);
    return r < 0 ? r
                 : designer_check_memory(camera->output[output].designer, &frames, chain,
                                         camera_get_view(camera, output), false, why);
}

int camera_set_filter(struct camera *camera, unsigned output, const struct filter_chain *chain,
                      unsigned fade_frames, uint64_t *ret_serial, struct error *why)
{
    return camera_set_filter_and_view(camera, output, chain, camera_get_view(camera, output),
                                      fade_frames, ret_serial, why);
}

int camera_set_filter_and_view(struct camera *camera, unsigned output,
                               const struct filter_chain *chain, enum view_kind view,
                               unsigned fade_frames, uint64_t *ret_serial, struct error *why)
{
    int r = filter_edit_check(chain, why);
    if (r < 0)
        return r;
    if (fade_frames > CAMERA_MAX_FADE)
        return error_set(why, EINVAL, "a fade of %u frames is out of range: expected 0 .. %d",
                         fade_frames, CAMERA_MAX_FADE);
    r = check_frames(camera, output, chain, why);
    if (r < 0)
        return r;
    struct desired_output *desired = &mailbox_begin_change(&camera->mailbox)->output[output];
    filter_chain_assign(&desired->filter, chain);
    desired->view = view;
    desired->fade_frames = fade_frames;
    *ret_serial = desired->filter_serial = ++camera->newest_serial[output];
    mailbox_end_change(&camera->mailbox);
    return 0;
}

uint64_t camera_get_filter(struct camera *camera, unsigned output, struct filter_chain *ret)
{
    const struct desired *desired = &camera->mailbox.desired; /* this thread's own */
    *ret = *desired_filter(desired, output);
    return desired_serial(desired, output);
}

/* The filter may be that of a source which is not settled; then the new serial is that filter's,
 * and that of the filter before, which comes back if the source is given up. */
uint64_t camera_set_view(struct camera *camera, unsigned output, enum view_kind view)
{
    struct camera_status status;
    camera_get_status(camera, output, &status); /* settles a source whose result is known by now */
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    const uint64_t serial = ++camera->newest_serial[output];
    if (desired_is_of_source(desired, output))
        desired->source.filter_serial = serial;
    desired->output[output].filter_serial = serial;
    desired->output[output].view = view;
    desired->output[output].fade_frames = 0;
    mailbox_end_change(&camera->mailbox);
    return serial;
}

enum view_kind camera_get_view(const struct camera *camera, unsigned output)
{
    return camera->mailbox.desired.output[output].view; /* this thread's own */
}

void camera_set_has_readers(struct camera *camera, unsigned output, bool has_readers)
{
    mailbox_begin_change(&camera->mailbox)->output[output].has_readers = has_readers;
    mailbox_end_change(&camera->mailbox);
}
