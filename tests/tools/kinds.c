/* Prints what docs/FILTERS.md has of each kind of filter and fftd-ctl does not show, as JSON, for
 * tests/demo/filters.py.
 *
 *     build/tests/tools/kinds */
#include <stdio.h>
#include <string.h>

#include "filters/filter_kind.h"
#include "core/text.h"

#define MAX_TEXT 8192

static void print_text(const char *key, const char *text, const char *end)
{
    char json[TEXT_JSON_BYTES(MAX_TEXT)];
    printf("\"%s\": %s%s", key, text_to_json(json, sizeof json, text != NULL ? text : ""), end);
}

int main(void)
{
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct filter_docs *docs = &kinds[i]->docs;
        printf("%s\"%s\": {", i == 0 ? "{" : ",\n ", kinds[i]->name);
        print_text("scene", docs->scene, ", ");
        print_text("example", docs->example, ", ");
        print_text("note", docs->note, ", ");
        print_text("details", docs->details, "}");
    }
    printf("}\n");
    return 0;
}
