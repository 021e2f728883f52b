/* The commands that change the filter: `set`, and those of `filter`. Each is one call of
 * EditFilter. They return an exit code; they have printed the reason of a failure. */
#ifndef FFTD_CTL_CHANGE_H
#define FFTD_CTL_CHANGE_H

#include "ctl.h"

#define CHAIN_BYTES 32768

/* Joins the operands from the first one on to one chain. */
int change_join_chain(const struct ctl *ctl, int first, char chain[CHAIN_BYTES]);

int change_replace(const struct ctl *ctl); /* filter set CHAIN... */
int change_preset(const struct ctl *ctl);  /* filter preset NAME */
int change_add(const struct ctl *ctl);     /* filter add STAGE [NUMBER] */
int change_remove(const struct ctl *ctl);  /* filter remove STAGE */
int change_edit(const struct ctl *ctl);    /* filter edit CHANGE... */

#endif
