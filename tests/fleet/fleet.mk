DEMO_CAMERAS ?= 8
DEMO_SECONDS ?= 0
DEMO_RESTART_SECONDS ?= 10

##@ Demo
.PHONY: demo-fleet ## runs DEMO_CAMERAS=8 cameras, a media server, Prometheus and one page until Ctrl-C
demo-fleet:
	@tests/tools/deps.sh build run gst view fleet
	@$(MAKE) -s -j$$(nproc) all gst
	@tests/fleet/programs.sh build/fleet
	@exec tests/fleet/fleet.py $(BUILD) build/fleet --cameras $(DEMO_CAMERAS) \
	    --seconds $(DEMO_SECONDS) --restart-after $(DEMO_RESTART_SECONDS)

RECORDER_FRAMES ?= 100
RECORDER_ROUNDS ?= 1
.PHONY: demo-recorder ## runs a recorder and a detector of one camera; prints what an output costs, and what scaling does
demo-recorder:
	@tests/tools/deps.sh build run opencv out
	@$(MAKE) -s -j$$(nproc) all
	@tests/fleet/recorder.py $(BUILD) --frames $(RECORDER_FRAMES) --rounds $(RECORDER_ROUNDS)

##@ Tests, each described in tests/README.md
.PHONY: test-fleet ## tests demo-fleet with three cameras, the dashboard, demo-recorder, and 100 cameras at an MQTT broker
test-fleet:
	@tests/tools/deps.sh build run test gst view mqtt opencv fleet fleet-test
	@$(MAKE) -s -j$$(nproc) all gst $(BUILD)/tests/tools/faulty_clock.so
	@tests/fleet/programs.sh build/fleet
	@FFTD_BUILD=$(abspath $(BUILD)) $(call run-suite,fleet,1800) --jobs 1 --pytest \
	    $(wildcard tests/fleet/test_*.py)
