#!/usr/bin/python3
"""Boots the test machine with a shared folder and waits until the machine turns itself off.

    tests/vm/boot.py MACHINE SHARE NUMBER SECONDS

MACHINE is the output of tests/vm/build.sh. SHARE is the folder that the guest sees as /share; it
runs guest.sh from there. Several machines may use one SHARE: each writes its own files, such as
console.log, to SHARE/NUMBER. The disk is never written. Exits with 0 if the machine turned itself
off within SECONDS of processor time. guest.sh must leave its results in SHARE.

For amd64 KVM is tried first if /dev/kvm can be opened. If it is broken, QEMU ends at once or the
guest's kernel does not reach user space. Then, and for armhf, one processor is emulated with its
own clock: every instruction takes a nanosecond of guest time, regardless of the host, and idle time
is skipped. So the guest is as fast as a small real machine, and keeps up with its camera even on a
busy host.
"""

import os
import pathlib
import resource
import signal
import subprocess
import sys
import time
import typing


class Machine(typing.NamedTuple):
    emulator: list  # with the disk and the shared folder
    console: str
    processor: str  # if it is emulated


# The disk of amd64 is guest memory, a private mapping of the image. While a guest waits for a real
# disk it is idle, and its clock runs ahead, more so on a busy host. For the share, which is used
# between tests, and for the disk of armhf, nohz=off on the kernel's command line limits this,
# because an idle guest still has its tick.
MACHINES = {
    "amd64": Machine(
        ["qemu-system-x86_64", "-M", "q35,nvdimm=on", "-m", "1536,slots=1,maxmem=4G",
         "-object", "memory-backend-file,id=disk,mem-path={disk},size={size},share=off",
         "-device", "nvdimm,memdev=disk", "-device", "virtio-rng-pci",
         "-device", "virtio-9p-pci,fsdev=share,mount_tag=share"],
        "ttyS0",
        # It has SSE4 but no AVX: PoCL compiles for AVX if it can, and QEMU takes 1.6 times as long
        # to emulate the result.
        "Nehalem"),
    "armhf": Machine(
        ["qemu-system-arm", "-M", "virt", "-m", "1536",
         "-drive", "file={disk},if=none,id=disk,format=raw,snapshot=on",
         "-device", "virtio-blk-device,drive=disk", "-device", "virtio-rng-device",
         "-device", "virtio-9p-device,fsdev=share,mount_tag=share"],
        "ttyAMA0", "cortex-a15"),
}
KVM = ["-accel", "kvm", "-cpu", "host", "-smp", "2"]
EMULATED = ["-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=0,sleep=off"]
KVM_PATIENCE_S = 20  # from power-on to the guest's program
# An emulated processor is never idle. Its limit is the host's processor time, so that a busy host
# does not end it early. The elapsed time may be longer by this factor.
BUSY_HOST = 4


def architecture_of(folder):
    return (folder / "architecture").read_text().strip()


def start(folder, share, number, seconds, accelerator):
    machine = MACHINES[architecture_of(folder)]
    own = share / number
    disk = folder / "disk.img"
    if accelerator is EMULATED:
        accelerator = [*EMULATED, "-cpu", machine.processor]
    (own / "started").unlink(missing_ok=True)  # written first by guest.sh
    with open(own / "console.log", "wb") as console:
        return subprocess.Popen([
            *(word.format(disk=disk, size=disk.stat().st_size) for word in machine.emulator),
            *accelerator,
            "-nodefaults", "-display", "none", "-nic", "none", "-no-reboot", "-serial", "stdio",
            "-kernel", folder / "vmlinuz", "-initrd", folder / "initrd",
            "-append", f"console={machine.console} quiet rw mitigations=off audit=0 panic=-1 "
                       f"systemd.show_status=0 nohz=off test_machine={number}",
            "-fsdev", f"local,id=share,path={share},security_model=none",
        ], stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))


def ended_within(process, seconds):
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def start_kvm(folder, share, number, seconds):
    """Returns the running machine, or None if KVM does not boot it."""
    if architecture_of(folder) != "amd64" or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return None
    process = start(folder, share, number, seconds, KVM)
    deadline = time.monotonic() + KVM_PATIENCE_S
    while time.monotonic() < deadline:
        if (share / number / "started").exists():
            return process
        if ended_within(process, 0.2):
            break
    process.kill()
    process.wait()
    print("KVM does not work here, emulating the processor", flush=True)
    return None


def main():
    folder, share = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    number, seconds = sys.argv[3], int(sys.argv[4])
    process = start_kvm(folder, share, number, seconds)
    if process is None:
        process = start(folder, share, number, seconds, EMULATED)
    if not ended_within(process, BUSY_HOST * seconds):
        process.kill()
        process.wait()
        print(f"machine {number} was still running after {BUSY_HOST * seconds} s", file=sys.stderr)
    elif process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        print(f"machine {number} took more than {seconds} s of processor time",
              file=sys.stderr)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"machine {number}: {used.ru_utime + used.ru_stime:.0f} s of the processor's time",
          flush=True)
    return 1 if process.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
