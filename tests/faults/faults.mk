# Libraries that make OpenCL or memory imports fail under the real program. They are built beside the
# programs that tests run, and are copied with them.

FAULTS := $(patsubst tests/faults/%.c,$(BUILD)/tests/tools/faulty_%.so,$(wildcard tests/faults/*.c))

# Never sanitized, because they are loaded before the sanitizer.
$(FAULTS): $(BUILD)/tests/tools/faulty_%.so: tests/faults/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -g -O2 -std=c11 $(WARN) -fPIC -pthread -shared -o $@ $< -ldl

test-programs test-integration _test-vm-programs: $(FAULTS)
