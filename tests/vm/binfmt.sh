#!/bin/sh
# Runs a command as root, while the kernel executes programs of armhf with qemu-user:
#     tests/vm/binfmt.sh COMMAND...
# An entry of binfmt_misc that is there already is used, and stays.
set -eu
# shellcheck disable=SC2016 # the new shell expands them
exec unshare --mount sh -euc '
    directory=/proc/sys/fs/binfmt_misc
    [ -e $directory/register ] || mount -t binfmt_misc binfmt_misc $directory
    if [ ! -e $directory/qemu-arm ]; then
        trap "echo -1 >$directory/qemu-arm" EXIT
        trap "exit 1" INT TERM
        cat /usr/lib/binfmt.d/qemu-arm.conf >$directory/register
    fi
    "$@"' sh "$@"
