# fftd-ctl motion beside optical flow and particle image velocimetry on clips of a known vibration.
# OpenPIV is measured if the Python in MOTION_PYTHON has it.
#
#   VIBRATION_CLIPS=4

VIBRATION_CLIPS ?= 4

.PHONY: bench-vibration ## compares fftd-ctl motion with OpenCV's optical flow and with OpenPIV: frequency, amplitude
.PHONY: _bench-vibration
bench-vibration:
	@$(call bench-deps,build run opencv)
	@$(MAKE) -s _bench-vibration

_bench-vibration: all
	@FFTD_BUILD=$(BUILD) $(MOTION_PYTHON) tests/bench/vibration.py --clips $(VIBRATION_CLIPS)
