# Stabilising beside ffmpeg's filters.
#
#   STABILISE_OPTIONS="--clips 8 --first-seed 9100"     see tests/bench/stabilise.py

##@ Measurements
.PHONY: bench-stabilise ## measures what stabilise, vidstab and deshake leave of a shake with rotation
.PHONY: _bench-stabilise
bench-stabilise:
	@$(call bench-deps,build run bench-clip)
	@$(MAKE) -s _bench-stabilise

_bench-stabilise: all
	@mkdir -p $(BENCH_DIR)
	@/usr/bin/python3 tests/bench/stabilise.py --build $(BUILD) \
	    --json $(BENCH_DIR)/stabilise.jsonl $(STABILISE_OPTIONS)
