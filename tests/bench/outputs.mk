# What further outputs of one camera cost, and other ways to make pictures smaller.
#
#   OUTPUT_FRAMES=15      frames in each turn
#   OUTPUT_TURNS=12       turns of each case, at least 2
#   STUCK_PAIRS=30        pairs of turns with and without a stuck reader
#   OUTPUT_PLANES=luma    planes of every output; luma-only: no chroma is made smaller

OUTPUT_FRAMES ?= 15
STUCK_PAIRS ?= 30
OUTPUT_PLANES ?= luma

.PHONY: bench-outputs ## measures the processor time of a second, third and eighth output of a camera
.PHONY: bench-outputs-live ## measures how long it takes to add an output, and main's frames meanwhile
.PHONY: bench-outputs-stuck ## measures what a stuck reader of one output costs the readers of the others

bench-outputs: all
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_DEVICE=$(DEVICE) OUTPUT_PLANES=$(OUTPUT_PLANES) \
	    tests/bench/outputs.py $(OUTPUT_FRAMES)
	@tests/tools/deps.sh bench-outputs || echo "measuring without these packages" >&2
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_DEVICE=$(DEVICE) tests/bench/outputs_peers.py

bench-outputs-live: all
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_DEVICE=$(DEVICE) tests/bench/outputs_live.py

bench-outputs-stuck: all
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_DEVICE=$(DEVICE) tests/bench/outputs_stuck.py $(STUCK_PAIRS)
