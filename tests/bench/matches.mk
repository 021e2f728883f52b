# Measures the time to look for 1 template and for 16.
#
#   MATCH_SECONDS=6      seconds of each turn; each case has three turns

MATCH_SECONDS ?= 6

.PHONY: bench-matches ## measures what looking for 1 and for 16 templates costs at 1280x720, and what is found

bench-matches: all
	@FFTD_BUILD=$(abspath $(BUILD)) tests/bench/matches.py $(MATCH_SECONDS)
