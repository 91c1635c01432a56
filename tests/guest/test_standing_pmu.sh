#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a virtual machine, the counters exist, but stand still: the module must refuse to count,
# and tell why.  The summary looks like one of libcheck.

known=$(dirname "$0")/known
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

for round in 1 2; do
	perfex -e instructions:u "$known" > "$tmp/out" 2> "$tmp/err"
	check "status, round $round" $? 125
	check "message, round $round" "$(grep -c 'the counters do not work as' "$tmp/err")" 1
done
check "line in the log" "$(dmesg | grep -c 'vperfctr: CPU 0: counter 0x0 does not count')" 1
perfex -x , -o "$tmp/out" -e page-faults "$known" 2> "$tmp/err"
check "status with a software counter" $? 1	# the program's own
check "count of page faults" "$(awk -F , '$3 == "page-faults" { print $1 }' "$tmp/out")" 1
echo "$(((checks - failures) * 100 / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures = 0 ]
