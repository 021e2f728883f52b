#include "bus/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/format.h"
#include "core/text.h"
#include "filters/filter_adapt.h"
#include "filters/filter_value.h"

const char *value_clean_text(char clean[VALUE_TEXT_BYTES], const char *text)
{
    size_t used = 0;
    while (*text != '\0') {
        unsigned length = text_utf8_length(text);
        if (used + (length > 0 ? length : 1) >= VALUE_TEXT_BYTES)
            break;
        if (length == 0) {
            clean[used++] = '?';
            text++;
            continue;
        }
        memcpy(clean + used, text, length);
        used += length;
        text += length;
    }
    clean[used] = '\0';
    return clean;
}

int value_append_text(sd_bus_message *reply, const char *text)
{
    char clean[VALUE_TEXT_BYTES];
    return sd_bus_message_append(reply, "s", value_clean_text(clean, text));
}

int value_append_named_text(sd_bus_message *reply, const char *name, const char *text)
{
    char clean[VALUE_TEXT_BYTES];
    return sd_bus_message_append(reply, "{sv}", name, "s", value_clean_text(clean, text));
}

int value_open_array(sd_bus_message *reply, const char *name, const char *contents)
{
    char signature[16];
    snprintf(signature, sizeof signature, "a%s", contents);
    sd_bus_message_open_container(reply, 'e', "sv");
    sd_bus_message_append(reply, "s", name);
    sd_bus_message_open_container(reply, 'v', signature);
    return sd_bus_message_open_container(reply, 'a', contents);
}

int value_close_containers(sd_bus_message *reply, unsigned count)
{
    int r = 0;
    while (count-- > 0)
        r = sd_bus_message_close_container(reply);
    return r;
}

int value_begin_reply(sd_bus_message **ret, sd_bus_message *call, const char *contents)
{
    sd_bus_message_new_method_return(call, ret);
    return sd_bus_message_open_container(*ret, 'a', contents);
}

int value_send_reply(sd_bus_message *reply)
{
    sd_bus_message_close_container(reply);
    return value_send(reply);
}

int value_send(sd_bus_message *message)
{
    const int r = sd_bus_send(NULL, message, NULL);
    sd_bus_message_unref(message);
    return r;
}

/* A ring of a process with other formats may have been continued. */
static const char *format_name(uint32_t fourcc)
{
    const struct format_info *info = format_by_fourcc(fourcc);
    return info != NULL ? info->name : "unknown";
}

static int append_planes(sd_bus_message *reply, const struct fftd_format *format)
{
    value_open_array(reply, "planes", "a{su}");
    for (unsigned i = 0; i < format->plane_count; i++) {
        const struct fftd_plane *plane = &format->plane[i];
        sd_bus_message_append(reply, "a{su}", 4, "offset", plane->offset, "stride", plane->stride,
                              "row_bytes", plane->row_bytes, "rows", plane->rows);
    }
    return value_close_containers(reply, 3);
}

int value_append_format(sd_bus_message *reply, const struct fftd_format *format,
                        const struct fftd_format *captured, const struct snapshot_origin *origin)
{
    sd_bus_message_open_container(reply, 'a', "{sv}");
    if (format->fourcc != 0) {
        sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}{sv}{sv}", "name", "s",
                              format_name(format->fourcc), "fourcc", "u", format->fourcc, "width",
                              "u", format->width, "height", "u", format->height, "frame_bytes", "u",
                              format->frame_bytes, "rate_num", "u", format->rate_num, "rate_den",
                              "u", format->rate_den);
        sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}", "primaries", "y", format->primaries,
                              "transfer", "y", format->transfer, "matrix", "y", format->matrix,
                              "full_range", "b", (int)format->full_range);
        append_planes(reply, format);
        if (captured != NULL && captured->fourcc != 0)
            sd_bus_message_append(reply, "{sv}{sv}{sv}", "captured", "s",
                                  format_name(captured->fourcc), "captured_width", "u",
                                  captured->width, "captured_height", "u", captured->height);
        if (origin != NULL)
            sd_bus_message_append(reply, "{sv}{sv}", "filter_serial", "t", origin->filter_serial,
                                  "captured_ns", "x", origin->captured_ns);
    }
    return sd_bus_message_close_container(reply);
}

/* ---- stages and matches ---- */

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

int value_append_stages(sd_bus_message *reply, const void *value)
{
    const struct filter_chain *chain = value;
    sd_bus_message_open_container(reply, 'a', "a{sv}");
    for (unsigned i = 0; i < chain->count; i++)
        append_stage(reply, &chain->stage[i]);
    return sd_bus_message_close_container(reply);
}

int value_append_matches(sd_bus_message *reply, const struct filter_chain *chain,
                         const struct fftd_match *match, unsigned count)
{
    const struct filter_adaptation adapts = filter_chain_adaptation(chain);
    sd_bus_message_open_container(reply, 'a', "(sddd)");
    for (unsigned i = 0; i < count && adapts.match_count == count; i++)
        sd_bus_message_append(reply, "(sddd)", adapts.match_image[i]->name, (double)match[i].x,
                              (double)match[i].y, (double)match[i].score);
    return sd_bus_message_close_container(reply);
}
