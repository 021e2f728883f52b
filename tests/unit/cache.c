/* Tests whose files the cache believes. Whoever can plant a program there runs it as this user. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/root.h"

#include "gpu/cache.h"

#define KEY   0x1234u
#define NAME  "0000000000001234.kind"
#define OTHER 65534 /* a user who is neither root nor this one */

static char dir[64];
static struct error warning;

static int write_entry(const char *text)
{
    return cache_write(dir, "kind", KEY, text, strlen(text) + 1, &warning);
}

/* The entry's text, or NULL with the reason in `warning`. */
static char *read_entry(void)
{
    size_t size;
    warning.text[0] = '\0';
    return cache_read(dir, "kind", KEY, &size, &warning);
}

static const char *path_of(const char *name)
{
    static char path[2][128];
    static unsigned next;
    next ^= 1;
    snprintf(path[next], sizeof path[next], "%s/%s", dir, name);
    return path[next];
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/fftd-test-XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path_of(NAME));
    unlink(path_of("target"));
    return rmdir(dir);
}

static void check_refused(const char *reason)
{
    assert_null(read_entry());
    if (strstr(warning.text, reason) == NULL)
        fail_msg("'%s' does not say '%s'", warning.text, reason);
}

static void test_an_entry_comes_back(void **state)
{
    (void)state;
    assert_null(read_entry());
    assert_string_equal(warning.text, "");
    assert_int_equal(write_entry("first"), 0);
    assert_int_equal(write_entry("second"), 0);
    char *text = read_entry();
    assert_string_equal(text, "second");
    free(text);
}

static void test_a_missing_directory_is_made(void **state)
{
    (void)state;
    char deeper[80];
    size_t size;
    snprintf(deeper, sizeof deeper, "%s/a/b", dir);
    assert_int_equal(cache_write(deeper, "kind", KEY, "x", 2, &warning), 0);
    char *text = cache_read(deeper, "kind", KEY, &size, &warning);
    assert_string_equal(text, "x");
    free(text);
    unlink(path_of("a/b/" NAME));
    rmdir(path_of("a/b"));
    rmdir(path_of("a"));
}

static void test_a_directory_that_others_may_write_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(write_entry("mine"), 0);
    assert_int_equal(chmod(dir, 0770), 0);
    check_refused("has mode 0770: expected no write permission for group and others");
    assert_int_equal(write_entry("mine"), -EPERM);
    assert_non_null(strstr(warning.text, "has mode 0770"));
    assert_int_equal(chmod(dir, 0700), 0);
    char *text = read_entry();
    assert_string_equal(text, "mine");
    free(text);
}

static void test_a_file_that_others_may_write_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(write_entry("mine"), 0);
    assert_int_equal(chmod(path_of(NAME), 0602), 0);
    check_refused("has mode 0602");
}

static void test_what_another_user_owns_is_not_used(void **state)
{
    (void)state;
    root_or_skip();
    assert_int_equal(write_entry("planted"), 0);
    assert_int_equal(chown(path_of(NAME), OTHER, OTHER), 0);
    check_refused("belongs to user 65534: expected user 0 or root");
    assert_int_equal(chown(path_of(NAME), 0, 0), 0);
    assert_int_equal(chown(dir, OTHER, OTHER), 0);
    check_refused("belongs to user 65534");
    assert_int_equal(write_entry("mine"), -EPERM);
    assert_int_equal(chown(dir, 0, 0), 0);
}

static void test_links_and_pipes_are_not_opened(void **state)
{
    (void)state;
    assert_int_equal(write_entry("mine"), 0);
    assert_int_equal(rename(path_of(NAME), path_of("target")), 0);
    assert_int_equal(symlink("target", path_of(NAME)), 0);
    check_refused(strerror(ELOOP));
    /* Writing replaces the link, not what it points to. */
    assert_int_equal(write_entry("new"), 0);
    char *text = read_entry();
    assert_string_equal(text, "new");
    free(text);
    struct stat st;
    assert_int_equal(lstat(path_of(NAME), &st), 0);
    assert_true(S_ISREG(st.st_mode));

    unlink(path_of(NAME));
    assert_int_equal(mkfifo(path_of(NAME), 0600), 0);
    alarm(120); /* opening it for reading would wait for a writer */
    check_refused("is not a regular file");
    alarm(0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_entry_comes_back),
        TEST(test_a_missing_directory_is_made),
        TEST(test_a_directory_that_others_may_write_is_not_used),
        TEST(test_a_file_that_others_may_write_is_not_used),
        TEST(test_what_another_user_owns_is_not_used),
        TEST(test_links_and_pipes_are_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
