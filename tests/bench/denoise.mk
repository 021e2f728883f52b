# denoise of the running daemon beside filters of ffmpeg and OpenCV, on photographs with noise.

##@ Measurements
.PHONY: bench-denoise ## compares denoise's error and time with those of ffmpeg's and OpenCV's filters
.PHONY: _bench-denoise
bench-denoise:
	@$(call bench-deps,build run bench bench-restore bench-clip)
	@$(MAKE) -s _bench-denoise

_bench-denoise: all
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/denoise.py \
	    --build $(BUILD) --device $(DEVICE)
