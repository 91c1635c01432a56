# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Libraries and busybox for an architecture of which Debian has no packages, built from
# Debian's source, as upstream released it.  The script that sources this file sets arch, log,
# and host: the architecture's name for configure.

jobs=${JOBS:-$(nproc)}
# the programs that guest/init, guest/suite and the tests use
applets="ash awk cat chgrp chmod dirname dmesg echo env false grep head hostname insmod ip kill ln ls
    mkdir mktemp mount poweroff printf ps rm rmmod sed sleep stty su test timeout true usleep"
options="STATIC LFS LONG_OPTS SH_IS_ASH ASH_ECHO ASH_PRINTF ASH_TEST FEATURE_SH_MATH TEST1
    FEATURE_MOUNT_FLAGS FEATURE_FANCY_SLEEP FEATURE_FANCY_HEAD FEATURE_IP_LINK IPLINK"

# compiler ROOT, tool NAME: print the command
compiler()
{
    cross_tools "$arch" "$1" | sed -n 's/^CC=//p'
}

tool()
{
    local name

    name=$(cross_tools "$arch" / | sed -n 's/^AR=//p')
    echo "${name%ar}$1"
}

# build_check SOURCE ROOT
build_check()
{
    local lib
    lib=/usr/lib/$(tuple_of "$arch")

    mkdir "$1.obj"
    cd "$1.obj" || return
    # It cannot try the printf() of another architecture, and its own prints no long long.
    "$1/configure" hw_cv_func_vsnprintf_c99=yes hw_cv_func_snprintf_c99=yes \
        --host="$host" --build="$(gcc -dumpmachine)" CC="$(compiler "$2")" \
        AR="$(tool ar)" RANLIB="$(tool ranlib)" --prefix=/usr --libdir="$lib" --disable-shared --disable-subunit \
        --disable-build-docs CFLAGS=-O2 &&
        make -j "$jobs" -C lib && make -j "$jobs" -C src libcheck.la &&
        install -D -m 644 src/.libs/libcheck.a "$2$lib/libcheck.a" &&
        sed -i 's/^Libs:.*/& -lm/' check.pc &&
        install -D -m 644 check.pc "$2$lib/pkgconfig/check.pc" &&
        install -m 644 src/check.h check_stdint.h "$2/usr/include/"
}

# build_busybox SOURCE ROOT
build_busybox()
{
    local name wanted

    wanted=$(for name in ${applets^^} $options; do echo "CONFIG_$name=y"; done)
    cd "$1" || return
    make allnoconfig
    # an option may hide those that depend on it
    for _ in 1 2; do
        for name in $wanted; do
            sed -i "s/^# ${name%=y} is not set/$name/" .config
        done
        yes '' | make oldconfig
    done
    for name in $wanted; do
        grep -qx "$name" .config || { echo "busybox has no $name"; return 1; }
    done
    make -j "$jobs" CROSS_COMPILE="$(tool "")" CC="$(compiler "$2")" busybox && install -D busybox "$2/bin/busybox"
}

# build_sources TMP NAME...: build them with the functions of these names, into TMP/root
build_sources()
{
    local tmp=$1 name
    shift

    mkdir -p "$tmp"/{source,root}
    apt_private "$tmp/apt" "$native" bookworm
    (cd "$tmp/source" && logged "$log.log" "downloading the source of $*" \
        apt-get source --download-only "$@")
    for name; do
        mkdir "$tmp/$name"
        tar -C "$tmp/$name" --strip-components=1 -xf "$(find "$tmp/source" \
            -name "${name}_*.orig.tar.*" ! -name '*.asc')"
        logged "$log-$name.log" "building $name for $arch" "build_$name" "$tmp/$name" "$tmp/root"
    done
}
