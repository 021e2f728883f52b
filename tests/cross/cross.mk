# Cross building for the board: armhf, Cortex-A17, in build/armhf.

SYSROOT := build/armhf/sysroot
CROSS = arm-linux-gnueabihf
CROSS_ENV = BUILD=build/armhf CC="$(CROSS)-gcc --sysroot=$(abspath $(SYSROOT))" AR=$(CROSS)-ar \
    OPT="-O2 -mcpu=cortex-a17 -mfpu=neon-vfpv4 -mfloat-abi=hard" \
    PKG_CONFIG="env PKG_CONFIG_SYSROOT_DIR=$(abspath $(SYSROOT)) \
    PKG_CONFIG_LIBDIR=$(abspath $(SYSROOT))/usr/lib/$(CROSS)/pkgconfig:$(abspath $(SYSROOT))/usr/share/pkgconfig pkg-config"

##@ Tests, each described in tests/README.md
.PHONY: test-cross ## builds everything for armhf, and runs the unit tests with qemu-arm
.PHONY: _test-cross
test-cross:
	@tests/tools/deps.sh build test cross
	@tests/cross/sysroot.sh $(SYSROOT)
	@$(MAKE) -s -j2 $(CROSS_ENV) test-programs
	@$(MAKE) -s $(CROSS_ENV) _test-cross

# The loader is named, and not found through qemu's -L, which would look for every file in the
# sysroot first, also for those that tests make in /tmp.
CROSS_LOADER = $(SYSROOT)/lib/ld-linux-armhf.so.3 \
    --library-path $(SYSROOT)/lib/$(CROSS):$(SYSROOT)/usr/lib/$(CROSS)

# The unit tests need only a C library; V4L2 and OpenCL do not work in qemu-user.
# CROSS_TESTS="ring format": only these.
_test-cross: $(call test-programs,unit) | $(LOCALES)/de_DE.UTF-8
	@FFTD_TEST_CLIPS=one LOCPATH=$(use-locales) tests/tools/run.py cross --timeout 1800 --jobs $$(nproc) \
	    --wrap "qemu-arm-static $(CROSS_LOADER)" \
	    $(call some-of,$(CROSS_TESTS),$(unit-tests))

# ---- two widths at one ring ----

$(BUILD)/tests/cross/peer: $(BUILD)/obj/tests/cross/peer.o $(BUILD)/libtest.a \
		$(BUILD)/libservice.a $(BUILD)/libring.a $(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(call pkg-libs,libsystemd) -lm

.PHONY: test-widths ## tests a 32-bit and a 64-bit program that share one ring
.PHONY: _test-widths
test-widths:
	@tests/tools/deps.sh build test cross
	@$(MAKE) -s _test-widths

_test-widths: $(BUILD)/tests/cross/peer
	@tests/cross/sysroot.sh $(SYSROOT)
	@$(MAKE) -s $(CROSS_ENV) build/armhf/tests/cross/peer
	@tests/tools/run.py widths --timeout 900 \
	    --wrap "tests/cross/widths.sh $(SYSROOT) build/armhf/tests/cross/peer" $<
