#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex --prometheus on several CPUs: programs of known length are pinned to the last
# one.  The node exporter on the host reads the files: see tests/exports/prometheus.  The
# summary looks like one of libcheck.

known=$(dirname "$0")/known	# 4 + 2000 * (number of arguments, its name too) instructions
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 failures=0
taskset -p 1 $$ > /dev/null
echo 0 > /proc/sys/kernel/randomize_va_space
cpus=$(grep -c ^processor /proc/cpuinfo)
last=$((cpus - 1))
mask=$(printf %x $((1 << last)))

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

# print the instructions of the last CPU
instructions() { sed -n 's/^perfex_events_total{cpu="'$last'",event="instructions:u"} //p' "$tmp/cpus.prom"; }

await_change()
{
	before=$(cat "$tmp/cpus.prom")
	while [ "$before" = "$(cat "$tmp/cpus.prom")" ]; do sleep 0.02; done
}

# known_adds WORDS: run a program with that many arguments, and set added
known_adds()
{
	before_it=$(instructions)
	# shellcheck disable=SC2046 # many words
	taskset "$mask" "$known" $(seq "$1")
	# all that was executed before is in the second new file
	await_change
	await_change
	added=$(($(instructions) - before_it))
}

perfex -a --prometheus="$tmp/cpus.prom" -I 50 -e instructions:u,cycles & p=$!
until [ -n "$(instructions)" ]; do sleep 0.1; done 2> /dev/null
known_adds 10	# once, so that all pages are in memory
# Now and then taskset executes 63 instructions more there: such a run is repeated.
for _ in 1 2 3 4 5; do
	known_adds 10
	short=$added
	known_adds 60
	[ $((added - short)) != 100000 ] || break
done
check "what a program of known length adds" $((added - short)) 100000
kill $p
wait $p
check "status" $? 0
perfex -a --per-socket --prometheus="$tmp/sockets.prom" -e instructions:u,cycles --timeout 0.1
check "status with sockets" $? 0
check "counts" "$(grep -c '^perfex_events_total' "$tmp/cpus.prom")" $((2 * cpus))
check "sockets" "$(grep -c '^perfex_events_total{socket="0"' "$tmp/sockets.prom")" 2

# perfex top in a pipe: what runs on the last CPU is in its lines
: > "$tmp/top"
perfex top -I 50 -e instructions:u >> "$tmp/top" & p=$!
until grep -q "CPU$last " "$tmp/top"; do sleep 0.05; done
# shellcheck disable=SC2046 # many words
taskset "$mask" "$known" $(seq 499)
sleep 0.2
kill -INT $p 2> /dev/null
kill $p
wait $p
check "status of top" $? 0
sum=$(awk -v cpu="CPU$last" '$2 == cpu { n += $3 } END { print n }' "$tmp/top")
check "sum of top ($sum)" $((sum >= 1000004 && sum < 1100000)) 1

stty -F /dev/ttyS2 raw
(cd "$tmp" && tar cf - cpus.prom sockets.prom) > /dev/ttyS2

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
