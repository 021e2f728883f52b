/* The memory that a process may use, in trees that look like /proc and /sys. */
#include "support/cmocka.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "service/memory.h"

static char root[] = "/tmp/fftd-memory-XXXXXX";

static uint64_t machine_bytes(void)
{
    struct sysinfo info;
    assert_int_equal(sysinfo(&info), 0);
    return (uint64_t)info.totalram * info.mem_unit;
}

static void write_file(const char *path, const char *text)
{
    char name[400];
    snprintf(name, sizeof name, "%s/%s", root, path);
    for (char *at = strchr(name + strlen(root) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(name, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    (void)state;
    strcpy(root + strlen(root) - 6, "XXXXXX");
    assert_non_null(mkdtemp(root));
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void without_control_groups_it_is_the_machines(void **state)
{
    (void)state;
    assert_int_equal(service_memory_bytes(root), machine_bytes());
}

static void it_is_the_limit_of_the_unit(void **state)
{
    (void)state;
    write_file("proc/self/cgroup", "0::/system.slice/fftd@front.service\n");
    write_file("sys/fs/cgroup/system.slice/fftd@front.service/memory.max", "33554432\n");
    write_file("sys/fs/cgroup/system.slice/memory.max", "max\n");
    assert_int_equal(service_memory_bytes(root), 33554432);
}

static void a_slice_around_the_unit_may_have_less(void **state)
{
    (void)state;
    write_file("proc/self/cgroup", "0::/system.slice/fftd@front.service\n");
    write_file("sys/fs/cgroup/system.slice/fftd@front.service/memory.max", "max\n");
    write_file("sys/fs/cgroup/system.slice/memory.max", "16777216\n");
    assert_int_equal(service_memory_bytes(root), 16777216);
    write_file("sys/fs/cgroup/memory.max", "8388608\n"); /* of a container */
    assert_int_equal(service_memory_bytes(root), 8388608);
}

static void more_than_the_machine_has_is_no_limit(void **state)
{
    (void)state;
    write_file("proc/self/cgroup", "0::/\n");
    write_file("sys/fs/cgroup/memory.max", "9223372036854771712\n");
    assert_int_equal(service_memory_bytes(root), machine_bytes());
}

/* Linux 4.4 of Rockchip's boards. */
static void version_1_has_a_tree_for_memory(void **state)
{
    (void)state;
    write_file("proc/self/cgroup", "4:cpu,cpuacct:/other\n3:memory:/system.slice/a.service\n"
                                   "1:name=systemd:/system.slice/a.service\n");
    write_file("sys/fs/cgroup/memory/system.slice/a.service/memory.limit_in_bytes", "4194304\n");
    write_file("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
    assert_int_equal(service_memory_bytes(root), 4194304);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_control_groups_it_is_the_machines, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_the_limit_of_the_unit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slice_around_the_unit_may_have_less, setup, teardown),
        cmocka_unit_test_setup_teardown(more_than_the_machine_has_is_no_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(version_1_has_a_tree_for_memory, setup, teardown),
    };
    return cmocka_run_group_tests_name("memory_limit", tests, NULL, NULL);
}
