#include "waiter.h"

void waiter_add(struct waiter **list, struct waiter *waiter)
{
    if (waiter->deadline_ns == 0)
        waiter->deadline_ns = clock_now_ns() + WAITER_PATIENCE_NS;
    waiter->next = *list;
    *list = waiter;
    MHD_suspend_connection(waiter->connection);
}

bool waiter_wants(const struct waiter *list, enum waiter_kind kind)
{
    for (; list != NULL; list = list->next)
        if (list->kind == kind)
            return true;
    return false;
}

/* Removes the waiter before it resumes it, because its thread may free it at once. */
static void resume(struct waiter **at)
{
    struct waiter *waiter = *at;
    *at = waiter->next;
    MHD_resume_connection(waiter->connection);
}

void waiter_resume(struct waiter **list, enum waiter_kind kind)
{
    while (*list != NULL)
        if ((*list)->kind == kind)
            resume(list);
        else
            list = &(*list)->next;
}

void waiter_resume_late(struct waiter **list, int64_t now_ns)
{
    while (*list != NULL)
        if ((*list)->deadline_ns <= now_ns) {
            (*list)->is_over = true;
            resume(list);
        } else {
            list = &(*list)->next;
        }
}

void waiter_resume_all(struct waiter **list)
{
    while (*list != NULL) {
        (*list)->is_over = true;
        resume(list);
    }
}
