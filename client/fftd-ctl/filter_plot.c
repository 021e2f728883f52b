/* Implements `filter plot`, which draws the response of a filter. The daemon, which knows the
 * filters, computes the response in small parts, so that its other clients do not wait. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "commands.h"
#include "daemon.h"
#include "pictures/plot.h"
#include "save.h"

#define PART_POINTS ((size_t)256) /* the daemon's limit for one call */

static int make_request(sd_bus *bus, sd_bus_message **ret, const char *chain, const double *fx,
                        const double *fy, size_t count)
{
    int r = bus_new_call(bus, ret, "GetResponse");
    if (r < 0 || (r = sd_bus_message_append(*ret, "s", chain)) < 0 ||
        (r = sd_bus_message_append_array(*ret, 'd', fx, count * sizeof *fx)) < 0)
        return r;
    return sd_bus_message_append_array(*ret, 'd', fy, count * sizeof *fy);
}

static bool are_magnitudes(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]) || values[i] < 0)
            return false;
    return true;
}

/* Copies the magnitudes. Returns whether the reply has this many. */
static bool read_magnitudes(sd_bus_message *reply, double *ret, size_t count)
{
    const void *values;
    size_t bytes;
    if (sd_bus_message_read_array(reply, 'd', &values, &bytes) < 0 ||
        bytes != count * sizeof *ret || !are_magnitudes(values, count))
        return false;
    memcpy(ret, values, bytes);
    return true;
}

static int ask_part(const struct ctl *ctl, sd_bus *bus, const char *chain, size_t first,
                    size_t count, double *ret)
{
    double fx[PART_POINTS], fy[PART_POINTS];
    sd_bus_message *request = NULL, *reply = NULL;
    for (size_t i = 0; i < count; i++)
        plot_point(first + i, &fx[i], &fy[i]);
    int r = make_request(bus, &request, chain, fx, fy, count);
    int code = daemon_send(ctl, bus, r, request, &reply);
    if (code == 0 && !read_magnitudes(reply, ret, count))
        code = ctl_fail(ctl, EX_PROTOCOL, "GetResponse: unexpected reply format");
    sd_bus_message_unref(reply);
    return code;
}

static int ask_response(const struct ctl *ctl, sd_bus *bus, const char *chain, double *ret)
{
    int code = 0;
    for (size_t done = 0; code == 0 && done < PLOT_POINTS; done += PART_POINTS) {
        const size_t left = PLOT_POINTS - done;
        code = ask_part(ctl, bus, chain, done, left < PART_POINTS ? left : PART_POINTS, ret + done);
    }
    return code;
}

/* Computes the response of a chain; NULL: the chain in use. It is read only once, so a filter that
 * changes during the drawing does not mix two responses. */
static int get_response(const struct ctl *ctl, const char *chain, double *ret)
{
    sd_bus *bus = NULL;
    sd_bus_message *properties = NULL;
    int code = daemon_open(ctl, &bus);
    if (code == 0 && chain == NULL)
        code = daemon_get_all(ctl, bus, &properties);
    if (code == 0)
        code = ask_response(ctl, bus, chain != NULL ? chain : bus_text(properties, "Filter"), ret);
    sd_bus_message_unref(properties);
    sd_bus_unref(bus);
    return code;
}

static int report(const struct ctl *ctl, const char *path)
{
    const bool to_stdout = strcmp(path, "-") == 0;
    struct json json = {.file = stdout};
    if (ctl->json && !to_stdout) {
        json_open(&json, NULL, '{');
        json_open(&json, "Pictures", '[');
        json_text(&json, NULL, path);
        json_close(&json, ']');
        json_close(&json, '}');
    } else if (!to_stdout) {
        puts(path);
    }
    return ctl_finish(ctl);
}

int filter_plot(const struct ctl *ctl)
{
    struct picture picture = {0};
    char chain[CHAIN_BYTES];
    const char *path = ctl->argv[1];
    int code = change_join_chain(ctl, 2, chain);
    if (code != 0)
        return code;
    double *response = malloc(PLOT_POINTS * sizeof *response);
    if (response == NULL)
        return ctl_fail(ctl, EX_OSERR, "filter plot: %s", strerror(ENOMEM));
    code = get_response(ctl, ctl->argc > 2 ? chain : NULL, response);
    if (code != 0)
        goto out;
    int r = plot_draw(&picture, response);
    code = r < 0 ? ctl_fail(ctl, EX_OSERR, "filter plot: %s", strerror(-r))
                 : save_picture(ctl, &picture, path);
    if (code == 0)
        code = report(ctl, path);

out:
    picture_free(&picture);
    free(response);
    return code;
}
