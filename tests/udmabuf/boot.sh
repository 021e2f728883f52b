#!/bin/sh
# Runs a test program as root on another kernel, in QEMU, and exits as the program does:
#     tests/udmabuf/boot.sh KERNEL PROGRAM
# KERNEL is the output of tests/udmabuf/kernel.sh. The machine has no disk: the program and its
# libraries are in its initramfs. Its caller limits the time.
set -eu
machine=$1
program=$2

rm -rf "$machine/tree"
mkdir -p "$machine/tree/bin" "$machine/tree/dev" "$machine/tree/proc" "$machine/tree/tmp"
cp "$(command -v busybox)" "$machine/tree/bin/busybox"
cp "$program" "$machine/tree/program"
cp "$(dirname "$0")/init.sh" "$machine/tree/init"
chmod +x "$machine/tree/init"
for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    cp -L --parents "$library" "$machine/tree"
done
(cd "$machine/tree" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$machine/initrd"

# Of the kernel's own messages only a panic comes out. The processor is the one of tests/vm/boot.py
# without cmpxchg16b: with it five of six boots ended in a double fault behind that instruction
# while the host was busy. QEMU 7.2 seems to get its flags wrong.
qemu-system-x86_64 -M q35 -accel tcg -cpu Nehalem,-cx16 -m 512 \
    -nodefaults -display none -nic none -no-reboot -serial stdio \
    -kernel "$machine/vmlinuz" -initrd "$machine/initrd" \
    -append "console=ttyS0 loglevel=1 mitigations=off panic=-1" </dev/null |
    tr -d '\r' | tee "$machine/console.log"
code=$(sed -n 's/^the program exited with //p' "$machine/console.log")
exit "${code:-1}"
