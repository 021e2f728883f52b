#include "adaptation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/bus.h"

/* ---- reading ---- */

static int read_removal(sd_bus_message *message, struct adaptation_wave *ret)
{
    const char *by;
    const int r = sd_bus_message_read(message, "v", "s", &by);
    if (r >= 0)
        ret->by_notch = strcmp(by, "notch") == 0;
    return r;
}

/* Reads the next wave, an a{sv}. Returns 1, 0 at the end of the list, or -errno. */
static int read_wave(sd_bus_message *message, struct adaptation_wave *ret)
{
    const char *key;
    *ret = (struct adaptation_wave){0};
    int r = sd_bus_message_enter_container(message, 'a', "{sv}");
    if (r <= 0)
        return r;
    while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        if ((r = sd_bus_message_read(message, "s", &key)) < 0)
            return r;
        double *number = strcmp(key, "fx") == 0            ? &ret->fx
                         : strcmp(key, "fy") == 0          ? &ret->fy
                         : strcmp(key, "amplitude") == 0   ? &ret->amplitude
                         : strcmp(key, "drift") == 0       ? &ret->drift
                         : strcmp(key, "notch_width") == 0 ? &ret->notch_width
                                                           : NULL;
        if (number != NULL)
            r = sd_bus_message_read(message, "v", "d", number);
        else if (strcmp(key, "since_ns") == 0)
            r = sd_bus_message_read(message, "v", "t", &ret->since_ns);
        else if (strcmp(key, "removed") == 0)
            r = sd_bus_message_read(message, "v", "b", &ret->removed);
        else if (strcmp(key, "removed_by") == 0)
            r = read_removal(message, ret);
        else
            r = sd_bus_message_skip(message, "v");
        if (r < 0 || (r = sd_bus_message_exit_container(message)) < 0)
            return r;
    }
    if (r < 0)
        return r;
    r = sd_bus_message_exit_container(message);
    return r < 0 ? r : 1;
}

static int read_waves(sd_bus_message *message, struct adaptation *ret)
{
    struct adaptation_wave wave;
    int r = sd_bus_message_enter_container(message, 'v', "aa{sv}");
    if (r >= 0)
        r = sd_bus_message_enter_container(message, 'a', "a{sv}");
    while (r >= 0 && (r = read_wave(message, &wave)) > 0)
        if (ret->wave_count < ADAPTATION_MAX_WAVES)
            ret->wave[ret->wave_count++] = wave;
    for (int i = 0; i < 2 && r >= 0; i++)
        r = sd_bus_message_exit_container(message);
    ret->finds_waves = true;
    return r;
}

static int read_flicker(sd_bus_message *message, struct adaptation *ret)
{
    const char *key;
    int r = sd_bus_message_enter_container(message, 'v', "a{sv}");
    if (r >= 0)
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
    while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        if ((r = sd_bus_message_read(message, "s", &key)) < 0)
            return r;
        double *value = strcmp(key, "frequency") == 0      ? &ret->flicker_hz
                        : strcmp(key, "depth") == 0        ? &ret->flicker_depth
                        : strcmp(key, "line_time_us") == 0 ? &ret->line_time_us
                                                           : NULL;
        r = value != NULL ? sd_bus_message_read(message, "v", "d", value)
            : strcmp(key, "since_ns") == 0
                ? sd_bus_message_read(message, "v", "t", &ret->flicker_since_ns)
                : sd_bus_message_skip(message, "v");
        if (r >= 0)
            r = sd_bus_message_exit_container(message);
    }
    for (int i = 0; i < 2 && r >= 0; i++)
        r = sd_bus_message_exit_container(message);
    ret->finds_flicker = true;
    return r;
}

int adaptation_read(sd_bus_message *properties, struct adaptation *ret)
{
    const char *key;
    *ret = (struct adaptation){.problem = ""};
    if (!bus_find(properties, "Adaptation", "a{sv}"))
        return 0;
    int r = sd_bus_message_enter_container(properties, 'a', "{sv}");
    while (r >= 0 && (r = sd_bus_message_enter_container(properties, 'e', "sv")) > 0) {
        if ((r = sd_bus_message_read(properties, "s", &key)) < 0)
            return r;
        if (strcmp(key, "observed") == 0)
            r = sd_bus_message_read(properties, "v", "t", &ret->observed);
        else if (strcmp(key, "waves") == 0)
            r = read_waves(properties, ret);
        else if (strcmp(key, "flicker") == 0)
            r = read_flicker(properties, ret);
        else if (strcmp(key, "problem") == 0)
            r = sd_bus_message_read(properties, "v", "s", &ret->problem);
        else
            r = sd_bus_message_skip(properties, "v");
        if (r >= 0)
            r = sd_bus_message_exit_container(properties);
    }
    return r;
}

/* ---- printing ---- */

/* Seconds from a time of CLOCK_MONOTONIC, which is the daemon's clock, until now. */
static double seconds_since(uint64_t since_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)since_ns / 1e9;
    return seconds > 0 ? seconds : 0;
}

static void print_wave(const struct adaptation_wave *wave)
{
    char how[80] = "not removed: its phase cannot be predicted yet";
    if (wave->removed && wave->by_notch)
        snprintf(how, sizeof how, "removed by a notch, %.3f cycles/pixel wide", wave->notch_width);
    else if (wave->removed)
        snprintf(how, sizeof how, "removed by subtraction");
    const double f = hypot(wave->fx, wave->fy);
    printf(
        "    a wave at %.4f/%.4f cycles/pixel (period %.2f px, angle %.0f degrees), amplitude %.2f "
        "of 255, drift %.3f periods a frame, for %.0f s, %s\n",
        wave->fx, wave->fy, f > 0 ? 1 / f : INFINITY, atan2(wave->fy, wave->fx) * 180 / M_PI,
        wave->amplitude, wave->drift, seconds_since(wave->since_ns), how);
}

static void print_flicker(const struct adaptation *found)
{
    if (found->flicker_hz > 0)
        printf(
            "    light flickers at %.2f Hz, depth %.1f %%, rows %.2f us apart, corrected for %.0f "
            "s\n",
            found->flicker_hz, 100 * found->flicker_depth, found->line_time_us,
            seconds_since(found->flicker_since_ns));
    else
        puts("    no flicker found");
}

int adaptation_print(sd_bus_message *properties)
{
    struct adaptation found;
    const int r = adaptation_read(properties, &found);
    if (r < 0)
        return r;
    if (found.finds_waves || found.finds_flicker)
        printf("    observed frames: %" PRIu64 "\n", found.observed);
    for (unsigned i = 0; i < found.wave_count; i++)
        print_wave(&found.wave[i]);
    if (found.finds_waves && found.wave_count == 0)
        puts("    no periodic noise found");
    if (found.finds_flicker)
        print_flicker(&found);
    if (*found.problem != '\0')
        printf("    some of it is not observed: %s\n", found.problem);
    return 0;
}
