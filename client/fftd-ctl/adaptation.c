#include "adaptation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "change.h"
#include "common/bus.h"
#include "core/clock.h"
#include "common/reading.h"
#include "daemon.h"

#define MAX_WAVES   64
/* Cycles/pixel. The edges of the picture cut a wave off, which spreads it over more than one
 * frequency. In pictures of 320x240 and 1280x720 with waves of 1 to 5 %, this width leaves the
 * least of them, or nearly the least. */
#define NOTCH_WIDTH 0.02
#define STAGE_BYTES 100

struct wave {
    double fx, fy;     /* cycles/pixel */
    double amplitude;  /* in 1/255 of the range of samples */
    uint64_t since_ns; /* CLOCK_MONOTONIC */
    int removed;
};

struct adaptation {
    uint64_t observed;                            /* frames */
    bool finds_waves, finds_flicker, finds_noise; /* the chain has a filter that asks for them */
    struct wave wave[MAX_WAVES];
    unsigned wave_count;
    double flicker_hz, flicker_depth, line_time_us; /* 0: no flicker found */
    uint64_t flicker_since_ns;
    double noise;        /* for wiener; 0: not yet */
    int withheld;        /* only users who may change the filter learn what was found */
    const char *problem; /* valid as long as the message; empty: none */
};

/* ---- reading ---- */

/* Reads the next wave, an a{sv}. Returns 1, 0 at the end of the list, or -errno. */
static int read_wave(sd_bus_message *message, struct wave *ret)
{
    const struct bus_field fields[] = {
        {"fx", "d", &ret->fx},
        {"fy", "d", &ret->fy},
        {"amplitude", "d", &ret->amplitude},
        {"since_ns", "t", &ret->since_ns},
        {"removed", "b", &ret->removed},
    };
    *ret = (struct wave){0};
    return bus_read_fields(message, fields, sizeof fields / sizeof fields[0], NULL, NULL);
}

static int read_waves(sd_bus_message *message, struct adaptation *ret)
{
    struct wave wave;
    int r = bus_enter_list(message, "aa{sv}");
    while (r >= 0 && (r = read_wave(message, &wave)) > 0)
        if (ret->wave_count < MAX_WAVES)
            ret->wave[ret->wave_count++] = wave;
    ret->finds_waves = true;
    return r < 0 ? r : bus_exit_list(message);
}

static int read_flicker(sd_bus_message *message, struct adaptation *ret)
{
    const struct bus_field fields[] = {
        {"frequency", "d", &ret->flicker_hz},
        {"depth", "d", &ret->flicker_depth},
        {"line_time_us", "d", &ret->line_time_us},
        {"since_ns", "t", &ret->flicker_since_ns},
    };
    int r = sd_bus_message_enter_container(message, 'v', "a{sv}");
    if (r >= 0)
        r = bus_read_fields(message, fields, sizeof fields / sizeof fields[0], NULL, NULL);
    ret->finds_flicker = true;
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_noise(sd_bus_message *message, struct adaptation *ret)
{
    ret->finds_noise = true;
    return sd_bus_message_read(message, "v", "d", &ret->noise);
}

static int read_found(sd_bus_message *message, const char *key, void *found)
{
    return strcmp(key, "waves") == 0     ? read_waves(message, found)
           : strcmp(key, "flicker") == 0 ? read_flicker(message, found)
           : strcmp(key, "noise") == 0   ? read_noise(message, found)
                                         : sd_bus_message_skip(message, "v");
}

/* Reads the property Adaptation of all properties. Returns a negative errno on failure. */
static int read_adaptation(sd_bus_message *properties, struct adaptation *ret)
{
    const struct bus_field fields[] = {
        {"observed", "t", &ret->observed},
        {"withheld", "b", &ret->withheld},
        {"problem", "s", &ret->problem},
    };
    *ret = (struct adaptation){.problem = ""};
    if (!bus_find(properties, "Adaptation", "a{sv}"))
        return 0;
    return bus_read_fields(properties, fields, sizeof fields / sizeof fields[0], read_found, ret);
}

/* ---- printing ---- */

static double seconds_since(uint64_t since_ns)
{
    const double seconds = ((double)clock_now_ns() - (double)since_ns) / 1e9;
    return seconds > 0 ? seconds : 0;
}

static void print_wave(const struct wave *wave)
{
    const double f = hypot(wave->fx, wave->fy);
    printf(
        "    a wave at %.4f/%.4f cycles/pixel (period %.2f px, angle %.0f degrees), amplitude %.2f "
        "of 255, for %.0f s, %s\n",
        wave->fx, wave->fy, f > 0 ? 1 / f : INFINITY, atan2(wave->fy, wave->fx) * 180 / M_PI,
        wave->amplitude, seconds_since(wave->since_ns), wave->removed ? "removed" : "not removed");
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
    const int r = read_adaptation(properties, &found);
    if (r < 0)
        return r;
    if (found.finds_waves || found.finds_flicker || found.finds_noise || found.withheld)
        printf("    observed frames: %" PRIu64 "\n", found.observed);
    for (unsigned i = 0; i < found.wave_count; i++)
        print_wave(&found.wave[i]);
    if (found.finds_waves && found.wave_count == 0)
        puts("    no periodic noise found");
    if (found.finds_flicker)
        print_flicker(&found);
    if (found.noise > 0)
        printf("    noise of %.3g times the picture's power at 0.1 cycles/pixel\n", found.noise);
    else if (found.finds_noise)
        puts("    no noise estimated");
    if (found.withheld)
        puts("    what has been found is withheld: use the socket `control`, or set "
             "output.measures = true");
    if (*found.problem != '\0')
        printf("    some of it is not observed: %s\n", found.problem);
    return 0;
}

/* ---- keeping ---- */

/* The changes that follow from the findings are made only if the filter has not been changed since
 * the findings were read. */

/* Returns the number of the first stage of a kind in a chain; 0: there is none. */
static unsigned find_stage(const char *chain, const char *kind)
{
    const size_t length = strlen(kind);
    for (unsigned number = 1; *chain != '\0'; number++) {
        chain += strspn(chain, " ");
        if (strncmp(chain, kind, length) == 0 && strchr(": |", chain[length]) != NULL)
            return number;
        chain += strcspn(chain, "|");
        chain += *chain == '|';
    }
    return 0;
}

static void keep_waves(struct change_call *call, const struct adaptation *found, unsigned number)
{
    char stage[STAGE_BYTES], position[20];
    change_append(call, "remove", "auto-notch", NULL, NULL);
    for (unsigned i = 0; i < found->wave_count; i++) {
        const struct wave *wave = &found->wave[i];
        snprintf(stage, sizeof stage, "notch:at=%.5f/%.5f,width=%.4g", wave->fx, wave->fy,
                 NOTCH_WIDTH);
        snprintf(position, sizeof position, "%u", number + i);
        change_append(call, "add", stage, position, NULL);
    }
}

static void keep_flicker(struct change_call *call, const struct adaptation *found)
{
    char value[STAGE_BYTES];
    snprintf(value, sizeof value, "%.3f", found->flicker_hz);
    change_append(call, "set", "deflicker", "frequency", value);
    snprintf(value, sizeof value, "%.3f", found->line_time_us);
    change_append(call, "set", "deflicker", "line-time", value);
}

/* Returns whether a stage of a chain's text is a wiener without noise. */
static bool lacks_noise(const char *stage, size_t length)
{
    const char *noise = strstr(stage, "noise=");
    if (strncmp(stage, "wiener:", 7) != 0)
        return false;
    return noise == NULL || noise >= stage + length ||
           (strncmp(noise, "noise=0", 7) == 0 && strchr(", |", noise[7]) != NULL);
}

/* Sets the noise of all stages that have none. */
static void keep_noise(struct change_call *call, const struct adaptation *found, const char *chain)
{
    char value[STAGE_BYTES], at[20];
    snprintf(value, sizeof value, "%.3g", found->noise);
    for (unsigned number = 1; *chain != '\0'; number++) {
        const char *stage = chain + strspn(chain, " ");
        const size_t length = strcspn(stage, "|");
        chain = stage + length + (stage[length] == '|');
        snprintf(at, sizeof at, "%u", number);
        if (lacks_noise(stage, length))
            change_append(call, "set", at, "noise", value);
    }
}

/* Explains that the chain has an adaptive filter, but frames do not use this chain yet. */
static int fail_pending(const struct ctl *ctl, sd_bus_message *properties)
{
    const uint64_t serial = bus_u64(properties, "Serial");
    char why[READING_WHY_BYTES] = "is being prepared";
    reading_is_pending(properties, serial, why);
    return ctl_fail(ctl, EX_TEMPFAIL,
                    "filter keep: filter %" PRIu64 " %s, and has found nothing yet", serial, why);
}

static int keep(const struct ctl *ctl, sd_bus_message *properties)
{
    struct adaptation found;
    struct change_call call;
    if (read_adaptation(properties, &found) < 0)
        return ctl_fail(ctl, EX_PROTOCOL, "Adaptation: unexpected reply format");
    if (found.withheld)
        return ctl_fail(ctl, EX_NOPERM,
                        "filter keep: permission denied: changes need the socket `control`");
    const char *chain = bus_text(properties, "Filter");
    const unsigned number = find_stage(chain, "auto-notch");
    const bool is_asked = found.finds_waves || found.finds_flicker || found.finds_noise;
    if (!is_asked && (number > 0 || find_stage(chain, "deflicker") > 0))
        return fail_pending(ctl, properties);
    if (!is_asked)
        return ctl_fail(ctl, EX_DATAERR,
                        "filter keep: no stage of the filter in use adapts: expected auto-notch, "
                        "deflicker, or wiener without noise");
    const bool has_waves = number > 0 && found.wave_count > 0, has_flicker = found.flicker_hz > 0;
    if (!has_waves && !has_flicker && !(found.noise > 0))
        return ctl_fail(ctl, EX_TEMPFAIL,
                        "filter keep: nothing has been found yet; `%s filter show` lists what has",
                        ctl_program(ctl));
    int code = change_begin(&call, ctl);
    if (code != 0)
        return change_finish(&call, code);
    if (call.if_serial == 0)
        call.if_serial = bus_u64(properties, "Serial");
    if (found.noise > 0)
        keep_noise(&call, &found, chain); /* before stages are added */
    if (has_waves)
        keep_waves(&call, &found, number);
    if (has_flicker)
        keep_flicker(&call, &found);
    return change_send(&call);
}

int adaptation_keep(const struct ctl *ctl)
{
    sd_bus_message *properties = NULL;
    int code = daemon_ask(ctl, &properties, NULL);
    if (code == 0)
        code = keep(ctl, properties);
    sd_bus_message_unref(properties);
    return code;
}
