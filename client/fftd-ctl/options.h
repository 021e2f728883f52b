/* The options of fftd-ctl, which mean the same for each command that takes them. */
#ifndef FFTD_CTL_OPTIONS_H
#define FFTD_CTL_OPTIONS_H

#include "common/usage.h"
#include "ctl.h"

/* Reads all options and operands, the first of which is the command's name. */
void options_parse(struct ctl *ret, struct usage *ret_usage, int argc, char **argv);

/* Returns the name of an option that was given, and is not one of these ("count raw") or of those
 * that every command takes; NULL: there is none. */
const char *options_find_unsuited(const struct ctl *ctl, const char *takes);

#endif
