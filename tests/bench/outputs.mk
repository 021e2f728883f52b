# What further outputs of one camera cost.
#
#   OUTPUT_FRAMES=60      of each turn; there are three

OUTPUT_FRAMES ?= 60

.PHONY: bench-outputs ## measures the processor time of a second, third and eighth output of a camera

bench-outputs: all
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_DEVICE=$(DEVICE) tests/bench/outputs.py $(OUTPUT_FRAMES)
