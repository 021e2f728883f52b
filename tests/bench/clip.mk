# The whole daemon beside programs that filter video by FFT, on one clip of 1280x720.
#
#   CLIP_SECONDS=4                how long to measure each subject in each round

CLIP_SECONDS ?= 4

##@ Measurements
.PHONY: bench-clip ## compares the daemon with ffmpeg, FFTW and OpenCV on a clip: frames a second, PSNR
.PHONY: _bench-clip
bench-clip:
	@$(call bench-deps,build run bench bench-restore bench-clip)
	@$(MAKE) -s _bench-clip

# Compiled for this machine and with the options that a program for one task could use.
$(BUILD)/bench/clip_fftw: tests/bench/clip_fftw.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -O3 -march=native -ffast-math -std=c11 $(LDFLAGS) -o $@ $< \
	    -lfftw3f_threads -lfftw3f -lm -pthread

_bench-clip: all $(BUILD)/bench/clip_fftw
	@LIBFFTD=$(abspath $(BUILD)/libfftd.so.0) /usr/bin/python3 tests/bench/clip.py \
	    --build $(BUILD) --device $(DEVICE) --seconds $(CLIP_SECONDS) \
	    --fftw $(BUILD)/bench/clip_fftw
