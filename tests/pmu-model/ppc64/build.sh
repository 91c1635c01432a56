#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: build.sh WORKDIR	build WORKDIR/qemu-system-ppc64, with pmu.patch
#
# As ../build.sh, which builds the emulator of x86: ORIG=FILE is an upstream tarball to use
# instead of a download.  KEEP=DIR is a directory to keep the downloaded one in.  JOBS=N.
# The two are built apart, so that a change of one model does not build the other.
# PATCH= builds QEMU as it is.

. "$(dirname "$0")/../../vm/lib.sh"
# shellcheck source=../../vm/apt.sh
. "$vm/apt.sh"

suite=bookworm-backports
series=10.0		# of QEMU, that pmu.patch applies to
meson=1.5.0		# what it wants at least
here=$model/ppc64

mkdir -p "${1:?usage: build.sh WORKDIR}"
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
*) die "${ORIG##*/} is not QEMU $series, which pmu.patch is for" ;;
esac

rm -rf src obj
mkdir src obj
logged "$work/unpack.log" "unpacking QEMU" tar -C src --strip-components=1 -xJf "$ORIG"
if [ -n "${PATCH-yes}" ]; then
    logged "$work/patch.log" "patching QEMU" patch -d src -p0 -i "$here/pmu.patch"
fi
cp "$here/pseries.mak" src/configs/devices/ppc64-softmmu/
# leave out a test module, and firmware that the tarball lacks
sed -i '/^pycotap/d' src/pythondeps.toml
sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' src/meson.build

cd obj
logged "$work/configure.log" "configuring QEMU" \
    ../src/configure --python=/usr/bin/python3 --target-list=ppc64-softmmu \
    --without-default-features --without-default-devices \
    --with-devices-ppc64=pseries --enable-system --enable-tcg --disable-user \
    --disable-tools --disable-guest-agent --disable-docs --disable-werror \
    --disable-install-blobs
logged "$work/build.log" "building QEMU" \
    ninja -j"${JOBS:-$(nproc)}" qemu-system-ppc64
strip -o "$work/qemu-system-ppc64" qemu-system-ppc64
