/* Views that are drawn by a dispatch of their own: the spectrum, from powers that the dispatch in
 * the middle stores (kernels/transform/view.cl), and edges, from filtered samples. */
#include <errno.h>
#include <stdlib.h>

#include "transform/transform_private.h"

#define VIEW_GROUP 64 /* work-items */

size_t transform_drawn_bytes(const struct transform *transform)
{
    const enum view_kind view = transform->tuning.recipe.view;
    const struct response_layout layout = transform_response_layout(transform);
    if (view_is_spectrum(view))
        return response_part_count(&layout) * sizeof(cl_float);
    return view == VIEW_EDGES
               ? (size_t)transform->image.width * transform->image.height * sizeof(cl_ushort)
               : 0;
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
    if (transform_drawn_bytes(transform) > 0)
        transform_add_dispatch(transform, dispatch);
}
