# The daemon at 60 frames a second with changing filters, and with clients that come, go and are
# killed. Fails if memory, descriptors, threads or latency grow; leaves build/soak/soak.csv and
# soak.png.

SOAK_SECONDS ?= 1800

##@ Measurements
.PHONY: soak ## runs the daemon for SOAK_SECONDS=1800 under changing load; fails if anything grows
.PHONY: _soak
soak:
	@tests/tools/deps.sh build run soak
	@$(MAKE) -s _soak

_soak: all $(call test-programs,tools)
	@mkdir -p $(BUILD)/soak
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/soak/soak.py --build $(BUILD) \
	    --device $(DEVICE) --seconds $(SOAK_SECONDS) --output $(BUILD)/soak
