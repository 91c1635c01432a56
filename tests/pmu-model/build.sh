#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: build.sh WORKDIR [TARGET...]	build each WORKDIR/qemu-system-TARGET with a model of its
#					counters
#
# TARGET is x86_64 (the default), riscv64, ppc64 or ppc.  Several take little more time than one,
# as most of QEMU is built once for all.  The script gets QEMU's source from Debian and builds it
# in WORKDIR, which takes 650 MB.  ORIG=FILE is an upstream tarball to use instead of a download.
# KEEP=DIR is a directory to keep the downloaded one in.
# PATCH= builds QEMU as it is.  JOBS=N.  ../vm/packages lists the packages that it needs.

. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../vm/apt.sh
. "$vm/apt.sh"

suite=bookworm-backports
series=10.0		# of QEMU, that the patches apply to
meson=1.5.0		# what it wants at least

mkdir -p "${1:?usage: build.sh WORKDIR [TARGET...]}"
work=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- x86_64

# All sources are patched for all targets: their code does not depend on what is built beside it.
patches="hooks.patch icount.patch riscv/pmu.patch ppc64/pmu.patch ppc32/pmu.patch"
targets="" options=() programs=()
for target; do
    case $target in
    x86_64)  board=pmu; options+=(--enable-kvm) ;;
    riscv64) board=virt ;;
    ppc64)   board=pseries ;;
    ppc)     board=mac ;;
    *)       die "no model of $target's counters" ;;
    esac
    targets+=,$target-softmmu
    options+=("--with-devices-$target=$board")
    programs+=("qemu-system-$target")
done

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
*) die "${ORIG##*/} is not QEMU $series, which the patches are for" ;;
esac

rm -rf src obj
mkdir src obj
logged "$work/unpack.log" "unpacking QEMU" tar -C src --strip-components=1 -xJf "$ORIG"
cp -R "$model/files/." src/
if [ -n "${PATCH-yes}" ]; then
    for patch in $patches; do
        logged "$work/patch.log" "patching QEMU: $patch" patch -d src -p0 -i "$model/$patch"
    done
fi
# leave out a test module, and firmware that the tarball lacks
sed -i '/^pycotap/d' src/pythondeps.toml
sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' src/meson.build

cd obj
logged "$work/configure.log" "configuring QEMU" \
    ../src/configure --python=/usr/bin/python3 --target-list="${targets#,}" \
    --without-default-features --without-default-devices --enable-system --enable-tcg \
    "${options[@]}" --disable-user --disable-tools --disable-guest-agent --disable-docs \
    --disable-werror --disable-install-blobs --disable-debug-info
logged "$work/build.log" "building QEMU" ninja -j"${JOBS:-$(nproc)}" "${programs[@]}"
for program in "${programs[@]}"; do
    strip -o "$work/$program" "$program"
done
