/* The types of keys: functions that access a key's field by its address. A new type is one
 * struct in type.c, and its name below. */
#ifndef FFTD_CONFIG_TYPE_H
#define FFTD_CONFIG_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

struct config_key;
struct config_setting_t; /* libconfig's */
struct config_tree;

struct config_type {
    /* Appends what a key of this type accepts, in words, without the key's special word. NULL: all
     * keys of the type accept the same, which `accepts` names. */
    void (*expects)(const struct config_key *key, char *text, size_t size);
    const char *accepts;

    /* Sets the field from text. The field is unchanged on failure. Without an explanation
     * (explains) the caller writes the error's text. */
    int (*parse)(void *field, const struct config_key *key, const char *text, struct error *why);

    /* Writes the field as text that parse reads back to the same value. */
    void (*print)(const void *field, const struct config_key *key, char *text, size_t size);

    /* Returns whether two fields have the same value. NULL: they do if print writes the same. */
    bool (*equal)(const void *a, const void *b);

    /* Sets the field from a list or a group of a file, whichever `compound` names (one of
     * libconfig's CONFIG_TYPE_...). NULL: the type has only texts, numbers and booleans. */
    int (*read)(void *field, const struct config_key *key, const struct config_tree *tree,
                const struct config_setting_t *setting, struct error *why);
    int compound;

    bool is_literal; /* files have it without quotes, except for the key's special word */
    bool explains;   /* parse writes the error's text */
};

/* The types, and what the field of a key is. */
extern const struct config_type config_type_string; /* char[size], with valid and expects */
extern const struct config_type config_type_number; /* double, min .. max */
extern const struct config_type config_type_whole;  /* int, unsigned or uint32_t, min .. max */
extern const struct config_type config_type_bool;
extern const struct config_type config_type_choice; /* an enum: the index of its name in choices */
extern const struct config_type config_type_size;   /* WIDTHxHEIGHT: uint32_t[2], min .. max each */
extern const struct config_type config_type_format; /* a pixel format's name: its fourcc */
extern const struct config_type config_type_filter; /* struct filter_chain */
extern const struct config_type config_type_settings; /* struct settings */
extern const struct config_type config_type_outputs;  /* struct config_outputs (outputs.c) */

struct config_key {
    const char *name;    /* "engine.precision" */
    const char *initial; /* the default, as text */
    const char *summary; /* one line of help */
    const struct config_type *type;
    size_t offset, size; /* the field in struct config, bytes */
    const char *unit;    /* "px", for min, max and the value; NULL: none */
    bool live;           /* a reload applies it; other keys need a restart */
    double min, max;     /* the least and the greatest value of a number; both are allowed */
    /* A word for a value outside the range: margin = "auto" is -1. NULL: none. */
    const char *word;
    double word_value;
    const char *second_word; /* a number may have two; NULL: none */
    double second_value;
    const char *const *choices; /* names of an enum's values, in their order, NULL-terminated */
    /* For strings: decides whether a text is accepted; describes what is. */
    bool (*valid)(const char *text);
    const char *expects;
};

/* Choices of keys of main and of other outputs: enum recipe_depth (outputs.c). */
extern const char *const config_depth_names[];

#endif
