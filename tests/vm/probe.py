#!/usr/bin/python3
"""Prints the permissions of the current sandbox: one line "NAME yes" or "NAME no" for each action.

Run as ExecStartPre= of fftd@.service, that is the daemon's own sandbox."""

import ctypes
import os
import socket
import sys

PTRACE_ATTACH, MS_BIND, PROT_READ, CLONE_NEWUSER = 16, 4096, 1, 0x10000000
libc = ctypes.CDLL(None, use_errno=True)


def open_file(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags | os.O_CLOEXEC, 0o600))


def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def create_file(path):
    open_file(path, os.O_WRONLY | os.O_CREAT)
    os.unlink(path)


def open_socket(family, kind=socket.SOCK_DGRAM):
    socket.socket(family, kind).close()


config, camera = sys.argv[1:3]
TRIES = {
    # Actions that the daemon needs.
    "read its configuration": lambda: open_file(config),
    "open its camera": lambda: open_file(camera, os.O_RDWR),
    "open a GPU": lambda: open_file("/dev/dri/renderD128", os.O_RDWR),
    "write its cache": lambda: create_file("/var/cache/fftd/probe"),
    "write a temporary file": lambda: create_file("/tmp/probe"),
    "open /dev/null": lambda: open_file("/dev/null", os.O_RDWR),
    "open a local socket": lambda: open_socket(socket.AF_UNIX),
    "read /proc/cpuinfo": lambda: open_file("/proc/cpuinfo"),
    # Actions that the sandbox must prevent.
    "write its configuration": lambda: open_file(config, os.O_WRONLY),
    "write its program": lambda: open_file("/usr/bin/fftd", os.O_WRONLY),
    "write beside its program": lambda: create_file("/usr/bin/probe"),
    "write beside its sockets": lambda: create_file(f"/run/fftd/{config.split('/')[-1][:-5]}/x"),
    "read passwords": lambda: open_file("/etc/shadow"),
    "read a home": lambda: open_file("/home/somebody/secret"),
    "read root's home": lambda: os.listdir("/root/."),
    "read another's temporary file": lambda: open_file("/tmp/another"),
    "open a display": lambda: open_file("/dev/dri/card0", os.O_RDWR),
    "open the disk": lambda: open_file("/dev/pmem0"),
    "open the memory": lambda: open_file("/dev/mem"),
    "open the kernel's log": lambda: open_file("/dev/kmsg"),
    "open the terminal": lambda: open_file("/dev/tty0"),
    "open the random number generator": lambda: open_file("/dev/hwrng"),
    "see init": lambda: os.listdir("/proc/1/task"),
    "read init's environment": lambda: open_file("/proc/1/environ"),
    "change a kernel setting": lambda: open_file("/proc/sys/kernel/hostname", os.O_WRONLY),
    "change a device's setting": lambda: open_file("/sys/power/state", os.O_WRONLY),
    "change a control group": lambda: os.mkdir("/sys/fs/cgroup/probe"),
    "open an internet socket": lambda: open_socket(socket.AF_INET),
    "open a netlink socket": lambda: open_socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "trace a process": lambda: call("ptrace", PTRACE_ATTACH, os.getppid(), None, None),
    "mount": lambda: call("mount", b"/tmp", b"/mnt", None, MS_BIND, None),
    "make a namespace": lambda: call("unshare", CLONE_NEWUSER),
    "become root": lambda: os.setuid(0),
    "set the clock": lambda: call("settimeofday", ctypes.create_string_buffer(16), None),
    "change the host's name": lambda: call("sethostname", b"probe", 5),
}

for name, attempt in TRIES.items():
    try:
        attempt()
        print(f"probe: {name}: yes")
    except OSError:
        print(f"probe: {name}: no")
