#!/bin/sh
# A 64-bit and a 32-bit program at the two ends of one ring, each way round. Speaks TAP.
#     tests/cross/widths.sh SYSROOT ARMHF-PEER NATIVE-PEER
set -u
native=$3
armhf="qemu-arm-static -L $1 $2"
number=0
failed=0

pair() { # NAME SERVER READER
    number=$((number + 1))
    dir=$(mktemp -d "${TMPDIR:-/tmp}/fftd-XXXXXX")
    mkfifo "$dir/input" "$dir/output"
    # shellcheck disable=SC2086 # two words
    $2 serve "$dir" <"$dir/input" >"$dir/output" &
    exec 3>"$dir/input" 4<"$dir/output"
    read -r _ <&4
    # shellcheck disable=SC2086
    if timeout 30 $3 read "$dir"; then
        echo "ok $number - $1"
    else
        failed=1
        echo "not ok $number - $1"
    fi
    exec 3>&- 4<&-
    wait $!
    rm -rf "$dir"
}

echo 1..4
pair "64 bits to 64 bits" "$native" "$native"
pair "64 bits to 32 bits" "$native" "$armhf"
pair "32 bits to 64 bits" "$armhf" "$native"
pair "32 bits to 32 bits" "$armhf" "$armhf"
exit $failed
