# The test machine: a real kernel with vivid, a real systemd, PoCL, under QEMU.
#
#   make vm            builds it in build/vm (about a minute; only when its recipe changed)
#   make test-vm       installs the program in it and runs tests/vm/*.c and tests/vm/test_*.py there
#                      VM_TESTS="reload or frames": only some, chosen as by pytest -k
#                      VM_PROGRAMS=v4l2: only that one of tests/vm/*.c
#                      VM_PROGRAMS=formats VM_FORMATS=all: every pixel format on both kinds of device
#                      VM_TESTS="mixed and single" FAULT_SECONDS=300: the camera's faults at random

VM := build/vm

.PHONY: vm test-vm
vm:
	@tests/deps vm
	@tests/vm/build $(VM)

test-vm: all $(call test-programs,vm) $(call test-programs,tools)
	@rm -rf $(VM)/share
	@if ! tests/deps vm; then tests/run vm --skip "QEMU or mmdebstrap is missing"; \
	elif [ "$$(id -u)" != 0 ]; then tests/run vm --skip "the test machine is built by root"; \
	else \
	    tests/vm/build $(VM) && \
	    $(MAKE) -s install DESTDIR=$(VM)/share/root PREFIX=/usr && \
	    tests/vm/test $(VM) $(BUILD); \
	fi
