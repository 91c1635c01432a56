#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test programs for perfctr on a machine without counters.  The summary has libcheck's
# form.

dir=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 failures=0

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

run() # PROGRAM ARGUMENT...: set status; the output is in $tmp/out and $tmp/err
{
	program=$1
	shift
	"$dir/perfctr_$program" "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
}

field() # FILE NAME
{
	awk -v name="$2" '$1 == name { print $2; exit }' "$1"
}

run perfex -i
check "status of -i" "$status" 0
check "cpu_type" "$(field "$tmp/out" cpu_type)" 0
check "cpu_nrctrs" "$(field "$tmp/out" cpu_nrctrs)" 0
check "cpu_features" "$(field "$tmp/out" cpu_features)" 0x2
run perfex -l
check "status of -l" "$status" 0
check "no events" "$(wc -l < "$tmp/out")" 0

run perfex -d sh -c 'exit 7'
check "status of the command" "$status" 7
check "one line" "$(wc -l < "$tmp/err")" 1
check "the TSC" "$(($(field "$tmp/err" tsc) > 1000))" 1
run perfex -e 004100C0 true
check "status of an event" "$status" 1
check "message about an event" "$(head -n 1 "$tmp/err")" "perfex: _vperfctr_control: Invalid argument"

run self_c89
check "status of self" "$status" 0
check "its TSC" "$(($(field "$tmp/out" TSC) > 0))" 1
check "no counts" "$(grep -c rounds "$tmp/out")" 0
run signal_c89
check "status of signal" "$status" 1
check "message of signal" "$(cat "$tmp/err")" "vperfctr_control: Operation not supported"

echo "$(((checks - failures) * 100 / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
exit $((failures != 0))
