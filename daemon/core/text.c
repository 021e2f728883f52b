/* fftd never calls setlocale, but tests and tools that use this code may, and a decimal comma in a
 * filter chain would begin the next parameter. So numbers are converted in the C locale, for the
 * calling thread only. glibc and musl return that locale without allocating. */
#include "core/text.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACES      " \t\r\n"
#define GUESS_BYTES 32 /* longer texts are not misspelt names */

/* Sign, digits with at most one point, exponent. strtod alone would also take "nan", "inf",
 * "0x1p3" and leading spaces. */
static bool is_decimal(const char *text)
{
    static const char digits[] = "0123456789";
    if (*text == '+' || *text == '-')
        text++;
    size_t whole = strspn(text, digits);
    text += whole;
    size_t fraction = 0;
    if (*text == '.') {
        fraction = strspn(text + 1, digits);
        text += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '+' || *text == '-')
            text++;
        size_t exponent = strspn(text, digits);
        if (exponent == 0)
            return false;
        text += exponent;
    }
    return *text == '\0';
}

static double read_number(const char *text)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return strtod(text, NULL);
    double number = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return number;
}

int text_to_number(double *ret, const char *text)
{
    if (!is_decimal(text))
        return -EINVAL;
    double number = read_number(text);
    if (!isfinite(number))
        return -ERANGE;
    *ret = number;
    return 0;
}

static void print_shortest(double number, bool is_float, char *text, size_t size)
{
    /* Fewest survive decimal -> binary -> decimal; most, binary -> decimal -> binary. */
    const int fewest = is_float ? FLT_DIG : DBL_DIG;
    const int most = is_float ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c_locale);
    for (int digits = fewest; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, number);
        const double read = strtod(text, NULL);
        if (is_float ? (float)read == (float)number : read == number)
            break;
    }
    uselocale(before);
    if (c_locale != (locale_t)0)
        freelocale(c_locale);
}

void text_from_number(double number, char *text, size_t size)
{
    print_shortest(number, false, text, size);
}

void text_from_float(float number, char *text, size_t size)
{
    print_shortest((double)number, true, text, size);
}

static bool is_plain(const char *text, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789+-./_";
    return length > 0 && strspn(text, plain) >= length;
}

char *text_from_bytes(char text[TEXT_NUMBER_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    while (unit + 1 < sizeof units / sizeof units[0] && bytes >> 10 * (unit + 1) > 0)
        unit++;
    const unsigned long long whole = bytes >> 10 * unit;
    /* Not with %f, whose point depends on the locale. */
    const unsigned tenth = unit > 0 ? (unsigned)((bytes >> 10 * (unit - 1) & 1023) * 10 >> 10) : 0;
    if (unit == 0 || whole >= 100)
        snprintf(text, TEXT_NUMBER_BYTES, "%llu %s", whole, units[unit]);
    else
        snprintf(text, TEXT_NUMBER_BYTES, "%llu.%u %s", whole, tenth, units[unit]);
    return text;
}

char *text_quote(char quoted[TEXT_QUOTE_BYTES], const char *text)
{
    const size_t room = TEXT_QUOTE_BYTES - sizeof "''";
    size_t length = strnlen(text, room + 1);
    bool cut = length > room;
    size_t shown = cut ? room - 3 : length;
    const char *quote = is_plain(text, shown) && !cut ? "" : "'";

    char *out = stpcpy(quoted, quote);
    for (size_t i = 0; i < shown; i++)
        *out++ = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out = stpcpy(out, cut ? "..." : "");
    strcpy(out, quote);
    return quoted;
}

unsigned text_utf8_length(const char *character)
{
    const unsigned char *text = (const unsigned char *)character;
    const unsigned length = text[0] < 0x80   ? 1
                            : text[0] < 0xc2 ? 0
                            : text[0] < 0xe0 ? 2
                            : text[0] < 0xf0 ? 3
                            : text[0] < 0xf5 ? 4
                                             : 0;
    /* The first continuation byte excludes overlong forms, surrogates and what is above U+10FFFF.
     */
    const unsigned char least = text[0] == 0xe0 ? 0xa0 : text[0] == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = text[0] == 0xed ? 0x9f : text[0] == 0xf4 ? 0x8f : 0xbf;
    for (unsigned i = 1; i < length; i++)
        if (text[i] < (i == 1 ? least : 0x80) || text[i] > (i == 1 ? most : 0xbf))
            return 0;
    return length;
}

/* The C0 and C1 control characters and DEL (ISO/IEC 6429), the latter two bytes long in UTF-8. */
static bool is_control(const unsigned char *character, unsigned length)
{
    return (length == 1 && (character[0] < 0x20 || character[0] == 0x7f)) ||
           (length == 2 && character[0] == 0xc2 && character[1] < 0xa0);
}

char *text_clean(char *text)
{
    unsigned char *at = (unsigned char *)text;
    while (*at != '\0') {
        const unsigned length = text_utf8_length((const char *)at);
        const unsigned bytes = length == 0 ? 1 : length;
        if (length == 1 && *at >= '\t' && *at <= '\r')
            *at = ' ';
        else if (length == 0 || is_control(at, length))
            memset(at, '?', bytes);
        at += bytes;
    }
    return text;
}

char *text_to_json(char *json, size_t size, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t used = 0;
    json[used++] = '"';
    while (*at != '\0') {
        char escaped[8];
        const unsigned length = text_utf8_length((const char *)at);
        if (length == 0)
            strcpy(escaped, "\xef\xbf\xbd");
        else if (is_control(at, length))
            snprintf(escaped, sizeof escaped, "\\u%04x", at[length - 1]);
        else
            snprintf(escaped, sizeof escaped, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "",
                     (int)length, (const char *)at);
        const size_t count = strlen(escaped);
        if (used + count + sizeof "\"" > size)
            break;
        memcpy(json + used, escaped, count);
        used += count;
        at += length > 0 ? length : 1;
    }
    strcpy(json + used, "\"");
    return json;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other
 * (optimal string alignment). Both are shorter than GUESS_BYTES. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[3][GUESS_BYTES + 1];
    size_t a_length = strlen(a), b_length = strlen(b);

    for (unsigned j = 0; j <= b_length; j++)
        row[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *now = row[i % 3];
        const unsigned *last = row[(i + 2) % 3], *before_last = row[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            unsigned replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = min3(last[j] + 1, now[j - 1] + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before_last[j - 2] + 1 < now[j])
                now[j] = before_last[j - 2] + 1;
        }
    }
    return row[a_length % 3][b_length];
}

void text_guess_try(struct text_guess *guess, const char *name)
{
    size_t typed_length = strlen(guess->typed), length = strlen(name);
    if (typed_length == 0 || typed_length >= GUESS_BYTES || length >= GUESS_BYTES)
        return;
    unsigned distance = edit_distance(guess->typed, name);
    bool near = distance <= 1 + typed_length / 4;
    /* "blur" for "gaussian-blur", "fps" for "camera.fps". */
    bool part = typed_length >= 3 && strstr(name, guess->typed) != NULL;
    if ((near || part) && distance < guess->distance) {
        guess->best = name;
        guess->distance = distance;
    }
}

void text_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

char *text_trim(char *text)
{
    text += strspn(text, SPACES);
    char *end = text + strlen(text);
    while (end > text && strchr(SPACES, end[-1]) != NULL)
        end--;
    *end = '\0';
    return text;
}

char *text_cut_at(char *text, char separator)
{
    char *rest = strchr(text, separator);
    if (rest != NULL)
        *rest++ = '\0';
    return rest;
}
