#include "bus.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/clock.h"

/* ---- connecting ---- */

#define CONNECT_TIMEOUT_S 5 /* how long to wait in a full queue of connections */
#define MAIN_PATH         "/org/fftd/camera"
#define OUTPUTS           "/outputs/"

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
    /* This limit also applies to connecting. */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        int r = errno == EAGAIN ? -ETIMEDOUT : -errno;
        close(fd);
        return r;
    }
    return fd;
}

const char *bus_output(const char *place)
{
    const char *last = strrchr(place, '/');
    const size_t length = last != NULL ? (size_t)(last + 1 - place) : 0;
    const size_t outputs = strlen(OUTPUTS);
    return length > outputs && strncmp(last + 1 - outputs, OUTPUTS, outputs) == 0 ? last + 1 : "";
}

int bus_daemon_dir(const char *dir, char ret[PATH_MAX])
{
    const char *output = bus_output(dir);
    const size_t below = *output != '\0' ? strlen(OUTPUTS) + strlen(output) : 0;
    return snprintf(ret, PATH_MAX, "%.*s", (int)(strlen(dir) - below), dir) < PATH_MAX
               ? 0
               : -ENAMETOOLONG;
}

/* Writes the path of the object of a daemon, or of an output, in which an underscore stands for a
 * hyphen. */
static int object_path(const char *dir, char path[128])
{
    const char *output = bus_output(dir);
    if (snprintf(path, 128, "%s%s%s", MAIN_PATH, *output != '\0' ? OUTPUTS : "", output) >= 128)
        return -ENAMETOOLONG;
    for (char *at = path; *at != '\0'; at++)
        if (*at == '-')
            *at = '_';
    return 0;
}

const char *bus_path(sd_bus *bus)
{
    const char *path;
    return sd_bus_get_description(bus, &path) >= 0 ? path : MAIN_PATH;
}

int bus_connect(sd_bus **ret, const char *dir, const char *socket_name)
{
    char daemon_dir[PATH_MAX], path[128];
    sd_bus *bus = NULL;
    int r = object_path(dir, path);
    if (r == 0)
        r = bus_daemon_dir(dir, daemon_dir);
    if (r < 0)
        return r;
    int fd = connect_socket(daemon_dir, socket_name);
    if (fd < 0)
        return fd;
    r = sd_bus_new(&bus);
    if (r >= 0)
        r = sd_bus_set_description(bus, path);
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

int bus_await(sd_bus *bus, uint64_t patience_us)
{
    int r = sd_bus_set_method_call_timeout(bus, patience_us);
    if (r >= 0)
        r = sd_bus_get_method_call_timeout(bus, &patience_us);
    const uint64_t deadline_us = clock_now_us() + patience_us;
    while (r >= 0 && (r = sd_bus_is_ready(bus)) == 0) {
        const uint64_t now_us = clock_now_us();
        if (now_us >= deadline_us)
            return -ETIMEDOUT;
        r = sd_bus_process(bus, NULL);
        if (r == 0)
            r = sd_bus_wait(bus, deadline_us - now_us);
        if (r == -EINTR)
            r = 0;
    }
    return r < 0 ? r : 0;
}

/* ---- calling ---- */

int bus_new_call(sd_bus *bus, sd_bus_message **ret, const char *method)
{
    return sd_bus_message_new_method_call(bus, ret, NULL, bus_path(bus), BUS_INTERFACE, method);
}

int bus_get_all(sd_bus *bus, sd_bus_message **ret)
{
    const int r = sd_bus_call_method(bus, NULL, bus_path(bus), BUS_PROPERTIES, "GetAll", NULL, ret,
                                     "s", BUS_INTERFACE);
    return r < 0 ? r : 0;
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

bool bus_find_entries(sd_bus_message *message, const char *key, const char *type)
{
    return bus_find(message, key, type) &&
           sd_bus_message_enter_container(message, 'a', type + 1) > 0;
}

static int read_entry(sd_bus_message *message, const char *key, const struct bus_field *fields,
                      size_t count, bus_read_other read_other, void *context)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, fields[i].key) == 0)
            return sd_bus_message_read(message, "v", fields[i].type, fields[i].value);
    return read_other != NULL ? read_other(message, key, context)
                              : sd_bus_message_skip(message, "v");
}

int bus_read_fields(sd_bus_message *message, const struct bus_field *fields, size_t count,
                    bus_read_other read_other, void *context)
{
    const char *key;
    int r = sd_bus_message_enter_container(message, 'a', "{sv}");
    if (r <= 0)
        return r;
    while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0)
        if ((r = sd_bus_message_read(message, "s", &key)) < 0 ||
            (r = read_entry(message, key, fields, count, read_other, context)) < 0 ||
            (r = sd_bus_message_exit_container(message)) < 0)
            return r;
    if (r >= 0)
        r = sd_bus_message_exit_container(message);
    return r < 0 ? r : 1;
}

int bus_enter_list(sd_bus_message *message, const char *type)
{
    const int r = sd_bus_message_enter_container(message, 'v', type);
    return r < 0 ? r : sd_bus_message_enter_container(message, 'a', type + 1);
}

int bus_exit_list(sd_bus_message *message)
{
    const int r = sd_bus_message_exit_container(message);
    return r < 0 ? r : sd_bus_message_exit_container(message);
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

bool bus_bool(sd_bus_message *message, const char *key)
{
    int value = 0;
    if (bus_find(message, key, "b"))
        sd_bus_message_read(message, "b", &value);
    return value != 0;
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

double bus_measure(sd_bus_message *message, const char *measure)
{
    double value = NAN;
    if (bus_find(message, "Measures", "a{sd}") && bus_enter(message, "sd", measure))
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
