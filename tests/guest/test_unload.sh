#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The module comes and goes while tasks start and end, some of them counted.

known=$(dirname "$0")/known	# 2004 instructions
rounds=20 unloaded=0 refused=0

# tasks that fork, exec and exit all the time, counted when the module is there
churn() # COMMAND...
{
	while :; do
		"$@" > /dev/null 2>&1
	done
}
churn sh -c "'$known'; '$known' 2" & tasks=$!
churn perfex -e instructions:u "$known" & counted=$!
trap 'kill $tasks $counted' EXIT

fail()
{
	echo "$*"
	exit 1
}

while [ $((rounds -= 1)) -ge 0 ]; do
	usleep $((rounds % 7 * 1000))
	if rmmod vperfctr 2> /dev/null; then
		unloaded=$((unloaded + 1))
		[ ! -e /dev/vperfctr ] || fail "the device has outlived the module"
		insmod /vm/vperfctr.ko || fail "the module does not load again"
	else
		refused=$((refused + 1))
		[ -e /dev/vperfctr ] || fail "unloading was refused, and the device is gone"
	fi
done
echo "unloaded $unloaded times, refused $refused times"
[ "$unloaded" -ge 3 ] || fail "that is no test of unloading"
[ "$refused" -ge 1 ] || fail "that is no test of refusing"

kill $tasks $counted
wait 2> /dev/null
trap - EXIT
perfex -o /tmp/unload -e instructions:u "$known"
grep -q ' 2,004  instructions:u' /tmp/unload || fail "$(cat /tmp/unload)"
