/* Writes JSON (RFC 8259), value by value. */
#ifndef FFTD_COMMON_JSON_H
#define FFTD_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 32

/* Initialize it as {.file = FILE}. `key` is NULL in arrays and for the outermost value. A newline
 * follows the outermost value. */
struct json {
    FILE *file;
    unsigned depth;
    bool filled[JSON_MAX_DEPTH]; /* the next value needs a comma */
};

/* The bracket is '{' or '[' to open, '}' or ']' to close. If json_is_full, nothing more may be
 * opened. */
bool json_is_full(const struct json *json);
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

void json_text(struct json *json, const char *key, const char *text); /* UTF-8 */
void json_integer(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_number(struct json *json, const char *key, double value); /* null unless finite */
void json_bool(struct json *json, const char *key, bool value);

#endif
