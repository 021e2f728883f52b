/* The results of the tuner in the cache directory, one file for each subject. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cache.h"
#include "gpu/program.h"
#include "transform/tuner_private.h"

#define CACHE_KIND "tuning"

/* The fields of a file in order, with the range of valid values. The file is not trusted, because
 * another program may have written it. */
#define FOR_EACH_FIELD(FIELD)                                                                      \
    FIELD(technique, TRANSFORM_FUSED, TRANSFORM_TECHNIQUES - 1)                                    \
    FIELD(recipe.precision, RECIPE_FLOAT, RECIPE_HALF)                                             \
    FIELD(lanes, 1, 16)                                                                            \
    FIELD(max_radix, 4, 16)                                                                        \
    FIELD(column_group, 1, 4096)                                                                   \
    FIELD(columns, 1, 64)                                                                          \
    FIELD(row_group, 1, 4096)                                                                      \
    FIELD(rows, 1, 64)                                                                             \
    FIELD(skew, false, true)                                                                       \
    FIELD(columns_held, false, true)                                                               \
    FIELD(rows_held, false, true)                                                                  \
    FIELD(twiddles, TWIDDLES_READ, TWIDDLES_COMPUTED)                                              \
    FIELD(length_x, 0, PLAN_MAX_LENGTH)                                                            \
    FIELD(length_y, 0, PLAN_MAX_LENGTH)                                                            \
    FIELD(stages_per_dispatch, 1, MAX_PASS_STAGES)                                                 \
    FIELD(order, PLAN_COLUMNS_FIRST, PLAN_ROWS_FIRST)

#define COUNT(member, smallest, largest) +1
enum { FIELD_COUNT = FOR_EACH_FIELD(COUNT) };
#undef COUNT

static void to_fields(const struct transform_tuning *tuning, uint32_t ret[FIELD_COUNT])
{
#define PUT(member, smallest, largest) *ret++ = (uint32_t)tuning->member;
    FOR_EACH_FIELD(PUT)
#undef PUT
}

bool tuner_same(const struct transform_tuning *a, const struct transform_tuning *b)
{
    uint32_t of_a[FIELD_COUNT], of_b[FIELD_COUNT];
    to_fields(a, of_a);
    to_fields(b, of_b);
    return memcmp(of_a, of_b, sizeof of_a) == 0;
}

static uint64_t subject_key(const struct tuner_subject *subject)
{
    const struct transform_image *image = &subject->image;
    const uint64_t sources = program_sources_hash();
    char text[320];
    snprintf(text, sizeof text,
             "%u of %ux%u stride %u step %u kind %d bits %u keep %d grey %d deep %d colour %u "
             "demosaic %d precision %d any %d %d reach %d %u %u %d %d %u "
             "smaller %ux%u stride %u step %u",
             image->count, image->width, image->height, image->stride, image->step,
             (int)image->kind, image->bits, image->keep_others, image->grey_result,
             image->deep_result, image->mosaic.colour / 3u, (int)image->mosaic.demosaic,
             (int)subject->precision, subject->any_technique, (int)subject->technique,
             subject->reach.is_short, subject->reach.radius, subject->reach.products,
             (int)subject->reach.line, subject->reach.has_middle, subject->reach.half_radius,
             image->smaller.width, image->smaller.height, image->smaller.stride,
             image->smaller.step);
    uint64_t key = cache_hash(CACHE_HASH_START, &sources, sizeof sources);
    key = cache_hash(key, subject->device->identity, strlen(subject->device->identity));
    return cache_hash(key, text, strlen(text));
}

static bool from_fields(const uint32_t fields[FIELD_COUNT], struct transform_tuning *ret)
{
#define RANGE(member, smallest, largest) {smallest, largest},
    static const struct range {
        uint32_t smallest, largest;
    } range[FIELD_COUNT] = {FOR_EACH_FIELD(RANGE)};
#undef RANGE
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if (fields[i] < range[i].smallest || fields[i] > range[i].largest)
            return false;
    struct transform_tuning tuning = {0};
#define TAKE(member, smallest, largest) tuning.member = *fields++;
    FOR_EACH_FIELD(TAKE)
#undef TAKE
    if ((tuning.lanes & (tuning.lanes - 1)) != 0)
        return false;
    *ret = tuning;
    return true;
}

int tuner_keep(const struct tuner *tuner, const char *cache_dir, struct error *why)
{
    uint32_t fields[FIELD_COUNT];
    to_fields(&tuner->best, fields);
    return cache_write(cache_dir, CACHE_KIND, subject_key(&tuner->subject), fields, sizeof fields,
                       why);
}

bool tuner_find(struct transform_tuning *ret, const struct tuner_subject *subject,
                const char *cache_dir, struct error *warning)
{
    const uint64_t key = subject_key(subject);
    size_t size = 0;
    uint32_t *fields = cache_read(cache_dir, CACHE_KIND, key, &size, warning);
    const bool found = fields != NULL && size == FIELD_COUNT * sizeof *fields &&
                       from_fields(fields, ret) && ret->recipe.precision == subject->precision &&
                       (subject->any_technique || ret->technique == subject->technique);
    if (fields != NULL && !found)
        error_set(warning, EINVAL,
                  "%s/%016llx." CACHE_KIND
                  " is ignored and will be replaced: its settings do not suit this device or "
                  "frame size",
                  cache_dir, (unsigned long long)key);
    free(fields);
    return found;
}
