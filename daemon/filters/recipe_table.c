/* Everything that is derived from the rows of a recipe's table. Nothing here names a member. */
#include "filters/recipe.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

static const void *value_of(const struct recipe_member *member, const void *record)
{
    return (const char *)record + member->offset;
}

static bool is_flag(const struct recipe_member *member)
{
    return member->type == &recipe_flag;
}

static bool is_set(const struct recipe_member *member, const void *record)
{
    return is_flag(member) && *(const bool *)value_of(member, record);
}

/* ---- any table ---- */

static bool is_member_equal(const struct recipe_member *member, const void *a, const void *b)
{
    double of_a[RECIPE_MAX_NUMBERS], of_b[RECIPE_MAX_NUMBERS];
    const unsigned count = member->type->numbers(of_a, value_of(member, a));
    member->type->numbers(of_b, value_of(member, b));
    for (unsigned i = 0; i < count; i++)
        if (of_a[i] != of_b[i])
            return false;
    return true;
}

bool recipe_table_equal(const struct recipe_table *table, const void *a, const void *b)
{
    for (unsigned i = 0; i < table->count; i++)
        if (!is_member_equal(&table->member[i], a, b))
            return false;
    return true;
}

bool recipe_table_unite(const struct recipe_table *table, void *a, const void *b)
{
    bool can_unite = true;
    for (unsigned i = 0; i < table->count; i++) {
        const struct recipe_member *member = &table->member[i];
        if (member->type->unite != NULL)
            member->type->unite((char *)a + member->offset, value_of(member, b));
        else if (is_set(member, b))
            memcpy((char *)a + member->offset, value_of(member, b), member->size);
        else if (!is_flag(member))
            can_unite &= is_member_equal(member, a, b);
    }
    return can_unite;
}

void recipe_table_describe(const struct recipe_table *table, const void *recipe, char *text,
                           size_t size)
{
    text[0] = '\0';
    for (unsigned i = 0; i < table->count; i++) {
        const struct recipe_member *member = &table->member[i];
        const char *words = member->type->describe(value_of(member, recipe), member->name);
        if (words != NULL)
            text_append(text, size, ", %s", words);
    }
}

void recipe_table_key(const struct recipe_table *table, const void *recipe,
                      char text[RECIPE_KEY_BYTES])
{
    text[0] = '\0';
    for (unsigned i = 0; i < table->count; i++) {
        const struct recipe_member *member = &table->member[i];
        double numbers[RECIPE_MAX_NUMBERS];
        const unsigned count = member->type->numbers(numbers, value_of(member, recipe));
        text_append(text, RECIPE_KEY_BYTES, "%s", member->name);
        for (unsigned k = 0; k < count; k++) {
            char number[TEXT_NUMBER_BYTES];
            text_from_number(numbers[k], number, sizeof number);
            text_append(text, RECIPE_KEY_BYTES, " %s", number);
        }
        text_append(text, RECIPE_KEY_BYTES, ";");
    }
}

/* ---- the table of struct recipe ---- */

struct recipe recipe_of(const struct filter_chain *chain, const struct recipe *settings)
{
    struct recipe ret = *settings;
    for (unsigned i = 0; i < recipe_table.count; i++) {
        const struct recipe_member *member = &recipe_table.member[i];
        void *value = (char *)&ret + member->offset;
        if (member->is_needed != NULL)
            *(bool *)value = member->is_needed(chain);
        else if (member->get != NULL)
            member->get(value, chain, settings);
    }
    return ret;
}

int recipe_check(const struct recipe *recipe, const struct filter_chain *chain, struct error *why)
{
    const struct recipe needed = recipe_of(chain, recipe);
    for (unsigned i = 0; i < recipe_table.count && chain->count > 0; i++) {
        const struct recipe_member *member = &recipe_table.member[i];
        const bool is_missing =
            is_flag(member) ? is_set(member, &needed) && !is_set(member, recipe)
            : member->type->covers != NULL
                ? !member->type->covers(value_of(member, recipe), value_of(member, &needed))
                : !is_member_equal(member, &needed, recipe);
        if (is_missing && member->refusal != NULL)
            return error_set(why, EINVAL, "%s", member->refusal);
    }
    return 0;
}

void recipe_constants(const struct recipe *recipe, bool is_load, char text[RECIPE_CONSTANT_BYTES])
{
    text[0] = '\0';
    for (unsigned i = 0; i < recipe_table.count; i++) {
        const struct recipe_member *member = &recipe_table.member[i];
        if (member->constant != NULL && (member->is_load || !is_load))
            text_append(text, RECIPE_CONSTANT_BYTES, "#define %s %d\n", member->constant,
                        *(const bool *)value_of(member, recipe));
    }
}

size_t recipe_load_bytes(const struct recipe *recipe)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < recipe_table.count; i++)
        if (is_set(&recipe_table.member[i], recipe))
            bytes += recipe_table.member[i].table_bytes;
    return bytes;
}
