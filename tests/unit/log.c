/* Messages go to stderr as whole lines, or to the journal when that is what stderr is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/messages.h"

#include "service/log.h"

static void all_priorities(void)
{
    log_error("one %d", 1);
    log_warning("two");
    log_notice("three");
    log_info("four");
    log_debug("five");
}

static void lines_carry_name_and_word(void **state)
{
    (void)state;
    unsetenv("JOURNAL_STREAM");
    log_init("cam-1", LOG_INFO);
    assert_string_equal(messages_of(all_priorities), "fftd[cam-1]: error: one 1\n"
                                                     "fftd[cam-1]: warning: two\n"
                                                     "fftd[cam-1]: three\n"
                                                     "fftd[cam-1]: four\n");
    log_init("", LOG_WARNING);
    assert_string_equal(messages_of(all_priorities), "fftd: error: one 1\n"
                                                     "fftd: warning: two\n");
}

static void hostile_name(void)
{
    log_warning("cannot open %s", "/tmp/x\nfftd[cam-1]: all is well\x1b[1A");
}

/* A path cannot add a line of its own, or command the terminal. */
static void each_message_is_one_line(void **state)
{
    (void)state;
    log_init("cam-1", LOG_INFO);
    assert_string_equal(messages_of(hostile_name),
                        "fftd[cam-1]: warning: cannot open /tmp/x fftd[cam-1]: all is well?[1A\n");
}

static void init_with_foreign_stream(void)
{
    log_init("cam", LOG_INFO);
    log_info("here");
}

/* A JOURNAL_STREAM inherited from elsewhere does not name our stderr. */
static void a_foreign_journal_is_not_believed(void **state)
{
    (void)state;
    static const char *const streams[] = {"1:2", "", "no:numbers", "12345"};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        setenv("JOURNAL_STREAM", streams[i], 1);
        assert_string_equal(messages_of(init_with_foreign_stream), "fftd[cam]: here\n");
    }
    unsetenv("JOURNAL_STREAM");
}

static void init_with_own_stream(void)
{
    struct stat about;
    char stream[64];
    assert_int_equal(fstat(STDERR_FILENO, &about), 0);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)about.st_dev, (uintmax_t)about.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_init("cam", LOG_INFO);
    log_warning("here");
}

/* Where the journal's socket is not there, its stream still takes priorities. */
static void without_its_socket_the_journal_gets_priorities(void **state)
{
    (void)state;
    if (access("/run/systemd/journal/socket", F_OK) == 0) {
        puts("skipped: a journal is running here");
        skip();
    }
    assert_string_equal(messages_of(init_with_own_stream), "<4>here\n");
    unsetenv("JOURNAL_STREAM");
}

static char longer[6000];

static void write_longer(void)
{
    log_error("%s", longer);
}

static void long_messages_stay_one_line(void **state)
{
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    log_init("cam", LOG_INFO);
    const char *text = messages_of(write_longer);
    assert_int_equal(strcspn(text, "\n"), strlen(text) - 1);
    assert_in_range(strlen(text), 4000, 4200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_carry_name_and_word),
        cmocka_unit_test(each_message_is_one_line),
        cmocka_unit_test(a_foreign_journal_is_not_believed),
        cmocka_unit_test(without_its_socket_the_journal_gets_priorities),
        cmocka_unit_test(long_messages_stay_one_line),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
