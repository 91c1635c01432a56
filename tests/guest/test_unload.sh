#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_unload	(the environment has ROUNDS, the attempts to unload)
#
# The module is loaded and unloaded while tasks start and end, some of them counted.

known=$(dirname "$0")/known	# 2004 instructions
rounds=${ROUNDS:-20} unloaded=0 refused=0

# Run tasks that fork, exec and exit all the time, counted if the module is loaded.
churn() # FILE COMMAND...: write a line to the file for each task that has run
{
	file=$1
	shift
	while :; do
		"$@" > /dev/null 2>&1
		[ $? -ge 125 ] || echo >> "$file"
	done
}
rm -f /tmp/tasks /tmp/counted
churn /tmp/tasks sh -c "'$known'; '$known' 2" & tasks=$!
churn /tmp/counted perfex -e instructions:u "$known" & counted=$!
held=
trap 'kill $tasks $counted $held' EXIT

fail()
{
	echo "$*"
	exit 1
}

load()
{
	[ ! -e /dev/vperfctr ] || fail "the device still exists after unloading"
	insmod /vm/vperfctr.ko || fail "the module does not load again"
}

# Unload at any moment.  Tasks decide whether that is refused: try until some succeed.
while [ $((rounds -= 1)) -ge 0 ] || [ "$unloaded" -lt 3 ]; do
	[ $rounds -gt -1000 ] || fail "unloaded only $unloaded times"
	usleep $(((rounds + 1000) % 7 * 1000))
	if rmmod vperfctr 2> /dev/null; then
		unloaded=$((unloaded + 1))
		load
	else
		refused=$((refused + 1))
		[ -e /dev/vperfctr ] || fail "unloading was refused, and the device is gone"
	fi
done
echo "unloaded $unloaded times, refused $refused times"

# Unloading is refused while a thread is counted, and works soon after.
mkfifo /tmp/go
for round in 1 2 3 4 5; do
	rm -f /tmp/held.on
	# While the module is unloaded, perf_event counts for the churn.  Such a count ends soon.
	# shellcheck disable=SC2016 # the command's own
	perfex --wait=60 -o /tmp/held -e instructions:u \
		sh -c ': > /tmp/held.on; read -r delay < /tmp/go; usleep "$delay"' &
	held=$!
	tries=100
	until [ -e /tmp/held.on ]; do
		[ $((tries -= 1)) -ge 0 ] || fail "the command did not start"
		usleep 100000
	done
	! rmmod vperfctr 2> /dev/null || fail "the module was unloaded while a thread was counted"
	[ -e /dev/vperfctr ] || fail "unloading was refused, and the device is gone"
	echo $((round * 4000)) > /tmp/go
	tries=100 refused=0
	until rmmod vperfctr 2> /dev/null; do
		refused=$((refused + 1))
		[ $((tries -= 1)) -ge 0 ] || fail "the module does not unload"
		usleep 1000
	done
	echo "round $round: refused $refused times"
	wait $held || fail "perfex failed after a refused unloading: $?"
	grep -q '[0-9],[0-9][0-9][0-9]  instructions:u' /tmp/held || fail "$(cat /tmp/held)"
	load
done
held=

# Some tasks must have come and gone, however little CPU time they got.
tries=1000
until [ "$(wc -l < /tmp/tasks)" -ge 3 ]; do
	[ $((tries -= 1)) -ge 0 ] || fail "fewer than 3 tasks ended"
	usleep 10000
done
kill $tasks $counted
wait 2> /dev/null
trap - EXIT
started=$(wc -l < /tmp/tasks) succeeded=$(wc -l < /tmp/counted)
echo "$started tasks, $succeeded counted"
# the last of the churn may still count, by perf_event
perfex --wait=60 -o /tmp/unload -e instructions:u "$known"
grep -q ' 2,004  instructions:u' /tmp/unload || fail "$(cat /tmp/unload)"
