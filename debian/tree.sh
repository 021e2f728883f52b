#!/bin/sh
# Makes a tree of this machine's architecture with all that builds packages for another one:
#     debian/tree.sh TREE ARCHITECTURE
# Does nothing if it is there and neither this script nor the build dependencies have changed since.
# Needs root, because the libraries are installed as packages, for dpkg-shlibdeps to find them.
set -eu
tree=$1
arch=$2
here=$(cd "$(dirname "$0")" && pwd)
case $arch in
armhf) compiler=gcc-arm-linux-gnueabihf ;;
arm64) compiler=gcc-aarch64-linux-gnu ;;
*)
    echo "tree.sh: no such architecture: $arch: expected armhf or arm64" >&2
    exit 64
    ;;
esac
if [ "$(id -u)" != 0 ]; then
    echo "tree.sh: building packages for $arch needs root, which makes a tree to build in" >&2
    exit 1
fi

key=$(cat "$0" "$here/control" | sha256sum)
if [ -f "$tree.key" ] && [ "$(cat "$tree.key")" = "$key" ]; then
    exit 0
fi
rm -rf "$tree" "$tree.key"
mkdir -p "$(dirname "$tree")"

# The build dependencies of debian/control: the libraries are of the other architecture, and what
# runs while building is of this one.
tools=build-essential,debhelper,dh-python,pkg-config,python3-minimal,opencl-c-headers,$compiler
libraries=$(sed -n '/^Build-Depends:/,/^[^ B]/p' "$here/control" |
    grep -o 'lib[^ ,]*-dev\|ocl[^ ,]*-dev' | sed "s/\$/:$arch/" | paste -sd, -)
"$here/../tests/tools/bootstrap.sh" "$tree" --variant=apt \
    --architectures="$(dpkg --print-architecture),$arch" --include="$tools,$libraries" \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*'
echo "$key" >"$tree.key"
