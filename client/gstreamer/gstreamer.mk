# The GStreamer element. It is built where GStreamer's headers are.
#
#     GST_PLUGIN_PATH=build/gstreamer gst-launch-1.0 fftdsrc ! videoconvert ! autovideosink

GST_PACKAGES := gstreamer-video-1.0 gstreamer-base-1.0
HAVE_GST_ELEMENT := $(shell $(PKG_CONFIG) --exists $(GST_PACKAGES) 2>/dev/null && echo yes)

$(BUILD)/obj/client/gstreamer/%.o: CPPFLAGS += $(call pkg-cflags,$(GST_PACKAGES))

# libfftd is linked statically and its symbols are hidden: the program may use another version.
$(BUILD)/gstreamer/libgstfftd.so: $(BUILD)/obj/client/gstreamer/fftdsrc.o $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(call pkg-libs,$(GST_PACKAGES))

all: $(if $(HAVE_GST_ELEMENT),$(BUILD)/gstreamer/libgstfftd.so)
install: $(if $(HAVE_GST_ELEMENT),_install-gst-element)

.PHONY: _install-gst-element
_install-gst-element: $(BUILD)/gstreamer/libgstfftd.so
	install -D -m 644 -t $(DESTDIR)$(GST_DIR) $<

##@ Build
.PHONY: gst ## builds the GStreamer element, build/gstreamer/libgstfftd.so
gst: $(BUILD)/gstreamer/libgstfftd.so
