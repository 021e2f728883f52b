# The whole daemon beside OpenCV, filter by filter.
#
#   FILTERS_OPTIONS="--seconds 3 1920x1080"     see tests/bench/filters.py

# The kernels alone, with several settings: see tests/bench/direct.c.
$(BUILD)/tests/bench/direct: $(call objects,tests/bench/direct.c) $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(OPENCL_LIBS) -lm

##@ Measurements
.PHONY: bench-filters ## compares the daemon with OpenCV's call for each filter: times of a frame
.PHONY: _bench-filters
bench-filters:
	@$(call bench-deps,build run opencv)
	@$(MAKE) -s _bench-filters

_bench-filters: all
	@mkdir -p $(BENCH_DIR)
	@/usr/bin/python3 tests/bench/filters.py --build $(BUILD) --device $(DEVICE) \
	    --json $(BENCH_DIR)/filters.jsonl $(FILTERS_OPTIONS)
