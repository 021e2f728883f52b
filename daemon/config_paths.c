/* Where sockets and caches lie. Only paths are worked out here; who makes the directories also
 * checks whose they are. The order is the same as libfftd's fftd_runtime_dir looks in. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/format.h"

#define LONGEST_SOCKET_NAME 16 /* with its slash: "/control-watch" and some room */

/* An absolute path from the environment, or NULL. Of a list (systemd joins directories with
 * colons) the first. */
static const char *directory_in(const char *variable, char path[CONFIG_TEXT])
{
    const char *value = getenv(variable);
    if (value == NULL || value[0] != '/')
        return NULL;
    size_t length = strcspn(value, ":");
    if (length >= CONFIG_TEXT)
        return NULL;
    memcpy(path, value, length);
    path[length] = '\0';
    return path;
}

__attribute__((format(printf, 3, 4))) static int join(char path[CONFIG_TEXT], struct error *why,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, CONFIG_TEXT, format, args);
    va_end(args);
    if (length >= CONFIG_TEXT)
        return error_set(why, ENAMETOOLONG, "%s...: expected a path of at most %d bytes", path,
                         CONFIG_TEXT - 1);
    return 0;
}

static int find_runtime_dir(struct config *config, struct error *why)
{
    char base[CONFIG_TEXT];
    if (directory_in("RUNTIME_DIRECTORY", base) != NULL)
        return join(config->runtime_dir, why, "%s", base);
    if (directory_in("XDG_RUNTIME_DIR", base) != NULL)
        return join(config->runtime_dir, why, "%s/fftd/%s", base, config->name);
    return join(config->runtime_dir, why, "/tmp/fftd-%u/%s", (unsigned)geteuid(), config->name);
}

static int find_cache_dir(struct config *config, struct error *why)
{
    char base[CONFIG_TEXT];
    if (directory_in("CACHE_DIRECTORY", base) != NULL)
        return join(config->cache_dir, why, "%s", base);
    if (directory_in("XDG_CACHE_HOME", base) != NULL)
        return join(config->cache_dir, why, "%s/fftd", base);
    if (directory_in("HOME", base) != NULL)
        return join(config->cache_dir, why, "%s/.cache/fftd", base);
    config->cache_dir[0] = '\0';
    return 0;
}

static int check_socket_path(const struct config *config, struct error *why)
{
    const size_t limit = sizeof(((struct sockaddr_un *)NULL)->sun_path) - LONGEST_SOCKET_NAME - 1;
    if (strlen(config->runtime_dir) <= limit)
        return 0;
    return error_set(why, ENAMETOOLONG,
                     "output.runtime_dir = %s: expected a path of at most %zu bytes, so that the "
                     "names of the sockets in it fit",
                     config->runtime_dir, limit);
}

static int check_frame(const struct config *config, struct error *why)
{
    struct fftd_format unused;
    if (config->width == 0 || config->fourcc == 0)
        return 0;
    int r = format_layout(&unused, config->fourcc, config->width, config->height, 1, why);
    return r < 0 ? error_prefix(why, -r, "camera.size with camera.format") : 0;
}

int config_finish(struct config *config, struct error *why)
{
    struct config finished = *config;
    int r = 0;
    if (strcmp(finished.runtime_dir, "auto") == 0)
        r = find_runtime_dir(&finished, why);
    if (r == 0 && strcmp(finished.cache_dir, "auto") == 0)
        r = find_cache_dir(&finished, why);
    if (strcmp(finished.cache_dir, "none") == 0)
        finished.cache_dir[0] = '\0';
    if (r == 0)
        r = check_socket_path(&finished, why);
    if (r == 0)
        r = check_frame(&finished, why);
    if (r == 0)
        *config = finished;
    return r;
}
