#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Programs for perfctr on the Pentium 4: the examples, and perfctr's perfex with CCCRs and
# ESCRs.  TYPE is the cpu_type that they must see.  Counts are exact.

dir=$(dirname "$0")
known=$dir/known
tmp=$(mktemp -d)
failed=0

check() # WHAT GOT EXPECTED
{
	[ "$2" = "$3" ] && return
	echo "$1: '$2', not '$3'"
	failed=$((failed + 1))
}

for program in self_c89 self_c++; do
	[ -e "$dir/perfctr_$program" ] || continue
	"$dir/perfctr_$program" > "$tmp/out" 2>&1
	check "status of $program" $? 0
	one=$(awk '/^1000 rounds/ { print $3 }' "$tmp/out")
	two=$(awk '/^2000 rounds/ { print $3 }' "$tmp/out")
	check "$program counts" $((two - one)) 2000
	check "$program's type" "$(awk '$1 == "cpu_type" { print $2 }' "$tmp/out")" "$TYPE"
	check "$program prints its ESCR" "$(grep -c 'escr.0.*0x04000204' "$tmp/out")" 1
done

for program in signal_c89 signal_c++; do
	[ -e "$dir/perfctr_$program" ] || continue
	"$dir/perfctr_$program" > "$tmp/out" 2>&1
	check "status of $program" $? 0
	insns=$(cut -d ' ' -f 1 "$tmp/out") signals=$(cut -d ' ' -f 3 "$tmp/out")
	check "$program's signals" "$signals" $((insns / 100000))
	check "$program's instructions" $((insns >= 2000000)) 1
done

# on counters with one ESCR, and with two
count() # LINE
{
	awk -F '	' -v line="$1" 'index($1, line) == 1 { print $NF }' "$tmp/err" | tr -d ' '
}

"$dir/perfctr_perfex" -d -e 00039000/04000204@12 -e 00039000/04000204@0x80000010 \
	-e 00039000/04000204@14 "$known" 2> "$tmp/err"
check "status of perfex" $? 1
one=$(count 'event 0x00039000/0x04000204@12')
check "known" $(((one - 2004) / 10000)) 0
check "the same ESCR" "$(count 'event 0x00039000/0x04000204@2147483664')" "$one"
check "another ESCR" "$(count 'event 0x00039000/0x04000204@14')" "$one"
"$dir/perfctr_perfex" -d -e 00039000/04000204@12 -e 00039000/04000208@13 "$known" 2> "$tmp/err"
check "two values for one ESCR" "$(head -n 1 "$tmp/err")" "perfex: _vperfctr_control: Invalid argument"

rm -rf "$tmp"
exit "$failed"
