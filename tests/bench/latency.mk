# make bench-latency     where a frame's time goes in the running daemon, from its own timestamps
#
#   LATENCY_SECONDS=10             how long to measure at each size
#   LATENCY_SIZES="640x360 ..."    instead of the usual ones
#   LATENCY_SOURCE=v4l2:/dev/video0
#   LATENCY_SET="camera.memory=mmap camera.format=YUYV"

LATENCY_SECONDS ?= 10

.PHONY: bench-latency
bench-latency: all
	@mkdir -p $(BENCH_DIR)
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/latency.py \
	    --build $(BUILD) --device $(DEVICE) --seconds $(LATENCY_SECONDS) \
	    $(if $(LATENCY_SOURCE),--source $(LATENCY_SOURCE)) $(LATENCY_SET:%=--set %) \
	    --json $(BENCH_DIR)/latency.jsonl $(LATENCY_SIZES)

# Part of make bench where the daemon can be built, and NumPy is there for its Python module.
ifneq ($(and $(call pkg-libs,libsystemd libconfig libv4l2),$(shell /usr/bin/python3 -c 'import numpy; print(1)' 2>/dev/null)),)
BENCHES += latency
bench: bench-latency
endif
