#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_self_test [CHECK...]
#
# Test perfex --self-test: these checks fail on this machine, and no others.  The summary
# looks like one of libcheck.

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"; rmmod msr_reader 2> /dev/null' EXIT
checks=0 failures=0

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

# It has been built for one kernel.
registers=yes
insmod "$(dirname "$0")/msr-reader.ko" 2> /dev/null || registers=no

# Without them, one check is skipped.
[ $registers = yes ] || [ "$1" != idle ] || shift
affinity=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
perfex --self-test --report="$tmp/report" > "$tmp/out" 2> "$tmp/err"
status=$?
check "checks that fail" "$(sed -n 's/^FAIL  \([^ ]*\) .*/\1/p' "$tmp/out" | tr '\n' ' ')" "${*:+$* }"
check "status" "$status" "$((${#} > 0))"
check "errors" "$(cat "$tmp/err")" ""
check "affinity" "$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)" "$affinity"

# one line for each check that is not on request, and their sum
names=$(perfex --self-test=help | sed '/only if named/d; s/ .*//')
check "checks" "$(sed -n 's/^\(PASS\|FAIL\|SKIP\)  \([^ ]*\) .*/\2/p' "$tmp/out")" "$names"
count() { grep -c "^$1  " "$tmp/out"; }
check "summary" "$(tail -n 1 "$tmp/out")" \
	"$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"

# registers are looked at, on x86
[ $registers = no ] ||
	check "checks of registers" "$(grep -c 'msr driver' "$tmp/out")" 0

# the report has each name before its result, and the machine
check "names in the report" "$(sed -n 's/^begin\t//p' "$tmp/report")" "$names"
check "results in the report" \
	"$(sed -n 's/^\(PASS\|FAIL\|SKIP\)\t\([^\t]*\)\t.*/\2/p' "$tmp/report")" "$names"
check "kernel in the report" "$(sed -n 's/^kernel\t\([^\t]*\)\t.*/\1/p' "$tmp/report")" "$(uname -r)"
check "first line of the report" "$(head -n 1 "$tmp/report" | cut -f 1)" perfex

# JSON, of one check
perfex --self-test=log -j > "$tmp/json"
check "JSON" "$(sed 's/"text" : ".*"/"text" : ""/' "$tmp/json" | head -n 1)" \
	'{"check" : "log", "result" : "pass", "text" : ""}'

if [ "$failures" -gt 0 ] || [ -n "$VERBOSE" ]; then
	cat "$tmp/out"
fi
if [ "$failures" = 0 ]; then percent=100; else percent=0; fi
echo "$percent%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
