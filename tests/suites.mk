# The suites of tests. Each leaves its cases in $(RESULTS)/SUITE.json, which tests/tools/run.py
# writes and adds up. tests/README.md says what each of them proves.
#
#   make SAN=address,undefined test-unit test-gpu test-integration     also SAN=thread

export RESULTS ?= build/results
DEVICE ?= auto
TAG = $(if $(SAN),-$(subst $(comma),-,$(SAN)))

# ---- test programs: each is linked with every part, of which it takes what it calls ----
MALI_MODEL := $(wildcard tests/mali/cost.c tests/mali/estimate.c)
TEST_SUPPORT := $(wildcard tests/support/*.c) $(MALI_MODEL)
TEST_LIBS = -lcmocka $(call pkg-libs,fftw3) $(CTL_LIBS) $(DAEMON_LIBS)
test-programs = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/$(1)/*.c))

$(BUILD)/obj/tests/%.o: CPPFLAGS += -Itests -Iclient
$(BUILD)/libtest.a: $(call objects,$(TEST_SUPPORT))
$(foreach folder,unit gpu vm,$(call test-programs,$(folder))): $(BUILD)/%: $(BUILD)/obj/%.o \
		$(if $(TEST_SUPPORT),$(BUILD)/libtest.a) $(PARTS) $(VIEW_TESTED) $(BUILD)/libctl.a $(CLIENT_PARTS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $+ $(TEST_LIBS)

# The first counts what is allocated; the second sets the times that the search measures.
$(BUILD)/tests/gpu/forecast: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=free,--wrap=clCreateBuffer
$(BUILD)/tests/gpu/tuner_times: LDFLAGS += \
    -Wl,--wrap=clBuildProgram,--wrap=clEnqueueNDRangeKernel,--wrap=clGetEventProfilingInfo \
    -Wl,--wrap=engine_create,--wrap=engine_collect,--wrap=clock_gettime

# Programs that tests run.
KERNEL_WRITER := $(BUILD)/tests/tools/kernels
$(filter-out $(KERNEL_WRITER),$(call test-programs,tools)): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

# This writes the kernels' source for lint.
$(KERNEL_WRITER): $(BUILD)/%: $(BUILD)/obj/%.o $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(OPENCL_LIBS) -lm

##@ Build
.PHONY: test-programs ## builds the programs of tests/unit and tests/gpu, and everything else that make test needs
test-programs: all $(foreach folder,unit gpu tools,$(call test-programs,$(folder)))

# ---- a locale with a decimal comma, for the tests that must not depend on the locale ----
# Without the sources of locales there is none, and those tests are skipped.
LOCALES := build/locale
$(LOCALES)/de_DE.UTF-8:
	@mkdir -p $(@D)
	@localedef -i de_DE -f UTF-8 $@ || rm -rf $@
use-locales = $(shell ls -d $(abspath $(LOCALES))/*/.. 2>/dev/null)

# ---- what sanitizers and valgrind must not report; the files give the reasons ----
SUPPRESSIONS := $(abspath tests/suppressions)
export ASAN_OPTIONS ?= detect_stack_use_after_return=1:detect_leaks=1
export LSAN_OPTIONS ?= suppressions=$(SUPPRESSIONS)/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS ?= print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS ?= suppressions=$(SUPPRESSIONS)/tsan.supp:halt_on_error=0:second_deadlock_stack=1:history_size=4

ifneq ($(SAN),)
# Only PoCL. The loader unloads the drivers that it does not need, and a leak in unloaded code
# cannot be told from one of ours.
export OCL_ICD_VENDORS ?= /etc/OpenCL/vendors/pocl.icd
endif

# ---- the suites ----
# The limits are for one program, or for a whole suite of pytest, which has a limit for each test too
# (tests/integration/conftest.py). They end what hangs, and are several times what a busy machine
# takes.
SLOWER := $(if $(SAN),5,1)
# PoCL compiles a kernel when it is first used, and optimising it takes three quarters of that time.
# Tests compare results, so they do without; OPTIMISE=yes has kernels compiled as the daemon does.
# Compiled kernels are kept with the build, for all suites.
OPTIMISE ?=
suite-env = POCL_CACHE_DIR=$(abspath build/pocl) GST_REGISTRY=$(abspath build/gst-registry) \
    $(if $(OPTIMISE),,POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable)
run-suite = $(suite-env) tests/tools/run.py $(1)$(TAG) \
    --timeout $(shell expr $(2) \* $(SLOWER))
# some-of NAMES, PROGRAMS: the programs with these names; all if there are none.
some-of = $(if $(strip $(1)),$(filter $(addprefix %/,$(1)),$(2)),$(2))
# GPU tests spend most of their time in the driver's compiler, which uses one processor. The two
# longest begin first.
gpu-suite = $(call run-suite,$(1),$(2)) --jobs $$(nproc)
long-gpu-tests := %/engine %/transform
# These take longest, so they begin first, in descending order. camera mostly waits.
long-unit-tests := $(addprefix $(BUILD)/tests/unit/,diagnosis flicker aligner camera periodic \
    motion_field stabiliser vibration measures_focus motion_similarity resampler observer)
unit-tests = $(filter $(call test-programs,unit),$(long-unit-tests)) \
    $(filter-out $(long-unit-tests),$(call test-programs,unit))
gpu-tests = $(filter $(long-gpu-tests),$(call test-programs,gpu)) \
    $(filter-out $(long-gpu-tests),$(call test-programs,gpu))

##@ Tests, each described in tests/README.md
.PHONY: test ## installs packages and runs the next four suites; they must pass before a commit lands
.PHONY: test-unit ## tests each part by itself; needs no OpenCL device
.PHONY: test-gpu ## compares the engine on the OpenCL device DEVICE with a double-precision reference
.PHONY: test-integration ## tests the real daemon, fftd-ctl and the clients with pytest
.PHONY: test-changes ## changes the filter 30 times a second for CHANGE_SECONDS=60 while clients check every frame
.PHONY: test-pairs ## compares PAIR_FRAMES=10000 frames of three outputs while filters change and daemons end
.PHONY: lint-quick ## checks format, rules of the tree, headers, scripts and kernels
.PHONY: lint ## runs lint-quick, all warnings of gcc and clang, clang-tidy and cppcheck
.PHONY: lint-analyzer ## runs clang's analyzer over daemon/ and client/
.PHONY: test-rusticl ## runs test-gpu on Mesa's rusticl and llvmpipe, with small frames
.PHONY: test-oclgrind ## runs test-gpu on oclgrind, which reports data races and out-of-bounds accesses
.PHONY: test-valgrind ## checks the unit tests and one run of the daemon for leaks

# Only programs that can start a thread have races for ThreadSanitizer to find. They import
# pthread_create; the others only compute, and would take most of its time.
with-threads = $$(nm -ADu $(1) | sed -n 's/: *U pthread_create.*//p')
test-unit: $(call test-programs,unit) | $(LOCALES)/de_DE.UTF-8
	@LOCPATH=$(use-locales) $(call run-suite,unit,600) --jobs $$(nproc) \
	    $(if $(filter thread,$(SAN)),$(call with-threads,$(unit-tests)),$(unit-tests))

test-gpu: $(call test-programs,gpu)
	@FFTD_DEVICE=$(DEVICE) $(call gpu-suite,gpu,3600) $(gpu-tests)

test-rusticl: $(call test-programs,gpu)
	@tests/tools/deps.sh devices
	@RUSTICL_ENABLE=llvmpipe FFTD_DEVICE=llvmpipe FFTD_TEST_SIZES=small \
	    $(call gpu-suite,rusticl,3600) $(gpu-tests)

# OCLGRIND_TESTS="transform engine": only these.
test-oclgrind: $(call test-programs,gpu)
	@tests/tools/deps.sh devices
	@FFTD_DEVICE=oclgrind FFTD_TEST_SIZES=tiny $(call gpu-suite,oclgrind,3600) \
	    --wrap tests/tools/oclgrind.sh $(call some-of,$(OCLGRIND_TESTS),$(gpu-tests))

# These only compare pictures, which the device computes, and no sanitizer sees that.
picture-tests := $(patsubst %,tests/integration/test_%.py,demosaic filter_plot filters filters_doc front_end \
    luma_only output_pixels presets stabilise undistort)
# INTEGRATION_TESTS="daemon control": only test_daemon.py and test_control.py. A file's tests run one
# after another, so the longest files begin first.
long-integration-tests := $(patsubst %,tests/integration/test_%.py,output_pixels filters_doc outputs_live ahead \
    convert convert_kinds outputs luma_only diagnose ctl bus_budget filters short_filters measures)
all-integration-tests := $(wildcard $(long-integration-tests)) $(filter-out \
    $(long-integration-tests),$(wildcard tests/integration/test_*.py))
integration-tests = $(filter-out $(if $(SAN),$(picture-tests)),$(call some-of,\
    $(INTEGRATION_TESTS:%=test_%.py),$(all-integration-tests)))

# Python cannot load a sanitized library, so it reads frames through a plain one; GLib and
# libpipewire are not built for ThreadSanitizer, so fftd-gst and fftd-pipewire are plain ones there. These tests mostly
# wait for frames and for time to pass, so more of them run at once than there are processors.
test-integration: all $(BUILD)/tests/mali/plan
	$(if $(SAN),@$(MAKE) -s SAN= BUILD=build build/libfftd.so.0 $(if $(HAVE_GST),build/fftd-gst) \
	    $(if $(HAVE_PIPEWIRE),build/fftd-pipewire))
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) FFTD_DEVICE=$(DEVICE) \
	    $(call run-suite,integration,7200) --jobs $$(($$(nproc) * 3)) --pytest $(integration-tests)

PAIR_FRAMES ?= 10000
test-pairs: all
	$(if $(SAN),@$(MAKE) -s SAN= BUILD=build build/libfftd.so.0)
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) FFTD_DEVICE=$(DEVICE) \
	    PAIR_FRAMES=$(PAIR_FRAMES) $(call run-suite,pairs,$$(($(PAIR_FRAMES) / 10 + 900))) \
	    --pytest tests/integration/test_pairs.py

CHANGE_SECONDS ?= 60
test-changes: all
	$(if $(SAN),@$(MAKE) -s SAN= BUILD=build build/libfftd.so.0)
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) FFTD_DEVICE=$(DEVICE) \
	    CHANGE_SECONDS=$(CHANGE_SECONDS) $(call run-suite,changes,$$(($(CHANGE_SECONDS) + 900))) \
	    --pytest tests/integration/test_changes.py \
	    tests/integration/test_short_filters.py::test_techniques_take_turns

test-valgrind: all $(call test-programs,unit) | $(LOCALES)/de_DE.UTF-8
	@tests/tools/deps.sh valgrind
	@LOCPATH=$(use-locales) $(call run-suite,valgrind,3600) --jobs $$(nproc) \
	    --wrap tests/tools/valgrind.sh $(BUILD)/fftd $(unit-tests)

.PHONY: _lint _lint-analyzer
lint lint-analyzer:
	@tests/tools/deps.sh build test style lint bench
	@$(MAKE) -s -k $(if $(filter lint,$@),lint-quick) _$@

# The environment passes LINT_FLAGS on, which keeps the quotes of CPPFLAGS.
_lint lint-quick _lint-analyzer: export KERNEL_WRITER := $(KERNEL_WRITER)
_lint lint-quick _lint-analyzer: export LINT_FLAGS = $(CPPFLAGS) $(call pkg-cflags,$(GST_PACKAGES)) $(PIPEWIRE_CFLAGS)
_lint lint-quick _lint-analyzer: all $(BUILD)/generated/kernels.inc $(KERNEL_WRITER)
_lint: test-programs
	@$(call run-suite,lint,3600) --wrap tests/tools/lint.py warnings
_lint-analyzer:
	@$(call run-suite,lint-analyzer,3600) --wrap tests/tools/lint.py analyzer
lint-quick:
	@$(call run-suite,lint-quick,3600) --wrap tests/tools/lint.py quick

# ---- what must pass before a commit lands ----
QUICK := test-unit test-gpu test-integration lint-quick

# GPU tests and lint-quick mostly compute; the unit tests mostly wait, and so run beside the longest
# suite.
test: deps
	@rm -f $(RESULTS)/*.json
	@$(MAKE) -j$$(nproc) test-programs
	@$(MAKE) -s -k -j2 test-gpu lint-quick || true
	@$(MAKE) -s -k -j2 test-integration test-unit || true
	@tests/tools/run.py --sum $(QUICK:test-%=%)

# ---- everything ----
.PHONY: test-all ## runs every suite, before a release, until one fails; FROM=SUITE: goes on from there
test-all:
	@tests/tools/deps.sh build run test opencv style lint bench devices valgrind fuzz model gst out \
	    view proxy ros pipewire mqtt view-browser fleet fleet-test deb vm cross
	@tests/tools/suites.py all $(FROM:%=--from %)

# ---- what is compared with OpenCV and scikit-image; both are large ----
.PHONY: test-peers ## compares mosaics, lenses, templates and stripes with OpenCV and scikit-image
test-peers: all
	@tests/tools/deps.sh test gst out opencv bench-restore
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) FFTD_DEVICE=$(DEVICE) \
	    $(call run-suite,peers,600) --jobs $$(($$(nproc) + 1)) \
	    --pytest $(wildcard tests/integration/peers_*.py)

# ---- the page of fftd-view in a browser; chromium is large, so that no other target installs it ----
.PHONY: test-view-browser ## shows the page of fftd-view in a headless Chromium; screenshots in build/view
test-view-browser: all
	@tests/tools/deps.sh gst view view-browser
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) FFTD_DEVICE=$(DEVICE) \
	    $(call run-suite,view-browser,7200) --jobs 1 \
	    --pytest tests/integration/browser_view.py tests/integration/browser_control.py
