/* The commands that change the filter: `set`, and actions of `filter`. Each is one call of
 * EditFilter. Each returns an exit code, and prints the reason for a failure. */
#ifndef FFTD_CTL_CHANGE_H
#define FFTD_CTL_CHANGE_H

#include <systemd/sd-bus.h>

#include "ctl.h"

#define CHAIN_BYTES 32768

/* Joins the operands, from index `first` on, to one chain. */
int change_join_chain(const struct ctl *ctl, int first, char chain[CHAIN_BYTES]);

/* Waits for a frame with the change whose serial the reply has (await.h), and prints the result.
 * begin_us: when it was asked for. Returns an exit code. */
int change_print_serial(const struct ctl *ctl, sd_bus *bus, sd_bus_message *reply,
                        uint64_t begin_us);

int change_replace(const struct ctl *ctl);  /* filter set CHAIN... */
int change_preset(const struct ctl *ctl);   /* filter preset NAME */
int change_add(const struct ctl *ctl);      /* filter add STAGE [NUMBER] */
int change_by_words(const struct ctl *ctl); /* filter remove STAGE, filter restart */
int change_edit(const struct ctl *ctl);     /* filter edit CHANGE... */

/* One call of EditFilter with several changes. */
struct change_call {
    const struct ctl *ctl;
    sd_bus *bus;
    sd_bus_message *message;
    uint64_t if_serial; /* change the filter only if it has this serial; 0: always */
    int result;         /* what sd-bus returned last while the message was written */
};

/* Connects and begins the message. Returns an exit code. The caller then calls change_send or
 * change_finish. */
int change_begin(struct change_call *call, const struct ctl *ctl);

/* Appends one change; the words from the first NULL on are left out. */
void change_append(struct change_call *call, const char *verb, const char *first,
                   const char *second, const char *third);

/* Completes the message and sends it. The caller unrefs *ret_reply. Returns an exit code. */
int change_request(struct change_call *call, sd_bus_message **ret_reply);

/* Completes the message, sends it, and prints the serial of the new filter. */
int change_send(struct change_call *call);

/* Frees the call without sending it, and returns `code`. */
int change_finish(struct change_call *call, int code);

#endif
