# The test suites. Each leaves its cases in $(RESULTS)/SUITE.json; tests/run counts them.
#
#   make test                  what must hold before a commit lands: quick suites, a few minutes
#   make test-unit             tests/unit: one program a .c file, no device needed
#   make test-gpu DEVICE=...   tests/gpu on an OpenCL device, chosen as in daemon/gpu/device.h
#   make test-rusticl          tests/gpu on Mesa's rusticl over llvmpipe, small sizes
#   make test-oclgrind         tests/gpu on oclgrind: races, stray accesses; tiny sizes
#   make test-integration      tests/integration: the real daemon and fftd-ctl, by pytest
#   make test-valgrind         the unit tests and a start-run-stop of the daemon without a leak
#   make lint                  formatting, the rules of the tree, warnings of all compilers, analysers
#   make SAN=address,undefined test-unit test-gpu test-integration     also SAN=thread

export RESULTS ?= build/results
DEVICE ?= auto
TAG = $(if $(SAN),-$(subst $(comma),-,$(SAN)))

# ---- test programs: each is linked with every part there is, and takes what it calls ----
TEST_SUPPORT := $(wildcard tests/support/*.c)
TEST_LIBS = -lcmocka $(call pkg-libs,fftw3) $(CTL_LIBS) $(DAEMON_LIBS)
test-programs = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/$(1)/*.c))

$(BUILD)/obj/tests/%.o: CPPFLAGS += -Itests -Iclient
$(BUILD)/libtest.a: $(call objects,$(TEST_SUPPORT))
$(foreach folder,unit gpu vm,$(call test-programs,$(folder))): $(BUILD)/%: $(BUILD)/obj/%.o \
		$(if $(TEST_SUPPORT),$(BUILD)/libtest.a) $(PARTS) $(BUILD)/libctl.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(TEST_LIBS)

# Programs that tests run.
$(call test-programs,tools): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

# ---- what sanitized and valgrinded programs may say, with the reasons in the files ----
SUPPRESSIONS := $(abspath tests/suppressions)
export ASAN_OPTIONS ?= detect_stack_use_after_return=1:detect_leaks=1
export LSAN_OPTIONS ?= suppressions=$(SUPPRESSIONS)/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS ?= print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS ?= suppressions=$(SUPPRESSIONS)/tsan.supp:halt_on_error=0:second_deadlock_stack=1:history_size=4

ifneq ($(SAN),)
# Only PoCL: the loader unloads drivers it does not need, and a leak in code that is gone can not
# be told from one of ours.
export OCL_ICD_VENDORS ?= /etc/OpenCL/vendors/pocl.icd
endif

# ---- the suites ----
SLOWER := $(if $(SAN),5,1)
# GPU tests spend most of their time in the driver's compiler, which uses one processor.
gpu-suite = $(call run-suite,$(1),$(2)) --jobs $$(nproc)
run-suite = tests/run $(1)$(TAG) --timeout $(shell expr $(2) \* $(SLOWER))

.PHONY: test-unit test-gpu test-rusticl test-oclgrind test-integration test-valgrind
test-unit: $(call test-programs,unit)
	@$(call run-suite,unit,60) $^

test-gpu: $(call test-programs,gpu)
	@FFTD_DEVICE=$(DEVICE) $(call gpu-suite,gpu,600) $^

test-rusticl: $(call test-programs,gpu)
	@RUSTICL_ENABLE=llvmpipe FFTD_DEVICE=llvmpipe FFTD_TEST_SIZES=small \
	    $(call gpu-suite,rusticl,900) $^

test-oclgrind: $(call test-programs,gpu)
	@FFTD_DEVICE=oclgrind FFTD_TEST_SIZES=tiny \
	    $(call gpu-suite,oclgrind,900) --wrap tests/oclgrind $^

# Python can not load a sanitized library: it reads frames through a plain one. These tests mostly
# wait, for frames and for time to pass: two go beside each other even on one processor.
test-integration: all
	$(if $(SAN),@$(MAKE) -s SAN= BUILD=build build/libfftd.so.0)
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) FFTD_DEVICE=$(DEVICE) \
	    $(call run-suite,integration,400) --jobs 2 --pytest tests/integration

test-valgrind: all $(call test-programs,unit)
	@$(call run-suite,valgrind,600) --jobs $$(nproc) --wrap tests/valgrind $(BUILD)/fftd $(call test-programs,unit)

# ---- lint ----
.PHONY: lint test-lint test-lint-quick
lint:
	@tests/deps build test style lint bench
	@$(MAKE) -s test-lint

# In the environment, where the quotes of CPPFLAGS stay what they are.
test-lint test-lint-quick: export LINT_FLAGS = $(CPPFLAGS) $(call pkg-cflags,$(GST_PACKAGES))
test-lint test-lint-quick: $(BUILD)/generated/kernels.inc
	@$(call run-suite,$(@:test-%=%),900) \
	    --wrap "tests/lint" $(if $(findstring quick,$@),quick,full)

# ---- what must hold before a commit lands ----
QUICK_SUITES := unit gpu integration lint-quick

.PHONY: deps test-programs test
deps:
	@tests/deps build run test style

test-programs: all $(foreach folder,unit gpu tools,$(call test-programs,$(folder)))

test: deps
	@rm -f $(RESULTS)/*.json
	@$(MAKE) -j$$(nproc) test-programs
	@for suite in $(QUICK_SUITES); do $(MAKE) -s test-$$suite || true; done
	@tests/run --sum $(QUICK_SUITES)
