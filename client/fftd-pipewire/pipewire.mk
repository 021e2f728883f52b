# fftd-pipewire, a camera as a video source of PipeWire. It is built where libpipewire is.

PIPEWIRE_PACKAGES := libpipewire-0.3
HAVE_PIPEWIRE := $(shell $(PKG_CONFIG) --exists $(PIPEWIRE_PACKAGES) 2>/dev/null && echo yes)
PIPEWIRE := $(wildcard client/fftd-pipewire/*.c)

# Its headers cause warnings with our flags.
PIPEWIRE_CFLAGS = $(patsubst -I%,-isystem %,$(call pkg-cflags,$(PIPEWIRE_PACKAGES)))
$(BUILD)/obj/client/fftd-pipewire/%.o: CPPFLAGS += $(PIPEWIRE_CFLAGS)

$(BUILD)/fftd-pipewire: $(call objects,$(PIPEWIRE)) $(CLIENT_PARTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(call pkg-libs,$(PIPEWIRE_PACKAGES))

all: $(if $(HAVE_PIPEWIRE),$(BUILD)/fftd-pipewire)
install: $(if $(HAVE_PIPEWIRE),_install-pipewire)

# Its unit is a user unit.
.PHONY: _install-pipewire
_install-pipewire: $(BUILD)/fftd-pipewire
	install -D -t $(DESTDIR)$(BINDIR) $<
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/man/fftd-pipewire.1
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/user
	sed 's|/usr/bin/|$(BINDIR)/|' systemd/user/fftd-pipewire@.service > \
	    $(DESTDIR)$(PREFIX)/lib/systemd/user/fftd-pipewire@.service

##@ Build
.PHONY: pipewire ## builds the camera as a video source of PipeWire, build/fftd-pipewire
pipewire: $(BUILD)/fftd-pipewire
