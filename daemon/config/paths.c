/* The directories of sockets and caches. Only their paths are found here; the code that creates a
 * directory also checks its owner. libfftd's fftd_runtime_dir searches in the same order. */
#include "config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/format.h"

#define LONGEST_SOCKET_NAME 16 /* bytes; "/control-watch" and two to spare */

/* Returns an absolute path from the environment, or NULL. systemd joins several directories with
 * colons; the first one is taken. */
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
        return join(config->output.runtime_dir, why, "%s", base);
    if (directory_in("XDG_RUNTIME_DIR", base) != NULL)
        return join(config->output.runtime_dir, why, "%s/fftd/%s", base, config->name);
    return join(config->output.runtime_dir, why, "/tmp/fftd-%u/%s", (unsigned)geteuid(),
                config->name);
}

static int find_cache_dir(struct config *config, struct error *why)
{
    char base[CONFIG_TEXT];
    if (directory_in("CACHE_DIRECTORY", base) != NULL)
        return join(config->engine.cache_dir, why, "%s", base);
    if (directory_in("XDG_CACHE_HOME", base) != NULL)
        return join(config->engine.cache_dir, why, "%s/fftd", base);
    if (directory_in("HOME", base) != NULL)
        return join(config->engine.cache_dir, why, "%s/.cache/fftd", base);
    config->engine.cache_dir[0] = '\0';
    return 0;
}

static int check_socket_path(const struct config *config, struct error *why)
{
    size_t longest = LONGEST_SOCKET_NAME;
    for (unsigned i = 0; i < config->outputs.count; i++) {
        const size_t bytes = sizeof "/outputs//frames" + strlen(config->outputs.output[i].name);
        longest = bytes > longest ? bytes : longest;
    }
    const size_t limit = sizeof(((struct sockaddr_un *)NULL)->sun_path) - longest - 1;
    if (strlen(config->output.runtime_dir) <= limit)
        return 0;
    return error_set(why, ENAMETOOLONG,
                     "output.runtime_dir = %s: expected a path of at most %zu bytes, because the "
                     "names of sockets are limited",
                     config->output.runtime_dir, limit);
}

static int check_frame(const struct config *config, struct error *why)
{
    struct fftd_format unused;
    if (config->camera.source.width == 0 || config->camera.source.fourcc == 0)
        return 0;
    int r = format_layout(&unused, config->camera.source.fourcc, config->camera.source.width,
                          config->camera.source.height, 1, why);
    return r < 0 ? error_prefix(why, -r, "camera.size with camera.format") : 0;
}

int config_check_view(const struct config *config, unsigned output, enum view_kind view,
                      struct error *why)
{
    const bool is_main = output == 0;
    const struct config_named_output *named = &config->outputs.output[is_main ? 0 : output - 1];
    const uint32_t width = is_main ? config->output.width : named->width;
    const uint32_t height = is_main ? config->output.height : named->height;
    if (view == VIEW_MOTION && config->output.motion == CONFIG_MOTION_OFF)
        return error_set(why, EINVAL,
                         "engine.view = motion: expected output.motion = 16, 32 or 64, without "
                         "which there is no field of motion to show");
    if (width == 0 || view == VIEW_PICTURE)
        return 0;
    return error_set(why, EINVAL,
                     "engine.view = %s: expected picture, because no view can show "
                     "%s = %ux%u",
                     view_names[view], is_main ? "output.size" : "outputs.size", width, height);
}

int config_finish(struct config *config, struct error *why)
{
    struct config finished = *config;
    int r = 0;
    if (finished.output.motion != CONFIG_MOTION_OFF)
        finished.output.measures = true; /* a field belongs to a measured picture */
    if (strcmp(finished.output.runtime_dir, "auto") == 0)
        r = find_runtime_dir(&finished, why);
    if (r == 0 && strcmp(finished.engine.cache_dir, "auto") == 0)
        r = find_cache_dir(&finished, why);
    if (strcmp(finished.engine.cache_dir, "none") == 0)
        finished.engine.cache_dir[0] = '\0';
    if (r == 0)
        r = check_socket_path(&finished, why);
    if (r == 0)
        r = check_frame(&finished, why);
    if (r == 0)
        r = config_check_view(&finished, 0, finished.engine.options.recipe.view, why);
    if (r == 0)
        *config = finished;
    return r;
}
