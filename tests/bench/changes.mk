# How long a change of the filter takes until the first frame with it is published: for the example of
# each kind, with empty caches, and with a daemon that was left alone for a minute.
#
#   CHANGES_SECONDS=60             how long it is left alone

CHANGES_SECONDS ?= 60

.PHONY: bench-changes ## measures how long changes of the filter take, cold and after a minute
bench-changes:
	@tests/tools/deps.sh build run
	@$(MAKE) -s all
	@/usr/bin/python3 tests/bench/changes.py $(BUILD) $(CHANGES_SECONDS)
