#include "request.h"

#include <string.h>

#include "comparison.h"
#include "matroska.h"
#include "stream.h"

/* Segments of routes that stand for several. */
#define FILE_SEGMENT   ":file"   /* a file of the page; empty: index.html */
#define CAMERA_SEGMENT ":camera" /* the name of a camera */
#define JSON_TYPE      "application/json"

/* A route that asks the daemon this question, and always requires the token. */
/* clang-format off */
#define ASKS(of) .type = JSON_TYPE, .answer = answer_asked, .question = of, .token = TOKEN_ALWAYS
/* clang-format on */

static const struct route routes[] = {
    {.path = "/:file", .answer = answer_file},
    {.path = "/api/cameras", .type = JSON_TYPE, .answer = answer_list},
    {.path = "/camera/:camera/stream.mjpeg", .type = STREAM_TYPE, .answer = answer_stream},
    {.path = "/camera/:camera/clip.mkv",
     .type = MATROSKA_TYPE,
     .answer = answer_stream,
     .is_clip = true},
    {.path = "/camera/:camera/snapshot.jpg", .type = "image/jpeg", .answer = answer_image},
    {.path = "/camera/:camera/spectrum",
     .type = "image/jpeg",
     .answer = answer_image,
     .waits_for = WAITER_SPECTRUM},
    /* It shows what the filter hides. Without --control the daemon refuses it unless
     * output.watch_unfiltered is set. */
    {.path = "/camera/:camera/comparison",
     .type = COMPARISON_TYPE,
     .answer = answer_comparison,
     .token = TOKEN_WITH_CONTROL},
    {.path = "/camera/:camera/filters", ASKS(CHANGER_KINDS)},
    {.path = "/camera/:camera/responses",
     .is_change = true,
     ASKS(CHANGER_RESPONSES),
     .has_words = true},
    {.path = "/camera/:camera/view", .is_change = true, ASKS(CHANGER_VIEW), .has_words = true},
    /* What was found says something of the picture before the filter. */
    {.path = "/camera/:camera/found", ASKS(CHANGER_FOUND)},
    {.path = "/camera/:camera/filter", .is_change = true, ASKS(CHANGER_CHANGE), .has_words = true},
    {.path = "/camera/:camera/save", .is_change = true, ASKS(CHANGER_SAVE)},
    {.path = "/camera/:camera/controls", ASKS(CHANGER_CONTROLS)},
    {.path = "/camera/:camera/controls/set",
     .is_change = true,
     ASKS(CHANGER_SET),
     .has_words = true},
    /* It takes a processor for some seconds, and shows what the filter hides. */
    {.path = "/camera/:camera/problems",
     .type = PROBLEMS_TYPE,
     .answer = answer_problems,
     .token = TOKEN_ALWAYS},
    {.path = "/camera/:camera/problems/search",
     .is_change = true,
     .type = PROBLEMS_TYPE,
     .answer = answer_problems,
     .token = TOKEN_ALWAYS},
};

/* Those that view.mk lists. */
static const struct page_file page_files[] = {
#include "view_page.inc"
};

static bool is_segment(const char *text, size_t length, const char *expected)
{
    return strlen(expected) == length && memcmp(text, expected, length) == 0;
}

static bool find_file(struct target *ret, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof page_files / sizeof page_files[0]; i++) {
        const char *file = page_files[i].name;
        if (is_segment(name, length, strcmp(file, "index.html") == 0 ? "" : file)) {
            ret->file = &page_files[i];
            return true;
        }
    }
    return false;
}

static bool find_camera(struct target *ret, const struct server *server, const char *name,
                        size_t length)
{
    for (unsigned i = 0; i < server->camera_count; i++)
        if (is_segment(name, length, camera_name_of(camera_place(server->camera[i])))) {
            ret->camera = i;
            return true;
        }
    return false;
}

/* Both begin with a slash. */
static bool matches(struct target *ret, const struct server *server, const char *path)
{
    const char *pattern = ret->route->path;
    while (*path == '/' && *pattern == '/') {
        const size_t length = strcspn(++path, "/"), expected = strcspn(++pattern, "/");
        const bool is_equal = is_segment(pattern, expected, FILE_SEGMENT)
                                  ? find_file(ret, path, length)
                              : is_segment(pattern, expected, CAMERA_SEGMENT)
                                  ? find_camera(ret, server, path, length)
                                  : length == expected && memcmp(path, pattern, length) == 0;
        if (!is_equal)
            return false;
        path += length;
        pattern += expected;
    }
    return *path == '\0' && *pattern == '\0';
}

bool router_find(struct target *ret, const struct server *server, const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        struct target target = {.route = &routes[i]};
        if (matches(&target, server, path)) {
            *ret = target;
            return true;
        }
    }
    return false;
}
