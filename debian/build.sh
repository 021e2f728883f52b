#!/bin/sh
# Builds the Debian packages from a copy of the tree, so that the tree stays as it is:
#     debian/build.sh DIRECTORY [VERSION]
# leaves them in DIRECTORY. VERSION is another one than the newest of debian/changelog. If DEB_ARCH
# is another architecture than this machine's, they are built for it, in the tree DEB_TREE that
# debian/tree.sh makes.
set -eu
mkdir -p "$1"
out=$(realpath "$1")
tree=$(realpath -m "${DEB_TREE:-build/deb-tree}")
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
if [ "${DEB_ARCH:-$(dpkg --print-architecture)}" = "$(dpkg --print-architecture)" ]; then
    dpkg-buildpackage --build=binary --no-sign
    cd "$out"
    rm -r "$out/source"
else
    cd "$out"
    "$here/debian/tree.sh" "$tree" "$DEB_ARCH"
    rm -rf "$tree/build"
    mkdir "$tree/build"
    mv "$out/source" "$tree/build/"
    # A new environment, because make's own variables would choose this machine's compiler.
    chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEB_BUILD_OPTIONS=nocheck DEB_BUILD_PROFILES="cross nocheck" \
        DEB_CFLAGS_APPEND="${DEB_CFLAGS_APPEND-}" sh -ec \
        "cd /build/source && dpkg-buildpackage --build=binary --no-sign --host-arch=$DEB_ARCH"
    rm -r "$tree/build/source"
    mv "$tree"/build/* "$out/"
fi
