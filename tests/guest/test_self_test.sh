#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_self_test [CHECK...]
#
# Test perfex --self-test: these checks fail on this machine, and no others.  The summary
# looks like one of libcheck.

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"; rmmod msr_reader 2> /dev/null' EXIT
# shellcheck source=../install/check.sh
. "$(dirname "$0")/check.sh"

# It has been built for one kernel.
registers=yes
insmod "$(dirname "$0")/msr-reader-$(uname -r).ko" 2> /dev/null || registers=no

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
check "processor in the report" "$(sed -n 's/^processor\t//p' "$tmp/report" | cut -d : -f 1)" \
	"$(sed '/^$/q' /proc/cpuinfo | grep -v -e '^flags' -e '^vmx flags' -e '^bugs' | cut -d : -f 1)"
check "kernel in the report" "$(sed -n 's/^kernel\t\([^\t]*\)\t.*/\1/p' "$tmp/report")" "$(cat /proc/sys/kernel/osrelease)"
case $(uname -m) in
x86_64|i?86)
	check "CPUs with CPUID in the report" "$(sed -n 's/^cpuid\t\(CPU [0-9]*\)\t.*/\1/p' "$tmp/report" | sort -u | wc -l)" \
		"$(grep -c '^kind' "$tmp/report")" ;;
esac
check "first line of the report" "$(head -n 1 "$tmp/report" | cut -f 1)" report
check "summary in the report" "$(sed -n 's/^summary\t//p' "$tmp/report")" "$(tail -n 1 "$tmp/out")"
check "times in the report" "$(sed -n 's/^duration\t\([^\t]*\)\t[0-9.]*$/\1/p' "$tmp/report")" "$names"
check "parameters in the report" "$(sed -n 's/^parameter \([^\t]*\)\t.*/\1/p' "$tmp/report" | sort | xargs)" \
	"$(cd /sys/module/vperfctr/parameters && grep -l . -- * | sort | xargs)"
check_has "the module in the kernel's log" "$(grep '^log before' "$tmp/report")" "	vperfctr: version "

# JSON, of one check
perfex --self-test=log -j > "$tmp/json"
check "JSON" "$(sed 's/"text" : ".*"/"text" : ""/' "$tmp/json" | head -n 1)" \
	'{"check" : "log", "result" : "pass", "text" : ""}'

# The CPU that this check takes offline comes back, also if perfex and the check are killed.
cpu1=/sys/devices/system/cpu/cpu1/online
is_online() # WORD
{
	read -r online < $cpu1 && [ "$online" = "$1" ]
}

if [ -f $cpu1 ] && [ $# = 0 ]; then
	perfex --self-test=hotplug > "$tmp/hotplug"
	check "checks that fail with a CPU offline" "$(sed -n 's/^FAIL  \([^ ]*\) .*/\1/p' "$tmp/hotplug")" ""
	check "CPU 1 after hotplug" "$(cat $cpu1)" 1
	setsid perfex --self-test=hotplug > /dev/null 2>&1 &
	group=$!
	until is_online 0 || ! kill -0 $group 2> /dev/null; do :; done
	kill -9 -$group 2> /dev/null
	wait $group 2> /dev/null
	# Processor time is short where many machines run, so the limit is generous.
	for _ in $(seq 600); do
		is_online 1 && break
		sleep 0.1
	done
	check "CPU 1 after a kill" "$(cat $cpu1)" 1
fi

# Suspend to idle, as far as no clock is needed that wakes the machine: a PC has the clock.
power=/sys/power
if [ -f $power/pm_test ] && [ "$(uname -m)" = x86_64 ] && grep -qw freeze $power/state &&
   [ $# = 0 ] && grep -q '^PASS  start' "$tmp/out"; then
	echo 0 > /sys/module/suspend/parameters/pm_test_delay
	echo platform > $power/pm_test
	perfex --self-test=suspend > "$tmp/suspend"
	echo none > $power/pm_test
	check "checks that fail after a suspend" "$(sed -n 's/^FAIL  \([^ ]*\) .*/\1/p' "$tmp/suspend")" ""
	check "checks that pass after a suspend" "$(tail -n 1 "$tmp/suspend")" "1 passed, 0 failed, 0 skipped"
fi

if [ "$failures" -gt 0 ] || [ -n "$VERBOSE" ]; then
	cat "$tmp/out"
fi
summary
