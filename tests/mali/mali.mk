# make mali-counts   what a compiler for the Mali-T760 makes of the kernels: registers, spills,
#                    instructions; no part of make test. The first run builds that compiler (Mesa's,
#                    a quarter of an hour on two processors)
#
#   MALI_SIZES="640x480 ..."     of the frames
#   MALI_COMPILER=DIR            where the compiler is built and kept

MALI_SIZES ?= 640x480 1280x720
MALI_COMPILER ?= $(BUILD)/mali/compiler

$(BUILD)/tests/mali/forms: $(BUILD)/obj/tests/mali/forms.o $(PARTS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(DAEMON_LIBS)

.PHONY: mali-counts
mali-counts: $(BUILD)/tests/mali/forms
	@tests/deps mali
	@tests/mali/compiler $(MALI_COMPILER)
	@tests/mali/counts $< $(MALI_COMPILER) $(MALI_SIZES) > $(BUILD)/mali-counts.md
	@cat $(BUILD)/mali-counts.md
