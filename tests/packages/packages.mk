# The Debian packages: built from a copy of the tree, and checked. The test machine installs them.

PACKAGES := build/deb

##@ Build
.PHONY: deb ## builds the Debian packages in build/deb
deb:
	@tests/tools/deps.sh build gst deb
	@debian/build.sh $(PACKAGES)

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
