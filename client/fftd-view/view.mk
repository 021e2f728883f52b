# fftd-view, the cameras in a browser. It is built where libmicrohttpd, libjpeg-turbo and
# json-c are.

VIEW_PACKAGES := libmicrohttpd libturbojpeg json-c
HAVE_VIEW := $(shell $(PKG_CONFIG) --exists $(VIEW_PACKAGES) 2>/dev/null && echo yes)
VIEW_LIBS = $(call pkg-libs,$(VIEW_PACKAGES)) $(CTL_LIBS)
VIEW := $(filter-out client/fftd-view/main.c,$(wildcard client/fftd-view/*.c client/fftd-view/http/*.c))
# The files are in the order in which a browser requests them.
VIEW_PAGE := $(addprefix client/fftd-view/page/,index.html style.css app.js compare.js control.js \
    filter.js plots.js zoom.js dom.js plane.js problems.js stages.js cards.js) \
    $(BUILD)/generated/pictures.js \
    $(addprefix client/fftd-view/page/,mask.js peaks.js tools.js controls.js icon.svg)
VIEW_KINDS := $(sort $(wildcard client/fftd-view/page/kinds/*.png))

$(BUILD)/obj/client/fftd-view/%.o: CPPFLAGS += $(call pkg-cflags,$(VIEW_PACKAGES))

# Without vectors, which need -O3, its loops over samples take nearly as long as the JPEG encoder.
$(call objects,client/fftd-view/encoder.c): CFLAGS += -O3

# The small pictures of kinds are a module, so that a browser requests one file.
$(BUILD)/generated/pictures.js: $(VIEW_KINDS) client/fftd-view/view.mk
	@mkdir -p $(@D)
	{ echo "export default {"; for each in $(VIEW_KINDS); do \
	    printf '"%s": "%s",\n' "$$(basename $$each .png)" "$$(base64 -w 0 $$each)"; done; \
	    echo "};"; } > $@.tmp && mv $@.tmp $@

# The page's files are embedded in the program, so that it opens none.
$(BUILD)/generated/view_page.inc: $(VIEW_PAGE) kernels/embed.sh
	@mkdir -p $(@D)
	sh kernels/embed.sh $(VIEW_PAGE) > $@.tmp && mv $@.tmp $@
$(call objects,client/fftd-view/router.c): $(BUILD)/generated/view_page.inc

# Fuzzers test this part.
VIEW_FUZZED := $(BUILD)/libchange.a
$(VIEW_FUZZED): $(call objects,client/fftd-view/change_request.c)

# Unit tests use this part, which needs none of the libraries.
VIEW_TESTED := $(BUILD)/libaccess.a
$(VIEW_TESTED): $(call objects,client/fftd-view/http/access.c)

$(BUILD)/libview.a: $(call objects,$(VIEW))
$(BUILD)/fftd-view: $(call objects,client/fftd-view/main.c) $(BUILD)/libview.a $(CLIENT_PARTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(VIEW_LIBS)

all: $(if $(HAVE_VIEW),$(BUILD)/fftd-view)
install: $(if $(HAVE_VIEW),_install-view)

# Its units are left out of the installed ones if it is not built.
UNITS_LEFT_OUT := $(if $(HAVE_VIEW),,fftd-view.service fftd-view.socket)

.PHONY: _install-view
_install-view: $(BUILD)/fftd-view
	install -D -t $(DESTDIR)$(BINDIR) $<
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/man/fftd-view.1

##@ Build
.PHONY: view ## builds the cameras' page for browsers, build/fftd-view
view: $(BUILD)/fftd-view
