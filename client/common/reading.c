#include "reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void reading_format(sd_bus_message *properties, char *text, size_t size)
{
    uint32_t width = 0, height = 0;
    const char *name = "";
    const struct bus_field fields[] = {
        {"width", "u", &width}, {"height", "u", &height}, {"name", "s", &name}};
    if (bus_find(properties, "Format", "a{sv}"))
        bus_read_fields(properties, fields, 3, NULL, NULL);
    if (width > 0)
        snprintf(text, size, "%s %ux%u", name, width, height);
    else
        snprintf(text, size, "-");
}

void reading_captured(sd_bus_message *properties, char text[16])
{
    const char *name = "";
    const struct bus_field field = {"captured", "s", &name};
    if (bus_find(properties, "Format", "a{sv}"))
        bus_read_fields(properties, &field, 1, NULL, NULL);
    snprintf(text, 16, "%s", name);
}

bool reading_smaller(sd_bus_message *properties, char *text, size_t size)
{
    uint32_t width = 0, height = 0, captured_width = 0, captured_height = 0;
    const struct bus_field fields[] = {{"width", "u", &width},
                                       {"height", "u", &height},
                                       {"captured_width", "u", &captured_width},
                                       {"captured_height", "u", &captured_height}};
    char format[64];
    if (bus_find(properties, "Format", "a{sv}"))
        bus_read_fields(properties, fields, sizeof fields / sizeof fields[0], NULL, NULL);
    if (captured_width <= width && captured_height <= height)
        return false;
    reading_format(properties, format, sizeof format);
    snprintf(text, size, "%s, made of %ux%u", format, captured_width, captured_height);
    return true;
}

double reading_latency_ms(sd_bus_message *properties, const char *quantile)
{
    uint64_t ns = 0;
    if (bus_find(properties, "Latency", "a{sa{st}}") && bus_enter(properties, "sa{st}", "total") &&
        bus_enter(properties, "st", quantile))
        sd_bus_message_read(properties, "t", &ns);
    return (double)ns / 1e6;
}

void reading_latency_sum(sd_bus_message *properties, uint64_t *ret_count, uint64_t *ret_sum_ns)
{
    *ret_count = *ret_sum_ns = 0;
    if (bus_find(properties, "LatencyHistograms", "a{s(tta(tt))}") &&
        bus_enter(properties, "s(tta(tt))", "total") &&
        sd_bus_message_enter_container(properties, 'r', "tta(tt)") > 0)
        sd_bus_message_read(properties, "tt", ret_count, ret_sum_ns);
}

bool reading_has_failed(sd_bus_message *properties, uint64_t serial)
{
    return serial != 0 && bus_u64(properties, "FailedSerial") == serial;
}

void reading_problem(sd_bus_message *properties, char text[READING_WHY_BYTES])
{
    const char *problem = bus_text(properties, "FilterProblem");
    text[0] = '\0';
    if (*problem != '\0')
        snprintf(text, READING_WHY_BYTES, "filter %" PRIu64 " cannot be used: %s",
                 bus_u64(properties, "FailedSerial"), problem);
}

bool reading_is_pending(sd_bus_message *properties, uint64_t serial, char text[READING_WHY_BYTES])
{
    const char *state = bus_text(properties, "State");
    /* It is about the newest change, and empty if another one followed. */
    const char *problem = bus_text(properties, "FilterProblem");
    if (reading_has_failed(properties, serial)) {
        snprintf(text, READING_WHY_BYTES, "cannot be used: %s",
                 *problem != '\0' ? problem : "the log says why");
        return true;
    }
    if (bus_u64(properties, "PublishedSerial") >= serial)
        return false;
    if (bus_bool(properties, "SourceOpening"))
        snprintf(text, READING_WHY_BYTES, "waits for the source, which is being opened");
    else if (strcmp(state, "online") == 0 || strcmp(state, "starting") == 0)
        snprintf(text, READING_WHY_BYTES, "is being prepared");
    else
        snprintf(text, READING_WHY_BYTES, "waits for frames: the camera is %s", state);
    return true;
}

const char *reading_source(sd_bus_message *properties)
{
    const char *description = bus_text(properties, "SourceDescription");
    return *description != '\0' ? description : bus_text(properties, "Source");
}

const char *reading_measure_unit(const struct reading_measure *measure, double value)
{
    static const char *const states[] = {"", " fine", " defocused", " covered", " overexposed"};
    const unsigned count = sizeof states / sizeof states[0];
    const bool is_state = strcmp(measure->name, "picture_state") == 0;
    if (is_state && value >= 1 && value < count)
        return states[(unsigned)value];
    return measure->unit;
}

const struct reading_measure reading_measures[] = {
    {"sharpness", " cycles/pixel", "fftd_sharpness_cycles_per_pixel", "cycles_per_pixel", NULL, 1,
     "Root mean square of the spatial frequency of the picture before the filter, beyond "
     "noise."},
    {"picture_state", "", "fftd_picture_state", NULL, NULL, 1,
     "State of the picture: 1 fine, 2 defocused, 3 covered or plain, 4 overexposed."},
    {"noise", "", "fftd_noise_ratio", "ratio", NULL, 1 / 255.0,
     "Standard deviation of the picture's noise, as a share of full scale."},
    {"mean", "", "fftd_brightness_ratio", "ratio", NULL, 1 / 255.0,
     "Mean of luma, as a share of full scale."},
    {"clipped", "", "fftd_clipped_ratio", "ratio", NULL, 1, "Share of samples at black or white."},
    {"shift_x", " px/frame", "fftd_shift_pixels", "pixels", "x", 1,
     "Shift of the picture since the picture that was measured before, right and down."},
    {"shift_y", " px/frame", "fftd_shift_pixels", "pixels", "y", 1, NULL},
    {"shift_confidence", "", "fftd_shift_confidence_ratio", "ratio", NULL, 1,
     "How well one shift explains the change of the picture."},
    {"flicker_hz", " Hz", "fftd_flicker_hertz", "hertz", NULL, 1,
     "Frequency of the light's flicker."},
    {"flicker_depth", "", "fftd_flicker_depth_ratio", "ratio", NULL, 1,
     "Amplitude of the flicker, as a share of the mean."},
    {"peaks", "", "fftd_interference_peaks", NULL, NULL, 1,
     "Periodic interferences that were found."},
    {"peak_strength", "", "fftd_interference_amplitude_ratio", "ratio", NULL, 1 / 255.0,
     "Amplitude of the strongest interference, as a share of full scale."},
    {"match_x", " px", "fftd_match_position_pixels", "pixels", "x", 1,
     "Place that resembles the template of match most, right and down from the top left "
     "pixel."},
    {"match_y", " px", "fftd_match_position_pixels", "pixels", "y", 1, NULL},
    {"match_score", "", "fftd_match_score_ratio", "ratio", NULL, 1,
     "Correlation coefficient of the template and the picture at that place."},
    {"scene_x", " px/frame", "fftd_scene_shift_pixels", "pixels", "x", 1,
     "Shift of the scene since the picture that was measured before, right and down."},
    {"scene_y", " px/frame", "fftd_scene_shift_pixels", "pixels", "y", 1, NULL},
    {"scene_angle", " degrees/frame", "fftd_scene_rotation_degrees", "degrees", NULL, 1,
     "Rotation of the scene since that picture, clockwise."},
    {"scene_zoom", "", "fftd_scene_zoom_ratio", "ratio", NULL, 1,
     "Factor by which the scene has grown since that picture."},
    {"scene_agreement", "", "fftd_scene_agreement_ratio", "ratio", NULL, 1,
     "Share of the field of motion that agrees with this motion of the scene."},
    {"stacked", " frames", "fftd_stacked_frames", "frames", NULL, 1,
     "Frames that have joined the stack that is shown."},
    {"age", " frames", "fftd_measures_age_frames", "frames", NULL, 1,
     "Frames taken from the camera since the one that was measured."},
};
const unsigned reading_measure_count = sizeof reading_measures / sizeof reading_measures[0];
