# Registers, spills, instructions and times of the kernels, as compiled for the Mali-T760. The first run
# of mali-counts or mali-costs builds that compiler (Mesa's), which takes a quarter of an hour on two
# processors.
#
#   MALI_SIZES="640x480 ..."               of the frames
#   MALI_FILTERS="none 'sharpen | ...'"    mali-plan: the filters
#   MALI_COMPILER=DIR                      the folder of the compiler

MALI_SIZES ?= 640x480 1280x720 1920x1080
MALI_FILTERS ?= none preset:moire
MALI_COMPILER ?= $(BUILD)/mali/compiler

$(BUILD)/tests/mali/forms: $(call objects,$(wildcard tests/mali/forms.c tests/mali/profile.c) $(MALI_MODEL)) $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(OPENCL_LIBS) -lm

MALI_PLAN := $(BUILD)/tests/mali/plan
$(MALI_PLAN): $(call objects,tests/mali/plan.c $(MALI_MODEL)) $(PARTS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(DAEMON_LIBS)

test-programs: $(MALI_PLAN)

##@ Measurements
.PHONY: mali-counts ## counts instructions, registers and times of the kernels for a Mali-T760
.PHONY: _mali-counts
mali-counts:
	@tests/tools/deps.sh build run mali
	@$(MAKE) -s _mali-counts

_mali-counts: $(BUILD)/tests/mali/forms
	@tests/mali/compiler.sh $(MALI_COMPILER)
	@tests/mali/counts.py $< $(MALI_COMPILER) $(MALI_SIZES) > $(BUILD)/mali-counts.md
	@cat $(BUILD)/mali-counts.md

.PHONY: mali-plan ## prints what frames of MALI_SIZES and MALI_FILTERS would take on a Mali-T760, by the counts
mali-plan: $(MALI_PLAN)
	@FFTD_PRESET_DIR=config/presets $< $(MALI_FILTERS) $(MALI_SIZES)

.PHONY: mali-costs ## counts the kernels again that the planner's table of a Mali-T760 is made of
.PHONY: _mali-costs
mali-costs:
	@tests/tools/deps.sh build run mali
	@$(MAKE) -s _mali-costs

_mali-costs: $(BUILD)/tests/mali/forms
	@tests/mali/compiler.sh $(MALI_COMPILER)
	@tests/mali/costs.py $< $(MALI_COMPILER) > $(BUILD)/costs.inc
	@mv $(BUILD)/costs.inc tests/mali/costs.inc
