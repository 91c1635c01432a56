#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# perfex on processors whose event selects are unlike those of all others: Pentium, Cyrix,
# VIA C3.  Counts are exact.  Without filters, they have the kernel's in them.
#
# TYPE: perfctr's number of the processor.  INSNS: an event select with a counter.

dir=$(dirname "$0")
known=$dir/known	# 4 + 2000 * (number of arguments, its name too) instructions
tmp=$(mktemp -d)
# shellcheck source=../../install/check.sh
. "$(dirname "$0")/check.sh"

count() # EVENTS...: print the counts, one a line
{
	perfex -x , -o "$tmp/out" -e "$@" -- "$known" 2> "$tmp/err"
	sed -n "s/^\([0-9]*\),.*/\1/p" "$tmp/out"
}

refused() # WHAT EVENTS MESSAGE
{
	count "$2" > /dev/null
	check "$1" "$(grep -c -- "$3" "$tmp/err")" 1
}

# at_least WHAT GOT EXPECTED: for counts with the kernel's in them
at_least()
{
	check "$1 ($2)" $((${2:-0} >= $3)) 1
}

case $TYPE in
1|2|6)
	# an instruction takes two cycles
	check "instructions" "$(count instructions:u)" 2004
	check "cycles" "$(count cycles:u)" 4008
	check "both" "$(count instructions:u,cycles:u | tr '\n' ' ')" "2004 4008 "
	check "twice" "$(count instructions:u,instructions:u | tr '\n' ' ')" "2004 2004 "
	check "a raw event" "$(count r16:u@1)" 2004
	check "the register" "$(count 0x96@0)" 2004
	at_least "the kernel's" "$(count instructions:k)" 2004
	refused "three events" instructions:u,cycles:u,instructions:k "too many events: .* 2 general"
	refused "either counter" r2b:u "as in 'r2b:u@0'"
	;;
*)
	at_least "instructions" "$(count instructions)" 2004
	at_least "cycles" "$(count cycles)" 4008
	at_least "a raw event" "$(count "r${INSNS%@*}@${INSNS#*@}")" 2004
	refused "one mode" instructions:u "counts in all modes"
	;;
esac
refused "an event that it does not have" cache-misses "cannot count 'cache-misses'"
refused "a name" INST_RETIRED "unknown event"
refused "too large a code" r10000@1 "sets more than"
at_least "no event" "$(perfex -x , -o "$tmp/out" "$known"; sed -n 's/^\([0-9]*\),[^,]*,instructions.*/\1/p' "$tmp/out")" 2004

# Linux does not use the WinChip's TSC.
if [ "$TYPE" = 7 ]; then
	perfex -o "$tmp/out" -e instructions "$known"
	check "thread time without a TSC" "$(grep -c '<not counted>  seconds thread time .*there is no TSC' "$tmp/out")" 1
	perfex -a -A -x , -o "$tmp/out" -e instructions "$known"
	at_least "a CPU without a TSC" "$(sed -n 's/^CPU0,\([0-9]*\),,instructions,.*/\1/p' "$tmp/out")" 2004
fi

perfex list > "$tmp/out" 2> "$tmp/err"
at_least "the list" "$(grep -c 'instructions' "$tmp/out")" 1
check "help" "$(perfex list --help | grep -c 'rEEE@N')" 1

rm -rf "$tmp"
summary
