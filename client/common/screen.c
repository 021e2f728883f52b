#include "screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_BYTES 4096

void screen_enter(struct screen *screen)
{
    if (screen->entered)
        return;
    setlocale(LC_CTYPE, "");
    screen->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    screen->reads_keys = tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->reads_keys) {
        struct termios keys = screen->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 1;
        keys.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    fputs("\033[?1049h\033[?25l", stdout); /* the alternate screen, without a cursor */
    fflush(stdout);
    screen->entered = true;
}

void screen_leave(struct screen *screen)
{
    if (!screen->entered)
        return;
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (screen->reads_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
    screen->entered = false;
}

void screen_begin(struct screen *screen)
{
    struct winsize size;
    const bool is_known =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    screen->columns = is_known ? size.ws_col : 80;
    screen->rows = is_known ? size.ws_row : 24;
    screen->line = 0;
    fputs("\033[?2026h\033[H", stdout); /* begins a synchronized update; cursor home */
}

/* Returns how many bytes of a UTF-8 text fill at most `columns` columns, one per character. */
static size_t fit(const char *text, unsigned columns)
{
    size_t at = 0;
    for (unsigned column = 0; text[at] != '\0'; column++) {
        if (column == columns)
            break;
        do
            at++;
        while (((unsigned char)text[at] & 0xc0u) == 0x80u); /* the rest of the character */
    }
    return at;
}

void screen_line(struct screen *screen, bool is_bold, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list args;

    if (screen->line >= screen->rows)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* The row is cleared first: after a line that fills it, the cursor stays on its last character.
     */
    fputs(screen->line++ > 0 ? "\r\n\033[K" : "\033[K", stdout);
    printf("%s%.*s%s", is_bold ? "\033[1m" : "", (int)fit(text, screen->columns), text,
           is_bold ? "\033[0m" : "");
}

void screen_end(struct screen *screen)
{
    if (screen->line < screen->rows)
        fputs("\r\n\033[J", stdout);
    fputs("\033[?2026l", stdout);
    fflush(stdout);
}
