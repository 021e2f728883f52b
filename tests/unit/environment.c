/* Variables that name what is run or believed are dropped where another user could have put it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/messages.h"
#include "support/root.h"

#include "service/environment.h"

#define OTHER 65534

/* With `own` and `shared`, its directories. */
static char base[] = "/tmp/fftd-test-XXXXXX";
static const char *logged;

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static int make_base(void **state)
{
    (void)state;
    if (mkdtemp(base) == NULL || mkdir(path_of("own"), 0755) < 0 ||
        mkdir(path_of("own/plugins"), 0755) < 0 || mkdir(path_of("shared"), 0755) < 0)
        return -1;
    environment_clean(); /* it may complain about what the tests were started with */
    return chmod(path_of("shared"), 01777); /* mkdir() removes what umask has */
}

static int remove_base(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", base);
    return system(command); /* NOLINT(cert-env33-c): its text is from here */
}

/* Cleans the environment and collects what stderr gets. Returns the variable. */
static const char *cleaned(const char *name, const char *value)
{
    setenv(name, value, 1);
    logged = messages_of(environment_clean);
    return getenv(name);
}

static void assert_kept(const char *name, const char *value)
{
    const char *after = cleaned(name, value);
    assert_string_equal(logged, "");
    assert_non_null(after);
    assert_string_equal(after, value);
    unsetenv(name);
}

static void assert_dropped(const char *name, const char *value, const char *reason)
{
    char expected[512];
    assert_null(cleaned(name, value));
    snprintf(expected, sizeof expected, "%s=%s is ignored: ", name, value);
    assert_non_null(strstr(logged, expected));
    assert_non_null(strstr(logged, reason));
}

static void what_only_the_user_can_write_is_kept(void **state)
{
    char list[512];
    (void)state;
    assert_kept("GST_PLUGIN_PATH", path_of("own/plugins"));
    assert_kept("GST_PLUGIN_PATH", path_of("own/not/there/yet"));
    assert_kept("GST_PLUGIN_PATH", path_of("own/./plugins//../plugins/"));
    assert_kept("GST_PLUGIN_PATH", "");
    assert_kept("GST_PLUGIN_PATH", "/");
    assert_kept("XDG_DATA_DIRS", "/usr/local/share:/usr/share/");
    snprintf(list, sizeof list, "/usr/lib:%s", path_of("own/plugins"));
    assert_kept("LD_LIBRARY_PATH", list);
    /* These are names of libraries, not files in the working directory. */
    assert_kept("LD_PRELOAD", "");
    assert_kept("OCL_ICD_VENDORS", "libpocl.so.2");
}

static void what_everybody_can_write_is_dropped(void **state)
{
    char value[512], link[300];
    (void)state;
    assert_dropped("GST_PLUGIN_PATH", path_of("shared"), "/shared has mode 1777");
    assert_dropped("GST_PLUGIN_PATH", path_of("shared/."), "/shared has mode 1777");
    /* Another user may be the first to create it. */
    assert_dropped("GST_REGISTRY", path_of("shared/registry"), "/shared has mode 1777");
    assert_int_equal(mkdir(path_of("shared/mine"), 0755), 0);
    assert_kept("GST_PLUGIN_PATH", path_of("shared/mine"));
    snprintf(value, sizeof value, "/usr/lib:%s:/usr/share", path_of("shared"));
    assert_dropped("GST_PLUGIN_SYSTEM_PATH", value, "/shared has mode 1777");
    snprintf(link, sizeof link, "%s", path_of("own/link"));
    assert_int_equal(symlink("../shared", link), 0);
    assert_dropped("GIO_MODULE_DIR", link, "/shared has mode 1777");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink(link, link), 0);
    assert_dropped("GIO_MODULE_DIR", link, "symbolic links");
    assert_int_equal(chmod(path_of("own/plugins"), 0757), 0);
    assert_dropped("GST_PRESET_PATH", path_of("own/plugins/deeper"), "/plugins has mode 0757");
    snprintf(value, sizeof value, "%s:/usr/bin", path_of("own/plugins"));
    assert_string_equal(cleaned("PATH", value), "/usr/sbin:/usr/bin:/sbin:/bin");
    assert_non_null(strstr(logged, "/plugins has mode 0757"));
    assert_int_equal(chmod(path_of("own/plugins"), 0755), 0);
    assert_int_equal(chdir(path_of("shared")), 0);
    assert_dropped("GST_PLUGIN_PATH", "plugins", "/shared has mode 1777");
    assert_dropped("LD_LIBRARY_PATH", "/usr/lib:", "/shared has mode 1777");
    assert_kept("OCL_ICD_VENDORS", "libpocl.so.2");
    assert_dropped("OCL_ICD_VENDORS", "./libpocl.so.2", "/shared has mode 1777");
    assert_int_equal(chdir("/"), 0);
}

static void what_a_group_can_write_is_dropped(void **state)
{
    (void)state;
    root_or_skip();
    assert_int_equal(chmod(path_of("own/plugins"), 0775), 0);
    assert_kept("GST_PLUGIN_PATH", path_of("own/plugins")); /* root's group */
    assert_int_equal(chown(path_of("own/plugins"), 0, OTHER), 0);
    assert_dropped("GST_PLUGIN_PATH", path_of("own/plugins"), "has mode 0775");
    assert_int_equal(chown(path_of("own/plugins"), 0, 0), 0);
    assert_int_equal(chmod(path_of("own/plugins"), 0755), 0);
}

static void what_another_user_owns_is_dropped(void **state)
{
    char link[300];
    (void)state;
    root_or_skip();
    static const char reason[] = "belongs to user 65534: expected user 0 or root";
    snprintf(link, sizeof link, "%s", path_of("own/link"));
    unlink(link);
    assert_int_equal(symlink("/usr/lib", link), 0);
    assert_kept("GST_PLUGIN_PATH", link);
    assert_int_equal(lchown(link, OTHER, OTHER), 0);
    assert_dropped("GST_PLUGIN_PATH", link, reason);

    assert_int_equal(chown(path_of("own"), OTHER, OTHER), 0);
    static const char *const names[] = {
        "XDG_CACHE_HOME",     "XDG_CONFIG_HOME",   "XDG_DATA_HOME",       "XDG_DATA_DIRS",
        "XDG_RUNTIME_DIR",    "LD_LIBRARY_PATH",   "LD_PRELOAD",          "FFTD_GST_HELPER",
        "OCL_ICD_VENDORS",    "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH",  "OPENCL_LAYERS",
        "POCL_CACHE_DIR",     "GST_PLUGIN_PATH",   "GST_PLUGIN_PATH_1_0", "GST_PLUGIN_SYSTEM_PATH",
        "GST_PLUGIN_SCANNER", "GST_PRESET_PATH",   "GST_REGISTRY",        "GST_DEBUG_FILE",
        "GIO_EXTRA_MODULES",  "GIO_MODULE_DIR",    "GI_TYPELIB_PATH",     "PYTHONPATH",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_dropped(names[i], path_of("own/plugins"), reason);
    assert_string_equal(cleaned("HOME", path_of("own")), "/root");
    assert_non_null(strstr(logged, reason));
    assert_int_equal(chown(path_of("own"), 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_the_user_can_write_is_kept),
        cmocka_unit_test(what_everybody_can_write_is_dropped),
        cmocka_unit_test(what_a_group_can_write_is_dropped),
        cmocka_unit_test(what_another_user_owns_is_dropped),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
