# make bench-ring     fftd's ring beside uStreamer's memory sink and GStreamer's shmsink: latency and
#                     cost at 0, 1, 8 and 32 clients, and what one stuck client does to others
#
#   BENCH_RING_OPTIONS="--clients 8 --seconds 10"     see tests/bench/ring.c

$(BUILD)/obj/tests/bench/ring_shmsink.o: CPPFLAGS += $(call pkg-cflags,gstreamer-1.0)

$(BUILD)/tests/bench/ring: $(call objects,$(wildcard tests/bench/ring*.c)) $(BUILD)/libtest.a \
		$(BUILD)/libring.a $(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(call pkg-libs,libsystemd) \
	    $(call pkg-libs,gstreamer-1.0) -lm

.PHONY: bench-ring
bench-ring: $(BUILD)/tests/bench/ring
	@mkdir -p $(BENCH_DIR)
	@$< --json $(BENCH_DIR)/ring.jsonl $(BENCH_RING_OPTIONS)

# Part of make bench where there is what the ring and the tests' support are built from.
ifneq ($(and $(call pkg-libs,libsystemd),$(call pkg-libs,cmocka fftw3)),)
BENCHES += ring
bench: bench-ring
endif
