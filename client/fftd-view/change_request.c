#include "change_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#define MAX_DEPTH 3 /* an object of arrays of arrays */

static int fail(char *why, size_t size, const char *text)
{
    snprintf(why, size, "%s", text);
    return -EINVAL;
}

static bool is_word(const json_object *value)
{
    return json_object_is_type(value, json_type_string) &&
           strlen(json_object_get_string((json_object *)value)) ==
               (size_t)json_object_get_string_len(value);
}

static int check_change(const json_object *change, size_t number, char *why, size_t size)
{
    bool is_good = json_object_is_type(change, json_type_array);
    const size_t count = is_good ? json_object_array_length(change) : 0;
    is_good = count >= 1 && count <= CHANGE_REQUEST_WORDS;
    for (size_t i = 0; is_good && i < count; i++)
        is_good = is_word(json_object_array_get_idx(change, i));
    if (!is_good)
        snprintf(why, size,
                 "change %zu: expected an array of 1 .. %d texts, such as [\"remove\", \"1\"]",
                 number, CHANGE_REQUEST_WORDS);
    return is_good ? 0 : -EINVAL;
}

static int check_changes(const json_object *changes, char *why, size_t size)
{
    const bool is_array = json_object_is_type(changes, json_type_array);
    const size_t count = is_array ? json_object_array_length(changes) : 0;
    if (count < 1 || count > CHANGE_REQUEST_MAX) {
        snprintf(why, size, "changes: expected an array of 1 .. %d changes", CHANGE_REQUEST_MAX);
        return -EINVAL;
    }
    for (size_t i = 0; i < count; i++)
        if (check_change(json_object_array_get_idx(changes, i), i + 1, why, size) < 0)
            return -EINVAL;
    return 0;
}

/* Reads a whole number from 0 to `most`. Leaves *ret alone if there is no such key. */
static int read_number(const json_object *root, const char *key, uint64_t most, uint64_t *ret,
                       char *why, size_t size)
{
    json_object *value;
    if (!json_object_object_get_ex(root, key, &value))
        return 0;
    const bool is_whole = json_object_is_type(value, json_type_int);
    /* json-c returns INT64_MAX for larger numbers. */
    const int64_t number = is_whole ? json_object_get_int64(value) : -1;
    if (number < 0 || number == INT64_MAX || (uint64_t)number > most) {
        snprintf(why, size, "%s: expected a whole number from 0 to %" PRIu64, key, most);
        return -EINVAL;
    }
    *ret = (uint64_t)number;
    return 0;
}

/* Returns whether the object has only known keys. */
static bool has_only_known_keys(const json_object *root)
{
    static const char *const keys[] = {"changes", "serial", "fade"};
    int known = 0;
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
        known += json_object_object_get_ex(root, keys[i], NULL);
    return json_object_object_length(root) == known;
}

static int read_object(struct change_request *request, char *why, size_t size)
{
    uint64_t fade_frames = 0;
    json_object *root = request->root;
    if (!json_object_is_type(root, json_type_object) || !has_only_known_keys(root))
        return fail(why, size,
                    "expected an object with changes, and with serial or fade if needed");
    if (read_number(root, "serial", INT64_MAX - 1, &request->serial, why, size) < 0 ||
        read_number(root, "fade", UINT32_MAX, &fade_frames, why, size) < 0)
        return -EINVAL;
    request->fade_frames = (uint32_t)fade_frames;
    json_object_object_get_ex(root, "changes", &request->changes);
    return check_changes(request->changes, why, size);
}

static int parse(json_object **ret, const char *text, size_t bytes, char *why, size_t size)
{
    json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH + 1);
    if (tokener == NULL)
        return fail(why, size, "out of memory");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *ret = json_tokener_parse_ex(tokener, text, (int)bytes);
    const enum json_tokener_error error = json_tokener_get_error(tokener);
    if (error == json_tokener_continue)
        snprintf(why, size, "the body is not complete JSON");
    else if (error != json_tokener_success)
        snprintf(why, size, "the body is not valid JSON at byte %zu: %s",
                 json_tokener_get_parse_end(tokener) + 1, json_tokener_error_desc(error));
    json_tokener_free(tokener);
    return error == json_tokener_success ? 0 : -EINVAL;
}

int change_request_parse(struct change_request *ret, const char *text, size_t bytes, char *why,
                         size_t why_size)
{
    struct change_request request = {0};
    int r = parse(&request.root, text, bytes, why, why_size);
    if (r == 0)
        r = read_object(&request, why, why_size);
    if (r < 0)
        change_request_finish(&request);
    else
        *ret = request;
    return r;
}

const char *change_request_word(const struct change_request *request, size_t change, size_t word)
{
    if (request->changes == NULL || change >= json_object_array_length(request->changes))
        return NULL;
    const json_object *words = json_object_array_get_idx(request->changes, change);
    if (word >= json_object_array_length(words))
        return NULL;
    return json_object_get_string(json_object_array_get_idx(words, word));
}

void change_request_finish(struct change_request *request)
{
    json_object_put(request->root);
    *request = (struct change_request){0};
}
