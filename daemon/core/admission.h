/* The admission policy of a local socket: how many connections it serves at the same time, in all
 * and of one user, so that no user can keep out the others. Root and the daemon's own user could
 * stop the daemon anyway and have only the limit in all. Pure bookkeeping; the caller accepts and
 * closes the connections. One thread. */
#ifndef FFTD_CORE_ADMISSION_H
#define FFTD_CORE_ADMISSION_H

#include <stdint.h>

#include "core/error.h"

/* One admitted connection. It is part of the connection's own record, so that admitting allocates
 * nothing; it must not move while it is admitted. All zero: not admitted. */
struct admission_entry {
    struct admission *admission;
    uint32_t uid;
    struct admission_entry *next;
    struct admission_entry **link; /* what points to this entry */
};

struct admission {
    unsigned limit;      /* connections in all */
    unsigned user_limit; /* connections of one user */
    uint32_t own_uid;    /* the daemon's user, to whom only the limit in all applies */
    unsigned count;
    struct admission_entry *entries;
};

void admission_init(struct admission *admission, unsigned limit, unsigned user_limit,
                    uint32_t own_uid);

/* Checks whether another connection of this user may be admitted. -EUSERS: it may not; `why` names
 * the limit. Changes nothing. */
int admission_check(const struct admission *admission, uint32_t uid, struct error *why);

/* Admits a connection without checking the limits. The caller has checked them, or continues to
 * serve a connection that a previous process admitted. */
void admission_enter(struct admission *admission, struct admission_entry *entry, uint32_t uid);

/* Ends an admission. Does nothing for an entry that is not admitted. */
void admission_leave(struct admission_entry *entry);

#endif
