#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_watchdog_first
#
# A CPU comes online for the first time while a thread counts, and its NMI watchdog begins: before
# the counting ends, and whether or not perf schedules other events there.  The kernel was started
# with one CPU.

online=/sys/devices/system/cpu/cpu1/online

fail()
{
	echo "$*"
	cat /proc/vperfctr
	exit 1
}

# The module's worker may take some seconds.
wait_for_watchdog()
{
	tries=50
	until [ "$(head -n 1 /proc/vperfctr)" = "watchdog: $1" ]; do
		[ $((tries -= 1)) -ge 0 ] || fail "$2: the watchdog is not: $1"
		usleep 100000
	done
}

[ "$(cat $online)" = 0 ] || fail "CPU 1 was online before"
wait_for_watchdog kept "at first"
perfex -e 0x0008 sleep 1000 > /dev/null 2>&1 & counted=$!
trap 'kill $counted 2> /dev/null' EXIT
tries=50
until grep -q "^thread: .* sleep$" /proc/vperfctr; do
	[ $((tries -= 1)) -ge 0 ] || fail "no thread counts"
	usleep 100000
done
echo 1 > $online
wait_for_watchdog kept "CPU 1 is online"
# An event that is not pinned does not get the counter.
taskset 2 perf stat -x, -e cycles -o /tmp/counts usleep 1000
grep -q "^<not counted>,,cycles" /tmp/counts || fail "perf has counted: $(cat /tmp/counts)"
wait_for_watchdog kept "perf has tried"
kill $counted
wait 2> /dev/null
trap - EXIT
