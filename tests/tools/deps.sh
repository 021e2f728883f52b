#!/bin/sh
# Installs the Debian packages that the named groups need and that are missing:
#     deps.sh [--print | --list] build test ...
# This is the only place where packages are listed. On other systems, and with FFTD_INSTALL=no, it
# only names the missing ones, and leaves the rest to the compiler. --print prints the missing ones,
# and --list all.
set -eu

packages_of() {
    case $1 in
    build) echo gcc libc6-dev make pkg-config ocl-icd-opencl-dev opencl-c-headers libsystemd-dev \
        libconfig-dev libv4l-dev libpng-dev ;;
    # An OpenCL device for machines without a GPU.
    run) echo ocl-icd-libopencl1 pocl-opencl-icd ;;
    test) echo dbus-bin libcmocka-dev libfftw3-dev libglib2.0-bin locales python3 python3-numpy \
        python3-pip python3-prometheus-client python3-pytest python3-pytest-xdist systemd ;;
    # What the tests of make test-peers compare with.
    opencv) echo python3-opencv ;;
    # For lint-quick, which is part of make test, and for the rest of lint.
    style) echo g++ clang clang-format shellcheck ;;
    lint) echo clang-tidy cppcheck libgstreamer-plugins-base1.0-dev libjson-c-dev \
        libmicrohttpd-dev libpipewire-0.3-dev libturbojpeg0-dev ;;
    devices) echo mesa-opencl-icd oclgrind ;;
    # The peers of make bench.
    bench) echo libfftw3-dev libvkfft-dev libclfft-dev gnuplot-nox python3 python3-numpy ;;
    # The plots of docs/ARTICLES.md.
    articles) echo python3 python3-matplotlib python3-numpy ;;
    # The peers of make bench-ring, and what tests/support is built with.
    bench-ring) echo libgstreamer1.0-dev gstreamer1.0-plugins-base gstreamer1.0-plugins-bad \
        ustreamer libcmocka-dev libfftw3-dev python3 ;;
    # The peer of make bench-restore, and its photographs, which make test-peers needs, too.
    bench-restore) echo python3-skimage ;;
    # The photographs of make bench-diagnose.
    bench-diagnose) echo python3-pil python3-scipy python3-skimage opencv-doc mate-backgrounds \
        lomiri-wallpapers-16.04 ;;
    # The peers of make bench-clip.
    bench-clip) echo ffmpeg python3-opencv python3-skimage ;;
    # The peers of make bench-outputs.
    bench-outputs) echo gstreamer1.0-plugins-base gstreamer1.0-tools libswscale6 libturbojpeg0 \
        python3-numpy python3-opencv ;;
    # The peer of make bench-view, and its photographs.
    bench-view) echo python3-numpy python3-skimage ustreamer ;;
    # What Mesa's compiler for the Mali-T760 is built with.
    mali) echo bindgen bison clang-15 flex g++ libclang-15-dev libclc-15 libclc-15-dev libdrm-dev \
        libelf-dev libexpat1-dev libllvmspirvlib-15-dev libudev-dev llvm-15-dev meson ninja-build \
        patch python3-mako rustc spirv-tools zlib1g-dev ;;
    valgrind) echo valgrind libc6-dbg ;;
    fuzz) echo clang libclang-rt-14-dev ;;
    model) echo spin gcc libc6-dev python3 ;;
    # The GStreamer element and its tests.
    gst) echo libgstreamer-plugins-base1.0-dev gstreamer1.0-tools gstreamer1.0-plugins-base ;;
    # What fftd-loopback and fftd-stream run, the RTSP server of their tests, and the programs of
    # docs/CLIENTS.md.
    out) echo ffmpeg gir1.2-gst-rtsp-server-1.0 glib-networking gstreamer1.0-plugins-bad \
        gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly gstreamer1.0-rtsp openssl python3-gi \
        python3-numpy ;;
    # fftd-view and its tests.
    view) echo ffmpeg libjson-c-dev libmicrohttpd-dev libturbojpeg0-dev python3-pil ;;
    # fftd-pipewire and its tests.
    pipewire) echo gstreamer1.0-pipewire gstreamer1.0-tools libpipewire-0.3-dev pipewire \
        wireplumber ;;
    # fftd-mqtt and its tests.
    mqtt) echo libmosquitto-dev mosquitto mosquitto-clients openssl ;;
    # The proxy of a recipe. Debian starts it when it is installed, so make test does without.
    proxy) echo nginx-light ;;
    # A camera of a recipe. Only Debian 13's has virtual cameras.
    libcamera) echo gstreamer1.0-libcamera ;;
    # A node of a recipe.
    ros) echo python3-rosmaster python3-rospy python3-sensor-msgs ;;
    # The browser of make test-view-browser.
    view-browser) echo chromium chromium-driver python3-selenium fonts-dejavu-core ;;
    # The media server of make demo-fleet, and what publishes to it. tests/fleet/programs.sh has
    # Prometheus.
    fleet) echo gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-bad gstreamer1.0-plugins-good \
        gstreamer1.0-plugins-ugly gstreamer1.0-rtsp python3 python3-gi ;;
    # Another program that plays its streams.
    fleet-test) echo ffmpeg python3-pytest ;;
    # Plots and figures of make soak.
    soak) echo gnuplot-nox python3 python3-numpy ;;
    # The least that boots another kernel.
    udmabuf) echo qemu-system-x86 seabios busybox-static ;;
    # gcc, make and libelf1 build a module of the kernel.
    vm) echo qemu-system-x86 seabios ipxe-qemu mmdebstrap e2fsprogs busybox-static kmod gcc libelf1 \
        make python3 python3-numpy python3-pil ;;
    # The same machine for armhf.
    vm-armhf) echo qemu-system-arm qemu-user-static ;;
    # What make deb builds with, and what checks the packages.
    deb) echo build-essential debhelper dh-python dpkg-dev libgstreamer-plugins-base1.0-dev libjson-c-dev \
        libmicrohttpd-dev libmosquitto-dev libpipewire-0.3-dev libturbojpeg0-dev lintian ;;
    # What make deb builds with for another architecture, and what runs the result.
    deb-cross) echo dpkg-dev lintian mmdebstrap qemu-user-static ;;
    # What builds and runs the image of config/container.
    container) echo crun mmdebstrap podman runc ;;
    # What makes the tree of another release of Debian.
    release) echo mmdebstrap ;;
    cross) echo gcc-arm-linux-gnueabihf mmdebstrap qemu-user-static ;;
    *)
        echo "deps.sh: no such group: $1: expected build, run, test, opencv, style," \
            "lint, devices, bench, articles, bench-ring, bench-restore, bench-clip, bench-view, mali," \
            "valgrind, fuzz, model, gst, out, view, proxy, ros, pipewire, view-browser, fleet, fleet-test, soak, deb," \
            "deb-cross, container, release, udmabuf, vm, vm-armhf or" \
            "cross" >&2
        exit 64
        ;;
    esac
}

is_missing() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" != installed ]
}

print_only=false
list_only=false
case ${1-} in
--print) print_only=true ;;
--list) list_only=true ;;
esac
if $print_only || $list_only; then shift; fi

wanted=
for group in "$@"; do
    list=$(packages_of "$group")
    wanted="$wanted $list"
done
if $list_only; then
    echo "$wanted"
    exit 0
fi
if ! command -v dpkg-query >/dev/null; then
    echo "deps.sh: not a Debian system; install the equivalents of:$wanted" >&2
    exit 0
fi

missing=
for package in $wanted; do
    case " $missing " in
    *" $package "*) ;;
    *) if is_missing "$package"; then missing="$missing $package"; fi ;;
    esac
done
if [ -z "$missing" ] || $print_only; then
    [ -z "$missing" ] || echo "$missing"
    exit 0
fi
if [ "${FFTD_INSTALL-}" = no ]; then
    echo "deps.sh: FFTD_INSTALL=no; not installing:$missing" >&2
    exit 0
fi

command="env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    echo "deps.sh: packages are missing, and installing them needs root. Run this, and try again:" >&2
    echo "    apt-get update && $command" >&2
    exit 1
fi

echo "installing:$missing"
# A machine that has never updated its lists knows no package. One that cannot reach one of its
# sources may still know all packages that are needed.
$as_root apt-get update -q || true
# shellcheck disable=SC2086 # both are lists of words
if ! $as_root $command </dev/null; then
    echo "deps.sh: cannot install the packages that are needed; this failed: $command" >&2
    exit 1
fi
