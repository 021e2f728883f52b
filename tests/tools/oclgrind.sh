#!/bin/sh
# Runs a program on oclgrind's simulated device, and fails if oclgrind reports anything: a data race,
# an access out of bounds, a divergent barrier. oclgrind's own exit code does not show that.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
oclgrind --data-races --max-errors 20 --log "$log" "$@"
code=$?
if [ -s "$log" ]; then
    cat "$log"
    exit 1
fi
exit $code
