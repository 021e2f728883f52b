#!/bin/sh
# Builds the test machine: a Debian 12 with systemd, a stock kernel with vivid, and PoCL.
#     tests/vm/build.sh DIRECTORY ARCHITECTURE
# leaves DIRECTORY/architecture, vmlinuz, initrd and disk.img, and does nothing if they are there and
# this script has not changed since. Needs root, because it makes device nodes and files of root.
# ARCHITECTURE is amd64 or armhf. The machine of armhf has no v4l2loopback.
set -eu

arch=$2
packages=systemd-sysv,udev,dbus,kmod,procps,strace,v4l-utils,busybox-static,\
pocl-opencl-icd,ocl-icd-libopencl1,libconfig9,libv4l-0,libpng16-16,libcmocka0,libfftw3-double3,\
libmicrohttpd12,libturbojpeg0,libjson-c5,python3,python3-pytest
# What the tests use of the kernel; what these depend on comes along.
modules="vivid uvcvideo virtio_rng ext4 9p 9pnet_virtio softdog"
# What the initramfs needs to find the disk; the rest is loaded by systemd and the tests.
case $arch in
amd64)
    kernel=linux-image-amd64
    modules="$modules v4l2loopback vgem virtio_pci"
    # What fftd-loopback depends on.
    packages=$packages,gstreamer1.0-tools,gstreamer1.0-plugins-base,gstreamer1.0-plugins-good
    boot_modules="nfit nd_pmem ext4"
    ;;
armhf)
    kernel=linux-image-armmp
    boot_modules="virtio_mmio virtio_blk ext4"
    ;;
*)
    echo "build.sh: no such architecture: $arch: expected amd64 or armhf" >&2
    exit 64
    ;;
esac

here=$(dirname "$0")
mkdir -p "$1"
out=$(realpath "$1")
key=$arch$(sha256sum "$0" "$here"/image/* | sha256sum)
if [ -f "$out/key" ] && [ "$(cat "$out/key")" = "$key" ]; then
    exit 0
fi

work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/tree

# The kernel is only unpacked: installing it would draw in what makes an initramfs. /lib is a
# link there and must stay one.
# shellcheck disable=SC2016 # mmdebstrap's shell expands $1, the tree
unpack_kernel='chroot "$1" sh -ec "
    cd /var/tmp
    apt-get -q download \$(apt-cache depends '$kernel' | sed -n s/.*Depends:.//p)
    dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x --keep-directory-symlink -C /
    rm linux-image-*.deb"'
# /var/tmp/loopback gets what builds v4l2loopback for this kernel.
# shellcheck disable=SC2016
unpack_loopback='chroot "$1" sh -ec "
    cd /var/tmp
    version=\$(basename /lib/modules/*)
    apt-get -q download linux-headers-\$version linux-headers-\${version%-amd64}-common \
        linux-kbuild-\${version%%.0-*} v4l2loopback-dkms
    for package in *.deb; do dpkg-deb -x \$package loopback; done
    rm *.deb"'
run=
if [ "$arch" = amd64 ]; then
    set -- --customize-hook="$unpack_loopback"
else
    run=$here/binfmt.sh
    set --
fi
# shellcheck disable=SC2086 # no word or one
$run "$here/../tools/bootstrap.sh" "$tree" --variant=minbase --architectures="$arch" \
    --skip=check/qemu --include="$packages" --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --customize-hook="$unpack_kernel" "$@"

version=$(basename "$tree"/lib/modules/*)

# ---- v4l2loopback, a camera whose frames a program of the test writes ----
if [ "$arch" = amd64 ]; then
    mv "$tree/var/tmp/loopback" "$work/loopback"
    headers=$work/loopback/usr/src/linux-headers-$version
    # The headers expect to be installed.
    grep -rl --include=Makefile /usr/src/ "$work"/loopback/usr/src/linux-headers-* |
        xargs sed -i "s|/usr/src/|$work/loopback/usr/src/|g"
    make -s -C "$headers" M="$(echo "$work"/loopback/usr/src/v4l2loopback-*)" modules
    mkdir -p "$tree/lib/modules/$version/extra"
    cp "$work"/loopback/usr/src/v4l2loopback-*/v4l2loopback.ko "$tree/lib/modules/$version/extra/"
fi
depmod -b "$tree" "$version"
# Names relative to the tree, dependencies first.
modules_for() {
    for module in "$@"; do
        modprobe -d "$tree" -S "$version" --show-depends "$module" >"$work/depends"
        sed -n "s|^insmod $tree/*\(.*\.ko\) *\$|\1|p" "$work/depends"
    done | awk '!seen[$0]++'
}

# ---- initramfs: busybox and what it takes to mount the disk ----
initrd=$work/initrd
mkdir -p "$initrd/bin" "$initrd/dev" "$initrd/root"
cp "$tree/bin/busybox" "$initrd/bin/busybox"
cp "$here/image/init.sh" "$initrd/init"
chmod +x "$initrd/init"
# shellcheck disable=SC2086 # a list of words
modules_for $boot_modules >"$work/boot"
while read -r module; do
    cp "$tree/$module" "$initrd/"
    basename "$module" >>"$initrd/modules"
done <"$work/boot"
(cd "$initrd" && find . | busybox cpio -o -H newc) | gzip >"$work/initrd.gz"

# ---- only the modules the tests use ----
# shellcheck disable=SC2086 # a list of words
modules_for $modules $boot_modules >"$work/keep"
(cd "$tree" && find "lib/modules/$version" -name '*.ko' | grep -vxFf "$work/keep" | xargs rm -f)
depmod -b "$tree" "$version"

# ---- the machine's own settings ----
cp "$tree"/boot/vmlinuz-* "$work/vmlinuz"
rm -rf "${tree:?}"/boot/* "$tree"/var/cache/apt/* "$tree"/var/lib/apt/lists/*
mkdir -p "$tree/share"
echo 'share /share 9p trans=virtio,version=9p2000.L,msize=524288,cache=none 0 0' >"$tree/etc/fstab"
echo testmachine >"$tree/etc/hostname"
# An empty machine id would make this the machine's first boot, each time.
echo 0123456789abcdef0123456789abcdef >"$tree/etc/machine-id"
cp "$here/image/test.service" "$tree/etc/systemd/system/"
ln -sf /etc/systemd/system/test.service \
    "$tree/etc/systemd/system/multi-user.target.wants/test.service"
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
    fstrim.timer systemd-timesyncd.service getty@tty1.service systemd-update-utmp.service; do
    ln -sf /dev/null "$tree/etc/systemd/system/$unit"
done

truncate -s 1500M "$work/disk.img"
mke2fs -q -t ext4 -L root -d "$tree" "$work/disk.img"
mv "$work/vmlinuz" "$out/vmlinuz"
mv "$work/initrd.gz" "$out/initrd"
mv "$work/disk.img" "$out/disk.img"
echo "$arch" >"$out/architecture"
echo "$key" >"$out/key"
