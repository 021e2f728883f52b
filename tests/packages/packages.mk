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
