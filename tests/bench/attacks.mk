# What attacks by other users cost the running daemon and its clients. Needs root, for the users.
#
#   ATTACKS="kept_snapshots idle_watchers"     only these

##@ Measurements
.PHONY: bench-attacks ## measures what attacks by other users cost the daemon and its clients; needs root
.PHONY: _bench-attacks
bench-attacks:
	@$(call bench-deps,build run test bench)
	@$(MAKE) -s _bench-attacks

_bench-attacks: all
	@/usr/bin/python3 tests/bench/attacks.py --build $(abspath $(BUILD)) --device $(DEVICE) \
	    $(if $(ATTACKS),--only $(ATTACKS))
