/* Prints the example of each kind of filter, which fftd-ctl does not show, as JSON, for
 * tests/demo/filters.py.
 *
 *     build/tests/tools/kinds */
#include <stdio.h>

#include "filters/filter_kind.h"

int main(void)
{
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    for (unsigned i = 0; i < count; i++) /* neither text has what JSON escapes */
        printf("%s\"%s\": \"%s\"", i == 0 ? "{" : ",\n ", kinds[i]->name, kinds[i]->example);
    printf("}\n");
    return 0;
}
