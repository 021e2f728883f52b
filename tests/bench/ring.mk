# make bench-ring     latency of the ring, and its cost, at 0, 1, 8 and 32 clients

$(BUILD)/tests/bench/ring: $(BUILD)/obj/tests/bench/ring.o $(BUILD)/libtest.a $(BUILD)/libring.a \
		$(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(call pkg-libs,libsystemd) -lm

.PHONY: bench-ring
bench-ring: $(BUILD)/tests/bench/ring
	@mkdir -p $(BENCH_DIR)
	@$< $(BENCH_RING_OPTIONS) > $(BENCH_DIR)/ring.jsonl
	@cat $(BENCH_DIR)/ring.jsonl

# Part of make bench where there is what the ring and the tests' support are built from.
ifneq ($(and $(call pkg-libs,libsystemd),$(call pkg-libs,cmocka fftw3)),)
BENCHES += ring
bench: bench-ring
endif
