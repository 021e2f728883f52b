#!/bin/sh
# Builds the Debian packages from a copy of the tree, so that the tree stays as it is:
#     debian/build.sh DIRECTORY [VERSION]
# leaves them in DIRECTORY. VERSION is another one than the newest of debian/changelog.
set -eu
mkdir -p "$1"
out=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$out"
mkdir -p "$out/source"
tar -C "$here" --exclude=./build --exclude=./.git --exclude=__pycache__ -cf - . |
    tar -C "$out/source" -xf -
cd "$out/source"
version=$(sed -n 's/^VERSION := //p' Makefile)
packaged=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
if [ "$version" != "$packaged" ]; then
    echo "debian/changelog begins with version $packaged: expected $version, as in Makefile" >&2
    exit 1
fi
if [ -n "${2-}" ]; then
    sed -i "1s/($packaged)/($2)/" debian/changelog
fi
dpkg-buildpackage --build=binary --no-sign
cd "$out"
rm -r "$out/source"
