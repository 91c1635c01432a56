#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_beside_perf PROGRAM [ARGUMENT]...
#
# Run a program of the tests while perf counts CPUs, and counts and samples commands, one after
# the other, by the counters that it keeps.  Its counts must be there.  KNOWN= is what it must
# count of a program of 2004 instructions, if not that: in real time the emulator counts time.

here=$(dirname "$0")

fail()
{
	echo "$*"
	exit 1
}

# Each round opens and closes events.
use_counters()
{
	while :; do
		# It fails where a CPU goes offline as its events are opened.
		perf stat -a -x, -e cycles,instructions -o /tmp/counts usleep 20000 || continue
		grep -q '^[0-9][0-9]*,,cycles,' /tmp/counts || exit
		# In real time the emulator counts no instructions.
		grep -q '^[0-9][0-9]*,,instructions,\|not supported' /tmp/counts || exit
		perf stat -x, -e cycles:u,instructions:u -o /tmp/thread "$here/known" > /dev/null
		grep -q "^${KNOWN:-2004},,instructions:u\|not supported" /tmp/thread || exit
		perf record -q -e cycles:u -c 1000 -o /tmp/record "$here/known" > /tmp/said 2>&1
		[ -s /tmp/record ] || exit
		echo >> /tmp/rounds
	done
}

: > /tmp/rounds
use_counters & perf=$!
trap 'kill $perf 2> /dev/null' EXIT
program=$1
shift
"$here/$program" "$@" || fail "$program: $?"
tries=100
until [ "$(wc -l < /tmp/rounds)" -ge 2 ] || ! kill -0 $perf || [ $((tries -= 1)) -lt 0 ]; do
	usleep 100000
done
kill -0 $perf || fail "perf has failed: $(cat /tmp/counts /tmp/thread /tmp/said)"
[ "$(wc -l < /tmp/rounds)" -ge 2 ] || fail "perf has not counted"
kill $perf
wait 2> /dev/null
trap - EXIT
echo "perf has counted $(wc -l < /tmp/rounds) times"
