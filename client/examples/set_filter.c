/* Changes the filter of a camera, over D-Bus without a broker.
 *
 *     cc set_filter.c $(pkg-config --cflags --libs libsystemd) -o set_filter
 *     ./set_filter unix:path=/run/fftd/front/control 'gaussian-blur:sigma=2'
 *
 * fftd(8) lists what else there is to call. Frames with the serial that it prints, or with a
 * greater one, were made by the new filter (struct fftd_frame). */
#include <systemd/sd-bus.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    sd_bus *bus = NULL;
    sd_bus_message *reply = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    uint64_t serial = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: set_filter ADDRESS CHAIN\n");
        return 64;
    }
    int r = sd_bus_new(&bus);
    if (r >= 0)
        r = sd_bus_set_address(bus, argv[1]);
    if (r >= 0)
        r = sd_bus_start(bus);
    if (r >= 0)
        r = sd_bus_call_method(bus, NULL, "/org/fftd/camera", "org.fftd.Camera1", "SetFilter",
                               &error, &reply, "s", argv[2]);
    if (r >= 0)
        r = sd_bus_message_read(reply, "t", &serial);
    if (r >= 0)
        printf("serial %" PRIu64 "\n", serial);
    else /* the daemon says what is wrong with a chain */
        fprintf(stderr, "set_filter: %s\n", error.message != NULL ? error.message : strerror(-r));
    sd_bus_message_unref(reply);
    sd_bus_error_free(&error);
    sd_bus_unref(bus);
    return r >= 0 ? 0 : 1;
}
