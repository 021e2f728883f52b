# fftd-gst, the process of gst: sources. It is built where GStreamer's headers are.

GST_HELPER_PACKAGES := gstreamer-app-1.0 gstreamer-video-1.0
HAVE_GST := $(shell $(PKG_CONFIG) --exists $(GST_HELPER_PACKAGES) 2>/dev/null && echo yes)

$(BUILD)/obj/daemon/gstreamer/%.o: CPPFLAGS += $(call pkg-cflags,$(GST_HELPER_PACKAGES))

$(BUILD)/fftd-gst: $(call objects,$(wildcard daemon/gstreamer/*.c)) $(BUILD)/libcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(call pkg-libs,$(GST_HELPER_PACKAGES)) -lm

all: $(if $(HAVE_GST),$(BUILD)/fftd-gst)
install: $(if $(HAVE_GST),_install-gst)

.PHONY: _install-gst
_install-gst: $(BUILD)/fftd-gst
	install -D -t $(DESTDIR)$(PREFIX)/libexec/fftd $<
