export STRESS_SECONDS ?= 60

$(call test-programs,stress): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libtest.a \
		$(BUILD)/libservice.a $(BUILD)/libring.a $(BUILD)/libcore.a $(BUILD)/libfftd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ -lcmocka $(call pkg-libs,libsystemd) -lm

##@ Tests, each described in tests/README.md
.PHONY: test-stress ## runs 32 clients, good and hostile, on one ring for STRESS_SECONDS=60
test-stress: $(call test-programs,stress)
	@tests/tools/run.py stress$(TAG) --timeout $$(($(STRESS_SECONDS) + 600)) $^
