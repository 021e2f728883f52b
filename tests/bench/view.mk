# What viewers of fftd-view's MJPEG stream cost, beside ustreamer with the same frames.
#
#   VIEW_OPTIONS="--viewers 1,8 --rounds 1"     see tests/bench/view.py

V4L2_CAMERA := $(BUILD)/tests/tools/v4l2_camera.so

$(V4L2_CAMERA): tests/bench/v4l2_camera.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -g -O2 -std=c11 $(WARN) -fPIC -pthread -shared -o $@ $<

##@ Measurements
.PHONY: bench-view ## measures what viewers of fftd-view cost, beside ustreamer
.PHONY: _bench-view
bench-view:
	@$(call bench-deps,build run view bench-view)
	@$(MAKE) -s _bench-view

_bench-view: all view $(V4L2_CAMERA)
	@mkdir -p $(BENCH_DIR)
	@/usr/bin/python3 tests/bench/view.py --build $(BUILD) --device $(DEVICE) --camera $(V4L2_CAMERA) \
	    --json $(BENCH_DIR)/view.jsonl $(VIEW_OPTIONS)
