#!/bin/busybox sh
# The initramfs: mounts the disk and hands over to systemd.
/bin/busybox mount -t devtmpfs dev /dev
while read -r module; do
    /bin/busybox insmod "/$module"
done </modules
/bin/busybox mount -t ext4 LABEL=root /root
/bin/busybox mount --move /dev /root/dev
exec /bin/busybox switch_root /root /lib/systemd/systemd
