# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Steps of a test of installing, on this machine and in a Debian root.  The file that sources
# this one has sourced ../vm/lib.sh and check.sh, and sets dir, where each step leaves its
# output, and work, a directory for files that do not stay.

# step LOG COMMAND...: run it, set $status, and $out with its errors
step()
{
    local log=$dir/$1.log

    status=0
    "${@:2}" > "$log" 2>&1 < /dev/null || status=$?
    out=$(cat "$log")
}

# done_well NAME: check that the last step succeeded
done_well()
{
    check "$1" "$status" 0
    [ "$status" = 0 ] || { tail -n 15 <<< "$out"; return 1; }
}

# files DIR: list the files, and the targets of links
files()
{
    (cd "$1" && find . ! -type d -printf '%P -> %l\n' | sed 's/ -> $//' | LC_ALL=C sort)
}

# make_root: unpack the Debian root, and set root, archive, kernel_dir and release
make_root()
{
    kernel_dir=$("$vm/kernel" debian-6.1-amd64)
    release=$(cat "$kernel_dir/release")
    archive=$("$here/root")
    root=$work/root
    mkdir "$root"
    tar -C "$root" -xf "$archive"

    # The headers of the virtual machine's kernel are those of the cache, as Debian may have
    # another version by now.  Programs in the root see it as the running kernel.
    cp -a "$kernel_dir/usr/." "$root/usr/"
    mkdir -p "$root/lib/modules/$release" "$root/test" "$root/source"
    ln -s "/usr/src/linux-headers-$release" "$root/lib/modules/$release/build"
    printf '#!/bin/sh\n[ "$*" = -r ] && echo %s || exec /bin/uname "$@"\n' "$release" > "$root/test/uname"
    chmod +x "$root/test/uname"
}

# in_root LOG COMMAND: a step in the root
in_root()
{
    # The mount goes away with the namespace.
    step "$1" unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" \
        chroot "$root" /usr/bin/env -i PATH=/test:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C /bin/bash -c "cd /source && $2"
}

# make_next TREE: make the module's sources there those of version 9.9, which is an empty
# module: DKMS builds it in a second, not in half a minute
make_next()
{
    sed -i 's/^PACKAGE_VERSION=.*/PACKAGE_VERSION="9.9"/' "$1/dkms.conf"
    find "$1/module" -mindepth 1 -delete
    echo 'obj-m := vperfctr.o' > "$1/module/Kbuild"
    printf '%s\n' '#include <linux/module.h>' 'MODULE_DESCRIPTION("The next version");' \
        'MODULE_LICENSE("GPL");' 'MODULE_VERSION("9.9");' > "$1/module/vperfctr.c"
}
