# Fuzzing: every tests/fuzz/fuzz_*.c is a libFuzzer program.
#
#   make fuzz FUZZ_SECONDS=20     runs each for so long, under AddressSanitizer and UBSan

export FUZZ_SECONDS ?= 20
FUZZ_ENV = BUILD=build/fuzz CC=clang SAN=fuzzer-no-link,address,undefined

.PHONY: fuzz test-fuzz test-fuzz-run
fuzz: test-fuzz
test-fuzz:
	@tests/deps fuzz
	@$(MAKE) -s -j2 $(FUZZ_ENV) test-fuzz-run

$(call test-programs,fuzz): $(BUILD)/%: $(BUILD)/obj/%.o $(PARTS) $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -Wl,--as-needed -o $@ $^ $(TEST_LIBS)

test-fuzz-run: $(call test-programs,fuzz)
	@tests/run fuzz --timeout $$(($(FUZZ_SECONDS) + 60)) --jobs $$(nproc) --wrap tests/fuzz/run $^
