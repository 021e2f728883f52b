#!/bin/sh
# Builds a client of the library, tests/tools/watch.c, from nothing but packages of another
# architecture:
#     tests/packages/client.sh TREE COMPILER PACKAGES PROGRAM
# TREE is what debian/tree.sh has made, COMPILER the compiler in it.
set -eu
tree=$1
compiler=$2
packages=$3
program=$4
place=$tree/build/client
rm -rf "$place"
mkdir -p "$place" "$(dirname "$program")"
for name in libfftd0 libfftd-dev; do
    dpkg-deb -x "$packages/${name}"_*.deb "$place"
done
cp "$(dirname "$0")/../tools/watch.c" "$place"
chroot "$tree" sh -ec "cd /build/client
    $compiler -D_GNU_SOURCE -std=c11 -Iusr/include -o watch watch.c -L\"\$(echo usr/lib/*-linux-*)\" -lfftd"
mv "$place/watch" "$program"
rm -r "$place"
