#include "support/trials.h"

#include <stdlib.h>
#include <string.h>

bool trials_are_all(void)
{
    const char *clips = getenv("FFTD_TEST_CLIPS");
    return clips != NULL && strcmp(clips, "all") == 0;
}

unsigned trials_count(unsigned all, unsigned few)
{
    const char *clips = getenv("FFTD_TEST_CLIPS");
    return trials_are_all() ? all : clips != NULL && strcmp(clips, "one") == 0 ? 1 : few;
}
