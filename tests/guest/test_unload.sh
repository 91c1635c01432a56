#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The module comes and goes while tasks start and end, some of them counted.

known=$(dirname "$0")/known	# 2004 instructions
rounds=20 unloaded=0 refused=0

# tasks that fork, exec and exit all the time, counted when the module is there
churn() # FILE COMMAND...: a line in the file for each that was run
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
	[ ! -e /dev/vperfctr ] || fail "the device has outlived the module"
	insmod /vm/vperfctr.ko || fail "the module does not load again"
}

# At any moment: to be refused takes luck
while [ $((rounds -= 1)) -ge 0 ]; do
	usleep $((rounds % 7 * 1000))
	if rmmod vperfctr 2> /dev/null; then
		unloaded=$((unloaded + 1))
		load
	else
		refused=$((refused + 1))
		[ -e /dev/vperfctr ] || fail "unloading was refused, and the device is gone"
	fi
done
echo "unloaded $unloaded times, refused $refused times"
[ "$unloaded" -ge 3 ] || fail "that is no test of unloading"

# Not while a thread is counted, and then as soon as it can be
mkfifo /tmp/go
for round in 1 2 3 4 5; do
	rm -f /tmp/held.on
	# shellcheck disable=SC2016 # the command's own
	perfex -o /tmp/held -e instructions:u \
		sh -c ': > /tmp/held.on; read -r delay < /tmp/go; usleep "$delay"' &
	held=$!
	tries=100
	until [ -e /tmp/held.on ]; do
		[ $((tries -= 1)) -ge 0 ] || fail "nothing is counted"
		usleep 100000
	done
	! rmmod vperfctr 2> /dev/null || fail "the module went while a thread was counted"
	[ -e /dev/vperfctr ] || fail "unloading was refused, and the device is gone"
	echo $((round * 4000)) > /tmp/go
	tries=100 refused=0
	until rmmod vperfctr 2> /dev/null; do
		refused=$((refused + 1))
		[ $((tries -= 1)) -ge 0 ] || fail "the module does not unload"
		usleep 1000
	done
	echo "round $round: refused $refused times"
	wait $held || fail "counted across a refused unloading: $?"
	grep -q '[0-9],[0-9][0-9][0-9]  instructions:u' /tmp/held || fail "$(cat /tmp/held)"
	load
done
held=

kill $tasks $counted
wait 2> /dev/null
trap - EXIT
started=$(wc -l < /tmp/tasks) succeeded=$(wc -l < /tmp/counted)
echo "$started tasks, $succeeded counted"
[ "$started" -ge 3 ] || fail "that is no test of tasks that come and go"
perfex -o /tmp/unload -e instructions:u "$known"
grep -q ' 2,004  instructions:u' /tmp/unload || fail "$(cat /tmp/unload)"
