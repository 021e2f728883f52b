#!/bin/sh
# Runs in the test machine, from the share: installs the program under test, runs the tests, and
# leaves results, output.log and journal.log in the machine's own folder there.
set -u
machine=$(sed -n 's/.*\<test_machine=\([0-9]*\).*/\1/p' /proc/cmdline)
export RESULTS="/share/$machine"
touch "$RESULTS/started" # tells the host that this machine works
exec >"$RESULTS/output.log" 2>&1

dpkg -i /share/packages/libfftd0_*.deb /share/packages/fftd_*.deb || exit 1
udevadm control --reload
systemctl daemon-reload

# From its own disk: the share is for results.
cp -a --no-preserve=ownership /share/tests /run/tests
cd /run/tests || exit 1
# shellcheck disable=SC1091 # written by tests/vm/test.sh
. /share/settings
export CLAIMS=/share/claims PYTHONDONTWRITEBYTECODE=1
export PYTEST_ADDOPTS="--durations=5 --durations-min=3"
[ -z "$TESTS" ] || PYTEST_ADDOPTS="$PYTEST_ADDOPTS -k '$TESTS'"
for suite in $SUITES; do
    case $machine-$suite in
    1-vm-programs)
        ./run.py "$suite" --timeout 1500 /share/programs/* |
            sed -un 'p; s/^\(ok\|FAIL\) /tests: &/w /dev/console'
        ;;
    *-vm-tests) ./run.py "$suite" --timeout 1500 --part --pytest . ;;
    esac
done
journalctl --no-pager -o short-monotonic >"$RESULTS/journal.log"
sync
