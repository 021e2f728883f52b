/* Keys of the configuration, and their values as text.
 *
 * keys.c has the one table of them. Defaults, files, `--set KEY=VALUE`, messages and `--check` all
 * follow from its rows. A key's type is a struct of functions (config/type.h). */
#ifndef FFTD_CONFIG_KEY_H
#define FFTD_CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "config/type.h"
#include "core/error.h"

struct config;

/* NULL: there is no such key; the text begins with `origin` and lists the keys that are nearest. */
const struct config_key *config_key_find(const char *name, const char *origin, struct error *why);

/* Sets the key from text. Errors as config_value_set. */
int config_key_set(struct config *config, const struct config_key *key, const char *value,
                   const char *origin, struct error *why);

/* Writes the key's value as text that config_key_set accepts. */
void config_key_print(const struct config *config, const struct config_key *key, char *text,
                      size_t size);

/* Returns whether the key has the same value in both. */
bool config_key_equal(const struct config *a, const struct config *b, const struct config_key *key);

/* Copies the key's value, and no other. */
void config_key_copy(struct config *to, const struct config *from, const struct config_key *key);

#endif
