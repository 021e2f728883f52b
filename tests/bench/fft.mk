# The FFT engine beside its peers, and make bench, which runs every bench.
#
#   BENCH_SECONDS=6              how long to measure at each size
#   BENCH_SIZES="1280x720 ..."   instead of the usual ones
#   BENCH_ONLY="VkFFT|cuFFT"     only subjects with one of these in their name, beside fftd's first
#   BENCH_CACHE=DIR              keeps the tuner's results (build/bench/cache); the first run searches
#                                for half a minute at each size
#   FFTW=FILE                    a library with FFTW's interface in its place, such as MKL's libmkl_rt.so
#   PEERS=DIR                    packages that are unpacked there (dpkg -x) and not installed
#
# The bench needs a C compiler and OpenCL, and measures the peers that the compiler finds. Debian's
# are installed first, all of them but cuFFT; without them, or with PEERS, it measures the others.

BENCH_SECONDS ?= 6
PEERS ?=

BENCH_DIR := $(BUILD)/bench
BENCH_CACHE ?= $(BENCH_DIR)/cache
BENCHES := fft
PEER_LIBDIRS := $(if $(PEERS),$(wildcard $(PEERS)/usr/lib $(PEERS)/usr/lib/*-linux-gnu))
PEER_CPPFLAGS := $(if $(PEERS),-isystem $(PEERS)/usr/include)
PEER_LDFLAGS := $(foreach dir,$(PEER_LIBDIRS),-L$(dir) -Wl,-rpath,$(abspath $(dir)))
# For every object file, because OpenCL itself may be in PEERS.
CPPFLAGS += $(PEER_CPPFLAGS)
LDFLAGS += $(PEER_LDFLAGS)

# The header and the libraries of each peer; nvcc compiles cuFFT's.
peer-header-fftw := fftw3.h
peer-libs-fftw := -lfftw3f_omp -lfftw3f -fopenmp
peer-header-vkfft := vkFFT.h
peer-header-clfft := clFFT.h
peer-libs-clfft := -lclFFT

hash := \#
peer-probe = $(hash)if !__has_include(<$(peer-header-$(1))>)\n$(hash)error\n$(hash)endif\nint main;\n
peer-found = $(shell printf '$(peer-probe)' | $(CC) -w $(CPPFLAGS) $(LDFLAGS) -x c - \
    -x none $(peer-libs-$(1)) -o /dev/null 2>/dev/null && echo $(1))

# cuFFT comes with nvcc, which compiles what calls it.
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA := $(if $(NVCC),$(patsubst %/bin/nvcc,%,$(realpath $(NVCC))))
CUDA_LIBDIR := $(if $(CUDA),$(firstword $(wildcard $(CUDA)/lib64 $(CUDA)/targets/*/lib)))
peer-libs-cufft := $(foreach dir,$(CUDA_LIBDIR),-L$(dir) -Wl,-rpath,$(dir)) -lcufft -lcudart -lstdc++
cufft-found := $(if $(CUDA),$(if $(wildcard $(CUDA)/include/cufft.h),cufft))

# Only if the bench is built, because asking the compiler takes time.
ifneq ($(filter _bench _bench-fft $(BUILD)/tests/bench/fft,$(MAKECMDGOALS)),)
PEERS_FOUND := $(foreach peer,fftw vkfft clfft,$(call peer-found,$(peer))) $(cufft-found)
endif
BENCH_PEERS := fftd $(PEERS_FOUND) articles
BENCH_OBJECTS := $(call objects,$(wildcard tests/bench/fft*.c) \
    $(foreach peer,$(BENCH_PEERS),tests/bench/peer_$(peer).c))

$(BUILD)/obj/tests/bench/peer_fftw.o: CFLAGS += -fopenmp
$(BUILD)/obj/tests/bench/fft_opencl.o: $(BUILD)/generated/bench-kernels.inc
$(BUILD)/obj/tests/bench/fft.o: $(BUILD)/generated/bench-peers.inc

$(BUILD)/obj/tests/bench/peer_cufft.o: tests/bench/peer_cufft.cu
	@mkdir -p $(@D)
	$(NVCC) $(filter -I% -D%,$(CPPFLAGS)) $(PEER_CPPFLAGS) -O2 -Xcompiler -fPIC -MMD -MP \
	    -c -o $@ $<

BENCH_KERNELS := $(wildcard tests/bench/*.cl) tests/bench/articles/arm.cl
$(BUILD)/generated/bench-kernels.inc: $(BENCH_KERNELS) kernels/embed.sh
	@mkdir -p $(@D)
	sh kernels/embed.sh $(BENCH_KERNELS) > $@.tmp && mv $@.tmp $@

# Written when the list has changed, or the first time.
$(BUILD)/generated/bench-peers.inc: _always
	@mkdir -p $(@D)
	@printf 'PEER(%s)\n' $(BENCH_PEERS) > $@.tmp
	@cmp -s $@.tmp $@ || mv $@.tmp $@
.PHONY: _always
_always:

$(BUILD)/tests/bench/fft: $(BENCH_OBJECTS) $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ \
	    $(foreach peer,$(BENCH_PEERS),$(peer-libs-$(peer))) $(OPENCL_LIBS) -ldl -lm

##@ Measurements
.PHONY: bench ## runs each bench below that can be built here; writes build/bench.json
.PHONY: bench-fft ## compares the FFT engine with its peers on the OpenCL device DEVICE
.PHONY: _bench _bench-fft
# The benches themselves are in a make of their own, which sees what has been installed.
bench-deps = $(if $(PEERS),,tests/tools/deps.sh $(1) || echo "measuring without these packages" >&2)
bench:
	@$(call bench-deps,build run bench bench-ring)
	@$(MAKE) -s _bench
bench-fft:
	@$(call bench-deps,build run bench)
	@$(MAKE) -s _bench-fft

_bench-fft: $(BUILD)/tests/bench/fft
	@mkdir -p $(BENCH_DIR)
	@FFTD_DEVICE=$(DEVICE) BENCH_CACHE=$(BENCH_CACHE) OMP_WAIT_POLICY=passive $(if $(FFTW),LD_PRELOAD=$(FFTW)) \
	    $< --seconds $(BENCH_SECONDS) $(if $(BENCH_ONLY),--only "$(BENCH_ONLY)") \
	    --json $(BENCH_DIR)/fft.jsonl $(BENCH_SIZES)

.PHONY: bench-plot ## plots the results of the last bench to PLOT=FILE.png
bench-plot:
	@tests/bench/plot.py $(BUILD)/bench.json $(PLOT)

# Each bench adds itself to these, and leaves its rows in $(BENCH_DIR)/NAME.jsonl.
_bench: _bench-fft
	@{ echo '['; cat $(BENCHES:%=$(BENCH_DIR)/%.jsonl) | sed '$$!s/$$/,/'; echo ']'; } \
	    > $(BUILD)/bench.json

_lint: $(BUILD)/generated/bench-kernels.inc $(BUILD)/generated/bench-peers.inc
