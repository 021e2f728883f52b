# What stack gains.
#
#   STACK_OPTIONS="--first-seed 9600 --chain stack:clip=3"     see tests/bench/stack.py
#   STACK_PYTHON=VENV/bin/python   with astroalign, which --peers then measures, too

STACK_PYTHON ?= /usr/bin/python3

##@ Measurements
.PHONY: bench-stack ## measures what stack gains on clips that drift and turn, and its time
.PHONY: _bench-stack
bench-stack:
	@$(call bench-deps,build run bench-clip)
	@$(MAKE) -s _bench-stack

_bench-stack: all
	@mkdir -p $(BENCH_DIR)
	@$(STACK_PYTHON) tests/bench/stack.py --build $(BUILD) --json $(BENCH_DIR)/stack.jsonl \
	    $(STACK_OPTIONS)
