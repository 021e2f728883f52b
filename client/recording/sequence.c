/* ffmpeg looks for the first picture among the numbers 0 to 4, and takes the first gap for the end.
 */
#include "sequence.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DIGITS 18

/* A pattern in parts: what is before and after the number, and its least number of digits. */
struct pattern {
    const char *begin, *end;
    size_t begin_length;
    unsigned digits;
};

static int split(struct pattern *ret, const char *name)
{
    const char *percent = strchr(name, '%'), *at;
    if (percent == NULL)
        return -EINVAL;
    at = percent + 1;
    ret->digits = 1;
    if (*at == '0')
        ret->digits = (unsigned)strtoul(at + 1, (char **)&at, 10);
    if (*at != 'd' || strchr(at, '%') != NULL || ret->digits == 0 || ret->digits > MAX_DIGITS)
        return -EINVAL;
    ret->begin = name;
    ret->begin_length = (size_t)(percent - name);
    ret->end = at + 1;
    return 0;
}

/* Returns whether a name is of this pattern: a number has more digits than the least one only if it
 * needs them. */
static bool read_number(uint64_t *ret, const char *name, const struct pattern *pattern)
{
    if (strncmp(name, pattern->begin, pattern->begin_length) != 0)
        return false;
    const char *digits = name + pattern->begin_length;
    const size_t count = strspn(digits, "0123456789");
    if (count < pattern->digits || count > MAX_DIGITS ||
        strcmp(digits + count, pattern->end) != 0 || (count > pattern->digits && digits[0] == '0'))
        return false;
    *ret = strtoull(digits, NULL, 10);
    return true;
}

/* Finds the least and the greatest number of a directory; *ret has neither before. Returns how many
 * there are, or -errno. */
static int64_t count_numbers(struct sequence *ret, const char *directory,
                             const struct pattern *pattern)
{
    uint64_t number;
    int64_t count = 0;
    DIR *dir = opendir(directory);
    if (dir == NULL)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!read_number(&number, entry->d_name, pattern))
            continue;
        ret->first = number < ret->first ? number : ret->first;
        ret->last = number > ret->last ? number : ret->last;
        count++;
    }
    closedir(dir);
    return count;
}

static bool has_picture(const char *directory, const struct pattern *pattern, uint64_t number)
{
    char path[PATH_MAX + NAME_MAX];
    snprintf(path, sizeof path, "%s/%.*s%0*" PRIu64 "%s", directory, (int)pattern->begin_length,
             pattern->begin, (int)pattern->digits, number, pattern->end);
    return access(path, F_OK) == 0;
}

int sequence_find(struct sequence *ret, const char *path)
{
    const char *slash = strrchr(path, '/');
    char directory[PATH_MAX] = ".";
    struct pattern pattern;
    struct sequence found = {.first = UINT64_MAX};
    if (split(&pattern, slash != NULL ? slash + 1 : path) < 0)
        return -EINVAL;
    if (slash != NULL && (size_t)snprintf(directory, sizeof directory, "%.*s",
                                          (int)(slash - path) + 1, path) >= sizeof directory)
        return -ENAMETOOLONG;
    if (strchr(directory, '%') != NULL)
        return -EINVAL;
    const int64_t count = count_numbers(&found, directory, &pattern);
    if (count <= 0)
        return count < 0 ? (int)count : -ENOENT;
    found.has_gap = found.last - found.first != (uint64_t)count - 1;
    for (found.missing = found.first; found.has_gap && found.missing < found.last; found.missing++)
        if (!has_picture(directory, &pattern, found.missing))
            break;
    *ret = found;
    return 0;
}
