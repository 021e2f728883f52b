# denoise of the running daemon beside filters of ffmpeg and OpenCV, on photographs with noise; and
# what it gains by past frames where something moves.
#
#   DENOISE_MOTION_OPTIONS="--seed 9003 --kinds cut --sigmas 25,50 --frames 12"
#   DENOISE_PEERS_OPTIONS="--videos a.mp4,b.mp4 --vapoursynth VENV/bin/python"
#   DENOISE_PYTHON=                           a Python with scikit-image, SciPy and OpenCV

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

DENOISE_PYTHON ?= /usr/bin/python3

.PHONY: bench-denoise-peers ## compares denoise along motion with V-BM3D, MVTools, filters of ffmpeg ...
.PHONY: _bench-denoise-peers
bench-denoise-peers:
	@$(call bench-deps,build run bench bench-restore bench-clip)
	@$(MAKE) -s _bench-denoise-peers

_bench-denoise-peers: all
	@FFTD_BUILD=$(BUILD) $(DENOISE_PYTHON) tests/bench/denoise_peers.py --device $(DEVICE) \
	    $(DENOISE_PEERS_OPTIONS)
