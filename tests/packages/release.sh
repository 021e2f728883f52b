#!/bin/sh
# A tree with another release of Debian and all that `make test` needs:
#     tests/packages/release.sh tree RELEASE TREE      makes it, unless it is there
#     tests/packages/release.sh run TREE COMMAND       runs a command in a copy of this source there
# The tree is made again when the list of packages has changed. The copy keeps what it has built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

make_tree() {
    release=$1
    tree=$(realpath -m "$2")
    packages=$("$here/../tools/deps.sh" --list build run test gst out view pipewire mqtt libcamera deb)
    key=$(echo "$release $packages" | cat - "$0" | sha256sum)
    if [ -f "$tree.key" ] && [ "$(cat "$tree.key")" = "$key" ]; then
        return
    fi
    rm -rf --one-file-system "$tree" "$tree.key"
    mkdir -p "$(dirname "$tree")"
    SUITE=$release "$here/../tools/bootstrap.sh" "$tree" --variant=apt \
        --include="$(echo ca-certificates "$packages" | tr -s ' ' ,)" \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*'
    echo "$key" >"$tree.key"
}

# $0 of the inner shell is the tree, and $1 the command. The tree becomes a mount of its own, without
# which programs inside cannot have mounts of their own. sd-bus ends a connection that asks for a
# machine id where there is none.
# shellcheck disable=SC2016
inside='
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
mount --rbind /dev "$0/dev"
mount -t tmpfs tmpfs "$0/run"
[ -s "$0/etc/machine-id" ] || od -An -N16 -tx1 /dev/urandom | tr -d " \n" >"$0/etc/machine-id"
exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    FFTD_INSTALL=no sh -c "cd /src && $1"'

run() {
    tree=$1
    mkdir -p "$tree/src"
    find "$tree/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$here/../.." --exclude=./build --exclude=./.git --exclude=__pycache__ -cf - . |
        tar -C "$tree/src" -xf -
    rm -rf "$tree/src/build/results"
    unshare --mount sh -ec "$inside" "$tree" "$2"
}

case ${1-} in
tree) make_tree "$2" "$3" ;;
run) run "$2" "$3" ;;
*)
    echo "release.sh: expected tree or run" >&2
    exit 64
    ;;
esac
