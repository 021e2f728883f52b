# wiener of the running daemon beside scikit-image's, on photographs that are blurred and noisy.

##@ Measurements
.PHONY: bench-restore ## compares wiener's error and time with scikit-image's
.PHONY: _bench-restore
bench-restore:
	@$(call bench-deps,build run bench bench-restore)
	@$(MAKE) -s _bench-restore

_bench-restore: all
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/restore.py \
	    --build $(BUILD) --device $(DEVICE)
