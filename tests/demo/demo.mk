##@ Demo
.PHONY: demo ## filters a test scene on any OpenCL device; pictures and figures in build/demo
demo:
	@tests/tools/deps.sh build run
	@$(MAKE) -s -j$$(nproc) all
	@tests/demo/demo.sh $(BUILD) build/demo

.PHONY: docs-filters ## writes docs/FILTERS.md and its pictures from the program
docs-filters:
	@tests/tools/deps.sh build run test
	@$(MAKE) -s all
	@DEVICE=$(DEVICE) tests/demo/filters.py $(BUILD)
