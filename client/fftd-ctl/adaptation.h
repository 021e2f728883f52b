/* Prints the noise and the flicker that adaptive filters have found. */
#ifndef FFTD_CTL_ADAPTATION_H
#define FFTD_CTL_ADAPTATION_H

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-bus.h>

#define ADAPTATION_MAX_WAVES 64

struct adaptation_wave {
    double fx, fy;     /* cycles/pixel */
    double amplitude;  /* in 1/255 of the range of samples */
    double drift;      /* periods per frame */
    uint64_t since_ns; /* CLOCK_MONOTONIC */
    int removed;
    bool by_notch;      /* true: a notch removes it; false: subtraction does */
    double notch_width; /* cycles/pixel; 0: the daemon does not say */
};

struct adaptation {
    uint64_t observed;               /* frames */
    bool finds_waves, finds_flicker; /* the chain has a filter that looks for them */
    struct adaptation_wave wave[ADAPTATION_MAX_WAVES];
    unsigned wave_count;
    double flicker_hz, flicker_depth, line_time_us; /* 0: no flicker found */
    uint64_t flicker_since_ns;
    const char *problem; /* valid as long as the message; empty: none */
};

/* Reads the property Adaptation of all properties (a{sv}). 0 or -errno: the daemon sent something
 * else. */
int adaptation_read(sd_bus_message *properties, struct adaptation *ret);

/* Prints it as indented lines; nothing if no filter adapts. Likewise. */
int adaptation_print(sd_bus_message *properties);

#endif
