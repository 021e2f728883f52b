#include "dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fftd/fftd.h>

#define NAME_MAX_BYTES 64 /* a longer name would not fit into a socket address */

/* A directory that this process may not search counts as found: connecting then fails with -EACCES,
 * which says more than trying the next directory. */
static bool has_socket(const char *dir)
{
    char path[512];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/frames", dir) >= (int)sizeof path)
        return false;
    return lstat(path, &st) == 0 || errno == EACCES;
}

/* Any user can create directories in /tmp, and sudo may keep another user's XDG_RUNTIME_DIR. */
static bool is_ours(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

bool dir_place(unsigned index, char *path, size_t size)
{
    const char *user_dir = getenv("XDG_RUNTIME_DIR");
    switch (index) {
    case 0:
        return snprintf(path, size, "/run/fftd") < (int)size;
    case 1:
        return user_dir != NULL && user_dir[0] == '/' && is_ours(user_dir) &&
               snprintf(path, size, "%s/fftd", user_dir) < (int)size;
    default:
        return snprintf(path, size, "/tmp/fftd-%u", (unsigned)geteuid()) < (int)size &&
               is_ours(path);
    }
}

static int copy_path(char *path, unsigned size, const char *found)
{
    if (strlen(found) >= size)
        return -ENAMETOOLONG;
    strcpy(path, found);
    return 0;
}

/* Returns what follows the colon of "front:small"; "": the first output, which is also "main". */
static const char *find_output(const char *name)
{
    const char *colon = strchr(name, ':');
    const char *output = colon != NULL ? colon + 1 : "";
    return strcmp(output, "main") == 0 ? "" : output;
}

static bool is_output_name(const char *output)
{
    return output[strspn(output, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-")] == '\0';
}

static int add_output(char *path, unsigned size, const char *dir, const char *output)
{
    char below[384 + 2 * NAME_MAX_BYTES];
    snprintf(below, sizeof below, "%s%s%s", dir, *output != '\0' ? "/outputs/" : "", output);
    return copy_path(path, size, below);
}

int fftd_runtime_dir(const char *name, char *path, unsigned size)
{
    char place[384], dir[384], camera[NAME_MAX_BYTES + 1];
    if (name == NULL)
        name = "default";
    if (strchr(name, '/') != NULL)
        return copy_path(path, size, name);
    const char *output = find_output(name);
    const size_t length = strcspn(name, ":");
    if (length == 0 || name[0] == '.' || !is_output_name(output))
        return -EINVAL;
    if (length > NAME_MAX_BYTES || strlen(output) > NAME_MAX_BYTES)
        return -ENAMETOOLONG;
    memcpy(camera, name, length);
    camera[length] = '\0';

    for (unsigned i = 0; i < DIR_PLACES; i++)
        if (dir_place(i, place, sizeof place) &&
            snprintf(dir, sizeof dir, "%s/%s", place, camera) < (int)sizeof dir && has_socket(dir))
            return add_output(path, size, dir, output);
    snprintf(dir, sizeof dir, "/run/fftd/%s", camera);
    return add_output(path, size, dir, output);
}
