/* Draws on a terminal in place, line by line, with ECMA-48 control sequences.
 *
 * Between screen_enter and screen_leave the terminal shows its alternate screen, and stdin delivers
 * single keys without echo. Ctrl-C still sends SIGINT. */
#ifndef FFTD_COMMON_SCREEN_H
#define FFTD_COMMON_SCREEN_H

#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

struct screen {
    bool entered;
    bool reads_keys; /* stdin is also a terminal */
    bool is_utf8;    /* the locale says so */
    struct termios before;
    unsigned columns, rows; /* the size at screen_begin */
    unsigned line;
};

/* Switches to the alternate screen, unless that was done. stdout must be a terminal. */
void screen_enter(struct screen *screen);

/* Restores the terminal, if it was entered. */
void screen_leave(struct screen *screen);

/* Begins to draw all lines again, and asks for the terminal's size. */
void screen_begin(struct screen *screen);

/* Draws the next line, cut to the terminal's width. Lines below the last row are left out. The text
 * must not have control characters. */
void screen_line(struct screen *screen, bool is_bold, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Clears the rows below the last line, and shows what was drawn. */
void screen_end(struct screen *screen);

#endif
