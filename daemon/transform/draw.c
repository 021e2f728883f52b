/* Views that are drawn by a dispatch of their own: the spectrum, from powers that the dispatch in
 * the middle stores (kernels/transform/view.cl), and edges, from filtered samples (edges.cl). */
#include <errno.h>
#include <stdlib.h>

#include "transform/transform_private.h"

#define VIEW_GROUP 64 /* work-items */

static bool tracks_edges(const struct transform *transform)
{
    const struct recipe *recipe = &transform->tuning.recipe;
    return recipe->view == VIEW_EDGES && view_has_limits(&recipe->edges);
}

size_t transform_drawn_bytes(const struct transform *transform)
{
    const enum view_kind view = transform->tuning.recipe.view;
    const struct response_layout layout = transform_response_layout(transform);
    if (view_is_spectrum(view))
        return response_part_count(&layout) * sizeof(cl_float);
    const size_t pixels = (size_t)transform->image.width * transform->image.height;
    if (view != VIEW_EDGES)
        return 0;
    return tracks_edges(transform)
               ? ((pixels + 1) / 2 + pixels) * sizeof(cl_uint) /* samples, then places */
               : pixels * sizeof(cl_ushort);
}

/* The powers' places. */
int transform_make_places(struct transform *transform, struct error *why)
{
    const struct response_layout layout = transform_response_layout(transform);
    const size_t first = plan_first(&transform->plan)->length;
    const size_t size = (first + plan_second(&transform->plan)->length) * sizeof(cl_uint);
    if (!view_is_spectrum(transform->tuning.recipe.view))
        return 0;
    cl_uint *table = malloc(size);
    if (table == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a transform");
    response_places(table, table + first, &layout);
    const int r =
        opencl_make_table(&transform->places, transform->device->context, table, size, why);
    free(table);
    return r;
}

unsigned transform_edge_dispatches(const struct transform *transform)
{
    if (transform->tuning.recipe.view != VIEW_EDGES)
        return 0;
    return tracks_edges(transform) ? 4 : 1;
}

/* One item for each pixel. */
void transform_list_view(struct transform *transform)
{
    const struct transform_image *image = &transform->image;
    const size_t most = transform->device->max_group, group = most < VIEW_GROUP ? most : VIEW_GROUP;
    struct dispatch dispatch = {
        .kernel = "view",
        .dimensions = 2,
        .along_rows = true,
        .global = {(image->width + group - 1) / group * group, image->height},
        .local = {group, 1},
        .argument = {ARGUMENT(DRAWN), ARGUMENT(RESULT)}};
    if (view_is_spectrum(transform->tuning.recipe.view)) {
        dispatch.argument[2] = dispatch.argument[1];
        dispatch.argument[1] = (struct argument)ARGUMENT_OF_TABLE(transform->places);
    }
    if (tracks_edges(transform)) {
        static const char *const kernels[] = {"find_edges", "join_edges", "mark_edges"};
        struct dispatch before = dispatch;
        before.argument[1].kind = ARGUMENT_NONE;
        for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
            snprintf(before.kernel, sizeof before.kernel, "%s", kernels[i]);
            transform_add_dispatch(transform, before);
        }
    }
    if (transform_drawn_bytes(transform) > 0)
        transform_add_dispatch(transform, dispatch);
}
