# Libraries that make OpenCL, memory imports, allocations or the clock fail under the real program, and one that stands in for a
# device of the kernel. They are built beside the programs that tests run, and are copied with them.

FAULTS := $(patsubst tests/faults/%.c,$(BUILD)/tests/tools/faulty_%.so,$(wildcard tests/faults/*.c))

# Never sanitized, because they are loaded before the sanitizer.
$(FAULTS): $(BUILD)/tests/tools/faulty_%.so: tests/faults/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -g $(OPT) -std=c11 $(WARN) -fPIC -pthread -shared -o $@ $<

test-programs test-integration test-faults campaign test-campaign _test-vm-amd64: $(FAULTS)

# These files are not called test_*.py, so that test-integration, which is run before each commit,
# leaves them out.
FAULT_TESTS := $(wildcard tests/integration/faults_*.py)

##@ Tests, each described in tests/README.md
.PHONY: test-faults ## lets allocations fail, descriptors run out and disks fill up under the real daemon
test-faults: all
	$(if $(SAN),@$(MAKE) -s SAN= BUILD=build build/libfftd.so.0)
	@FFTD_BUILD=$(abspath $(BUILD)) FFTD_LIBRARY=$(abspath build/libfftd.so.0) FFTD_DEVICE=$(DEVICE) \
	    $(call run-suite,faults,3600) --jobs $$(nproc) --pytest $(FAULT_TESTS)
