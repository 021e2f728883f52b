# The layer that makes any OpenCL device a Mali-T760, and the tests that run under it.
LAYER := $(BUILD)/tests/tools/mali_t760.so

# Never sanitized, as the libraries of tests/faults. Its functions must call each other, and not
# those of the loader that have the same names.
$(LAYER): tests/layer/layer.c tests/faults/import.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests -g $(OPT) -std=c11 $(WARN) -fPIC -pthread -shared -Wl,-Bsymbolic \
	    -o $@ $<

test-programs: $(LAYER)

# A test program, which is linked as those of tests/gpu are.
LAYER_RULES := $(BUILD)/tests/layer/rules
$(LAYER_RULES): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libtest.a $(PARTS) $(BUILD)/libctl.a \
		$(CLIENT_PARTS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $+ $(TEST_LIBS)

# ---- the suite ----
# The tests of every part of the engine. MALI_GROUP is the most items of a work-group: 256 with
# ARM's driver, 128 with Mesa's. MALI_TEST_SIZES=all adds large frames.
MALI_GROUP ?= 256
MALI_TEST_SIZES ?= small
MALI_TESTS := $(wildcard tests/integration/layer_*.py) tests/integration/test_gpu_faults.py

under-layer = OPENCL_LAYERS=$(abspath $(LAYER)) OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd \
    FFTD_DEVICE=Mali-T760 FFTD_TEST_SIZES=$(MALI_TEST_SIZES) FFTD_LAYER_GROUP=$(MALI_GROUP)

##@ Tests, each described in tests/README.md
.PHONY: test-mali ## runs the GPU tests on PoCL as a Mali-T760, with at most MALI_GROUP=256 work-items in a group
.PHONY: test-mali-daemon ## tests the daemon on PoCL as a Mali-T760 that fails and recovers
test-mali: $(LAYER) $(LAYER_RULES) $(call test-programs,gpu)
	@$(under-layer) $(call gpu-suite,mali-$(MALI_GROUP),3600) $(LAYER_RULES) $(gpu-tests)

test-mali-daemon: all $(LAYER)
	@$(under-layer) FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) \
	    $(call run-suite,mali-daemon,3600) --jobs $$(nproc) --pytest $(MALI_TESTS)
