# fftd's ring beside uStreamer's memory sink and GStreamer's shmsink: latency and cost with 0, 1, 8
# and 32 clients, and the effect of one stuck client on the others.
#
#   BENCH_RING_OPTIONS="--clients 8 --seconds 10"     see tests/bench/ring.c

$(BUILD)/obj/tests/bench/ring_shmsink.o: CPPFLAGS += $(call pkg-cflags,gstreamer-1.0)

$(BUILD)/tests/bench/ring: $(call objects,$(wildcard tests/bench/ring*.c)) $(BUILD)/libtest.a \
		$(BUILD)/libservice.a $(BUILD)/libring.a $(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(call pkg-libs,libsystemd) \
	    $(call pkg-libs,gstreamer-1.0) -lm

##@ Measurements
.PHONY: bench-ring ## compares the ring with the sinks of uStreamer and GStreamer, with 0 to 32 clients
.PHONY: _bench-ring
bench-ring:
	@$(call bench-deps,build bench-ring)
	@$(MAKE) -s _bench-ring

_bench-ring: $(BUILD)/tests/bench/ring
	@mkdir -p $(BENCH_DIR)
	@$< --json $(BENCH_DIR)/ring.jsonl $(BENCH_RING_OPTIONS)

# Part of make bench if there are the libraries that the ring and tests/support are built with.
ifneq ($(and $(call pkg-libs,libsystemd),$(call pkg-libs,cmocka fftw3)),)
BENCHES += ring
_bench: _bench-ring
endif
