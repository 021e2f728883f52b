# The ring's memory, attacked through /dev/udmabuf. Debian 12's kernel does not have this device, so
# each program boots a newer one in QEMU (tests/udmabuf/boot.sh).
UDMABUF := build/udmabuf
UDMABUF_TESTS := $(BUILD)/tests/udmabuf/ring_memory

$(UDMABUF_TESTS): $(BUILD)/obj/tests/udmabuf/ring_memory.o $(BUILD)/libtest.a \
		$(BUILD)/libservice.a $(BUILD)/libring.a $(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ -lcmocka $(call pkg-libs,libsystemd) -lm

##@ Tests, each described in tests/README.md
.PHONY: test-udmabuf ## attacks the ring's memory in QEMU, with a kernel that has /dev/udmabuf
.PHONY: _test-udmabuf
test-udmabuf:
	@if ! tests/tools/deps.sh build test udmabuf; then \
	    tests/tools/run.py udmabuf --skip "QEMU is missing"; \
	elif ! timeout 300 tests/udmabuf/kernel.sh $(UDMABUF); then \
	    tests/tools/run.py udmabuf --skip "no kernel with /dev/udmabuf can be downloaded"; \
	else \
	    $(MAKE) -s _test-udmabuf; \
	fi

# The ring's unit tests try all other ways at its descriptor, there on a newer kernel.
_test-udmabuf: $(UDMABUF_TESTS) $(BUILD)/tests/unit/ring
	@tests/tools/run.py udmabuf --timeout 1800 --wrap "tests/udmabuf/boot.sh $(UDMABUF)" $^
