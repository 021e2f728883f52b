# Cross building for the board: armhf, Cortex-A17.
#
#   make cross         builds everything in build/armhf and runs the unit tests by qemu-arm

SYSROOT := build/armhf/sysroot
CROSS = arm-linux-gnueabihf
CROSS_ENV = BUILD=build/armhf CC="$(CROSS)-gcc --sysroot=$(abspath $(SYSROOT))" AR=$(CROSS)-ar \
    OPT="-O2 -mcpu=cortex-a17 -mfpu=neon-vfpv4 -mfloat-abi=hard" \
    PKG_CONFIG="env PKG_CONFIG_SYSROOT_DIR=$(abspath $(SYSROOT)) \
    PKG_CONFIG_LIBDIR=$(abspath $(SYSROOT))/usr/lib/$(CROSS)/pkgconfig:$(abspath $(SYSROOT))/usr/share/pkgconfig pkg-config"

.PHONY: cross test-cross test-cross-run
cross: test-cross
test-cross:
	@tests/deps cross
	@tests/cross/sysroot $(SYSROOT)
	@$(MAKE) -s -j2 $(CROSS_ENV) test-programs
	@$(MAKE) -s $(CROSS_ENV) test-cross-run

# The loader is named and not found through qemu's -L, which looks for every file below the sysroot
# first, those that tests make in /tmp too.
CROSS_LOADER = $(SYSROOT)/lib/ld-linux-armhf.so.3 \
    --library-path $(SYSROOT)/lib/$(CROSS):$(SYSROOT)/usr/lib/$(CROSS)

# The unit tests need nothing but a C library; V4L2 and OpenCL do not work in qemu-user.
test-cross-run: $(call test-programs,unit)
	@tests/run cross --timeout 180 --jobs $$(nproc) --wrap "qemu-arm-static $(CROSS_LOADER)" $^

# ---- two widths at one ring ----

$(BUILD)/tests/cross/peer: $(BUILD)/obj/tests/cross/peer.o $(BUILD)/libtest.a $(BUILD)/libring.a \
		$(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(call pkg-libs,libsystemd) -lm

.PHONY: widths test-widths
widths: test-widths
test-widths: $(BUILD)/tests/cross/peer
	@tests/deps cross
	@tests/cross/sysroot $(SYSROOT)
	@$(MAKE) -s $(CROSS_ENV) build/armhf/tests/cross/peer
	@tests/run widths --timeout 150 \
	    --wrap "tests/cross/widths $(SYSROOT) build/armhf/tests/cross/peer" $<
