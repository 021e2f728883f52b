/* ffmpeg looks for the first picture among the numbers 0 to 4, and takes the first gap for the end.
 */
#include "sequence.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Collects the numbers of a directory. Returns how many, or -errno. */
static ssize_t list(uint64_t **ret, const char *directory, const struct pattern *pattern)
{
    uint64_t *numbers = NULL, number;
    size_t count = 0, size = 0;
    DIR *dir = opendir(directory);
    if (dir == NULL)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!read_number(&number, entry->d_name, pattern))
            continue;
        if (count == size) {
            size = 2 * size + 256;
            uint64_t *more = realloc(numbers, size * sizeof *numbers);
            if (more == NULL) {
                free(numbers);
                closedir(dir);
                return -ENOMEM;
            }
            numbers = more;
        }
        numbers[count++] = number;
    }
    closedir(dir);
    *ret = numbers;
    return (ssize_t)count;
}

int sequence_find(struct sequence *ret, const char *path)
{
    const char *slash = strrchr(path, '/');
    char directory[PATH_MAX] = ".";
    struct pattern pattern;
    uint64_t *numbers = NULL;
    if (split(&pattern, slash != NULL ? slash + 1 : path) < 0)
        return -EINVAL;
    if (slash != NULL && (size_t)snprintf(directory, sizeof directory, "%.*s",
                                          (int)(slash - path) + 1, path) >= sizeof directory)
        return -ENAMETOOLONG;
    if (strchr(directory, '%') != NULL)
        return -EINVAL;
    const ssize_t count = list(&numbers, directory, &pattern);
    if (count <= 0)
        return count < 0 ? (int)count : -ENOENT;
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    *ret = (struct sequence){.first = numbers[0], .last = numbers[count - 1]};
    for (ssize_t i = 1; i < count && !ret->has_gap; i++)
        if (numbers[i] != numbers[i - 1] + 1) {
            ret->has_gap = true;
            ret->missing = numbers[i - 1] + 1;
        }
    free(numbers);
    return 0;
}
