#!/bin/sh
# Finds or unpacks Prometheus, promtool and node_exporter of Debian:
#     programs.sh DIRECTORY
# leaves links to them in DIRECTORY/bin. Where they are not installed, Debian's packages are
# downloaded and unpacked, once and without root: installed ones would start services of the machine.
set -eu

mkdir -p "$1/bin"
out=$(realpath "$1")
packages=
for program in prometheus promtool prometheus-node-exporter; do
    [ ! -x "$out/bin/$program" ] || continue
    if found=$(command -v $program); then
        ln -sf "$found" "$out/bin/$program"
    else
        # The rest is what Prometheus's pages are made of.
        packages="prometheus prometheus-node-exporter libjs-bootstrap4 libjs-jquery libjs-moment
            libjs-eonasdan-bootstrap-datetimepicker libjs-jquery-hotkeys libjs-moment-timezone
            libjs-mustache libjs-popper.js libjs-rickshaw libjs-d3 fonts-glyphicons-halflings"
    fi
done
[ -n "$packages" ] || exit 0

work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck disable=SC2086 # a list of words
if ! apt-get -qq -o APT::Sandbox::User="$(id -un)" download $packages; then
    echo "programs.sh: cannot download Debian's packages of Prometheus; has apt-get update run?" >&2
    exit 1
fi
for package in ./*.deb; do
    dpkg-deb -x "$package" "$out/root"
done
for program in prometheus promtool prometheus-node-exporter; do
    ln -sf "../root/usr/bin/$program" "$out/bin/$program"
done
