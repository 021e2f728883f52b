/* The clock of a GPU in trees like the kernel's devfreq. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"

#include "gpu/devfreq.h"

static char folder[64];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fftd-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command); /* NOLINT(cert-env33-c): no text of others */
}

/* Makes an entry whose cur_freq has this text; NULL: none. */
static void add(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(mkdir(path, 0700) == 0 || access(path, F_OK) == 0);
    strcat(path, "/cur_freq");
    unlink(path);
    if (text == NULL)
        return;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void check_found(const char *name)
{
    char path[DEVFREQ_PATH_BYTES] = "", wanted[128];
    snprintf(wanted, sizeof wanted, "%s/%s/cur_freq", folder, name);
    assert_true(devfreq_find(path, folder));
    assert_string_equal(path, wanted);
}

/* Memory has a clock of its own there. */
static void the_gpu_is_found_by_its_name(void **state)
{
    char path[DEVFREQ_PATH_BYTES];
    (void)state;
    assert_false(devfreq_find(path, "/nonexistent"));
    assert_false(devfreq_find(path, folder));
    add("dmc", "800000000\n");
    assert_false(devfreq_find(path, folder));
    add("ffa30000.gpu", "600000000\n");
    check_found("ffa30000.gpu");
    add("13000000.mali", "500000000\n");
    check_found("13000000.mali");
}

static void only_a_clock_is_read(void **state)
{
    static const struct {
        const char *text;
        double hz;
    } texts[] = {
        {"600000000\n", 600e6},
        {"600000000", 600e6},
        {" 99000000 \n", 99e6},
        {"", 0},
        {"\n", 0},
        {"garbage\n", 0},
        {"600 MHz\n", 0},
        {"-600000000\n", 0},
        {"0\n", 0},
        {"600\n", 0},
        {"1e30\n", 0},
        {"nan\n", 0},
        {"0x23c34600\n", 0},
        {NULL, 0},
    };
    char path[DEVFREQ_PATH_BYTES];
    (void)state;
    add("ffa30000.gpu", NULL);
    assert_true(devfreq_find(path, folder));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        add("ffa30000.gpu", texts[i].text);
        assert_true(devfreq_read(path) == texts[i].hz);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_gpu_is_found_by_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(only_a_clock_is_read, setup, teardown),
    };
    return cmocka_run_group_tests_name("devfreq", tests, NULL, NULL);
}
