/* The files of the page, which the program carries. */
#ifndef FFTD_VIEW_PAGE_H
#define FFTD_VIEW_PAGE_H

struct page_file {
    const char *name; /* "index.html" */
    const char *text;
};

/* The files that view.mk names, with NULL names behind them. */
const struct page_file *page_files(void);

#endif
