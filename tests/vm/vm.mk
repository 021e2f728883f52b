# The test machine: a real kernel with vivid, a real systemd and PoCL, under QEMU. test-vm installs
# the Debian packages in it, and runs tests/vm/*.c and tests/vm/test_*.py there. With VM_ARCH=armhf it
# is a machine of that architecture, without tests/vm/*.c; test-vm-armhf chooses tests for it.
#
#                      VM_TESTS="reload or frames": only some, chosen as by pytest -k
#                      VM_PROGRAMS=v4l2: only that one of tests/vm/*.c
#                      VM_PROGRAMS=formats VM_FORMATS=all: every pixel format on both kinds of device
#                      VM_KINDS=both: tests of the daemon with both kinds of V4L2's interface
#                      VM_TESTS="mixed and single" FAULT_SECONDS=300: the camera's faults at random

VM_ARCH ?= amd64
VM = build/vm$(filter-out -amd64,-$(VM_ARCH))

##@ Tests, each described in tests/README.md
.PHONY: vm ## builds the test machine in build/vm, if its recipe has changed; VM_ARCH=armhf: in build/vm-armhf
.PHONY: test-vm ## tests the daemon in QEMU with a real systemd and the kernel's test cameras
.PHONY: test-vm-armhf ## tests the packages for armhf in a machine of that architecture
vm:
	@tests/tools/deps.sh $(vm-deps-$(VM_ARCH))
	@tests/vm/build.sh $(VM) $(VM_ARCH)

vm-deps-amd64 := build gst deb test vm
vm-deps-armhf := test deb-cross vm vm-armhf

# The programs for the machine, and where they are.
.PHONY: _test-vm-amd64 _test-vm-armhf
vm-programs-amd64 = $(BUILD)
vm-programs-armhf = $(VM)/programs
_test-vm-amd64: all $(call test-programs,vm) $(call test-programs,tools)
_test-vm-armhf:
	@tests/packages/client.sh build/deb-tree/armhf arm-linux-gnueabihf-gcc $(VM)/share/packages \
	    $(vm-programs-armhf)/tests/tools/watch

test-vm:
	@rm -rf $(VM)/share
	@if ! tests/tools/deps.sh $(vm-deps-$(VM_ARCH)); then \
	    tests/tools/run.py $(notdir $(VM)) --skip "QEMU or mmdebstrap is missing"; \
	elif [ "$$(id -u)" != 0 ]; then \
	    tests/tools/run.py $(notdir $(VM)) --skip "the test machine is built by root"; \
	else \
	    tests/vm/build.sh $(VM) $(VM_ARCH) && \
	    DEB_ARCH=$(VM_ARCH) DEB_TREE=build/deb-tree/$(VM_ARCH) \
	        debian/build.sh $(VM)/share/packages >$(VM)/packages.log 2>&1 && \
	    $(MAKE) -s _test-vm-$(VM_ARCH) && \
	    tests/vm/test.sh $(VM) $(vm-programs-$(VM_ARCH)); \
	fi

test-vm-armhf:
	@$(MAKE) -s test-vm VM_ARCH=armhf VM_TESTS='$(or $(VM_TESTS),packages)'
