#include "daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/reading.h"
#include "core/client_limits.h"
#include "core/text.h"

/* ---- connecting ---- */

int daemon_connect(sd_bus **ret, const char *dir, uint64_t patience_us)
{
    int r = bus_connect(ret, dir, "control");
    if (r == -EACCES || r == -ENOENT) {
        const int watch = bus_connect(ret, dir, "control-watch");
        if (watch != -EACCES && watch != -ENOENT)
            r = watch;
    }
    if (r == 0) {
        r = bus_await(*ret, patience_us);
        if (r < 0)
            *ret = sd_bus_close_unref(*ret);
    }
    return r;
}

static bool is_closed(int r)
{
    return r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE;
}

/* The daemon closes connections above its limits before it reads from them. */
static int fail_closed(const struct ctl *ctl)
{
    return ctl_fail(ctl, EX_TEMPFAIL,
                    "the daemon closed the connection: it has too many clients, or it is stopping; "
                    "a control socket serves %d connections of one user and %d in all, so close "
                    "some and try again",
                    LIMIT_PEERS_OF_USER, LIMIT_PEERS);
}

static int open_within(const struct ctl *ctl, sd_bus **ret, uint64_t patience_us)
{
    char dir[PATH_MAX];
    int code = ctl_runtime_dir(ctl, dir);
    if (code != 0)
        return code;

    int r = daemon_connect(ret, dir, patience_us);
    return r >= 0 ? 0 : is_closed(r) ? fail_closed(ctl) : ctl_no_daemon(ctl, dir, r);
}

int daemon_open(const struct ctl *ctl, sd_bus **ret)
{
    return open_within(ctl, ret, 0);
}

int daemon_try_open(const struct ctl *ctl, sd_bus **ret)
{
    char dir[PATH_MAX];
    if (ctl_runtime_dir(ctl, dir) != 0)
        return -EINVAL;
    return daemon_connect(ret, dir, DAEMON_PATIENCE_US);
}

/* ---- clean texts ---- */

/* sd-bus has checked paths and signatures: they are printable, and may not be changed. */
static int copy_text(sd_bus_message *from, sd_bus_message *to, char type)
{
    const char *text;
    int r = sd_bus_message_read_basic(from, type, &text);
    if (r < 0 || type != 's')
        return r < 0 ? r : sd_bus_message_append_basic(to, type, text);
    char *clean = strdup(text);
    r = clean != NULL ? sd_bus_message_append_basic(to, 's', text_clean(clean)) : -ENOMEM;
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

/* Replaces a received message by a copy whose texts went through text_clean, so that no command can
 * forget to. Frees the original even if this fails. Returns 0 or -errno. */
static int clean_message(sd_bus_message **message)
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

/* Cleans a reply, unless it is not needed (NULL), or only shown as JSON, which escapes control
 * characters. r: what the call returned. Returns 0 or -errno. */
static int clean_reply(const struct ctl *ctl, int r, sd_bus_message **reply)
{
    return r < 0 ? r : reply == NULL || ctl->json ? 0 : clean_message(reply);
}

/* ---- calling ---- */

static int exit_code_of(const sd_bus_error *error)
{
    static const struct {
        const char *name;
        int code;
    } known[] = {
        {"org.fftd.Error.InvalidFilter", EX_DATAERR},
        {"org.fftd.Error.NoSuchStage", EX_DATAERR},
        {"org.fftd.Error.FilterChanged", EX_TEMPFAIL},
        {"org.fftd.Error.InvalidView", EX_DATAERR},
        {"org.fftd.Error.InvalidControl", EX_DATAERR},
        {"org.fftd.Error.InvalidConfiguration", EX_CONFIG},
        {"org.fftd.Error.InvalidOutput", EX_DATAERR},
        {"org.fftd.Error.NoSuchOutput", EX_UNAVAILABLE},
        {"org.fftd.Error.NotOnline", EX_TEMPFAIL},
        {"org.fftd.Error.Busy", EX_TEMPFAIL},
        {SD_BUS_ERROR_ACCESS_DENIED, EX_NOPERM},
        {SD_BUS_ERROR_NOT_SUPPORTED, EX_DATAERR},
        {SD_BUS_ERROR_NO_REPLY, EX_TEMPFAIL},
        {SD_BUS_ERROR_TIMEOUT, EX_TEMPFAIL},
        {SD_BUS_ERROR_DISCONNECTED, EX_TEMPFAIL},
        {SD_BUS_ERROR_UNKNOWN_METHOD, EX_PROTOCOL},
        {SD_BUS_ERROR_UNKNOWN_OBJECT, EX_PROTOCOL},
        {SD_BUS_ERROR_UNKNOWN_INTERFACE, EX_PROTOCOL},
        {SD_BUS_ERROR_INVALID_ARGS, EX_PROTOCOL},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (sd_bus_error_has_name(error, known[i].name))
            return known[i].code;
    return EX_SOFTWARE;
}

static int fail_unreadable(const struct ctl *ctl, int negative_errno)
{
    return ctl_fail(ctl, EX_PROTOCOL, "cannot read the daemon's reply: %s",
                    negative_errno == -EBADMSG ? "it is damaged, or nested too deeply"
                                               : strerror(-negative_errno));
}

int daemon_send(const struct ctl *ctl, sd_bus *bus, int built, sd_bus_message *message,
                sd_bus_message **ret)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int code = 0;
    int r = built < 0 ? built : clean_reply(ctl, sd_bus_call(bus, message, 0, &error, ret), ret);
    if (built == -EINVAL)
        code = ctl_fail(ctl, EX_DATAERR, "an operand is not valid UTF-8");
    else if (is_closed(r))
        code = fail_closed(ctl);
    else if (r == -ETIMEDOUT || sd_bus_error_has_name(&error, SD_BUS_ERROR_NO_REPLY))
        code = ctl_fail(ctl, EX_TEMPFAIL, "the daemon did not answer in time");
    else if (r == -EBADMSG)
        code = fail_unreadable(ctl, r);
    else if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT) &&
             *bus_output(bus_path(bus)) != '\0')
        code = ctl_no_output(ctl, bus_path(bus));
    else if (r < 0)
        code = ctl_fail(ctl, exit_code_of(&error), "%s",
                        error.message != NULL ? error.message : strerror(-r));
    sd_bus_error_free(&error);
    sd_bus_message_unref(message);
    return code;
}

int daemon_append_setting(sd_bus_message *message, const char *setting)
{
    char name[200];
    const char *equals = strchr(setting, '=');
    if (equals == NULL || (size_t)(equals - setting) >= sizeof name)
        return -EDOM;
    snprintf(name, sizeof name, "%.*s", (int)(equals - setting), setting);
    return sd_bus_message_append(message, "{ss}", name, equals + 1);
}

int daemon_call(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
                const char *types, ...)
{
    va_list args;
    sd_bus_message *message = NULL;
    int r = bus_new_call(bus, &message, method);
    va_start(args, types);
    if (r >= 0 && types != NULL)
        r = sd_bus_message_appendv(message, types, args);
    va_end(args);
    return daemon_send(ctl, bus, r, message, ret);
}

int daemon_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret)
{
    sd_bus_message *message = NULL;
    int r = sd_bus_message_new_method_call(bus, &message, NULL, bus_path(bus), BUS_PROPERTIES,
                                           "GetAll");
    if (r >= 0)
        r = sd_bus_message_append(message, "s", BUS_INTERFACE);
    return daemon_send(ctl, bus, r, message, ret);
}

int daemon_read_captured(const struct ctl *ctl, sd_bus *bus, char captured[16])
{
    sd_bus_message *properties = NULL;
    const int code = daemon_get_all(ctl, bus, &properties);
    if (code == 0)
        reading_captured(properties, captured);
    sd_bus_message_unref(properties);
    return code;
}

int daemon_ask(const struct ctl *ctl, sd_bus_message **ret, const char *method)
{
    sd_bus *bus = NULL;
    int code = open_within(ctl, &bus, (uint64_t)(ctl->timeout_s * 1e6));
    if (code == 0)
        code = method != NULL ? daemon_call(ctl, bus, ret, method, NULL)
                              : daemon_get_all(ctl, bus, ret);
    sd_bus_unref(bus);
    return code;
}

int daemon_try_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret)
{
    return clean_reply(ctl, bus_get_all(bus, ret), ret);
}

int daemon_snapshot(const struct ctl *ctl, sd_bus *bus, struct shot *ret, bool with_before)
{
    sd_bus_message *reply = NULL;
    int code = daemon_call(ctl, bus, &reply, with_before ? "Snapshot" : "SnapshotAfter", NULL);
    const int r = code == 0 ? shot_read(ret, reply, with_before) : 0;
    sd_bus_message_unref(reply);
    if (r == -EOPNOTSUPP)
        code = ctl_fail(ctl, EX_PROTOCOL,
                        "snapshot: this fftd-ctl does not know the camera's pixel format");
    else if (r == -ENODATA)
        code = ctl_fail(ctl, EX_PROTOCOL,
                        "snapshot: the daemon's memory is smaller than the frame it describes");
    else if (r < 0)
        code = ctl_fail(ctl, EX_PROTOCOL, "snapshot: cannot read the reply: %s", strerror(-r));
    return code;
}

int daemon_print_json(const struct ctl *ctl, sd_bus_message *message)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return ctl_fail(ctl, EX_OSERR, "out of memory");
    int r = bus_to_json(message, &(struct json){.file = memory}, NULL);
    if (fclose(memory) != 0)
        r = -ENOMEM;
    if (r >= 0)
        fputs(text, stdout);
    free(text);
    return r < 0 ? fail_unreadable(ctl, r) : ctl_finish(ctl);
}
