##@ Demo
.PHONY: demo ## filters a test scene on any OpenCL device; pictures and figures in build/demo
demo:
	@tests/tools/deps.sh build run
	@$(MAKE) -s -j$$(nproc) all
	@tests/demo/demo.sh $(BUILD) build/demo
