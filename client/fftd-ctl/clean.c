/* Every reply is cleaned before a command reads it, so that no command can forget to. */
#include "clean.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The control characters of ISO/IEC 6429: C0 and DEL, and C1, which are two bytes in UTF-8. */
char *clean_text(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++) {
        if (*at >= '\t' && *at <= '\r')
            *at = ' ';
        else if (*at < ' ' || *at == 0x7f)
            *at = '?';
        else if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
            at[0] = at[1] = '?';
    }
    return text;
}

/* sd-bus has checked paths and signatures: they are printable, and may not be changed. */
static int copy_text(sd_bus_message *from, sd_bus_message *to, char type)
{
    const char *text;
    int r = sd_bus_message_read_basic(from, type, &text);
    if (r < 0 || type != 's')
        return r < 0 ? r : sd_bus_message_append_basic(to, type, text);
    char *clean = strdup(text);
    r = clean != NULL ? sd_bus_message_append_basic(to, 's', clean_text(clean)) : -ENOMEM;
    free(clean);
    return r;
}

static int copy_number(sd_bus_message *from, sd_bus_message *to, char type)
{
    uint64_t number = 0; /* large enough for any of them; the message keeps its descriptors */
    int r = sd_bus_message_read_basic(from, type, &number);
    return r < 0 ? r : sd_bus_message_append_basic(to, type, &number);
}

/* Copies the rest of the container. sd-bus limits the depth. */
static int copy_values(sd_bus_message *from, sd_bus_message *to)
{
    const char *contents;
    char type;
    int r;
    while ((r = sd_bus_message_peek_type(from, &type, &contents)) > 0) {
        if (strchr("sog", type) != NULL)
            r = copy_text(from, to, type);
        else if (strchr("avre", type) == NULL)
            r = copy_number(from, to, type);
        else if ((r = sd_bus_message_open_container(to, type, contents)) >= 0 &&
                 (r = sd_bus_message_enter_container(from, type, contents)) >= 0 &&
                 (r = copy_values(from, to)) >= 0 && (r = sd_bus_message_exit_container(from)) >= 0)
            r = sd_bus_message_close_container(to);
        if (r < 0)
            return r;
    }
    return r;
}

int clean_message(sd_bus_message **message)
{
    sd_bus_message *copy = NULL;
    int r = sd_bus_message_new(sd_bus_message_get_bus(*message), &copy, SD_BUS_MESSAGE_METHOD_CALL);
    if (r >= 0)
        r = copy_values(*message, copy);
    if (r >= 0)
        r = sd_bus_message_seal(copy, 1, 0);
    if (r >= 0)
        r = sd_bus_message_rewind(copy, true);
    sd_bus_message_unref(*message);
    *message = r >= 0 ? copy : sd_bus_message_unref(copy);
    return r < 0 ? r : 0;
}
