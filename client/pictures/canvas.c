/* The font was drawn for this program and has only the characters that plots need. A library that
 * draws text, such as cairo, would bring fonts and their configuration to every machine that runs
 * the daemon. */
#include "canvas.h"

#include <string.h>

#define ZOOM   2 /* pixels of a dot */
#define ROWS   8 /* the last row is below the baseline */
#define DOTS   5
#define STRIDE (DOTS + 1) /* characters from one row of a glyph to the next */

/* The rows of each glyph, from the top. */
static const char *const glyphs[128] = {
    ['('] = "...#. ..#.. .#... .#... .#... ..#.. ...#. .....",
    [')'] = ".#... ..#.. ...#. ...#. ...#. ..#.. .#... .....",
    ['+'] = "..... ..#.. ..#.. ##### ..#.. ..#.. ..... .....",
    [','] = "..... ..... ..... ..... ..... ..#.. ..#.. .#...",
    ['-'] = "..... ..... ..... ##### ..... ..... ..... .....",
    ['.'] = "..... ..... ..... ..... ..... .##.. .##.. .....",
    ['/'] = "..... ....# ...#. ..#.. .#... #.... ..... .....",
    ['0'] = ".###. #...# #..## #.#.# ##..# #...# .###. .....",
    ['1'] = "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###. .....",
    ['2'] = ".###. #...# ....# ...#. ..#.. .#... ##### .....",
    ['3'] = ".###. #...# ....# ..##. ....# #...# .###. .....",
    ['4'] = "...#. ..##. .#.#. #..#. ##### ...#. ...#. .....",
    ['5'] = "##### #.... ####. ....# ....# #...# .###. .....",
    ['6'] = "..##. .#... #.... ####. #...# #...# .###. .....",
    ['7'] = "##### ....# ...#. ..#.. .#... .#... .#... .....",
    ['8'] = ".###. #...# #...# .###. #...# #...# .###. .....",
    ['9'] = ".###. #...# #...# .#### ....# ...#. .##.. .....",
    [':'] = "..... .##.. .##.. ..... .##.. .##.. ..... .....",
    ['H'] = "#...# #...# #...# ##### #...# #...# #...# .....",
    ['_'] = "..... ..... ..... ..... ..... ..... ##### .....",
    ['a'] = "..... ..... .###. ....# .#### #...# .#### .....",
    ['b'] = "#.... #.... #.##. ##..# #...# #...# ####. .....",
    ['c'] = "..... ..... .#### #.... #.... #.... .#### .....",
    ['d'] = "....# ....# .#### #...# #...# #...# .#### .....",
    ['e'] = "..... ..... .###. #...# ##### #.... .###. .....",
    ['f'] = "..##. .#..# .#... ###.. .#... .#... .#... .....",
    ['g'] = "..... ..... .#### #...# #...# .#### ....# .###.",
    ['h'] = "#.... #.... #.##. ##..# #...# #...# #...# .....",
    ['i'] = "..#.. ..... .##.. ..#.. ..#.. ..#.. .###. .....",
    ['j'] = "...#. ..... ..##. ...#. ...#. ...#. #..#. .##..",
    ['k'] = "#.... #.... #..#. #.#.. ##... #.#.. #..#. .....",
    ['l'] = ".##.. ..#.. ..#.. ..#.. ..#.. ..#.. .###. .....",
    ['m'] = "..... ..... ##.#. #.#.# #.#.# #.#.# #.#.# .....",
    ['n'] = "..... ..... ####. #...# #...# #...# #...# .....",
    ['o'] = "..... ..... .###. #...# #...# #...# .###. .....",
    ['p'] = "..... ..... ####. #...# #...# ####. #.... #....",
    ['q'] = "..... ..... .#### #...# #...# .#### ....# ....#",
    ['r'] = "..... ..... #.##. ##..# #.... #.... #.... .....",
    ['s'] = "..... ..... .#### #.... .###. ....# ####. .....",
    ['t'] = ".#... .#... ###.. .#... .#... .#..# ..##. .....",
    ['u'] = "..... ..... #...# #...# #...# #..## .##.# .....",
    ['v'] = "..... ..... #...# #...# #...# .#.#. ..#.. .....",
    ['w'] = "..... ..... #...# #...# #.#.# #.#.# .#.#. .....",
    ['x'] = "..... ..... #...# .#.#. ..#.. .#.#. #...# .....",
    ['y'] = "..... ..... #...# #...# #...# .#### ....# .###.",
    ['z'] = "..... ..... ##### ...#. ..#.. .#... ##### .....",
    ['|'] = "..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ..#.. .....",
};

void canvas_fill(struct picture *picture, int left, int top, int width, int height, uint8_t red,
                 uint8_t green, uint8_t blue)
{
    const int right = left + width, bottom = top + height;
    for (int y = top > 0 ? top : 0; y < bottom && y < (int)picture->height; y++)
        for (int x = left > 0 ? left : 0; x < right && x < (int)picture->width; x++) {
            uint8_t *rgb = picture->rgb + 3 * ((size_t)y * picture->width + (size_t)x);
            rgb[0] = red;
            rgb[1] = green;
            rgb[2] = blue;
        }
}

static void draw_glyph(struct picture *picture, int left, int top, const char *dots)
{
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < DOTS; column++)
            if (dots[row * STRIDE + column] == '#')
                canvas_fill(picture, left + column * ZOOM, top + row * ZOOM, ZOOM, ZOOM, 0, 0, 0);
}

void canvas_text(struct picture *picture, int left, int top, const char *text)
{
    for (; *text != '\0'; text++, left += CANVAS_GLYPH_WIDTH) {
        const unsigned char c = (unsigned char)*text;
        if (c < sizeof glyphs / sizeof glyphs[0] && glyphs[c] != NULL)
            draw_glyph(picture, left, top, glyphs[c]);
    }
}

int canvas_text_width(const char *text)
{
    return (int)strlen(text) * CANVAS_GLYPH_WIDTH;
}
