# What fftd-ctl diagnose finds in photographs with known faults, and says of clean ones.

##@ Measurements
.PHONY: bench-diagnose ## counts what fftd-ctl diagnose finds in photographs with known faults
.PHONY: _bench-diagnose
bench-diagnose:
	@$(call bench-deps,build run bench bench-diagnose)
	@$(MAKE) -s _bench-diagnose

_bench-diagnose: all
	@FFTD_BUILD=$(BUILD) /usr/bin/python3 tests/bench/diagnose.py
