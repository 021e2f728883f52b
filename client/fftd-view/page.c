#include "page.h"

#include <stddef.h>

const struct page_file *page_files(void)
{
    static const struct page_file files[] = {
#include "view_page.inc"
        {NULL, NULL},
    };
    return files;
}
