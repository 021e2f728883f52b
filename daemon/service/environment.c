#include "service/environment.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "service/log.h"

/* Open files of a daemon with a handful of clients; drivers of OpenCL need most of them. */
#define ENOUGH_FILES 64
#define MAX_LINKS    40 /* as the kernel follows */

/* Variables whose files are run, loaded or believed by the daemon, by OpenCL and its drivers, or by
 * GStreamer and its plugins; and those that say where these write. */
static const struct variable {
    const char *name;
    const char *separators; /* what separates paths in a list; NULL: it has one path */
    bool has_names;         /* a part without a slash that is no file is a library's name */
} variables[] = {
    /* HOME comes first, because others replace a part of it. */
    {.name = "HOME"},
    {.name = "XDG_CACHE_HOME"},
    {.name = "XDG_CONFIG_HOME"},
    {.name = "XDG_DATA_HOME"},
    {.name = "XDG_STATE_HOME"},
    {.name = "XDG_RUNTIME_DIR"},
    {"XDG_CONFIG_DIRS", ":", false},
    {"XDG_DATA_DIRS", ":", false},
    /* Programs that are started, and libraries of programs that are started. */
    {"PATH", ":", false},
    {"LD_AUDIT", ":", true},
    {"LD_LIBRARY_PATH", ":;", false},
    {"LD_PRELOAD", ": ", true},
    {.name = "FFTD_GST_HELPER"},
    /* OpenCL's loaders and drivers. */
    {"OCL_ICD_VENDORS", NULL, true},
    {"OCL_ICD_FILENAMES", ":", true},
    {"OPENCL_LAYERS", ":", true},
    {.name = "OPENCL_LAYER_PATH"},
    {.name = "OPENCL_VENDOR_PATH"},
    {.name = "CUDA_CACHE_PATH"},
    {"GBM_BACKENDS_PATH", ":", false},
    {"GBM_DRIVERS_PATH", ":", false},
    {"HWLOC_PLUGINS_PATH", ":", false},
    {"LIBGL_DRIVERS_PATH", ":", false},
    {.name = "MESA_SHADER_CACHE_DIR"},
    {.name = "POCL_CACHE_DIR"},
    {.name = "POCL_PATH_CLANG"},
    {.name = "POCL_PATH_LLVM_LINK"},
    {.name = "POCL_PATH_LLVM_SPIRV"},
    {.name = "POCL_PATH_SPIRV_LINK"},
    /* GStreamer. With a suffix, a variable is for this version of it and goes first. */
    {.name = "GST_DEBUG_DUMP_DOT_DIR"},
    {.name = "GST_DEBUG_FILE"},
    {"GST_ENCODING_TARGET_PATH", ":", false},
    {.name = "GST_INSTALL_PLUGINS_HELPER"},
    {"GST_PLUGIN_PATH", ":", false},
    {"GST_PLUGIN_PATH_1_0", ":", false},
    {.name = "GST_PLUGIN_SCANNER"},
    {.name = "GST_PLUGIN_SCANNER_1_0"},
    {"GST_PLUGIN_SYSTEM_PATH", ":", false},
    {"GST_PLUGIN_SYSTEM_PATH_1_0", ":", false},
    {"GST_PRESET_PATH", ":", false},
    {.name = "GST_PTP_HELPER"},
    {.name = "GST_PTP_HELPER_1_0"},
    {.name = "GST_REGISTRY"},
    {.name = "GST_REGISTRY_1_0"},
    /* Libraries that plugins use, and what these load. */
    {"FREI0R_PATH", ":", false},
    {"GIO_EXTRA_MODULES", ":", false},
    {.name = "GIO_MODULE_DIR"},
    {"GI_TYPELIB_PATH", ":", false},
    {"GSETTINGS_SCHEMA_DIR", ":", false},
    {"LADSPA_PATH", ":", false},
    {.name = "LIBV4L2_LOG_FILENAME"},
    {"LIBVA_DRIVERS_PATH", ":", false},
    {.name = "OPENSSL_CONF"},
    {.name = "OPENSSL_ENGINES"},
    {.name = "OPENSSL_MODULES"},
    {.name = "PIPEWIRE_CONFIG_DIR"},
    {"PIPEWIRE_MODULE_DIR", ":", false},
    {.name = "PYTHONHOME"},
    {"PYTHONPATH", ":", false},
    {.name = "PYTHONUSERBASE"},
    {"SPA_PLUGIN_DIR", ":", false},
    {"VDPAU_DRIVER_PATH", ":", false},
    {"VK_ADD_DRIVER_FILES", ":", false},
    {"VK_ADD_LAYER_PATH", ":", false},
    {"VK_DRIVER_FILES", ":", false},
    {"VK_ICD_FILENAMES", ":", false},
    {"VK_LAYER_PATH", ":", false},
    {"__EGL_VENDOR_LIBRARY_DIRS", ":", false},
    {"__EGL_VENDOR_LIBRARY_FILENAMES", ":", false},
};

/* Checks one file or directory on the way to a path's end, which is_last tells. In a directory with
 * the sticky bit others can only add files, which matters where the path ends. */
static int check_step(const char *path, const struct stat *st, bool is_last, struct error *why)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return error_set(why, EPERM, "%s belongs to user %u: expected user %u or root", path,
                         (unsigned)st->st_uid, (unsigned)geteuid());
    if (S_ISLNK(st->st_mode) || (st->st_mode & S_ISVTX && !is_last))
        return 0;
    /* Root's group and a group of the user's own number, as adduser makes them, have no others. */
    const bool is_group_private =
        st->st_gid == 0 || (st->st_gid == getegid() && st->st_gid == geteuid());
    if (st->st_mode & S_IWOTH || (st->st_mode & S_IWGRP && !is_group_private))
        return error_set(why, EPERM, "%s has mode %04o: expected that no other user may write it",
                         path, (unsigned)(st->st_mode & 07777));
    return 0;
}

/* The root directory is "" where more is appended. */
static const char *name_of(const char *at)
{
    return at[0] != '\0' ? at : "/";
}

/* Puts what a link names before the rest of the path. */
static int follow(char at[PATH_MAX], char rest[PATH_MAX], struct error *why)
{
    char target[PATH_MAX], joined[PATH_MAX];
    const ssize_t length = readlink(at, target, sizeof target - 1);
    if (length < 0)
        return error_set(why, errno, "%s: %s", at, strerror(errno));
    target[length] = '\0';
    if (snprintf(joined, sizeof joined, "%s/%s", target, rest) >= (int)sizeof joined)
        return error_set(why, ENAMETOOLONG, "%s leads to too long a path", at);
    memcpy(rest, joined, sizeof joined);
    *strrchr(at, '/') = '\0';
    if (target[0] == '/')
        at[0] = '\0';
    return 0;
}

/* Appends the first name of rest to at, and removes it there. A name of two dots removes one. */
static int step(char at[PATH_MAX], char rest[PATH_MAX], struct error *why)
{
    const size_t length = strlen(at), skipped = strspn(rest, "/");
    const size_t name = strcspn(rest + skipped, "/");
    if (name == 2 && memcmp(rest + skipped, "..", 2) == 0) {
        if (length > 0)
            *strrchr(at, '/') = '\0';
    } else if (name > 0 && !(name == 1 && rest[skipped] == '.')) {
        if (snprintf(at + length, PATH_MAX - length, "/%.*s", (int)name, rest + skipped) >=
            (int)(PATH_MAX - length))
            return error_set(why, ENAMETOOLONG, "%s... is too long a path", at);
    }
    memmove(rest, rest + skipped + name, strlen(rest + skipped + name) + 1);
    return 0;
}

/* Checks whether only this user and root can write to the path and to all that leads there. If it
 * does not exist yet, the directory in which it would be created decides. */
static int check_path(const char *path, struct error *why)
{
    char at[PATH_MAX] = "", rest[PATH_MAX], folder[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(folder, sizeof folder) == NULL)
        return error_set(why, errno, "the working directory: %s", strerror(errno));
    if (snprintf(rest, sizeof rest, "%s/%s", folder, path) >= (int)sizeof rest)
        return error_set(why, ENAMETOOLONG, "it is too long a path");
    int r = 0;
    for (unsigned links = 0; r == 0 && rest[strspn(rest, "/")] != '\0';) {
        struct stat st;
        if ((r = step(at, rest, why)) < 0)
            return r;
        if (lstat(name_of(at), &st) < 0) {
            *strrchr(at, '/') = '\0';
            return lstat(name_of(at), &st) < 0 ? 0 : check_step(name_of(at), &st, true, why);
        }
        r = check_step(name_of(at), &st, rest[strspn(rest, "/")] == '\0', why);
        if (r == 0 && S_ISLNK(st.st_mode))
            r = ++links > MAX_LINKS ? error_set(why, ELOOP, "%s: %s", at, strerror(ELOOP))
                                    : follow(at, rest, why);
    }
    return r;
}

static int check_value(const struct variable *variable, const char *value, struct error *why)
{
    char path[PATH_MAX];
    const char *separators = variable->separators != NULL ? variable->separators : "";
    int r = 0;
    /* An empty part is the working directory. */
    while (r == 0) {
        const size_t length = strcspn(value, separators);
        if (length >= sizeof path)
            return error_set(why, ENAMETOOLONG, "it has too long a path");
        memcpy(path, value, length);
        path[length] = '\0';
        if (!variable->has_names || strchr(path, '/') != NULL || access(path, F_OK) == 0)
            r = check_path(path, why);
        if (value[length] == '\0')
            break;
        value += length + 1;
    }
    return r;
}

/* Drivers need a home for their caches, and programs to link kernels. */
static void replace(const char *name)
{
    const struct passwd *user = getpwuid(geteuid());
    struct error why;
    unsetenv(name);
    if (strcmp(name, "PATH") == 0)
        setenv(name, "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    else if (strcmp(name, "HOME") == 0 && user != NULL && check_path(user->pw_dir, &why) == 0)
        setenv(name, user->pw_dir, 1);
}

void environment_clean(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *name = variables[i].name;
        const char *value = getenv(name);
        struct error why;
        if (value == NULL || *value == '\0' || check_value(&variables[i], value, &why) == 0)
            continue;
        log_warning("%s=%s is ignored: %s", name, value, why.text);
        replace(name);
    }
}

/* Drivers and compilers of OpenCL report a lack of descriptors as anything. */
void environment_check_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < ENOUGH_FILES)
        log_warning("the limit of open files is %llu, which may be too few: expected at least %d "
                    "(LimitNOFILE=, ulimit -n)",
                    (unsigned long long)limit.rlim_cur, ENOUGH_FILES);
}
