# Registers, spills, instructions and times of the kernels, as compiled for the Mali-T760. The first run
# builds that compiler (Mesa's), which takes a quarter of an hour on two processors.
#
#   MALI_SIZES="640x480 ..."     of the frames
#   MALI_COMPILER=DIR            the folder of the compiler

MALI_SIZES ?= 640x480 1280x720 1920x1080
MALI_COMPILER ?= $(BUILD)/mali/compiler

$(BUILD)/tests/mali/forms: $(call objects,$(wildcard tests/mali/*.c)) $(ENGINE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(OPENCL_LIBS) -lm

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

.PHONY: mali-costs ## counts the kernels again that the planner's model of a Mali-T760 is made of
.PHONY: _mali-costs
mali-costs:
	@tests/tools/deps.sh build run mali
	@$(MAKE) -s _mali-costs

_mali-costs: $(BUILD)/tests/mali/forms
	@tests/mali/compiler.sh $(MALI_COMPILER)
	@tests/mali/costs.py $< $(MALI_COMPILER) > $(BUILD)/midgard_costs.inc
	@mv $(BUILD)/midgard_costs.inc daemon/transform/midgard_costs.inc
