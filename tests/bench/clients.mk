# What reading frames costs other programs: the recipes of docs/CLIENTS.md.

##@ Measurements
.PHONY: bench-clients ## measures the processor time of the recipes of docs/CLIENTS.md
.PHONY: _bench-clients
bench-clients:
	@$(call bench-deps,build run gst opencv out)
	@$(MAKE) -s _bench-clients

_bench-clients: all gst
	@tests/bench/clients.py $(BUILD)
