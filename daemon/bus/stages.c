#include "bus/stages.h"

#include <errno.h>

#include "bus/value.h"
#include "filters/filter_adapt.h"
#include "filters/filter_value.h"

static int append_kernel(sd_bus_message *reply, const char *name,
                         const struct filter_kernel *kernel)
{
    value_open_array(reply, name, "ad");
    for (unsigned y = 0; y < kernel->rows; y++) {
        double row[FILTER_KERNEL_SIDE];
        for (unsigned x = 0; x < kernel->columns; x++)
            row[x] = (double)kernel->value[y][x];
        sd_bus_message_append_array(reply, 'd', row, kernel->columns * sizeof row[0]);
    }
    return value_close_containers(reply, 3);
}

static int append_parameter(sd_bus_message *reply, const struct filter_stage *stage, unsigned index)
{
    const struct filter_param *param = &stage->kind->param[index];
    const struct filter_value *value = &stage->value[index];
    switch (param->type) {
    case FILTER_NUMBER:
        return sd_bus_message_append(reply, "{sv}", param->name, "d", value->number);
    case FILTER_PAIR:
        return sd_bus_message_append(reply, "{sv}", param->name, "ad", 2, value->number,
                                     value->second);
    case FILTER_CHOICE:
        return value_append_named_text(reply, param->name, param->choices[(unsigned)value->number]);
    case FILTER_BOOL:
        return sd_bus_message_append(reply, "{sv}", param->name, "b", value->number != 0);
    case FILTER_KERNEL:
        return append_kernel(reply, param->name, &stage->kernel);
    case FILTER_IMAGE:
        return value_append_named_text(reply, param->name, stage->image->name);
    }
    return -EINVAL;
}

/* Appends the kind and the parameters of a stage by name. */
static int append_stage(sd_bus_message *reply, const struct filter_stage *stage)
{
    sd_bus_message_open_container(reply, 'a', "{sv}");
    sd_bus_message_append(reply, "{sv}", "kind", "s", stage->kind->name);
    value_open_array(reply, "parameters", "{sv}");
    for (unsigned i = 0; i < filter_param_count(stage->kind); i++)
        if (filter_value_is_set(stage, i))
            append_parameter(reply, stage, i);
    return value_close_containers(reply, 4);
}

int stages_append(sd_bus_message *reply, const void *value)
{
    const struct filter_chain *chain = value;
    sd_bus_message_open_container(reply, 'a', "a{sv}");
    for (unsigned i = 0; i < chain->count; i++)
        append_stage(reply, &chain->stage[i]);
    return sd_bus_message_close_container(reply);
}

int stages_append_matches(sd_bus_message *reply, const struct filter_chain *chain,
                          const struct fftd_match *match, unsigned count)
{
    const struct filter_adaptation adapts = filter_chain_adaptation(chain);
    sd_bus_message_open_container(reply, 'a', "(sddd)");
    for (unsigned i = 0; i < count && adapts.match_count == count; i++)
        sd_bus_message_append(reply, "(sddd)", adapts.match_image[i]->name, (double)match[i].x,
                              (double)match[i].y, (double)match[i].score);
    return sd_bus_message_close_container(reply);
}
