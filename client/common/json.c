#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* Escapes all control characters. RFC 8259 does not require that for DEL and C1 (two bytes in
 * UTF-8), but a terminal would obey them. */
static void quote(FILE *file, const char *text)
{
    const size_t bytes = TEXT_JSON_BYTES(strlen(text));
    char *json = malloc(bytes);
    fputs(json != NULL ? text_to_json(json, bytes, text) : "null", file);
    free(json);
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

void json_number(struct json *json, const char *key, double value)
{
    begin(json, key);
    char text[TEXT_NUMBER_BYTES] = "null";
    if (isfinite(value))
        text_from_number(value, text, sizeof text);
    fputs(text, json->file);
    end(json);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->file);
    end(json);
}
