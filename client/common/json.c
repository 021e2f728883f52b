#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Escapes all control characters. RFC 8259 does not require that for DEL and C1 (two bytes in
 * UTF-8), but a terminal would obey them. */
static void quote(FILE *file, const char *text)
{
    putc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < ' ' || *at == 0x7f)
            fprintf(file, "\\u%04x", *at);
        else if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
            fprintf(file, "\\u%04x", *++at);
        else
            putc(*at, file);
    }
    putc('"', file);
}

static void begin(struct json *json, const char *key)
{
    if (json->filled[json->depth])
        fputs(", ", json->file);
    json->filled[json->depth] = true;
    if (key != NULL) {
        quote(json->file, key);
        fputs(": ", json->file);
    }
}

static void end(struct json *json)
{
    if (json->depth > 0)
        return;
    putc('\n', json->file);
    json->filled[0] = false;
}

bool json_is_full(const struct json *json)
{
    return json->depth == JSON_MAX_DEPTH - 1;
}

void json_open(struct json *json, const char *key, char bracket)
{
    begin(json, key);
    putc(bracket, json->file);
    if (++json->depth == JSON_MAX_DEPTH)
        abort(); /* a bug: the caller must check json_is_full first */
    json->filled[json->depth] = false;
}

void json_close(struct json *json, char bracket)
{
    json->depth--;
    putc(bracket, json->file);
    end(json);
}

void json_text(struct json *json, const char *key, const char *text)
{
    begin(json, key);
    quote(json->file, text);
    end(json);
}

void json_integer(struct json *json, const char *key, uint64_t value)
{
    begin(json, key);
    fprintf(json->file, "%" PRIu64, value);
    end(json);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
    begin(json, key);
    fprintf(json->file, "%" PRId64, value);
    end(json);
}

void json_write_shortest(char text[JSON_NUMBER_BYTES], double value, int digits)
{
    do
        snprintf(text, JSON_NUMBER_BYTES, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17); /* 17 always suffice for a double */
}

void json_number(struct json *json, const char *key, double value)
{
    begin(json, key);
    char text[JSON_NUMBER_BYTES] = "null";
    /* 15 digits always survive decimal -> double -> decimal. */
    if (isfinite(value))
        json_write_shortest(text, value, 15);
    fputs(text, json->file);
    end(json);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->file);
    end(json);
}
