# What reading frames costs other programs: those of docs/CLIENTS.md.

##@ Measurements
.PHONY: bench-clients ## measures the processor time of the guides of docs/CLIENTS.md
.PHONY: _bench-clients
bench-clients:
	@$(call bench-deps,build run gst opencv out pipewire test)
	@$(MAKE) -s _bench-clients

_bench-clients: all gst
	@FFTD_BUILD=$(BUILD) /usr/bin/python3 tests/bench/clients.py
