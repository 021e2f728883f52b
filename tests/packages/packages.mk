# The Debian packages: built from a copy of the tree, and checked. The test machine installs them.

PACKAGES := build/deb
# Packages for another architecture are in a folder of their own, and need root: they are built in
# build/deb-tree, which has that architecture's libraries installed.
DEB_ARCH ?= $(shell dpkg --print-architecture 2>/dev/null)
foreign-deb = $(filter-out $(shell dpkg --print-architecture 2>/dev/null),$(DEB_ARCH))
deb-env = DEB_ARCH=$(DEB_ARCH) DEB_TREE=build/deb-tree/$(DEB_ARCH)

##@ Build
.PHONY: deb ## builds the Debian packages in build/deb; DEB_ARCH=armhf, arm64: in build/deb-armhf
deb:
	@tests/tools/deps.sh $(if $(foreign-deb),deb-cross,build gst deb)
	@$(deb-env) debian/build.sh $(PACKAGES)$(foreign-deb:%=-%)

##@ Tests, each described in tests/README.md
.PHONY: test-deb ## builds the Debian packages, and checks them with lintian
test-deb:
	@mkdir -p build
	@if tests/tools/deps.sh build gst test deb; then \
	    debian/build.sh $(PACKAGES) >build/deb.log 2>&1 || tail -n 30 build/deb.log; \
	    tests/tools/run.py deb --jobs 1 --pytest tests/packages; \
	else \
	    tests/tools/run.py deb --skip "debhelper or lintian is missing"; \
	fi

.PHONY: test-deb-foreign ## installs the packages for DEB_ARCH=armhf or arm64, and runs them
test-deb-foreign: override DEB_ARCH := $(or $(foreign-deb),armhf)
test-deb-foreign:
	@mkdir -p build
	@if ! tests/tools/deps.sh test deb-cross; then \
	    tests/tools/run.py deb-$(DEB_ARCH) --skip "mmdebstrap or qemu-user-static is missing"; \
	elif [ "$$(id -u)" != 0 ]; then \
	    tests/tools/run.py deb-$(DEB_ARCH) --skip "trees with foreign packages are made by root"; \
	else \
	    $(deb-env) debian/build.sh build/deb-$(DEB_ARCH) >build/deb-$(DEB_ARCH).log 2>&1 || \
	        tail -n 30 build/deb-$(DEB_ARCH).log; \
	    FFTD_ARCH=$(DEB_ARCH) FFTD_PACKAGES=build/deb-$(DEB_ARCH) tests/tools/run.py \
	        deb-$(DEB_ARCH) --timeout 3600 --jobs 1 --pytest tests/packages/test_packages.py \
	        tests/packages/foreign.py; \
	fi

# TRIXIE_SUITES="unit gpu integration deb" chooses the suites. gpu is compiled with optimisation:
# without it PoCL 6 compiles a kernel of denoise wrongly (docs/results/2026-11-26-debian-13.md).
TRIXIE_SUITES ?= unit deb
.PHONY: test-trixie ## builds fftd on Debian 13 in build/trixie, with its unit tests and packages
test-trixie:
	@mkdir -p $(RESULTS)
	@rm -f $(TRIXIE_SUITES:%=$(RESULTS)/trixie-%.json)
	@skip() { for each in $(TRIXIE_SUITES); do tests/tools/run.py trixie-$$each --skip "$$1"; done; }; \
	if ! tests/tools/deps.sh release; then \
	    skip "mmdebstrap is missing"; \
	elif [ "$$(id -u)" != 0 ]; then \
	    skip "the tree of Debian 13 is made by root"; \
	elif ! tests/packages/release.sh tree trixie build/trixie; then \
	    skip "the packages of Debian 13 cannot be had"; \
	else \
	    tests/packages/release.sh run build/trixie "make -s -j$$(nproc) test-programs; \
	        make -s -k $(patsubst %,test-%,$(filter-out gpu,$(TRIXIE_SUITES))); \
	        $(if $(filter gpu,$(TRIXIE_SUITES)),make -s -k OPTIMISE=yes test-gpu)"; \
	    for each in $(TRIXIE_SUITES); do \
	        cp build/trixie/src/build/results/$$each.json $(RESULTS)/trixie-$$each.json; done; \
	fi

.PHONY: test-container ## builds the image of config/container with podman, and runs daemon and clients in containers
test-container:
	@mkdir -p build/container
	@if ! tests/tools/deps.sh build run gst test deb container; then \
	    tests/tools/run.py container --skip "podman or mmdebstrap is missing"; \
	elif [ "$$(id -u)" != 0 ]; then \
	    tests/tools/run.py container --skip "the image's base is made by root"; \
	elif ! tests/tools/bootstrap.sh build/container/base.tar --variant=apt --include=ca-certificates \
	        --aptopt='APT::Install-Recommends "false"'; then \
	    tests/tools/run.py container --skip "the packages of Debian 12 cannot be had"; \
	else \
	    $(MAKE) -s all && debian/build.sh $(PACKAGES) >build/deb.log 2>&1 || tail -n 30 build/deb.log; \
	    tests/tools/run.py container --timeout 1800 --jobs 1 --pytest tests/packages/container.py; \
	    rm -rf --one-file-system build/container; \
	fi
