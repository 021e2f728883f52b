#!/bin/sh
# Shows what fftd does, without a camera: demo.sh BUILD OUTPUT
#
# The daemon filters a test scene with a halftone screen and banding, at 1280x720 and 30 frames a
# second. While it runs, the filter gets notches at the frequencies of both. OUTPUT gets before.png,
# after.png, spectrum.png, side-by-side.png and figures.txt.
set -eu
build=$1
output=$2

# The frequencies of the screen and the banding, in cycles per pixel: see pattern_moire in
# daemon/capture. Wide notches work closer to the picture's edge than narrow ones.
screen='notch:at=0.21/0.13,width=0.12 | notch:at=-0.13/0.21,width=0.12'
banding='notch:at=0/0.34,width=0.12'
notches="$screen | $banding"
frames=150

# A separate runtime directory, so that no other daemon is affected.
XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
daemon=
finish() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    wait
    rm -rf "$XDG_RUNTIME_DIR"
}
trap finish EXIT
trap 'exit 1' INT TERM

say() {
    printf '\n%s\n' "$1"
}

show() {
    printf '  $ %s' "${1##*/}"
    shift
    for word in "$@"; do
        case $word in
        *[\ \|]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    echo
}

ctl() {
    show fftd-ctl --name demo "$@"
    "$build/fftd-ctl" --name demo "$@"
}

wait_for_frames() {
    socket=$XDG_RUNTIME_DIR/fftd/demo/frames
    while [ ! -S "$socket" ]; do
        if ! kill -0 "$daemon" 2>/dev/null; then
            echo 'demo.sh: fftd has ended; its message is above' >&2
            exit 1
        fi
        sleep 0.1
    done
    "$build/fftd-ctl" --name demo frames --raw -n 1 -o /dev/null
}

now_ms() {
    # The kernel's monotonic clock, without another program.
    read -r up _ </proc/uptime
    echo "${up%.*}${up#*.}0"
}

mkdir -p "$output"
rm -f "$output"/*.png "$output/figures.txt"

set -- --name demo --source pattern:moire --size 1280x720 --fps 30

say 'The kernels are compiled for this device. This takes some seconds, and happens once:'
show fftd "$@" --frames 1
"$build/fftd" -q "$@" --frames 1
show fftd "$@" --frames 1 --filter "$notches"
"$build/fftd" -q "$@" --frames 1 --filter "$notches"

say 'The daemon starts:'
show fftd "$@"
"$build/fftd" "$@" &
daemon=$!
wait_for_frames

say 'Notches at the frequencies of the screen and the banding are set while it runs:'
ctl filter set "$notches"

say "A client reads $frames frames:"
begin=$(now_ms)
ctl frames --raw -n $frames -o /dev/null
took=$(($(now_ms) - begin))
rate=$((frames * 100000 / took))

say 'One frame before and after the filter, and its spectrum:'
ctl snapshot -o "$output"

say 'The cost:'
{
    "$build/fftd-ctl" --name demo status
    printf '\na client read %d frames in %d ms: %d.%02d a second\n\n' \
        $frames $took $((rate / 100)) $((rate % 100))
    "$build/fftd-ctl" --name demo stats
} >"$output/figures.txt"
cat "$output/figures.txt"

say "The pictures are in $output: look at side-by-side.png. The figures are in figures.txt."
