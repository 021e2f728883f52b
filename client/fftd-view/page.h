/* The files of the page, which are embedded in the program. */
#ifndef FFTD_VIEW_PAGE_H
#define FFTD_VIEW_PAGE_H

struct page_file {
    const char *name; /* "index.html" */
    const char *text;
};

/* Returns the files that view.mk lists. An entry whose name is NULL ends the array. */
const struct page_file *page_files(void);

#endif
