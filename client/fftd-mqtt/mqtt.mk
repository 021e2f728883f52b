# fftd-mqtt, a camera's state as MQTT topics. It is built where libmosquitto is.

MQTT_PACKAGES := libmosquitto
HAVE_MQTT := $(shell $(PKG_CONFIG) --exists $(MQTT_PACKAGES) 2>/dev/null && echo yes)
MQTT := $(wildcard client/fftd-mqtt/*.c)

$(BUILD)/fftd-mqtt: $(call objects,$(MQTT)) $(CLIENT_PARTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(call pkg-libs,$(MQTT_PACKAGES)) $(CTL_LIBS)

all: $(if $(HAVE_MQTT),$(BUILD)/fftd-mqtt)
install: $(if $(HAVE_MQTT),_install-mqtt)
UNITS_LEFT_OUT += $(if $(HAVE_MQTT),,fftd-mqtt@.service)

.PHONY: _install-mqtt
_install-mqtt: $(BUILD)/fftd-mqtt
	install -D -t $(DESTDIR)$(BINDIR) $<
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/man/fftd-mqtt.1
