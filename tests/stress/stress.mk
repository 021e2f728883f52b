# make stress STRESS_SECONDS=60     32 clients, good and bad, against one writer

export STRESS_SECONDS ?= 60

$(call test-programs,stress): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libtest.a $(BUILD)/libring.a \
		$(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ -lcmocka $(call pkg-libs,libsystemd) -lm

.PHONY: stress test-stress
stress: test-stress
test-stress: $(call test-programs,stress)
	@tests/run stress$(TAG) --timeout $$(($(STRESS_SECONDS) + 60)) $^
