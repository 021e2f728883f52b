#!/bin/busybox sh
# The first process of the machine that boot.sh starts: runs the program, and turns the machine off.
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
exec </dev/null >/dev/console 2>&1
# As on a system where members of a group, or whoever sits at the screen, may open it.
/bin/busybox chmod 666 /dev/udmabuf
CMOCKA_MESSAGE_OUTPUT=TAP /program
echo "the program exited with $?"
/bin/busybox reboot -f # QEMU ends with -no-reboot
