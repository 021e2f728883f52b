# make soak SOAK_SECONDS=1800     the daemon for half an hour, 60 frames a second, filters that change,
#                                 clients that come, go and are killed; fails when something grows
#
# Leaves build/soak/soak.csv and soak.png.

SOAK_SECONDS ?= 1800

.PHONY: soak
soak: all $(call test-programs,tools)
	@tests/deps soak
	@mkdir -p $(BUILD)/soak
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/soak/soak.py --build $(BUILD) \
	    --device $(DEVICE) --seconds $(SOAK_SECONDS) --output $(BUILD)/soak
