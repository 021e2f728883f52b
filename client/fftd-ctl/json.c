#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void quote(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < ' ')
            fprintf(file, "\\u%04x", c);
        else
            putc(c, file);
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

void json_open(struct json *json, const char *key, char bracket)
{
    begin(json, key);
    putc(bracket, json->file);
    if (++json->depth == JSON_MAX_DEPTH)
        abort(); /* D-Bus allows no deeper nesting */
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
    char text[32] = "null";
    /* 15 digits always survive decimal -> double -> decimal; 17 always suffice for the double. */
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, json->file);
    end(json);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->file);
    end(json);
}
