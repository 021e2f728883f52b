#!/bin/sh
# Writes the kernels named on the command line as C initialisers { "NAME", "TEXT" }, one string a
# line of source, for daemon/gpu/program.c.
set -eu
for file; do
    printf '{"%s",\n' "${file##*/}"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' "$file"
    printf '},\n'
done
