#!/bin/sh
# Unpacks a Debian kernel that has /dev/udmabuf, from this machine's own source of packages:
#     tests/udmabuf/kernel.sh DIRECTORY
# leaves DIRECTORY/vmlinuz, and does nothing if it is there and this script has not changed since.
# Debian 12's own kernel lacks the device; those of its backports and of Debian 13 have it. The
# kernel for clouds is a third of the size. Everything that the test takes is built into it.
set -eu
suites="bookworm-backports trixie"
package=linux-image-cloud-amd64

mkdir -p "$1"
out=$(realpath "$1")
key=$(sha256sum <"$0")
if [ -f "$out/key" ] && [ "$(cat "$out/key")" = "$key" ]; then
    exit 0
fi

# shellcheck disable=SC2016 # apt-get's own variable
source=$(apt-get indextargets --format '$(REPO_URI)' \
    'Identifier: Packages' 'Release: bookworm' 'Component: main' | head -n 1)
if [ -z "$source" ]; then
    echo "kernel.sh: apt knows no source of Debian 12 (bookworm); has apt-get update run?" >&2
    exit 1
fi

work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
# A configuration of its own: the machine's lists of packages stay as they are.
with_suite() {
    program=$1
    shift
    "$program" -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}
cd "$work"
for suite in $suites; do
    echo "deb $source $suite main" >sources.list
    # The package itself is empty, and depends on the newest kernel.
    if with_suite apt-get -qq update &&
        kernel=$(with_suite apt-cache depends $package | sed -n 's/.*Depends: //p') &&
        [ -n "$kernel" ] && with_suite apt-get -qq download "$kernel"; then
        dpkg-deb --fsys-tarfile ./*.deb | tar -x ./boot
        grep -qx CONFIG_UDMABUF=y boot/config-*
        mv boot/vmlinuz-* "$out/vmlinuz"
        echo "$key" >"$out/key"
        exit 0
    fi
done
echo "kernel.sh: no source of packages here has $package for one of: $suites" >&2
exit 1
