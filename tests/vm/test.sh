#!/bin/sh
# Boots test machines with the Debian packages, runs tests/vm/*.c and tests/vm/test_*.py in
# them, and brings their results into $RESULTS.
#     tests/vm/test.sh MACHINE PROGRAMS
# MACHINE is the output of tests/vm/build.sh, with the packages in MACHINE/share/packages. PROGRAMS
# has the programs of tests/tools, and of tests/vm if they are to run, for its architecture.
# $VM_PROGRAMS chooses some of the programs, $VM_TESTS some of the rest (pytest -k), alone or both.
# $VM_FORMATS, $VM_KINDS, $FAULT_SECONDS and $FAULT_SEED are for the tests that know them.
#
# An emulated machine is one processor, so for everything two run side by side where there are as
# many here. They share the folder, in which each test is claimed by the machine that runs it. One
# is enough for the few tests that run on armhf.
set -eu
machine=$1
programs=$2
share=$machine/share
: "${RESULTS:=build/results}"

suites="vm-programs vm-tests"
if [ -n "${VM_PROGRAMS-}${VM_TESTS-}" ]; then
    suites="${VM_PROGRAMS:+vm-programs} ${VM_TESTS:+vm-tests}"
fi
machines=$(($(nproc) < 2 ? 1 : 2))
[ "${suites% }" != vm-programs ] || machines=1
[ "$(cat "$machine/architecture")" = amd64 ] || machines=1

here=$(dirname "$0")
mkdir -p "$share/tests" "$share/programs" "$share/claims" "$RESULTS"
cp "$here/../tools/run.py" "$here"/*.py "$here/../integration/dbus_peer.py" "$programs"/tests/tools/* \
    "$share/tests/"
case $suites in
*vm-programs*)
    for program in ${VM_PROGRAMS:-$(ls "$programs/tests/vm")}; do
        cp "$programs/tests/vm/$program" "$share/programs/"
    done
    ;;
esac
"$here/scene.py" "$share/scenes"
cp "$here/guest.sh" "$share/guest.sh"
cat >"$share/settings" <<END
SUITES='$suites' TESTS='${VM_TESTS-}'
export VM_FORMATS='${VM_FORMATS-}' VM_KINDS='${VM_KINDS-}' FAULT_SECONDS='${FAULT_SECONDS-}' FAULT_SEED='${FAULT_SEED-}'
END

for number in $(seq "$machines"); do
    mkdir -p "$share/$number"
    "$here/boot.py" "$machine" "$share" "$number" 2400 &
    # What its tests tell on its console, while they run.
    tail --pid=$! -q -F "$share/$number/console.log" 2>/dev/null |
        sed -un "s/\r\$//; s/.*tests: /machine $number: /p" &
done
wait
results=
for number in $(seq "$machines"); do
    printf '\n== machine %s\n' "$number"
    cat "$share/$number/output.log" || tail -n 50 "$share/$number/console.log"
    for suite in $suites; do # the programs are the first machine's
        [ "$number $suite" = "2 vm-programs" ] || results="$results $share/$number/$suite.json"
    done
done
# shellcheck disable=SC2086 # a list of words
"$here/../tools/run.py" "$(basename "$machine")" --merge $results
