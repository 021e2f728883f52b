#include "support/messages.h"

#include <unistd.h>

#include "support/cmocka.h"

const char *messages_of(void (*write_it)(void))
{
    static char text[8192];
    int ends[2], before = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    write_it();
    dup2(before, STDERR_FILENO);
    close(before);
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    assert_true(length >= 0);
    text[length] = '\0';
    return text;
}
