/* A request of a browser that waits for an image or an answer. Its connection is suspended. The
 * connection's thread adds waiters; the thread that makes the image or answer resumes them. The
 * owner's lock protects the list. */
#ifndef FFTD_VIEW_WAITER_H
#define FFTD_VIEW_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include <microhttpd.h>

#include "core/clock.h"

/* Nobody waits longer than this, so that the connection of a browser that has left is noticed. */
#define WAITER_PATIENCE_NS (10 * NS_PER_S)

enum waiter_kind { WAITER_PICTURE, WAITER_SPECTRUM, WAITER_ASKED };

struct waiter {
    struct MHD_Connection *connection;
    enum waiter_kind kind;
    int64_t deadline_ns; /* CLOCK_MONOTONIC; 0: it has not waited yet */
    bool is_over;        /* the deadline has passed, or the program ends */
    struct waiter *next;
};

/* Suspends the connection and adds the waiter to the list. The waiter must stay in memory. */
void waiter_add(struct waiter **list, struct waiter *waiter);

/* Returns whether a waiter in the list waits for this kind. */
bool waiter_wants(const struct waiter *list, enum waiter_kind kind);

/* Resume all waiters of a kind, those whose deadline has passed, or all. */
void waiter_resume(struct waiter **list, enum waiter_kind kind);
void waiter_resume_late(struct waiter **list, int64_t now_ns);
void waiter_resume_all(struct waiter **list);

#endif
