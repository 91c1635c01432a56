# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Common to the scripts of the harness: directories, messages, locks, and long
# commands with their output in a log.

set -euo pipefail
# The files go to machines, roots and a cache, where other users read them.
umask 022
# An unexpected failure of a command always prints a message.
explained=""
trap '[ -n "$explained" ] || say "${0##*/}: line $LINENO: \"$BASH_COMMAND\" failed"' ERR

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
vm=$top/tests/vm
# shellcheck disable=SC2034 # used by the scripts that source this file
model=$top/tests/pmu-model
O=$(realpath -m "${O:-$top/build}")
# Downloads, kernels and the emulator outlive the checkout.
cache=${VPERFCTR_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vperfctr}
mkdir -p "$O" "$cache"
# Architectures have Debian's names; this is the one of this machine.
native=$(dpkg --print-architecture)

# keeping_objects COMMAND...: run it, and let compilers keep its objects by content, where ccache is
# installed.  Another clone of the project finds them, too: paths in it are relative, and the
# directory of a compiler is not part of the key.  A test of builds, as of their
# reproducibility, must not use this.
keeping_objects()
{
    local compiler

    [ -d /usr/lib/ccache ] || { "$@"; return; }
    mkdir -p "$O/compilers"
    for compiler in /usr/lib/ccache/*; do
        ln -sf "$vm/compiler" "$O/compilers/${compiler##*/}"
    done
    env PATH="$O/compilers:$PATH" CCACHE_PATH="$PATH" CCACHE_DIR="$cache/ccache" \
        CCACHE_MAXSIZE=2G CCACHE_BASEDIR="$top" CCACHE_NOHASHDIR=1 "$@"
}

# cross_tools ARCH SYSROOT: print the variables of make for programs of another architecture,
# one a line
cross_tools()
{
    case $1 in
    arm64)
        printf '%s\n' "CC=aarch64-linux-gnu-gcc --sysroot=$2" AR=aarch64-linux-gnu-ar \
            LD=aarch64-linux-gnu-ld OBJCOPY=aarch64-linux-gnu-objcopy
        ;;
    riscv64)
        printf '%s\n' "CC=riscv64-linux-gnu-gcc --sysroot=$2" AR=riscv64-linux-gnu-ar \
            LD=riscv64-linux-gnu-ld OBJCOPY=riscv64-linux-gnu-objcopy
        ;;
    ppc64el)
        printf '%s\n' "CC=powerpc64le-linux-gnu-gcc --sysroot=$2" AR=powerpc64le-linux-gnu-ar \
            LD=powerpc64le-linux-gnu-ld OBJCOPY=powerpc64le-linux-gnu-objcopy
        ;;
    powerpc)
        printf '%s\n' "CC=powerpc-linux-gnu-gcc --sysroot=$2" AR=powerpc-linux-gnu-ar \
            LD=powerpc-linux-gnu-ld OBJCOPY=powerpc-linux-gnu-objcopy
        ;;
    i386)
        echo "CC=gcc -m32 --sysroot=$2"
        ;;
    i586)
        echo "CC=gcc -m32 -march=i586 -fno-pie -no-pie --sysroot=$2 -specs=$2/specs"
        ;;
    esac
}

# tuple_of ARCH: print the name of its directories of libraries
tuple_of()
{
    case $1 in
    arm64) echo aarch64-linux-gnu ;;
    ppc64el) echo powerpc64le-linux-gnu ;;
    *)     echo "$1-linux-gnu" ;;
    esac
}

# built ARCH: print the build directory for programs of this architecture
built()
{
    [ "$1" = "$native" ] && echo "$O" || echo "$O/$1"
}

# like_of KERNEL: print the kernel whose suites it runs, or nothing if it runs those
# that name no kernel
like_of()
{
    [ -z "$1" ] || sed -n 's/^like=//p' "$vm/kernels/$1"
}

say()
{
    echo "$*" >&2
}

die()
{
    say "${0##*/}: $*"
    exit 1
}

# lock FILE: hold a lock until the script ends; wait if another run holds it
lock()
{
    local fd

    exec {fd}>"$1"
    if ! flock -n "$fd"; then
        say "waiting for another run that holds $1"
        flock "$fd"
    fi
}

# hash FILE_OR_DIRECTORY...: of the contents and of the names relative to the project
hash()
{
    (cd "$top" && find "$@" -type f -print0 | LC_ALL=C sort -z |
        xargs -0 sha256sum) | sha256sum | cut -c 1-16
}

# ticker WHAT LOG: every few seconds, print the progress of a command that writes to LOG;
# on a terminal always in the same line.  It ends by itself if the script is killed.
ticker()
{
    local what=$1 log=$2 start=$SECONDS at

    while true; do
        # a sleep(1) would keep stdout open after the ticker is killed
        read -rt 5 <> <(:) || true
        kill -0 $$ 2>/dev/null || return
        # the counter of ninja, if the command is ninja
        at=$(tail -c 500 "$log" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1) || true
        if [ -t 2 ]; then
            printf '  %s: %d s %s\033[K\r' "$what" $((SECONDS - start)) "$at" >&2
        else
            say "  $what: $((SECONDS - start)) s $at"
        fi
    done
}

# timed WHAT COMMAND...: run it, and add its processor time to the file TIMES, if that is set
timed()
{
    local what=$1 status=0 out err took TIMEFORMAT='%U %S'
    shift

    if [ -z "${TIMES:-}" ]; then
        "$@"
        return
    fi
    exec {out}>&1 {err}>&2
    # what it runs is a part of it
    took=$({ time TIMES="" "$@" 1>&"$out" 2>&"$err"; } 2>&1) || status=$?
    exec {out}>&- {err}>&-
    awk -v what="$what" '{ printf "%8.1f  %s\n", $1 + $2, what }' <<< "$took" >> "$TIMES"
    return "$status"
}

# dearest FILE: print the ten dearest parts of a file of TIMES, and the time of all that this
# shell has run
dearest()
{
    # in a pipe it would print the times of that process
    times > "$1.sum"
    echo "The dearest parts, in seconds of processor time; all are in $1:"
    LC_ALL=C sort -k 1,1nr "$1" | head -n 10
    awk 'NR == 2 { gsub(/[ms]/, " "); printf "%8.1f  in all\n", $1 * 60 + $2 + $3 * 60 + $4 }' "$1.sum"
    rm -f "$1.sum"
}

# logged LOG WHAT COMMAND...: print WHAT and run a command that may take long.  Its
# output goes to LOG; if it fails, the last lines of LOG are printed.
logged()
{
    local log=$1 what=$2 tick status=0
    shift 2

    say "$what"
    mkdir -p "${log%/*}"
    ticker "$what" "$log" & tick=$!
    timed "$what" "$@" >"$log" 2>&1 </dev/null || status=$?
    kill "$tick" 2>/dev/null || true
    wait "$tick" 2>/dev/null || true
    [ ! -t 2 ] || printf '\033[K' >&2
    if [ "$status" != 0 ]; then
        tail -n 15 "$log" | sed 's/^/    /' >&2
        say "${0##*/}: failed: $what (all of its output: $log)"
        explained=yes
    fi
    return "$status"
}
