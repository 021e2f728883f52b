#include "bus.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "clean.h"

/* ---- connecting ---- */

#define CONNECT_TIMEOUT_S 5 /* in a queue of connections that is full */

/* sd-bus does not report why it could not connect, so the socket is connected here. */
static int connect_socket(const char *dir, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = CONNECT_TIMEOUT_S};
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", dir, name);
    if ((size_t)length >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    /* The time limit of sending is that of connecting, too. */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        int r = errno == EAGAIN ? -ETIMEDOUT : -errno;
        close(fd);
        return r;
    }
    return fd;
}

int bus_connect(sd_bus **ret, const char *dir, const char *socket_name)
{
    sd_bus *bus = NULL;
    int fd = connect_socket(dir, socket_name);
    if (fd < 0)
        return fd;
    int r = sd_bus_new(&bus);
    if (r >= 0)
        r = sd_bus_set_fd(bus, fd, fd);
    if (r < 0) {
        close(fd);
        goto fail;
    }
    if ((r = sd_bus_negotiate_fds(bus, true)) < 0 || (r = sd_bus_start(bus)) < 0)
        goto fail;
    *ret = bus;
    return 0;

fail:
    sd_bus_unref(bus);
    return r;
}

int bus_connect_any(sd_bus **ret, const char *dir)
{
    int r = bus_connect(ret, dir, "control");
    if (r != -EACCES && r != -ENOENT)
        return r;
    int watch = bus_connect(ret, dir, "control-watch");
    return watch == -EACCES || watch == -ENOENT ? r : watch;
}

static bool is_closed(int r)
{
    return r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE;
}

/* The daemon closes connections above its limits, which are those of
 * daemon/core/client_limits.h, before it reads from them. */
static int fail_closed(const struct ctl *ctl)
{
    return ctl_fail(ctl, EX_TEMPFAIL,
                    "the daemon closed the connection: it has too many clients, or it is stopping; "
                    "a control socket serves 16 connections of one user and 32 in all, so close "
                    "some and try again");
}

int bus_open(const struct ctl *ctl, sd_bus **ret)
{
    char dir[PATH_MAX];
    int code = ctl_runtime_dir(ctl, dir);
    if (code != 0)
        return code;

    int r = bus_connect_any(ret, dir);
    return r >= 0 ? 0 : is_closed(r) ? fail_closed(ctl) : ctl_no_daemon(ctl, dir, r);
}

int bus_try_open(const struct ctl *ctl, sd_bus **ret)
{
    char dir[PATH_MAX];
    if (ctl_runtime_dir(ctl, dir) != 0)
        return -EINVAL;
    int r = bus_connect_any(ret, dir);
    if (r >= 0)
        sd_bus_set_method_call_timeout(*ret, BUS_PATIENCE_US);
    return r < 0 ? r : 0;
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

/* Sends a message, and cleans the reply unless it is only shown as JSON. */
static int call(const struct ctl *ctl, sd_bus *bus, sd_bus_message *message, sd_bus_error *error,
                sd_bus_message **ret)
{
    int r = sd_bus_call(bus, message, 0, error, ret);
    return r < 0 || ctl->json ? r : clean_message(ret);
}

int bus_send(const struct ctl *ctl, sd_bus *bus, sd_bus_message *message, sd_bus_message **ret)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int code = 0;
    int r = call(ctl, bus, message, &error, ret);
    if (is_closed(r))
        code = fail_closed(ctl);
    else if (r == -ETIMEDOUT || sd_bus_error_has_name(&error, SD_BUS_ERROR_NO_REPLY))
        code = ctl_fail(ctl, EX_TEMPFAIL, "the daemon did not answer in time");
    else if (r == -EBADMSG)
        code = fail_unreadable(ctl, r);
    else if (r < 0)
        code = ctl_fail(ctl, exit_code_of(&error), "%s",
                        error.message != NULL ? error.message : strerror(-r));
    sd_bus_error_free(&error);
    return code;
}

int bus_callv(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
              const char *types, va_list args)
{
    sd_bus_message *message = NULL;
    int r = sd_bus_message_new_method_call(bus, &message, NULL, BUS_PATH, BUS_INTERFACE, method);
    if (r >= 0 && types != NULL)
        r = sd_bus_message_appendv(message, types, args);
    int code = r == -EINVAL
                   ? ctl_fail(ctl, EX_DATAERR, "%s: an argument is not valid UTF-8", method)
               : r < 0 ? ctl_fail(ctl, EX_SOFTWARE, "%s: %s", method, strerror(-r))
                       : bus_send(ctl, bus, message, ret);
    sd_bus_message_unref(message);
    return code;
}

int bus_call(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
             const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int code = bus_callv(ctl, bus, ret, method, types, args);
    va_end(args);
    return code;
}

int bus_try_get_stats(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret)
{
    sd_bus_message *message = NULL;
    int r =
        sd_bus_message_new_method_call(bus, &message, NULL, BUS_PATH, BUS_INTERFACE, "GetStats");
    if (r >= 0)
        r = call(ctl, bus, message, NULL, ret);
    sd_bus_message_unref(message);
    return r < 0 ? r : 0;
}

static int make_get_all(sd_bus *bus, sd_bus_message **ret)
{
    int r = sd_bus_message_new_method_call(bus, ret, NULL, BUS_PATH,
                                           "org.freedesktop.DBus.Properties", "GetAll");
    return r < 0 ? r : sd_bus_message_append(*ret, "s", BUS_INTERFACE);
}

int bus_try_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret)
{
    sd_bus_message *message = NULL;
    int r = make_get_all(bus, &message);
    if (r >= 0)
        r = call(ctl, bus, message, NULL, ret);
    sd_bus_message_unref(message);
    return r < 0 ? r : 0;
}

int bus_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret)
{
    sd_bus_message *message = NULL;
    int r = make_get_all(bus, &message);
    int code =
        r < 0 ? ctl_fail(ctl, EX_SOFTWARE, "%s", strerror(-r)) : bus_send(ctl, bus, message, ret);
    sd_bus_message_unref(message);
    return code;
}

/* ---- reading ---- */

bool bus_enter(sd_bus_message *message, const char *entry, const char *key)
{
    const char *name;
    if (sd_bus_message_enter_container(message, 'a', NULL) <= 0)
        return false;
    while (sd_bus_message_enter_container(message, 'e', entry) > 0) {
        if (sd_bus_message_read(message, "s", &name) <= 0)
            return false;
        if (strcmp(name, key) == 0)
            return true;
        if (sd_bus_message_skip(message, entry + 1) < 0 ||
            sd_bus_message_exit_container(message) < 0)
            return false;
    }
    return false;
}

bool bus_find(sd_bus_message *message, const char *key, const char *contents)
{
    sd_bus_message_rewind(message, true);
    return bus_enter(message, "sv", key) &&
           sd_bus_message_enter_container(message, 'v', contents) > 0;
}

const char *bus_text(sd_bus_message *message, const char *key)
{
    const char *text = "";
    if (bus_find(message, key, "s"))
        sd_bus_message_read(message, "s", &text);
    return text;
}

uint64_t bus_u64(sd_bus_message *message, const char *key)
{
    uint64_t value = 0;
    if (bus_find(message, key, "t"))
        sd_bus_message_read(message, "t", &value);
    return value;
}

uint32_t bus_u32(sd_bus_message *message, const char *key)
{
    uint32_t value = 0;
    if (bus_find(message, key, "u"))
        sd_bus_message_read(message, "u", &value);
    return value;
}

double bus_double(sd_bus_message *message, const char *key)
{
    double value = 0;
    if (bus_find(message, key, "d"))
        sd_bus_message_read(message, "d", &value);
    return value;
}

uint64_t bus_counter(sd_bus_message *message, const char *key, const char *counter)
{
    uint64_t value = 0;
    if (bus_find(message, key, "a{st}") && bus_enter(message, "st", counter))
        sd_bus_message_read(message, "t", &value);
    return value;
}

double bus_measure(sd_bus_message *message, const char *key, const char *measure)
{
    double value = NAN;
    if (bus_find(message, key, "a{sd}") && bus_enter(message, "sd", measure))
        sd_bus_message_read(message, "d", &value);
    return value;
}

/* ---- as JSON ---- */

static int basic_to_json(sd_bus_message *message, char type, struct json *json, const char *key)
{
    union {
        uint8_t y;
        int b;
        int16_t n;
        uint16_t q;
        int32_t i;
        uint32_t u;
        int64_t x;
        uint64_t t;
        double d;
        const char *s;
    } value;
    int r = sd_bus_message_read_basic(message, type, &value);
    if (r < 0)
        return r;
    switch (type) {
    case 'y':
        json_integer(json, key, value.y);
        return 0;
    case 'b':
        json_bool(json, key, value.b);
        return 0;
    case 'n':
        json_signed(json, key, value.n);
        return 0;
    case 'q':
        json_integer(json, key, value.q);
        return 0;
    case 'i':
        json_signed(json, key, value.i);
        return 0;
    case 'u':
        json_integer(json, key, value.u);
        return 0;
    case 'x':
        json_signed(json, key, value.x);
        return 0;
    case 't':
        json_integer(json, key, value.t);
        return 0;
    case 'd':
        json_number(json, key, value.d);
        return 0;
    case 's':
    case 'o':
    case 'g':
        json_text(json, key, value.s);
        return 0;
    default:
        return -EOPNOTSUPP; /* a descriptor has no JSON form */
    }
}

static int entries_to_json(sd_bus_message *message, const char *entry, struct json *json)
{
    const char *name;
    int r;
    char contents[256];
    snprintf(contents, sizeof contents, "%.*s", (int)strlen(entry) - 2, entry + 1); /* {sv} */
    while ((r = sd_bus_message_enter_container(message, 'e', contents)) > 0)
        if ((r = sd_bus_message_read(message, "s", &name)) < 0 ||
            (r = bus_to_json(message, json, name)) < 0 ||
            (r = sd_bus_message_exit_container(message)) < 0)
            return r;
    return r;
}

int bus_to_json(sd_bus_message *message, struct json *json, const char *key)
{
    const char *contents;
    char type;
    int r = sd_bus_message_peek_type(message, &type, &contents);
    if (r <= 0)
        return r;
    if (type != 'a' && type != 'v' && type != 'r')
        return basic_to_json(message, type, json, key);
    if (json_is_full(json))
        return -EBADMSG;
    if ((r = sd_bus_message_enter_container(message, type, contents)) < 0)
        return r;
    if (type == 'v') {
        r = bus_to_json(message, json, key);
    } else if (type == 'a' && contents[0] == '{') {
        json_open(json, key, '{');
        r = entries_to_json(message, contents, json);
        json_close(json, '}');
    } else {
        json_open(json, key, '[');
        while ((r = sd_bus_message_at_end(message, false)) == 0)
            if ((r = bus_to_json(message, json, NULL)) < 0)
                break;
        json_close(json, ']');
    }
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

int bus_print_json(const struct ctl *ctl, sd_bus_message *message)
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
