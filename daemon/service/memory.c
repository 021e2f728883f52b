#include "service/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

/* sysinfo and not /proc/meminfo, which ProcSubset=pid would hide. */
static uint64_t machine_bytes(void)
{
    struct sysinfo info;
    return sysinfo(&info) < 0 ? UINT64_MAX : (uint64_t)info.totalram * info.mem_unit;
}

/* Reads the limit in a file; UINT64_MAX if there is no file, or it says "max". */
static uint64_t read_limit(const char *path)
{
    char text[32] = "", *end = text;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return UINT64_MAX;
    errno = 0;
    const uint64_t limit = fgets(text, sizeof text, file) != NULL ? strtoull(text, &end, 10) : 0;
    fclose(file);
    return end == text || errno != 0 ? UINT64_MAX : limit;
}

/* Returns the least limit of a control group and of those around it. `group` is the group's path
 * below `mount`, and is cut. */
static uint64_t least_limit(const char *root, const char *mount, char *group, const char *name)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, name);
        const uint64_t limit = read_limit(path);
        if (limit < least)
            least = limit;
        char *last = strrchr(group, '/');
        if (last == NULL)
            return least;
        *last = '\0';
    }
}

/* Returns whether a comma-separated list of controllers, which is cut, has the one of memory. */
static bool has_memory(char *controllers)
{
    for (const char *each; (each = strsep(&controllers, ",")) != NULL;)
        if (strcmp(each, "memory") == 0)
            return true;
    return false;
}

/* A line is NUMBER:CONTROLLERS:PATH, with no controllers in version 2. */
static uint64_t group_bytes(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX + 256];
    uint64_t least = UINT64_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        controllers++;
        uint64_t limit = UINT64_MAX;
        if (*controllers == '\0')
            limit = least_limit(root, "/sys/fs/cgroup", group, "memory.max");
        else if (has_memory(controllers))
            limit = least_limit(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        if (limit < least)
            least = limit;
    }
    if (file != NULL)
        fclose(file);
    return least;
}

uint64_t service_memory_bytes(const char *root)
{
    const uint64_t machine = machine_bytes(), group = group_bytes(root);
    return group < machine ? group : machine;
}
