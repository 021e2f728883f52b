#include "support/trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double trials_median(double *number, unsigned count)
{
    if (count == 0)
        return NAN;
    qsort(number, count, sizeof *number, by_size);
    return number[count / 2];
}

void trials_print_ends(const struct trials_ends *ends)
{
    const unsigned count = ends->count;
    const double middle = trials_median(ends->begun, count);
    unsigned never = 0, ghosts = 0;
    (void)trials_median(ends->ghost, count);
    for (unsigned i = 0; i < count; i++) {
        never += ends->begun[i] == INFINITY;
        ghosts += ends->ghost[i] > 0;
    }
    printf("# figures: %u clips: corrected after %.0f frames (median), nine of ten %.0f, %u not "
           "within %u; a ghost in %u, for at most %.0f\n",
           count, middle, ends->begun[count * 9 / 10], never, ends->most, ghosts,
           ends->ghost[count - 1]);
}

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
