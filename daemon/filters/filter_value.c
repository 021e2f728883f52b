#include "filters/filter_value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

/* This is enough for a kernel of the longest numbers. A longer text has only more spaces. */
#define KERNEL_TEXT_BYTES (FILTER_KERNEL_SIDE * FILTER_KERNEL_SIDE * TEXT_NUMBER_BYTES)

static const char *const bool_words[] = {"false", "true", NULL};

void filter_value_limits(char text[FILTER_EXPECTS_BYTES], const struct filter_param *param)
{
    text[0] = '\0';
    switch (param->type) {
    case FILTER_NUMBER:
        text_append(text, FILTER_EXPECTS_BYTES, "%g .. %g", param->min, param->max);
        break;
    case FILTER_PAIR:
        text_append(text, FILTER_EXPECTS_BYTES, "x/y, each %g .. %g", param->min, param->max);
        break;
    case FILTER_CHOICE:
        for (unsigned i = 0; param->choices[i] != NULL; i++)
            text_append(text, FILTER_EXPECTS_BYTES, "%s%s",
                        i == 0                          ? ""
                        : param->choices[i + 1] != NULL ? ", "
                                                        : " or ",
                        param->choices[i]);
        break;
    case FILTER_BOOL:
        text_append(text, FILTER_EXPECTS_BYTES, "true or false");
        break;
    case FILTER_KERNEL:
        text_append(text, FILTER_EXPECTS_BYTES,
                    "rows of equal length such as -1 0 1/-2 0 2/-1 0 1, at most %dx%d numbers, "
                    "each %g .. %g",
                    FILTER_KERNEL_SIDE, FILTER_KERNEL_SIDE, param->min, param->max);
        break;
    case FILTER_IMAGE:
        text_append(text, FILTER_EXPECTS_BYTES, "the name of an image, such as blur.pgm");
        break;
    }
}

char *filter_value_expects(char text[FILTER_EXPECTS_BYTES], const struct filter_param *param)
{
    filter_value_limits(text, param);
    if (param->unit != NULL)
        text_append(text, FILTER_EXPECTS_BYTES, " %s", param->unit);
    return text;
}

const char *filter_value_type(const struct filter_param *param)
{
    static const char *const types[] = {
        [FILTER_NUMBER] = "number", [FILTER_PAIR] = "pair",     [FILTER_CHOICE] = "choice",
        [FILTER_BOOL] = "boolean",  [FILTER_KERNEL] = "kernel", [FILTER_IMAGE] = "image"};
    return types[param->type];
}

bool filter_value_has_range(const struct filter_param *param)
{
    return param->type == FILTER_NUMBER || param->type == FILTER_PAIR ||
           param->type == FILTER_KERNEL;
}

void filter_value_initial(char text[FILTER_INITIAL_BYTES], const struct filter_param *param)
{
    text[0] = '\0';
    if (param->required)
        return;
    switch (param->type) {
    case FILTER_NUMBER:
        if (!isnan(param->initial))
            text_from_number(param->initial, text, FILTER_INITIAL_BYTES);
        break;
    case FILTER_PAIR:
        snprintf(text, FILTER_INITIAL_BYTES, "%g/%g", param->initial, param->initial);
        break;
    case FILTER_CHOICE:
        snprintf(text, FILTER_INITIAL_BYTES, "%s", param->choices[(unsigned)param->initial]);
        break;
    case FILTER_BOOL:
        snprintf(text, FILTER_INITIAL_BYTES, "%s", param->initial != 0 ? "true" : "false");
        break;
    case FILTER_KERNEL: /* not set by default */
    case FILTER_IMAGE:
        break;
    }
}

/* ---- from text ---- */

static int read_in_range(double *ret, const struct filter_param *param, const char *text)
{
    double number;
    int r = text_to_number(&number, text);
    if (r < 0)
        return r;
    if (number < param->min || number > param->max)
        return -ERANGE;
    *ret = number;
    return 0;
}

static int read_pair(struct filter_value *ret, const struct filter_param *param, const char *text)
{
    char first[TEXT_NUMBER_BYTES];
    const char *slash = strchr(text, '/');
    if (slash == NULL || (size_t)(slash - text) >= sizeof first)
        return -EINVAL;
    memcpy(first, text, (size_t)(slash - text));
    first[slash - text] = '\0';

    struct filter_value value = *ret;
    int r = read_in_range(&value.number, param, first);
    int r_second = read_in_range(&value.second, param, slash + 1);
    if (r == -EINVAL || r_second == -EINVAL)
        return -EINVAL;
    if (r < 0 || r_second < 0)
        return -ERANGE;
    *ret = value;
    return 0;
}

static int read_word(double *ret, const char *const *words, const char *text)
{
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

/* Reads one row of numbers with white space between them, which it overwrites. */
static int read_row(float row[FILTER_KERNEL_SIDE], unsigned *ret_columns,
                    const struct filter_param *param, char *text)
{
    unsigned columns = 0;
    for (char *at = text; *at != '\0'; at++)
        if (strchr("\t\n\r\v\f", *at) != NULL)
            *at = ' ';
    for (char *rest = text_trim(text); rest != NULL && *rest != '\0'; columns++) {
        char *word = rest;
        double number;
        rest = text_cut_at(word, ' ');
        if (rest != NULL)
            rest = text_trim(rest);
        if (columns == FILTER_KERNEL_SIDE)
            return -ERANGE;
        int r = read_in_range(&number, param, word);
        if (r < 0)
            return r;
        row[columns] = (float)number;
    }
    *ret_columns = columns;
    return columns > 0 ? 0 : -EINVAL;
}

static int read_kernel(struct filter_kernel *ret, const struct filter_param *param,
                       const char *text)
{
    char copy[KERNEL_TEXT_BYTES];
    struct filter_kernel kernel = {0};
    if (strlen(text) >= sizeof copy)
        return -ERANGE;
    memcpy(copy, text, strlen(text) + 1);
    for (char *row = copy, *next; row != NULL; row = next, kernel.rows++) {
        unsigned columns;
        next = text_cut_at(row, '/');
        if (kernel.rows == FILTER_KERNEL_SIDE)
            return -ERANGE;
        int r = read_row(kernel.value[kernel.rows], &columns, param, row);
        if (r < 0)
            return r;
        if (kernel.rows > 0 && columns != kernel.columns)
            return -EINVAL;
        kernel.columns = columns;
    }
    *ret = kernel;
    return 0;
}

int filter_value_read(struct filter_stage *stage, unsigned index, const char *text)
{
    const struct filter_param *param = &stage->kind->param[index];
    struct filter_value *value = &stage->value[index];
    switch (param->type) {
    case FILTER_NUMBER:
        return read_in_range(&value->number, param, text);
    case FILTER_PAIR:
        return read_pair(value, param, text);
    case FILTER_CHOICE:
        return read_word(&value->number, param->choices, text);
    case FILTER_BOOL:
        return read_word(&value->number, bool_words, text);
    case FILTER_KERNEL:
        return read_kernel(&stage->kernel, param, text);
    case FILTER_IMAGE: /* filter_stage_set reads it, to tell the reason of a failure */
        break;
    }
    return -EINVAL;
}

const char *filter_value_fault(const struct filter_param *param, int r)
{
    static const char *const faults[] = {
        [FILTER_NUMBER] = "is not a number", [FILTER_PAIR] = "is not a pair of numbers",
        [FILTER_CHOICE] = "is not known",    [FILTER_BOOL] = "is not known",
        [FILTER_KERNEL] = "is not a kernel", [FILTER_IMAGE] = "is not the name of an image"};
    if (r == -ERANGE)
        return param->type == FILTER_KERNEL ? "has too many numbers, or one that is out of range"
                                            : "is out of range";
    return faults[param->type];
}

bool filter_value_is_set(const struct filter_stage *stage, unsigned index)
{
    if (stage->kind->param[index].type == FILTER_KERNEL)
        return stage->kernel.rows > 0;
    if (stage->kind->param[index].type == FILTER_IMAGE)
        return stage->image != NULL;
    return !isnan(stage->value[index].number);
}

/* ---- to text ---- */

static void append_kernel(char *text, size_t size, const struct filter_kernel *kernel)
{
    /* Into a text of its own, because text_append looks for the end of its text each time. */
    char numbers[KERNEL_TEXT_BYTES] = "", *end = numbers;
    for (unsigned row = 0; row < kernel->rows; row++)
        for (unsigned column = 0; column < kernel->columns; column++) {
            if (end > numbers)
                *end++ = column > 0 ? ' ' : '/';
            text_from_float(kernel->value[row][column], end, TEXT_NUMBER_BYTES);
            end += strlen(end);
        }
    text_append(text, size, "%s", numbers);
}

void filter_value_append(char *text, size_t size, const struct filter_stage *stage, unsigned index)
{
    const struct filter_param *param = &stage->kind->param[index];
    const struct filter_value *value = &stage->value[index];
    char first[TEXT_NUMBER_BYTES], second[TEXT_NUMBER_BYTES];
    switch (param->type) {
    case FILTER_NUMBER:
        text_from_number(value->number, first, sizeof first);
        text_append(text, size, "%s", first);
        break;
    case FILTER_PAIR:
        text_from_number(value->number, first, sizeof first);
        text_from_number(value->second, second, sizeof second);
        text_append(text, size, "%s/%s", first, second);
        break;
    case FILTER_CHOICE:
        text_append(text, size, "%s", param->choices[(unsigned)value->number]);
        break;
    case FILTER_BOOL:
        text_append(text, size, "%s", bool_words[value->number != 0]);
        break;
    case FILTER_KERNEL:
        append_kernel(text, size, &stage->kernel);
        break;
    case FILTER_IMAGE:
        text_append(text, size, "%s", stage->image->name);
        break;
    }
}

/* ---- comparing ---- */

static bool equal_kernels(const struct filter_kernel *a, const struct filter_kernel *b)
{
    if (a->rows != b->rows || a->columns != b->columns)
        return false;
    for (unsigned row = 0; row < a->rows; row++)
        for (unsigned column = 0; column < a->columns; column++)
            if (a->value[row][column] != b->value[row][column])
                return false;
    return true;
}

bool filter_value_equal(const struct filter_stage *a, const struct filter_stage *b, unsigned index)
{
    const enum filter_type type = a->kind->param[index].type;
    if (type == FILTER_KERNEL)
        return equal_kernels(&a->kernel, &b->kernel);
    if (type == FILTER_IMAGE)
        return filter_image_equal(a->image, b->image);
    if (!filter_value_is_set(a, index) || !filter_value_is_set(b, index))
        return filter_value_is_set(a, index) == filter_value_is_set(b, index);
    return a->value[index].number == b->value[index].number &&
           (type != FILTER_PAIR || a->value[index].second == b->value[index].second);
}
