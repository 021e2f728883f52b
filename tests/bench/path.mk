# The path of a frame through the whole daemon, and N daemons on one device.
#
#   PATH_OPTIONS="--parts rate --devices gpu 1920x1080"     see tests/bench/path.py
#
# On a machine that has OpenCL and Python, but not the libraries of the daemon:
#
#   make bench-path-carried           here; then carry build/carried and tests/bench there, and run
#   LD_LIBRARY_PATH=build/carried/lib python3 tests/bench/path.py --build build/carried

##@ Measurements
.PHONY: bench-path ## measures the daemon from source to ring at fps = max, and N daemons on one device
.PHONY: _bench-path
bench-path:
	@$(call bench-deps,build run bench bench-restore bench-clip)
	@$(MAKE) -s _bench-path

_bench-path: all $(BUILD)/bench/clip_fftw
	@mkdir -p $(BENCH_DIR)
	@/usr/bin/python3 tests/bench/path.py --build $(BUILD) --json $(BENCH_DIR)/path.jsonl $(PATH_OPTIONS)

# But for the C library.
.PHONY: bench-path-carried ## collects the programs and their libraries for bench-path elsewhere
bench-path-carried: all
	@rm -rf $(BUILD)/carried && mkdir -p $(BUILD)/carried/lib
	@cp $(BUILD)/fftd $(BUILD)/fftd-ctl $(BUILD)/carried
	@ldd $(BUILD)/fftd $(BUILD)/fftd-ctl | awk '$$2 == "=>" && $$1 !~ /^lib(c|m)\.so/ { print $$3 }' | \
	    sort -u | xargs -I{} cp -L {} $(BUILD)/carried/lib
