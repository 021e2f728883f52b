/* Values of parameters, from text and back. Pure. */
#ifndef FFTD_FILTERS_FILTER_VALUE_H
#define FFTD_FILTERS_FILTER_VALUE_H

#include "filters/filter_kind.h"

#define FILTER_EXPECTS_BYTES 160

/* Writes what a parameter takes, in words and without its unit: "0.0001 .. 0.5", "ideal,
 * butterworth or gaussian". */
void filter_value_limits(char text[FILTER_EXPECTS_BYTES], const struct filter_param *param);

/* Writes the same with the unit. Returns its first argument. */
char *filter_value_expects(char text[FILTER_EXPECTS_BYTES], const struct filter_param *param);

/* Returns the name of a parameter's type: "number", "pair", "choice", "boolean", "kernel", "image".
 */
const char *filter_value_type(const struct filter_param *param);

/* Returns whether the numbers of a parameter are within its min and max. */
bool filter_value_has_range(const struct filter_param *param);

#define FILTER_INITIAL_BYTES 64

/* Writes the default value as a chain has it; nothing if the parameter is required or not set. */
void filter_value_initial(char text[FILTER_INITIAL_BYTES], const struct filter_param *param);

/* Sets parameter `index` from text. -EINVAL: the text is not of its type; -ERANGE: a number is out
 * of range, or there are too many of them. The stage is unchanged on failure. */
int filter_value_read(struct filter_stage *stage, unsigned index, const char *text);

/* Returns what is wrong with a text for which filter_value_read returned r, such as "is out of
 * range". */
const char *filter_value_fault(const struct filter_param *param, int r);

/* Returns whether a parameter, given by its index, is set. */
bool filter_value_is_set(const struct filter_stage *stage, unsigned index);

/* Appends the text from which filter_value_read makes exactly the same value. */
void filter_value_append(char *text, size_t size, const struct filter_stage *stage, unsigned index);

/* Compares the values of one parameter in two stages of the same kind. */
bool filter_value_equal(const struct filter_stage *a, const struct filter_stage *b, unsigned index);

#endif
