# The techniques of the published work, rebuilt and measured beside fftd's own.
#
#   ARTICLES_SIZES=small      for devices on which the published sizes take hours (rusticl); `large`
#                             for those on which launches would decide (a fast GPU)
#   ARTICLES_SECONDS=3        to time each group of techniques, if 15 turns of each take less
#   ARTICLES_ROWS="1 6"       only these rows of docs/ARTICLES.md; the file then has no others
#   ARTICLES_NAME=h200        the results are docs/results/articles-NAME.jsonl
#   ARTICLES_COMMIT=COMMIT    on a machine without git
#
# The driver needs a C compiler and OpenCL, and compares with FFTW if the compiler finds it.

ARTICLES_SIZES ?= published
ARTICLES_SECONDS ?= 1
ARTICLES_ROWS ?=
ARTICLES_NAME ?= $(if $(filter auto,$(DEVICE)),device,$(DEVICE))
ARTICLES_OUT ?= docs
ARTICLES_JSON = $(ARTICLES_OUT)/results/articles-$(ARTICLES_NAME).jsonl
ARTICLES_COMMIT ?= $(shell git rev-parse --short=10 HEAD)$(shell git diff --quiet HEAD -- daemon \
    kernels tests/bench/articles || echo +changes)

ARTICLES_KERNELS := $(wildcard tests/bench/articles/*.cl)
ARTICLES_OBJECTS := $(call objects,$(wildcard tests/bench/articles/*.c))
$(BUILD)/obj/tests/bench/articles/pipeline.o: $(BUILD)/generated/articles-kernels.inc
$(BUILD)/generated/articles-kernels.inc: $(ARTICLES_KERNELS) kernels/embed.sh
	@mkdir -p $(@D)
	sh kernels/embed.sh $(ARTICLES_KERNELS) > $@.tmp && mv $@.tmp $@

$(BUILD)/tests/bench/articles: $(ARTICLES_OBJECTS) $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(if $(call peer-found,fftw),-lfftw3f) \
	    $(OPENCL_LIBS) -lm

# ARM's kernels as clang compiles them for the processor, of which the linker keeps what is called.
$(BUILD)/tests/bench/articles_caches: tests/bench/articles_caches.c tests/bench/articles/arm.cl
	@mkdir -p $(@D)
	clang -w -x cl -cl-std=CL1.2 -O2 -Xclang -finclude-default-header -ffunction-sections -c \
	    -o $@.o tests/bench/articles/arm.cl
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--gc-sections -o $@ $< $@.o

##@ Measurements
.PHONY: bench-articles ## rebuilds the published techniques, measures them on DEVICE and writes docs/ARTICLES.md
.PHONY: bench-articles-driver ## the same without docs/ARTICLES.md, for a machine with only a C compiler and OpenCL
.PHONY: bench-articles-simulator ## bytes, instructions and accesses of memory on oclgrind's simulated device, without times
.PHONY: bench-articles-caches ## cache misses of ARM's transpositions in a simulated Mali's caches
.PHONY: bench-articles-front-end ## runs the front end of OpenVX's example in the daemon, and draws its picture
.PHONY: bench-articles-photographs ## the PSNR of demosaicing photographs of scikit-image
.PHONY: bench-articles-quick ## all of bench-articles in build/articles, at sizes that take seconds
.PHONY: docs-articles ## writes docs/ARTICLES.md from docs/results/articles-*.jsonl
bench-articles:
	@$(call bench-deps,build run bench articles devices bench-restore style valgrind)
	@$(MAKE) -s bench-articles-driver
	@$(MAKE) -s bench-articles-simulator
	@$(MAKE) -s bench-articles-caches
	@$(MAKE) -s bench-articles-front-end
	@$(MAKE) -s bench-articles-photographs
	@$(MAKE) -s docs-articles

bench-articles-driver: $(BUILD)/tests/bench/articles
	@mkdir -p $(ARTICLES_OUT)/results
	@FFTD_DEVICE=$(DEVICE) $< --sizes $(ARTICLES_SIZES) --seconds $(ARTICLES_SECONDS) \
	    --json $(ARTICLES_JSON) --commit $(ARTICLES_COMMIT) $(ARTICLES_ROWS)

bench-articles-simulator: $(BUILD)/tests/bench/articles
	@mkdir -p $(ARTICLES_OUT)/results
	@/usr/bin/python3 tests/bench/articles/counts.py $< \
	    $(ARTICLES_OUT)/results/articles-oclgrind.jsonl $(ARTICLES_COMMIT)

bench-articles-caches: $(BUILD)/tests/bench/articles_caches
	@/usr/bin/python3 tests/bench/articles/caches.py $< \
	    $(ARTICLES_OUT)/results/articles-oclgrind.jsonl

bench-articles-front-end: all
	@mkdir -p $(ARTICLES_OUT)/articles
	@FFTD_DEVICE=$(DEVICE) /usr/bin/python3 tests/bench/articles/front_end.py --build $(BUILD) \
	    $(ARTICLES_FRONT_END) --json $(ARTICLES_JSON) \
	    --picture $(ARTICLES_OUT)/articles/front-end.png

bench-articles-photographs:
	@/usr/bin/python3 tests/bench/articles/photographs.py $(ARTICLES_JSON)

bench-articles-quick:
	@$(MAKE) -s ARTICLES_OUT=build/articles ARTICLES_SIZES=quick ARTICLES_SECONDS=0.01 \
	    ARTICLES_FRONT_END='--frames 4' bench-articles

docs-articles:
	@/usr/bin/python3 tests/bench/articles/write.py $(ARTICLES_OUT)/results $(ARTICLES_OUT)/ARTICLES.md

##@ Tests, each described in tests/README.md
.PHONY: test-articles ## checks the rebuilt techniques of the articles and the verdicts on them
test-articles: $(BUILD)/tests/bench/articles
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_DEVICE=$(DEVICE) $(call run-suite,articles,600) \
	    --jobs $$(nproc) --pytest tests/bench/articles

_lint: $(BUILD)/generated/articles-kernels.inc
