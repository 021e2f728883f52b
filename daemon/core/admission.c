#include "core/admission.h"

#include <errno.h>
#include <stddef.h>

void admission_init(struct admission *admission, unsigned limit, unsigned user_limit,
                    uint32_t own_uid)
{
    *admission = (struct admission){.limit = limit, .user_limit = user_limit, .own_uid = own_uid};
}

/* A new connection is rare and there are at most about a thousand of them: a search is enough. */
static unsigned count_of_user(const struct admission *admission, uint32_t uid)
{
    unsigned count = 0;
    for (const struct admission_entry *p = admission->entries; p != NULL; p = p->next)
        count += p->uid == uid;
    return count;
}

int admission_check(const struct admission *admission, uint32_t uid, struct error *why)
{
    if (admission->count >= admission->limit)
        return error_set(why, EUSERS, "client limit of %u reached", admission->limit);
    if (uid != 0 && uid != admission->own_uid &&
        count_of_user(admission, uid) >= admission->user_limit)
        return error_set(why, EUSERS, "limit of %u clients of user %u reached",
                         admission->user_limit, uid);
    return 0;
}

void admission_enter(struct admission *admission, struct admission_entry *entry, uint32_t uid)
{
    *entry = (struct admission_entry){.admission = admission,
                                      .uid = uid,
                                      .next = admission->entries,
                                      .link = &admission->entries};
    if (entry->next != NULL)
        entry->next->link = &entry->next;
    admission->entries = entry;
    admission->count++;
}

void admission_leave(struct admission_entry *entry)
{
    if (entry->admission == NULL)
        return;
    entry->admission->count--;
    *entry->link = entry->next;
    if (entry->next != NULL)
        entry->next->link = entry->link;
    *entry = (struct admission_entry){0};
}
