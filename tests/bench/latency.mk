# Where a frame's time goes in the running daemon, from its own timestamps.
#
#   LATENCY_SECONDS=10             how long to measure at each size
#   LATENCY_SIZES="640x360 ..."    instead of the usual ones
#   LATENCY_SOURCE=v4l2:/dev/video0
#   LATENCY_SET="camera.memory=mmap camera.format=YUYV"

LATENCY_SECONDS ?= 10

##@ Measurements
.PHONY: bench-latency ## measures each step of a frame's latency in the running daemon
.PHONY: _bench-latency
bench-latency:
	@$(call bench-deps,build run bench)
	@$(MAKE) -s _bench-latency

_bench-latency: all
	@mkdir -p $(BENCH_DIR)
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/latency.py \
	    --build $(BUILD) --device $(DEVICE) --seconds $(LATENCY_SECONDS) \
	    $(if $(LATENCY_SOURCE),--source $(LATENCY_SOURCE)) $(LATENCY_SET:%=--set %) \
	    --json $(BENCH_DIR)/latency.jsonl $(LATENCY_SIZES)

# Part of make bench if the daemon can be built, and if there is NumPy for its Python module.
ifneq ($(and $(call pkg-libs,libsystemd libconfig libv4l2),$(shell /usr/bin/python3 -c 'import numpy; print(1)' 2>/dev/null)),)
BENCHES += latency
_bench: _bench-latency
endif
