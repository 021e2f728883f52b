/* Draws rectangles and text into a picture, clipped to the picture. */
#ifndef FFTD_PICTURES_CANVAS_H
#define FFTD_PICTURES_CANVAS_H

#include "picture.h"

#define CANVAS_GLYPH_WIDTH  12 /* with the gap to the next one */
#define CANVAS_GLYPH_HEIGHT 16

void canvas_fill(struct picture *picture, int left, int top, int width, int height, uint8_t red,
                 uint8_t green, uint8_t blue);

/* Draws black text. It knows the characters of numbers, units and the labels of plots; others are
 * left blank. */
void canvas_text(struct picture *picture, int left, int top, const char *text);

/* The width of a text in pixels. */
int canvas_text_width(const char *text);

#endif
