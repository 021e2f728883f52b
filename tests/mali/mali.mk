# Registers, spills and instructions of the kernels, as compiled for the Mali-T760. The first run
# builds that compiler (Mesa's), which takes a quarter of an hour on two processors.
#
#   MALI_SIZES="640x480 ..."     of the frames
#   MALI_COMPILER=DIR            the folder of the compiler

MALI_SIZES ?= 640x480 1280x720
MALI_COMPILER ?= $(BUILD)/mali/compiler

$(BUILD)/tests/mali/forms: $(BUILD)/obj/tests/mali/forms.o $(PARTS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(DAEMON_LIBS)

##@ Measurements
.PHONY: mali-counts ## counts registers, spills and instructions of the kernels for a Mali-T760
.PHONY: _mali-counts
mali-counts:
	@tests/tools/deps.sh build run mali
	@$(MAKE) -s _mali-counts

_mali-counts: $(BUILD)/tests/mali/forms
	@tests/mali/compiler.sh $(MALI_COMPILER)
	@tests/mali/counts.py $< $(MALI_COMPILER) $(MALI_SIZES) > $(BUILD)/mali-counts.md
	@cat $(BUILD)/mali-counts.md
