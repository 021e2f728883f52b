# The techniques of the published work, rebuilt and measured beside fftd's own.
#
#   ARTICLES_SECONDS=3        to time each group of techniques
#   ARTICLES_ROWS="1 6"       only these rows of docs/ARTICLES.md
#   ARTICLES_JSON=FILE        where the results go; docs/results/DATE-articles-DEVICE.jsonl are what
#                             docs/ARTICLES.md is made from
#
# The driver needs a C compiler and OpenCL, and compares with FFTW if the compiler finds it.

ARTICLES_SECONDS ?= 3
ARTICLES_ROWS ?=
ARTICLES_NAME ?= $(if $(filter auto,$(DEVICE)),device,$(DEVICE))
ARTICLES_JSON ?= docs/results/$(shell date -u +%Y-%m-%d)-articles-$(ARTICLES_NAME).jsonl

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

##@ Measurements
.PHONY: bench-articles ## rebuilds the published techniques, measures them on DEVICE and writes docs/ARTICLES.md
.PHONY: bench-articles-driver ## the same without docs/ARTICLES.md, for a machine with only a C compiler and OpenCL
.PHONY: bench-articles-simulator ## the results of row 8 on oclgrind's simulated device, without times
.PHONY: bench-articles-front-end ## runs the front end of OpenVX's example in the daemon, and draws its picture
.PHONY: docs-articles ## writes docs/ARTICLES.md from docs/results/*-articles-*.jsonl
bench-articles:
	@$(call bench-deps,build run bench articles devices)
	@$(MAKE) -s bench-articles-driver
	@$(MAKE) -s bench-articles-simulator
	@$(MAKE) -s bench-articles-front-end
	@$(MAKE) -s docs-articles

bench-articles-driver: $(BUILD)/tests/bench/articles
	@FFTD_DEVICE=$(DEVICE) $< --seconds $(ARTICLES_SECONDS) --json $(ARTICLES_JSON) \
	    $(ARTICLES_ROWS)

bench-articles-simulator: $(BUILD)/tests/bench/articles
	@oclgrind $< --small --json docs/results/$(shell date -u +%Y-%m-%d)-articles-oclgrind.jsonl 8

bench-articles-front-end: all
	@FFTD_DEVICE=$(DEVICE) /usr/bin/python3 tests/bench/articles/front_end.py --build $(BUILD) \
	    --json $(ARTICLES_JSON) --picture docs/articles/front-end.png

docs-articles:
	@/usr/bin/python3 tests/bench/articles/write.py docs/results docs/ARTICLES.md

##@ Tests, each described in tests/README.md
.PHONY: test-articles ## checks the results of the published techniques against double precision, at small sizes
test-articles: $(BUILD)/tests/bench/articles
	@FFTD_DEVICE=$(DEVICE) $< --quick

_lint: $(BUILD)/generated/articles-kernels.inc
