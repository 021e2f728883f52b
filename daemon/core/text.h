/* Text helpers: numbers to and from text in any locale, quoting for messages and for JSON, and the
 * nearest of some names. Pure. */
#ifndef FFTD_CORE_TEXT_H
#define FFTD_CORE_TEXT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NUMBER_BYTES 32 /* enough for any number's text */
#define TEXT_QUOTE_BYTES  64

/* Reads a decimal number ("12", "-0.5", "1e-3") that is the whole text: no spaces, no "nan" or
 * "inf", no hexadecimal. -EINVAL: it is not one; -ERANGE: too large for a double. */
int text_to_number(double *ret, const char *text);

/* The shortest decimal form that text_to_number reads back to the same (finite) number. */
void text_from_number(double number, char *text, size_t size);

/* The shortest one that becomes the same float: 0.1, not 0.10000000149011612. */
void text_from_float(float number, char *text, size_t size);

/* Writes a number of bytes in the largest unit of which there is one, rounded down: "35.2 MiB",
 * "100 GiB". Returns its first argument. */
char *text_from_bytes(char text[TEXT_NUMBER_BYTES], uint64_t bytes);

/* Makes text from the user safe for messages in a terminal, in a log and over D-Bus: in quotes
 * unless it is a plain word or number, only printable ASCII (other bytes become '?'), and cut with
 * "..." if it is too long. Returns its first argument. */
char *text_quote(char quoted[TEXT_QUOTE_BYTES], const char *text);

/* Returns the bytes of the UTF-8 character (RFC 3629) that the text, which is not empty, begins
 * with; 0: it begins with something else. */
unsigned text_utf8_length(const char *character);

/* Makes a text from elsewhere (a path, a camera's name, a peer) safe to print: line breaks and
 * tabs become spaces; other control characters, which could command a terminal, and bytes that are
 * not UTF-8 become '?'. Returns its argument. */
char *text_clean(char *text);

/* A text as a JSON string, quotes included, for any bytes. Valid UTF-8 stays as it is; control
 * characters, quotes and backslashes are escaped; each byte that is not UTF-8 becomes U+FFFD. What
 * does not fit into size bytes is cut between two characters, so that the result is still a
 * string; TEXT_JSON_BYTES is enough for a text of that length. Returns json. */
#define TEXT_JSON_BYTES(length) (6 * (length) + 3)
char *text_to_json(char *json, size_t size, const char *text);

/* Finds the name that a misspelt one probably means:
 *     struct text_guess guess = TEXT_GUESS(typed);
 *     for each name: text_guess_try(&guess, name);
 *     if (guess.best != NULL) "did you mean ..." */
struct text_guess {
    const char *typed;
    const char *best; /* NULL: none is near */
    unsigned distance;
};
/* clang-format off */
#define TEXT_GUESS(text) {.typed = (text), .best = NULL, .distance = UINT_MAX}
/* clang-format on */

void text_guess_try(struct text_guess *guess, const char *name);

/* Appends to a text that ends within size bytes, cutting what does not fit. */
void text_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the text before its trailing white space, returns it from after its leading. */
char *text_trim(char *text);

/* Ends the text at the first separator and returns what follows it, NULL if there is none. */
char *text_cut_at(char *text, char separator);

#endif
