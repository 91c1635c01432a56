#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# perfex on the Pentium 4: it chooses counters and ESCRs.  Counts are exact.

dir=$(dirname "$0")
tmp=$(mktemp -d)
failed=0

check() # WHAT GOT EXPECTED
{
	[ "$2" = "$3" ] && return
	echo "$1: '$2', not '$3'"
	failed=$((failed + 1))
}

count() # EVENTS...: print the counts, one a line
{
	perfex -x , -o "$tmp/out" -e "$@" -- "$dir/known" 2> "$tmp/err"
	sed -n "s/^\([0-9]*\),.*/\1/p" "$tmp/out"
}

insns=2004

# two modes of one event need two ESCRs
check "instructions" "$(count instructions:u | head -n 1)" "$insns"
check "two modes" "$(count instructions:u,instructions:k,instructions:u | sed -n '1p;3p' | tr '\n' ' ')" \
	"$insns $insns "
check "all counters" "$(count instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u |
	sort -u | tr '\n' ' ')" "$insns "
check "libpfm4's name" "$(count instr_retired:NBOGUSNTAG:u)" "$insns"
check "registers" "$(count 0x39000/0x04000204@14)" "$insns"
# an instruction takes a cycle
check "cycles" "$(count cycles:u)" "$insns"
check "libpfm4's cycles" "$(count global_power_events:running:u)" "$insns"

count instructions:u,instructions:k,instructions:uk > /dev/null
check "three modes" "$(grep -c ESCR "$tmp/err")" 1
count replay_event:nbogus > /dev/null
check "tags" "$(grep -c tagged "$tmp/err")" 1
count r00c0 > /dev/null
check "a raw event" "$(grep -c 'two registers' "$tmp/err")" 1
check "the list" "$(perfex list 2>/dev/null | grep -ci 'instr_retired:NBOGUSNTAG')" 1

check "help" "$(perfex list --help | grep -c 'CCCR/0xESCR')" 1

rm -rf "$tmp"
exit "$failed"
