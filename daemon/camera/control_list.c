#include "camera/control_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"

#define SHARE 100 /* a reading is good for this many times the time that it took */

/* The copy is one allocation, as the original is. */
static struct capture_controls *copy(const struct capture_controls *controls)
{
    size_t entries = 0;
    for (unsigned i = 0; i < controls->count; i++)
        entries += controls->control[i].entry_count;
    const size_t bytes = sizeof *controls + controls->count * sizeof controls->control[0];
    struct capture_controls *ret = malloc(bytes + entries * sizeof *ret->control[0].entry);
    if (ret == NULL)
        return NULL;
    memcpy(ret, controls, bytes);
    struct capture_menu_entry *entry = (void *)&ret->control[ret->count];
    for (unsigned i = 0; i < ret->count; i++) {
        struct capture_control *control = &ret->control[i];
        if (control->entry_count == 0)
            continue;
        memcpy(entry, control->entry, control->entry_count * sizeof *entry);
        control->entry = entry;
        entry += control->entry_count;
    }
    return ret;
}

static void read_list(struct control_list *list, struct capture *capture)
{
    const int64_t begin_ns = clock_now_ns();
    control_list_forget(list);
    list->result = capture_list_controls(capture, &list->controls, &list->why);
    const int64_t end_ns = clock_now_ns();
    const int64_t good_ns = (end_ns - begin_ns) * SHARE;
    list->expires_ns = end_ns + (good_ns > NS_PER_S ? good_ns : NS_PER_S);
}

int control_list_get(struct control_list *list, struct capture *capture,
                     struct capture_controls **ret, struct error *why)
{
    if (clock_now_ns() >= list->expires_ns)
        read_list(list, capture);
    if (list->result < 0) {
        *why = list->why;
        return list->result;
    }
    struct capture_controls *controls = copy(list->controls);
    if (controls == NULL)
        return error_set(why, ENOMEM, "out of memory");
    *ret = controls;
    return 0;
}

void control_list_forget(struct control_list *list)
{
    free(list->controls);
    *list = (struct control_list){0};
}
