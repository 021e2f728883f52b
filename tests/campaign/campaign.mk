# A campaign against the real daemon and its clients, for as long as one likes: episodes that are drawn
# from seeds, and made short where they fail.
#
#   make campaign SECONDS=600                         the seed is the date and the time
#   make campaign SECONDS=60 SEED="1 2 3"             these seeds, in turns
#   make SAN=address,undefined campaign SECONDS=60    the same with sanitizers
#   make campaign REPLAY=build/campaign/SEED.json     a failure, again

SECONDS ?= 60

##@ Tests, each described in tests/README.md
.PHONY: campaign ## makes random calls, changes, faults and hostile rings for SECONDS=60, from SEED; shrinks what fails
.PHONY: test-campaign ## runs campaign as a suite, whose output is shown when it has ended
campaign test-campaign: export FFTD_BUILD := $(abspath $(BUILD))
campaign test-campaign: export FFTD_LIBRARY := $(abspath build/libfftd.so.0)
campaign test-campaign: export FFTD_DEVICE := $(DEVICE)
campaign test-campaign: export CAMPAIGN_SECONDS := $(SECONDS)
campaign test-campaign: export CAMPAIGN_SEED := $(SEED)

# Python and gst-launch-1.0 cannot load sanitized libraries.
campaign test-campaign: _campaign-packages all $(if $(SAN),,$(if $(HAVE_GST),gst))
	$(if $(SAN),@$(MAKE) -s SAN= BUILD=build build/libfftd.so.0 $(if $(HAVE_GST),gst))
	@$(if $(filter campaign,$@),$(suite-env) tests/campaign/campaign.py $(REPLAY:%=--replay %), \
	    $(call run-suite,campaign,$$(($(SECONDS) + 900))) tests/campaign/campaign.py)

.PHONY: _campaign-packages
_campaign-packages:
	@tests/tools/deps.sh build run test gst view pipewire
