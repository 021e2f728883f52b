# The field of motion beside optical flow and particle image velocimetry on pairs with known motion.
# OpenPIV is measured if the Python in MOTION_PYTHON has it.
#
#   MOTION_PAIRS=4                of each kind

MOTION_PAIRS ?= 4
MOTION_PYTHON ?= /usr/bin/python3

##@ Measurements
.PHONY: bench-motion ## compares the field of motion with OpenCV's optical flow and with OpenPIV: errors, time
.PHONY: _bench-motion
bench-motion:
	@$(call bench-deps,build opencv)
	@$(MAKE) -s _bench-motion

$(BUILD)/tests/bench/motion_field: $(call objects,tests/bench/motion_field.c) $(BUILD)/libtest.a \
		$(BUILD)/libestimators.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

_bench-motion: $(BUILD)/tests/bench/motion_field
	@$(MOTION_PYTHON) tests/bench/motion_field.py --program $< --pairs $(MOTION_PAIRS)

# The field of motion on an OpenCL device: see tests/bench/field.c.
$(BUILD)/tests/bench/field: $(call objects,tests/bench/field.c) $(BUILD)/libtest.a $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(OPENCL_LIBS) -lm

# The time that the observer's thread takes for a frame: see tests/bench/observer.c.
$(BUILD)/tests/bench/observer: $(call objects,tests/bench/observer.c) $(BUILD)/libtest.a \
		$(patsubst %,$(BUILD)/lib%.a,observer service estimators filters core)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm
