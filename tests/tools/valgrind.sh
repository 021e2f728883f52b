#!/bin/sh
# Runs a test program under valgrind. If it is fftd: starts it, reads frames, changes the filter and
# stops it. Both speak TAP.
#     tests/tools/valgrind.sh PROGRAM
set -u
check="valgrind -q --leak-check=full --errors-for-leak-kinds=definite,possible
    --show-leak-kinds=definite,possible --error-exitcode=99 --fair-sched=yes
    --suppressions=$(dirname "$0")/../suppressions/valgrind.supp"
if [ "$(basename "$1")" != fftd ]; then
    # shellcheck disable=SC2086 # a list of words
    FFTD_TEST_CLIPS=one exec $check "$1"
fi

build=$(dirname "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Separate caches, because code that was compiled for the real processor cannot run here. They are
# filled first without any checks: memcheck would take minutes for PoCL's compiler.
caches=$PWD/build/valgrind
mkdir -p "$caches/pocl" "$caches/fftd"
export POCL_CACHE_DIR="$caches/pocl" OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd
set -- "$1" --source pattern:moire --size 96x64 --fps 30 --device cpu \
    --filter gaussian-blur:sigma=2 --runtime-dir "$work/run" --set engine.cache_dir="$caches/fftd" \
    --set engine.compile_ahead=false
log=$work/log

ctl() {
    "$build/fftd-ctl" --runtime-dir "$work/run" "$@" 2>>"$log"
}

failed=0
verdict() { # verdict CODE NAME
    if [ "$1" = 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2"
        sed 's/^/# /' "$log"
        failed=1
    fi
}

echo 1..3
valgrind --tool=none -q --fair-sched=yes "$@" --frames 2 >"$log" 2>&1 || sed 's/^/# /' "$log"

# shellcheck disable=SC2086 # a list of words
$check "$@" >"$log" 2>&1 &
daemon=$!
tries=0
until [ -S "$work/run/control" ] || [ $tries = 300 ]; do
    tries=$((tries + 1))
    sleep 0.2
done
ctl frames -n 10 >"$work/frames" && ctl filter set --timeout 600 lowpass:cutoff=0.2 >"$work/serial"
verdict $? "1 - serves frames and takes a filter"
kill -TERM $daemon
wait $daemon
code=$?
[ $code != 99 ]
verdict $? "2 - has no leak and no invalid access"
[ $code = 0 ] || [ $code = 99 ]
verdict $? "3 - stops on SIGTERM (exit code $code)"
exit $failed
