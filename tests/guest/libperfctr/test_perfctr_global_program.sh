#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test libperfctr/examples/global.c on several CPUs: a program of known length is pinned to
# the last one.  The summary has libcheck's form.

dir=$(dirname "$0")
known=$dir/known	# 4 + 2000 * (number of arguments, its name too) instructions
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 failures=0
last=$(($(grep -c ^processor /proc/cpuinfo) - 1))
taskset -p 1 $$ > /dev/null

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

# print the instructions of the last CPU in a sample
instructions() # FILE SAMPLE
{
	awk -v cpu="$last:" -v sample="$2" '
	$1 == "sample" { n = $2 }
	n == sample && $1 == "CPU" && $2 == cpu { print $6 }' "$1"
}

# shellcheck disable=SC2046 # many words
for program in global_c89 global_c++; do
	: > "$tmp/out"
	"$dir/perfctr_$program" 0 2 2 >> "$tmp/out" 2> "$tmp/err" & p=$!
	until grep -q '^sample 1' "$tmp/out"; do sleep 0.1; done
	taskset "$(printf %x $((1 << last)))" "$known" $(seq 499)
	wait $p
	check "status of $program" $? 0
	check "errors of $program" "$(cat "$tmp/err")" ""
	check "CPUs of $program" "$(grep -c '^CPU ' "$tmp/out")" $((2 * (last + 1)))
	n=$(($(instructions "$tmp/out" 2) - $(instructions "$tmp/out" 1)))
	# taskset itself runs there for a moment
	check "$program: $n instructions" $((n >= 1000004 && n < 1100000)) 1
done
"$dir/perfctr_global_c89" 5000 > /dev/null 2> "$tmp/err"
check "a short interval" "$(cat "$tmp/err")" "gperfctr_start: Invalid argument"
su user -c "$dir/perfctr_global_c89 0 1 1" > /dev/null 2> "$tmp/err"
check "an ordinary user" "$(cat "$tmp/err")" "gperfctr_control: Operation not permitted"
perfex -o /dev/null -e instructions:u sh -c ": > $tmp/counted; exec sleep 100" & other=$!
until [ -e "$tmp/counted" ]; do sleep 0.1; done
"$dir/perfctr_global_c89" 0 1 1 > /dev/null 2> "$tmp/err"
check "threads are counted" "$(cat "$tmp/err")" "gperfctr_start: Device or resource busy"
kill $other
wait $other

echo "$(((checks - failures) * 100 / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
exit $((failures != 0))
