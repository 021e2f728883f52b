#!/bin/sh
# Unpacks or installs packages of Debian 12, or of the release $SUITE, into a separate tree, from this
# machine's own source of packages:
#     tests/tools/bootstrap.sh TREE MMDEBSTRAP-OPTION...
# It takes the release without its updates: these trees face no network, and one archive is more
# likely to be complete than three.
set -eu
tree=$1
suite=${SUITE:-bookworm}
shift
# shellcheck disable=SC2016 # apt-get's own variables
source=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Identifier: Packages' 'Release: bookworm' 'Component: main' | head -n 1 |
    sed "s/ bookworm / $suite /")
if [ "$(id -u)" = 0 ]; then mode=root; else mode=auto; fi
# If this machine has no source for that release, mmdebstrap uses Debian's.
exec mmdebstrap --quiet --mode=$mode "$@" "$suite" "$tree" ${source:+"$source"}
