/* Any bytes as a filter chain: refused with a reason, or taken; what is taken has finite responses
 * and comes back from its own text. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct filter_chain *chain)
{
    static const double at[] = {-0.5, -0.25, 0, 0.1, 0.5};
    for (unsigned y = 0; y < 5; y++)
        for (unsigned x = 0; x < 5; x++)
            if (!isfinite(cabs(filter_chain_response(chain, at[x], at[y]))))
                abort();
    double support = filter_chain_support(chain);
    if (!(support >= 0 && support <= FILTER_MAX_SUPPORT_PX))
        abort();

    struct filter_chain back;
    char text[FILTER_TEXT_BYTES], again[FILTER_TEXT_BYTES];
    filter_chain_print(chain, text, sizeof text);
    if (filter_chain_parse(&back, text, NULL) != 0)
        abort();
    filter_chain_print(&back, again, sizeof again);
    if (strcmp(text, again) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct filter_chain chain;
    struct error why = {""};
    char *text = malloc(size + 1); /* exactly as long as it is, for the address sanitizer */
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (filter_chain_parse(&chain, text, &why) == 0)
        check(&chain);
    else if (why.text[0] == '\0')
        abort();
    free(text);
    return 0;
}
