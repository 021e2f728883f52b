/* A request of a browser that waits for something to be made, and its connection, which is
 * suspended meanwhile. The connection's thread adds waiters; the thread that makes the thing
 * resumes them. The owner's lock protects the list. */
#ifndef FFTD_VIEW_WAITER_H
#define FFTD_VIEW_WAITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <microhttpd.h>

/* Longer than this nobody waits, so that a connection whose browser has left is found. */
#define WAITER_PATIENCE_NS (10 * INT64_C(1000000000))

enum waiter_kind { WAITER_PICTURE, WAITER_SPECTRUM, WAITER_ASKED };

struct waiter {
    struct MHD_Connection *connection;
    enum waiter_kind kind;
    int64_t deadline_ns; /* CLOCK_MONOTONIC; 0 before the first wait */
    bool is_over;        /* the deadline has passed, or the program ends */
    struct waiter *next;
};

int64_t waiter_now_ns(void);

/* A condition whose time limits are those of waiter_now_ns. */
void waiter_init_condition(pthread_cond_t *condition);

/* Suspends the connection and puts the waiter, which must stay in memory, into the list. */
void waiter_add(struct waiter **list, struct waiter *waiter);

/* Returns whether somebody in the list waits for this kind of thing. */
bool waiter_wants(const struct waiter *list, enum waiter_kind kind);

/* Resumes all waiters of a kind, those whose deadline has passed, or all. */
void waiter_resume(struct waiter **list, enum waiter_kind kind);
void waiter_resume_late(struct waiter **list, int64_t now_ns);
void waiter_resume_all(struct waiter **list);

#endif
