# The test machine: a real kernel with vivid, a real systemd and PoCL, under QEMU. test-vm installs
# the Debian packages in it, and runs tests/vm/*.c and tests/vm/test_*.py there.
#
#                      VM_TESTS="reload or frames": only some, chosen as by pytest -k
#                      VM_PROGRAMS=v4l2: only that one of tests/vm/*.c
#                      VM_PROGRAMS=formats VM_FORMATS=all: every pixel format on both kinds of device
#                      VM_TESTS="mixed and single" FAULT_SECONDS=300: the camera's faults at random

VM := build/vm

##@ Tests, each described in tests/README.md
.PHONY: vm ## builds the test machine in build/vm, if its recipe has changed
.PHONY: test-vm ## tests the daemon in QEMU with a real systemd and the kernel's test cameras
vm:
	@tests/tools/deps.sh vm
	@tests/vm/build.sh $(VM)

.PHONY: _test-vm-programs
_test-vm-programs: all $(call test-programs,vm) $(call test-programs,tools)

test-vm:
	@rm -rf $(VM)/share
	@if ! tests/tools/deps.sh build gst deb test vm; then \
	    tests/tools/run.py vm --skip "QEMU or mmdebstrap is missing"; \
	elif [ "$$(id -u)" != 0 ]; then \
	    tests/tools/run.py vm --skip "the test machine is built by root"; \
	else \
	    $(MAKE) -s _test-vm-programs && \
	    tests/vm/build.sh $(VM) && \
	    debian/build.sh $(VM)/share/packages >$(VM)/packages.log 2>&1 && \
	    tests/vm/test.sh $(VM) $(BUILD); \
	fi
