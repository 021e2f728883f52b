#include "service/environment.h"

#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/log.h"

/* These hold the caches of the daemon and of OpenCL drivers, and the daemon's sockets. */
static const char *const directories[] = {
    "HOME",           "XDG_CACHE_HOME",        "XDG_RUNTIME_DIR",
    "POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR", "CUDA_CACHE_PATH",
};

/* If the directory does not exist yet, the parent in which it would be created decides. */
static bool belongs_to_another(const char *path, uid_t *ret_owner)
{
    char existing[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(existing, sizeof existing, "%s", path) >= sizeof existing)
        return false;
    while (stat(existing, &st) < 0) {
        char *last = strrchr(existing, '/');
        if (last == NULL || last == existing)
            return false;
        *last = '\0';
    }
    *ret_owner = st.st_uid;
    return st.st_uid != geteuid() && st.st_uid != 0;
}

static void set_home(void)
{
    const struct passwd *user = getpwuid(geteuid());
    uid_t owner;
    if (user != NULL && !belongs_to_another(user->pw_dir, &owner))
        setenv("HOME", user->pw_dir, 1);
}

void environment_clean(void)
{
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        const char *name = directories[i];
        const char *path = getenv(name);
        uid_t owner;
        if (path == NULL || !belongs_to_another(path, &owner))
            continue;
        log_warning("%s=%s is ignored: it belongs to user %u: expected user %u or root", name, path,
                    (unsigned)owner, (unsigned)geteuid());
        unsetenv(name);
        if (strcmp(name, "HOME") == 0)
            set_home();
    }
}
