#!/bin/sh
# Unpacks the libraries for an armhf build:
#     tests/cross/sysroot.sh DIRECTORY
# Does nothing if they are there and this script has not changed since.
set -eu
packages=libc6-dev,libgcc-12-dev,libv4l-dev,libsystemd-dev,libconfig-dev,ocl-icd-opencl-dev,\
opencl-c-headers,libpng-dev,libmicrohttpd-dev,libturbojpeg0-dev,libcmocka-dev,libfftw3-dev

key=$(sha256sum <"$0")
if [ -f "$1/key" ] && [ "$(cat "$1/key")" = "$key" ]; then
    exit 0
fi
rm -rf "$1"
mkdir -p "$(dirname "$1")"
"$(dirname "$0")/../tools/bootstrap.sh" "$1" --variant=extract --architectures=armhf \
    --include="$packages"
echo "$key" >"$1/key"
