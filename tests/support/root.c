#include "support/root.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"

/* In a container root may lack the capability, or there may be no other users. */
static int may_act_as_others(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(setgid(65534) == 0 && setuid(65534) == 0 ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void root_or_skip(void)
{
    if (geteuid() == 0 && may_act_as_others())
        return;
    puts(geteuid() == 0 ? "skipped: this root may not act as other users"
                        : "skipped: needs root, or sudo without a password");
    skip();
}
