# fftd: `make demo` shows what it does, `make test` must pass before a commit lands, and `make help`
# lists every target. Its texts are the `## ` comments behind the targets' names in .PHONY, here and
# in the *.mk files; a target whose name begins with _ is a step of another one.
#
#   make SAN=address,undefined    a sanitized build in build/san-address-undefined; also SAN=thread
#   make CC=clang BUILD=build/clang    any other compiler, in a build directory of its own
#
# Every .c file of a folder belongs to that folder's program or library, and every .c file in
# tests/unit and tests/gpu is one test program. No list of files is kept by hand.

SAN ?=
comma := ,
BUILD ?= build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))

CC ?= cc
VERSION := 0.1.0
PKG_CONFIG ?= pkg-config
OPT ?= -O2
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
        -Wundef -Wpointer-arith -Wimplicit-fallthrough
CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -DFFTD_VERSION='"$(VERSION)"' \
            -DCL_TARGET_OPENCL_VERSION=120 -Idaemon -Iclient/include -I$(BUILD)/generated
CFLAGS ?= -g $(OPT)
CFLAGS += -std=c11 $(WARN) -fPIC -pthread $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
LDFLAGS += -pthread $(if $(SAN),-fsanitize=$(SAN))

pkg-cflags = $(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null)
pkg-libs = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)

# The daemon's folders, those above others first. A folder inside one of them belongs to it.
ROOMS   := bus camera designer observer config capture ring service engine estimators transform filters gpu core
# The folders that programs of client/ share, those above others first.
SHARED  := diagnosis vibration calibration recording common pictures
LIBFFTD := $(wildcard client/libfftd/*.c)
CTL     := $(filter-out client/fftd-ctl/main.c,$(wildcard client/fftd-ctl/*.c))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

##@ Build
.PHONY: all ## builds the daemon, fftd-ctl and libfftd in build/; the default
all: $(BUILD)/fftd $(BUILD)/fftd-ctl $(BUILD)/libfftd.a $(BUILD)/libfftd.so.0

# ---- the parts, each a static archive so that tests and benches link exactly what they test ----
KERNELS := $(sort $(wildcard kernels/*/*.cl))
# The kernels are real files; the program carries them so that it runs from anywhere.
$(BUILD)/generated/kernels.inc: $(KERNELS) kernels/embed.sh
	@mkdir -p $(@D)
	sh kernels/embed.sh $(KERNELS) > $@.tmp && mv $@.tmp $@
$(call objects,daemon/gpu/program.c): $(BUILD)/generated/kernels.inc

# So does fftd-ctl its script.
$(BUILD)/generated/report.inc: client/fftd-ctl/report.sh kernels/embed.sh
	@mkdir -p $(@D)
	sh kernels/embed.sh $< > $@.tmp && mv $@.tmp $@
$(call objects,client/fftd-ctl/report.c): $(BUILD)/generated/report.inc

$(foreach room,$(ROOMS),$(eval $(BUILD)/lib$(room).a: $(call objects,$(wildcard daemon/$(room)/*.c daemon/$(room)/*/*.c))))
$(foreach room,$(SHARED),$(eval $(BUILD)/lib$(room).a: $(call objects,$(wildcard client/$(room)/*.c))))
$(BUILD)/libfftd.a: $(call objects,$(LIBFFTD))
$(BUILD)/libctl.a: $(call objects,$(CTL))
$(BUILD)/%.a:
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^

OPENCL_LIBS ?= $(or $(call pkg-libs,OpenCL),-lOpenCL)
DAEMON_LIBS = $(call pkg-libs,libsystemd libconfig libv4l2 libpng) $(OPENCL_LIBS) -lm
CTL_LIBS = $(call pkg-libs,libsystemd libpng) -lm
PARTS = $(ROOMS:%=$(BUILD)/lib%.a)
CLIENT_PARTS = $(SHARED:%=$(BUILD)/lib%.a) $(BUILD)/libfftd.a \
    $(patsubst %,$(BUILD)/lib%.a,capture estimators filters core)

$(BUILD)/fftd: $(call objects,$(wildcard daemon/*.c)) $(PARTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DAEMON_LIBS)

$(BUILD)/fftd-ctl: $(call objects,client/fftd-ctl/main.c) $(BUILD)/libctl.a $(CLIENT_PARTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CTL_LIBS)

$(BUILD)/libfftd.so.0: $(call objects,$(LIBFFTD)) client/libfftd/libfftd.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libfftd.so.0 \
	    -Wl,--version-script=client/libfftd/libfftd.map -o $@ $(filter %.o,$^)

# The FFT engine, which needs only a C compiler and OpenCL.
ENGINE := $(patsubst %,$(BUILD)/lib%.a,engine estimators transform filters gpu core)

# libv4l2 knows the calls with struct v4l2_buffer by their numbers, and these contain its size, which
# depends on the width of time_t. Debian 12's libv4l2 for 32 bits has 32-bit times, so what calls it
# has the width that the distribution's compiler has by default. Linux before 5.6, such as 4.4 of
# Rockchip's boards, knows only the calls with 32-bit times there.
$(call objects,$(wildcard daemon/capture/v4l2*.c tests/unit/v4l2*.c)): CPPFLAGS += -U_TIME_BITS
# The compiler vectorises their loops, or has to unroll them so that vectors stay in registers.
$(call objects,daemon/core/fft.c daemon/engine/factor.c daemon/transform/resampler.c \
    $(patsubst %,daemon/estimators/%.c,flicker/flicker_improve luma match_sheet motion/motion \
    motion/motion_cells motion/motion_correlation periodic_score periodic_sheet periodic_sheet_load \
    periodic_spectrum)): CFLAGS += -O3
# The compiler vectorises square roots only if they need not set errno.
$(call objects,daemon/estimators/motion/motion_correlation.c): CFLAGS += -fno-math-errno

# Programs of client/ include the headers of their neighbours with the folder's name.
$(BUILD)/obj/client/%.o: CPPFLAGS += -Iclient

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

.PHONY: deps ## installs the Debian packages for the build and for make test
deps:
	@tests/tools/deps.sh build run test style gst out view pipewire mqtt

# ---- install ----
# Programs whose libraries are absent (fftd-view, fftd-pipewire, fftd-mqtt, fftd-gst, the GStreamer
# element) are left out. Debian's Python searches PYTHON_DIR below /usr/local; GStreamer searches GST_DIR only if
# PREFIX is /usr, or if GST_PLUGIN_PATH names it.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
SYSCONFDIR ?= /etc
PYTHON_DIR ?= $(PREFIX)/lib/$(shell python3 -c \
    'import sys; print("python%d.%d" % sys.version_info[:2])')/dist-packages
GST_DIR ?= $(LIBDIR)/gstreamer-1.0
SYSTEMD_VERSION ?= $(shell $(PKG_CONFIG) --modversion libsystemd 2>/dev/null)
# "254.5" and "257~rc2" are 254 and 257.
has-notify-reload = $(shell expr '$(SYSTEMD_VERSION)' : '\([0-9]*\)' '>=' 253)
install-into = $(if $(wildcard $(2)),install -D -m 644 -t $(DESTDIR)$(1) $(wildcard $(2)))

.PHONY: install ## installs programs, libfftd, units and manual pages; DESTDIR=, PREFIX=/usr/local, SYSCONFDIR=/etc, PYTHON_DIR=, GST_DIR=, SYSTEMD_VERSION=
install: all
	install -D -t $(DESTDIR)$(BINDIR) $(BUILD)/fftd $(BUILD)/fftd-ctl
	$(call install-into,$(LIBDIR),$(BUILD)/libfftd.a)
	install -D $(BUILD)/libfftd.so.0 $(DESTDIR)$(LIBDIR)/libfftd.so.$(VERSION)
	ln -sf libfftd.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libfftd.so.0
	ln -sf libfftd.so.0 $(DESTDIR)$(LIBDIR)/libfftd.so
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
	    client/libfftd/libfftd.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/libfftd.pc
	$(call install-into,$(PREFIX)/include/fftd,client/include/fftd/*.h)
	$(call install-into,$(PYTHON_DIR),client/python/fftd.py)
	$(call install-into,$(PREFIX)/share/fftd/presets,config/presets/*)
	$(call install-into,$(PREFIX)/share/fftd/images,config/images/*)
	$(call install-into,$(PREFIX)/share/fftd/fleet,config/fleet/*)
	$(call install-into,$(PREFIX)/share/man/man1,docs/man/fftd-ctl.1)
	$(call install-into,$(PREFIX)/share/man/man3,docs/man/*.3)
	$(call install-into,$(PREFIX)/share/man/man5,docs/man/*.5)
	$(call install-into,$(PREFIX)/share/man/man8,docs/man/*.8)
	$(call install-into,$(PREFIX)/share/bash-completion/completions,client/fftd-ctl/completion/*)
	$(call install-into,$(PREFIX)/lib/udev/rules.d,systemd/*.rules)
	$(call install-into,$(PREFIX)/lib/sysusers.d,systemd/sysusers.d/*)
	$(call install-into,$(PREFIX)/lib/tmpfiles.d,systemd/tmpfiles.d/*)
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(SYSCONFDIR)/fftd/presets \
	    $(DESTDIR)$(SYSCONFDIR)/fftd/images
	for unit in $(filter-out $(UNITS_LEFT_OUT),$(notdir $(wildcard systemd/*.service \
	        systemd/*.socket))); do \
	    sed 's|/usr/bin/fftd|$(BINDIR)/fftd|' systemd/$$unit > \
	        $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit; done
ifeq ($(has-notify-reload),1)
	$(call install-into,$(PREFIX)/lib/systemd/system/fftd@.service.d,systemd/fftd@.service.d/*.conf)
endif
	test -e $(DESTDIR)$(SYSCONFDIR)/fftd/default.conf || \
	    install -m 644 config/fftd.conf $(DESTDIR)$(SYSCONFDIR)/fftd/default.conf

.PHONY: clean ## removes build/
clean:
	rm -rf build

# ---- tests, lint, demo, bench: each in its own folder ----
-include $(wildcard daemon/*/*.mk client/*/*.mk) tests/suites.mk $(wildcard tests/*/*.mk)

.PHONY: help ## prints this list
help:
	@awk 'FNR == 1 { section = "Other" } \
	    /^##@ / { section = substr($$0, 5) } \
	    /^\.PHONY: [^_].* ## / { \
	        if (!(section in lines)) order[++count] = section; \
	        name = $$2; sub(/^[^#]*## /, ""); \
	        lines[section] = lines[section] sprintf("  %-18s %s\n", name, $$0) } \
	    END { for (i = 1; i <= count; i++) printf "%s:\n%s\n", order[i], lines[order[i]] }' \
	    $(filter %Makefile %.mk,$(MAKEFILE_LIST))
