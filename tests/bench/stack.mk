# What stack gains.
#
#   STACK_OPTIONS="--first-seed 9600 --chain stack:clip=3"     see tests/bench/stack.py

##@ Measurements
.PHONY: bench-stack ## measures what stack gains on clips that drift and turn, and its time
.PHONY: _bench-stack
bench-stack:
	@$(call bench-deps,build run bench-clip)
	@$(MAKE) -s _bench-stack

_bench-stack: all
	@mkdir -p $(BENCH_DIR)
	@/usr/bin/python3 tests/bench/stack.py --build $(BUILD) --json $(BENCH_DIR)/stack.jsonl \
	    $(STACK_OPTIONS)
