# The GStreamer element; its build needs GStreamer's headers.
#
#     GST_PLUGIN_PATH=build/gstreamer gst-launch-1.0 fftdsrc ! videoconvert ! autovideosink

GST_PACKAGES := gstreamer-video-1.0 gstreamer-base-1.0

$(BUILD)/obj/client/gstreamer/%.o: CPPFLAGS += $(call pkg-cflags,$(GST_PACKAGES))

# libfftd is linked statically and its symbols are hidden: the program may use another version.
$(BUILD)/gstreamer/libgstfftd.so: $(BUILD)/obj/client/gstreamer/fftdsrc.o $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(call pkg-libs,$(GST_PACKAGES))

##@ Build
.PHONY: gst ## builds the GStreamer element, build/gstreamer/libgstfftd.so
gst: $(BUILD)/gstreamer/libgstfftd.so
