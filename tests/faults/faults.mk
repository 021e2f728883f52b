# Libraries that make what is below the program fail, for the tests of the real program. They lie
# beside the programs that tests run, and go where those go.

FAULTS := $(patsubst tests/faults/%.c,$(BUILD)/tests/tools/faulty_%.so,$(wildcard tests/faults/*.c))

# Never sanitized: they are loaded before the sanitizer is.
$(FAULTS): $(BUILD)/tests/tools/faulty_%.so: tests/faults/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -g -O2 -std=c11 $(WARN) -fPIC -pthread -shared -o $@ $< -ldl

test-programs test-integration test-vm: $(FAULTS)
