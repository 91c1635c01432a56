# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the scripts of the harness have in common: where things are, messages,
# locks, long commands with their output in a log.

set -euo pipefail
# a command that is not expected to fail never ends a script without a word
explained=""
trap '[ -n "$explained" ] || say "${0##*/}: line $LINENO: \"$BASH_COMMAND\" failed"' ERR

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
vm=$top/tests/vm
# shellcheck disable=SC2034 # used by those who read this file
model=$top/tests/pmu-model
O=$(realpath -m "${O:-$top/build}")
# what is costly to get or to build outlives the checkout
cache=${VPERFCTR_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vperfctr}
mkdir -p "$O" "$cache"
# this machine's architecture, and others, as Debian calls them
native=$(dpkg --print-architecture)

# built ARCH: where what runs on this architecture is built
built()
{
    [ "$1" = "$native" ] && echo "$O" || echo "$O/$1"
}

# like_of KERNEL: which kernel's suites it is for, if it is not all that name none
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

# lock FILE: hold it until the script ends, waiting for who has it now
lock()
{
    local fd

    exec {fd}>"$1"
    if ! flock -n "$fd"; then
        say "waiting for another run that holds $1"
        flock "$fd"
    fi
}

# hash FILE_OR_DIRECTORY...: of contents and names relative to the project
hash()
{
    (cd "$top" && find "$@" -type f -print0 | LC_ALL=C sort -z |
        xargs -0 sha256sum) | sha256sum | cut -c 1-16
}

# say every few seconds (on a terminal: always in the same line) how far the
# command is that writes to a log; ends by itself should the script be killed
ticker()
{
    local what=$1 log=$2 start=$SECONDS at

    while true; do
        # sleep(1) would keep our stdout open after we are killed
        read -rt 5 <> <(:) || true
        kill -0 $$ 2>/dev/null || return
        # ninja's counter, if there is one
        at=$(tail -c 500 "$log" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1) || true
        if [ -t 2 ]; then
            printf '  %s: %d s %s\033[K\r' "$what" $((SECONDS - start)) "$at" >&2
        else
            say "  $what: $((SECONDS - start)) s $at"
        fi
    done
}

# logged LOG WHAT COMMAND...: run a command that may take long.  WHAT is said
# first, its output goes to LOG, and if it fails the end of that is shown.
logged()
{
    local log=$1 what=$2 tick status=0
    shift 2

    say "$what"
    mkdir -p "${log%/*}"
    ticker "$what" "$log" & tick=$!
    "$@" >"$log" 2>&1 </dev/null || status=$?
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
