# denoise of the running daemon beside filters of ffmpeg and OpenCV, on photographs with noise; and
# what it gains by past frames where something moves.
#
#   DENOISE_MOTION_OPTIONS="--seed 9003 --kinds cut --sigmas 25,50 --frames 12"

##@ Measurements
.PHONY: bench-denoise ## compares denoise's error and time with those of ffmpeg's and OpenCV's filters
.PHONY: _bench-denoise
bench-denoise:
	@$(call bench-deps,build run bench bench-restore bench-clip)
	@$(MAKE) -s _bench-denoise

_bench-denoise: all
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/denoise.py \
	    --build $(BUILD) --device $(DEVICE)

.PHONY: bench-denoise-motion ## measures what denoise gains by past frames on clips with known motion
.PHONY: _bench-denoise-motion
bench-denoise-motion:
	@$(call bench-deps,build run bench bench-restore)
	@$(MAKE) -s _bench-denoise-motion

_bench-denoise-motion: all
	@FFTD_BUILD=$(BUILD) /usr/bin/python3 tests/bench/denoise_motion.py --device $(DEVICE) \
	    $(DENOISE_MOTION_OPTIONS)
