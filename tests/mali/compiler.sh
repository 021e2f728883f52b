#!/bin/sh
# Builds the compiler that tests/mali/counts.py runs:
#     tests/mali/compiler.sh DIRECTORY
# That is Mesa's rusticl with its compiler for Midgard, patched, for a simulated Mali (drm-shim),
# and no other part of Mesa. It is built again only if this file or the patch has changed. The source is
# that of Mesa's release in Debian 12, fetched with apt.
set -eu
tarball=mesa_22.3.6.orig.tar.gz
sha256=737cb8e5d380ce1a0ad01fb8b74db7f27303435c353e753d2302e8cf3927bad2

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
key=$(cat "$here/compiler.sh" "$here/mesa.patch" | sha256sum)
if [ -f key ] && [ "$(cat key)" = "$key" ]; then
    exit 0
fi

# Runs a step whose output goes to LOG. If it fails, says which step that was and how its output
# ends: step NAME LOG COMMAND...
step() {
    name=$1 log=$2
    shift 2
    "$@" >"$log" 2>&1 && return
    echo "compiler.sh: $name failed; the end of $PWD/$log:" >&2
    tail -n 20 "$log" | sed 's/^/    /' >&2
    exit 1
}

# apt's own files for this are kept here too, since the machine may have no lists of source packages.
apt() {
    apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt" \
        -o APT::Update::Error-Mode=any -o APT::Sandbox::User= "$@"
}
fetch() {
    mkdir -p apt/lists/partial apt/archives/partial
    # shellcheck disable=SC2016 # apt-get's own variables
    apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Identifier: Packages' 'Release: bookworm' 'Component: main' | head -n 1 >apt/sources.list
    apt update && apt source --download-only --tar-only mesa && rm -r apt
}
is_fetched() {
    [ -f $tarball ] && echo "$sha256 $tarball" | sha256sum --check --status
}

if ! is_fetched && ! { fetch && is_fetched; }; then
    echo "compiler.sh: cannot fetch $tarball from Debian 12; this needs a network," >&2
    echo "or a copy of that file with the SHA-256 $sha256 in $PWD" >&2
    exit 1
fi
echo "building a compiler for the Mali-T760 in $PWD: this takes some minutes and half a GB, once" >&2
rm -rf key source build
mkdir source
tar -xf $tarball -C source --strip-components=1
step 'patching Mesa' patch.log patch -p1 -d source -i "$here/mesa.patch"

# Debian's own tools, not others that come first on the PATH; bindgen's headers are libclang's.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin CLANG_PATH=/usr/lib/llvm-15/bin/clang
printf "[binaries]\nllvm-config = '/usr/bin/llvm-config-15'\n" >native.ini
for feature in glx egl gbm gles1 gles2 shared-glapi dri3 gallium-va gallium-vdpau gallium-omx \
    gallium-xa lmsensors valgrind libunwind zstd; do
    set -- "$@" "-D$feature=disabled"
done
shift
step 'meson setup' meson.log meson setup build source --native-file native.ini \
    --wrap-mode=nodownload --buildtype=plain \
    -Doptimization=1 -Dc_args=-w -Dcpp_args=-w -Db_ndebug=true -Drust_std=2021 \
    -Dgallium-rusticl=true -Dllvm=enabled -Dtools=drm-shim \
    -Dgallium-drivers=panfrost -Dvulkan-drivers= -Dplatforms= -Dopengl=false -Dvideo-codecs= \
    -Dbuild-tests=false "$@"
# Built first, because its dependents do not declare it.
step 'building git_sha1.h' ninja.log ninja -C build -j"$(nproc)" src/git_sha1.h
step 'building rusticl' ninja.log ninja -C build -j"$(nproc)" \
    src/gallium/targets/rusticl/libRusticlOpenCL.so.1.0.0 \
    src/panfrost/drm-shim/libpanfrost_noop_drm_shim.so
echo "$key" >key
