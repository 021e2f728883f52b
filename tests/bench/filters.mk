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

# The techniques over the reach of a filter.
#
#   TECHNIQUES_OPTIONS="--radii 1,2,4 3840x2160"   see tests/bench/techniques.c
#   PLOT=FILE.png                                  where to draw them; it needs gnuplot

TECHNIQUES_OPTIONS ?= 1280x720 1920x1080

.PHONY: bench-techniques ## compares the techniques over the reach of a filter, and the choice
bench-techniques: $(BUILD)/tests/bench/techniques
	@mkdir -p $(BENCH_DIR)
	@FFTD_DEVICE=$(DEVICE) $< --json $(BENCH_DIR)/techniques.jsonl $(TECHNIQUES_OPTIONS)
	@$(if $(PLOT),tests/bench/techniques.py $(BENCH_DIR)/techniques.jsonl $(PLOT))

$(BUILD)/tests/bench/techniques: $(call objects,tests/bench/techniques.c) $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(OPENCL_LIBS) -ldl -lm

# What the search for settings finds, compared with what it begins with: see tests/bench/search.c.
$(BUILD)/tests/bench/search: $(call objects,tests/bench/search.c) $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(OPENCL_LIBS) -ldl -lm

# A change of filter until the first frame.
#
#   TECHNIQUE_CHANGES_OPTIONS="--count 20"     see tests/bench/technique_changes.py

.PHONY: bench-technique-changes ## measures changes of filter, from the call to the first frame
.PHONY: _bench-technique-changes
bench-technique-changes:
	@$(call bench-deps,build run bench)
	@$(MAKE) -s _bench-technique-changes

_bench-technique-changes: all
	@mkdir -p $(BENCH_DIR)
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/technique_changes.py \
	    --build $(BUILD) --device $(DEVICE) --json $(BENCH_DIR)/technique-changes.jsonl $(TECHNIQUE_CHANGES_OPTIONS)
