# Every tests/fuzz/fuzz_*.c is a libFuzzer program; each runs for FUZZ_SECONDS.

export FUZZ_SECONDS ?= 20
FUZZ_ENV = BUILD=build/fuzz CC=clang SAN=fuzzer-no-link,address,undefined

##@ Tests, each described in tests/README.md
.PHONY: test-fuzz ## runs each fuzzer for FUZZ_SECONDS=20, under AddressSanitizer and UBSan
.PHONY: _test-fuzz
test-fuzz:
	@tests/tools/deps.sh build test fuzz view
	@$(MAKE) -s -j2 $(FUZZ_ENV) _test-fuzz

$(call test-programs,fuzz): $(BUILD)/%: $(BUILD)/obj/%.o $(PARTS) $(VIEW_FUZZED) $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -Wl,--as-needed -o $@ $^ $(TEST_LIBS) $(call pkg-libs,json-c)

_test-fuzz: $(call test-programs,fuzz)
	@tests/tools/run.py fuzz --timeout $$(($(FUZZ_SECONDS) + 600)) --jobs $$(nproc) \
	    --wrap tests/fuzz/run.sh $^
