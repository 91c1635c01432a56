#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Programs for perfctr on processors whose event selects are unlike those of all others:
# Pentium, Cyrix, WinChip, VIA C3.  Counts are exact.  Without filters, they have the kernel's
# in them.
#
# TYPE: perfctr's number of the processor.  INSNS, CYCLES: event selects of perfctr's perfex,
# with counters, in user mode if there is a filter.

dir=$(dirname "$0")
known=$dir/known	# 4 + 2000 * (number of arguments, its name too) instructions
tmp=$(mktemp -d)
# shellcheck source=../../install/check.sh
. "$(dirname "$0")/check.sh"

# at_least WHAT GOT EXPECTED: for counts with the kernel's in them
at_least()
{
	check "$1 ($2)" $((${2:-0} >= $3)) 1
}

nr=2
[ "$TYPE" != 10 ] || nr=1
"$dir/perfctr_self_c89" > "$tmp/out" 2>&1
check "status of self" $? 0
one=$(awk '/^1000 rounds/ { print $3 }' "$tmp/out")
two=$(awk '/^2000 rounds/ { print $3 }' "$tmp/out")
case $TYPE in
1|2|6)	check "self counts" $((two - one)) 2000 ;;
*)	at_least "self counts" $((two - one)) 2000 ;;
esac
check "self's type" "$(awk '$1 == "cpu_type" { print $2 }' "$tmp/out")" "$TYPE"
check "self prints counters" "$(awk '/^cpu_nrctrs/ { print $2 }' "$tmp/out")" "$nr"
"$dir/perfctr_signal_c89" > "$tmp/out" 2>&1
check "status of signal" $? 1
# musl calls it "Not supported"
check "signal" "$(sed 's/Operation not/Not/' "$tmp/out")" "vperfctr_control: Not supported"

"$dir/perfctr_perfex" -d -e "$INSNS" ${CYCLES:+-e "$CYCLES"} "$known" 2> "$tmp/err"
check "status of perfctr's perfex" $? 1
counted=$(sed -n 's/^event.*	 *\([0-9]*\) *$/\1/p' "$tmp/err" | head -n 1)
case $TYPE in
1|2|6)	check "known" $(((counted - 2004) / 10000)) 0 ;;
*)	at_least "known" "$counted" 2004 ;;
esac
check "events" "$("$dir/perfctr_perfex" -l | grep -c INSTRUCTIONS_EXECUTED)" 1

rm -rf "$tmp"
summary
