# What the estimators find and leave, on the clips of the unit tests and in the running daemon.
#
#   SEED=N                                  another held-back seed, which nothing was tuned on
#   ESTIMATORS_OPTIONS=--busy               with a program that keeps each processor busy
#   ESTIMATORS_OPTIONS="--only shift,live"  some of the rows; estimators.py --help has the others

ESTIMATORS_OPTIONS ?=
ESTIMATORS_PROGRAMS = $(addprefix $(BUILD)/tests/unit/,periodic flicker motion_pairs measures_focus \
    stripes_clips blur_noise)

##@ Measurements
.PHONY: bench-estimators ## a table of what the estimators find and leave, on a tuned and a held-back seed; SEED=
.PHONY: _bench-estimators
bench-estimators:
	@$(call bench-deps,build run bench bench-restore)
	@$(MAKE) -s _bench-estimators

_bench-estimators: all $(ESTIMATORS_PROGRAMS)
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/estimators.py \
	    --build $(BUILD) --device $(DEVICE) $(SEED:%=--held-back %) $(ESTIMATORS_OPTIONS)
