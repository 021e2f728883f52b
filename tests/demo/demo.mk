# make demo    filters a test scene on whatever OpenCL device there is; leaves pictures and figures
#              in build/demo

.PHONY: demo
demo:
	@tests/deps build run
	@$(MAKE) -s -j$$(nproc) all
	@tests/demo/demo $(BUILD) build/demo
