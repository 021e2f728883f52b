#!/bin/sh
# Writes each text file named on the command line as a C initialiser { "NAME", "TEXT" }, with one
# string literal for each line of the file. Programs include the output as an array: the daemon has
# its kernels in one, and fftd-ctl its script.
set -eu
for file; do
    printf '{"%s",\n' "${file##*/}"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' "$file"
    printf '},\n'
done
