/* Why a camera cannot be opened, in words. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <fftd/fftd.h>

#define PATH_BYTES 512

/* A group's name, or its number in a container that does not know the name. */
static void name_group(gid_t gid, char *ret, size_t size)
{
    char data[4096];
    struct group group, *found = NULL;
    if (getgrgid_r(gid, &group, data, sizeof data, &found) == 0 && found != NULL)
        snprintf(ret, size, "%s", group.gr_name);
    else
        snprintf(ret, size, "%u", (unsigned)gid);
}

static void explain_permission(const char *path, char *text, unsigned size)
{
    struct stat st;
    char group[64];
    if (stat(path, &st) < 0) {
        snprintf(text, size, "permission denied for the directory of %s", path);
        return;
    }
    name_group(st.st_gid, group, sizeof group);
    snprintf(text, size, "permission denied for %s: expected user %u%s%s, or root", path,
             (unsigned)st.st_uid, st.st_mode & S_IWGRP ? ", the group " : "",
             st.st_mode & S_IWGRP ? group : "");
}

void fftd_explain(const char *name, int error, char *text, unsigned size)
{
    char dir[PATH_BYTES - sizeof "/frames"], path[PATH_BYTES];
    const int r = fftd_runtime_dir(name, dir, sizeof dir);
    if (r < 0) {
        snprintf(text, size,
                 "not a camera's name: expected at most 64 characters, and no . first; "
                 "or a runtime directory, with a /");
        return;
    }
    snprintf(path, sizeof path, "%s/frames", dir);
    switch (error) {
    case -ENOENT:
        snprintf(text, size, "there is no %s: its daemon does not run, or has another name", path);
        break;
    case -ECONNREFUSED:
        snprintf(text, size, "nobody listens at %s: its daemon has ended", path);
        break;
    case -EACCES:
    case -EPERM:
        explain_permission(path, text, size);
        break;
    case -EUSERS:
        snprintf(text, size,
                 "the daemon at %s has as many clients as output.max_clients allows, or this user "
                 "has half of them",
                 path);
        break;
    case -EMFILE:
        snprintf(text, size, "this process has too few descriptors left; a connection takes five");
        break;
    case -EPROTO:
        snprintf(text, size, "the daemon at %s is of another version: this library has ABI %u",
                 path, FFTD_RING_ABI);
        break;
    case -EPIPE:
        snprintf(text, size, "lost the connection to %s, and its daemon did not come back", path);
        break;
    case -ETIMEDOUT:
        snprintf(text, size, "the daemon at %s does not reply", path);
        break;
    case -EOPNOTSUPP:
        snprintf(text, size,
                 "the daemon at %s has no output.lossless, or a source that cannot wait", path);
        break;
    default:
        snprintf(text, size, "%s: %s", path, strerror(-error));
    }
}
