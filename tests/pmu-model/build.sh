#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: build.sh WORKDIR [TARGET]	build WORKDIR/qemu-system-TARGET with a model of its counters
#
# TARGET is x86_64 (the default), riscv64, ppc64 or ppc.  The script gets QEMU's source from Debian
# and builds it in WORKDIR, which takes 650 MB.  ORIG=FILE is an upstream tarball to use instead
# of a download.  KEEP=DIR is a directory to keep the downloaded one in.  PATCH= builds QEMU as
# it is.  JOBS=N.  ../vm/packages lists the packages that it needs.

. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../vm/apt.sh
. "$vm/apt.sh"

suite=bookworm-backports
series=10.0		# of QEMU, that the patches apply to
meson=1.5.0		# what it wants at least

target=${2:-x86_64} files="" options=""
case $target in
x86_64)  patch=hooks.patch files=files/. board=pmu options=--enable-kvm ;;
riscv64) patch=riscv/pmu.patch board=virt ;;
ppc64)   patch=ppc64/pmu.patch board=pseries ;;
ppc)     patch=ppc32/pmu.patch board=mac ;;
*)       die "no model of $target's counters" ;;
esac

mkdir -p "${1:?usage: build.sh WORKDIR [TARGET]}"
work=$(cd "$1" && pwd)
cd "$work"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin	# no pyenv and the like

sources()
{
    [ -n "${APT_CONFIG:-}" ] || apt_private "$work/apt" amd64 "$suite"
}

# the meson of a stable release may be too old
if ! printf '%s\n' "$meson" "$(meson --version 2>/dev/null || echo 0)" | sort -VC; then
    sources
    logged "$work/meson.log" "downloading meson" apt-get download meson
    dpkg -x meson_*_all.deb meson
    PATH=$work/meson/usr/bin:$PATH
    export PYTHONPATH=$work/meson/usr/lib/python3/dist-packages
fi

# the upstream tarball is enough: the model does not need Debian's changes
if [ -z "${ORIG:-}" ]; then
    sources
    logged "$work/source.log" "downloading QEMU" \
        apt-get source --download-only --tar-only qemu
    ORIG=$(ls "$work"/qemu_*.orig.tar.xz)
    if [ -n "${KEEP:-}" ]; then
        mkdir -p "$KEEP"
        mv "$ORIG" "$KEEP/"
        ORIG=$KEEP/${ORIG##*/}
    fi
fi
case ${ORIG##*/} in
qemu_"$series".*) ;;
*) die "${ORIG##*/} is not QEMU $series, which $patch is for" ;;
esac

rm -rf src obj
mkdir src obj
logged "$work/unpack.log" "unpacking QEMU" tar -C src --strip-components=1 -xJf "$ORIG"
if [ -n "$files" ]; then
    cp -R "$model/$files" src/
else
    cp "$model/${patch%/*}/$board.mak" "src/configs/devices/$target-softmmu/"
fi
if [ -n "${PATCH-yes}" ]; then
    logged "$work/patch.log" "patching QEMU" patch -d src -p0 -i "$model/$patch"
fi
# leave out a test module, and firmware that the tarball lacks
sed -i '/^pycotap/d' src/pythondeps.toml
sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' src/meson.build

cd obj
# shellcheck disable=SC2086 # no word if there is no option
logged "$work/configure.log" "configuring QEMU" \
    ../src/configure --python=/usr/bin/python3 --target-list="$target-softmmu" \
    --without-default-features --without-default-devices \
    --with-devices-"$target=$board" --enable-system --enable-tcg $options --disable-user \
    --disable-tools --disable-guest-agent --disable-docs --disable-werror \
    --disable-install-blobs --disable-debug-info
logged "$work/build.log" "building QEMU" \
    ninja -j"${JOBS:-$(nproc)}" "qemu-system-$target"
strip -o "$work/qemu-system-$target" "qemu-system-$target"
