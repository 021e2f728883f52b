#!/bin/sh
# Runs one fuzzer for FUZZ_SECONDS, from the seeds in tests/fuzz/corpus/NAME, and reports in TAP. It
# keeps inputs that reach new code beside the program, for the next run. An input that breaks it is
# kept as NAME-crash-...; add it to the seeds with the fix.
set -u
program=$1
name=$(basename "$program")
seeds=$(dirname "$0")/corpus/$name
found=$program.corpus
mkdir -p "$found"
[ -d "$seeds" ] || seeds=

echo 1..1
if said=$("$program" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$program-" "$found" ${seeds:+"$seeds"} 2>&1); then
    echo "ok 1 - survives"
    echo "$said" | sed -n "s/^stat::number_of_executed_units: *\(.*\)/# figures: \1 inputs/p"
else
    echo "not ok 1 - survives"
    echo "$said" | tail -n 80 | sed 's/^/# /'
    exit 1
fi
