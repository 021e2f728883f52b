/* The options of fftd-mqtt. */
#ifndef FFTD_MQTT_OPTIONS_H
#define FFTD_MQTT_OPTIONS_H

#include <stdbool.h>

#include "broker.h"

#define BRIDGE_ID_BYTES 128

struct bridge_options {
    const char *camera;       /* a name, or a runtime directory */
    char id[BRIDGE_ID_BYTES]; /* names this camera at the broker: [A-Za-z0-9_-] */
    const char *prefix;       /* topics are PREFIX/ID/... */
    const char *group;        /* whose changes are obeyed, too: PREFIX/GROUP/...; NULL: none */
    const char *discovery;    /* prefix of Home Assistant's discovery; "": none */
    unsigned period_s;        /* between two messages with measures */
    unsigned picture_s;       /* between two pictures; 0: none */
    bool allows_changes;
    struct broker_options broker; /* without client_id, will and topics */
};

#endif
