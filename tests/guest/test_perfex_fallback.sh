#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex where the module is not loaded: perf_event counts commands.  The summary has
# libcheck's form.

here=$(dirname "$0")
known=$here/known	# 4 + 2000 * (number of arguments, its name too) instructions
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

mkfifo "$tmp/go"

# run ARGUMENT...: run perfex; its status is in $status, its output in $tmp/out and $tmp/err
run()
{
	perfex "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
}

# print the count of an event in the CSV of -x
count() # EVENT
{
	awk -F , -v event="$1" '$3 == event { print $1; exit }' "$tmp/counts"
}

run -x , -o "$tmp/counts" -e instructions:u,task-clock,cycles:u "$known" 2 3
check "status of known" "$status" 3
check "errors" "$(cat "$tmp/err")" "perfex: counts by perf_event: there is no /dev/vperfctr: load the module (sudo modprobe vperfctr)"
run --backend=perf -x , -o "$tmp/counts" -e instructions:u,task-clock,cycles:u "$known" 2 3
check "status with --backend=perf" "$status" 3
check "errors with --backend=perf" "$(cat "$tmp/err")" ""
run --backend=module -e instructions:u "$known"
check "status with --backend=module" "$status" 125
check "errors with --backend=module" "$(cat "$tmp/err")" "perfex: there is no /dev/vperfctr: load the module (sudo modprobe vperfctr)"
check "instructions of known" "$(count instructions:u)" 6004
check "known has a time" "$(count task-clock | grep -c '^[0-9.]*[1-9]')" 1
check "known has cycles" "$(count cycles:u | grep -c '^[1-9]')" 1

# Children are counted, also those that end last, or not at all.
sh=$(command -v sh)
run -x , -o "$tmp/counts" --no-inherit -e instructions:u "$sh" -c "$known; $known; :"
alone=$(count instructions:u)
run -x , -o "$tmp/counts" -e instructions:u "$sh" -c "$known; $known; :"
all=$(count instructions:u)
check "children are counted" "$((all > alone + 2 * 2004))" 1
run -x , -o "$tmp/counts" -e instructions:u "$sh" -c "$known; $known; $known x; :"
more=$(count instructions:u)
check "one more is counted" "$((more - all > 4004 && more - all < 30000))" 1

# Several runs, intervals, and the events without -e.
run -r 3 -x , -o "$tmp/counts" -e instructions:u "$known"
check "mean of instructions" "$(count instructions:u)" 2004
run -I 10 -x , -e instructions:u "$known"
check "status with intervals" "$status" 1
check "counts of intervals" "$(awk -F , '/instructions:u/ { n += $2 } END { print n }' "$tmp/err")" 2004
run "$known"
check "status without -e" "$status" 1
check "counts without -e" "$(grep -cE '[1-9][0-9,]* +instructions' "$tmp/err")" 1

# It says who counts, and refuses what only the module can do.
run -v -e instructions:u "$known"
check "-v" "$(grep -c 'counts by perf_event' "$tmp/err")" 1
run -v --backend=perf -e instructions:u "$known"
check "-v --backend=perf" "$(grep -c 'perfex: counts by perf_event$' "$tmp/err")" 1
run --backend=perf -a --kind=0 -e instructions:u "$known"
check "--backend=perf --kind" "$(cat "$tmp/err")" "perfex: perf_event does not know kinds of CPUs: --kind and --per-kind need the module"

# CPUs, and a process that runs already.
run -a -x , -o "$tmp/counts" -e instructions:u "$known" 2 3
check "status of -a" "$status" 3
check "-a" "$(grep -c '^perfex: counts by perf_event: there is no /dev/vperfctr: ' "$tmp/err")" 1
check "instructions of CPUs" "$(($(count instructions:u) >= 6004))" 1
sh -c 'read go; exec "$0" 2 3' "$known" < "$tmp/go" &
pid=$!
exec 3> "$tmp/go"
run -x , -o "$tmp/counts" -e instructions:u -p $pid sh -c "echo >&3; exec 3>&-; while [ -e /proc/$pid ] && ! grep -qs 'State:.Z' /proc/$pid/status; do usleep 50000; done"
exec 3>&-
wait $pid
check "instructions of a process" "$(($(count instructions:u) >= 6004 && $(count instructions:u) < 3000000))" 1

# Samples of the counters.
run --sample=instructions:u=1000 -o "$tmp/samples" "$known" 2 3
check "status of --sample" "$status" 3
[ "$status" = 3 ] || cat "$tmp/err"
check "--sample" "$(grep -c '^perfex: samples by perf_event: there is no /dev/vperfctr: ' "$tmp/err")" 1
check "samples of known" "$(grep -c "^perfex: 6 samples in .*, 0 dropped; 6,004 instructions:u in all" "$tmp/err")" 1
run record -e instructions:u,cycles:u -c 500 -o "$tmp/samples" "$known" 2 3
check "samples of two events" "$(grep -cE '^perfex: .*; 6,004 instructions:u, [0-9,]+ cycles:u in all' "$tmp/err")" 1
# shellcheck disable=SC2016
run record -F 1000 -e instructions:u -o "$tmp/samples" sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
check "a rate" "$(grep -cE '^perfex: [1-9][0-9,]* samples in .* for [1-9][0-9,]{6,} periods; [1-9]' "$tmp/err")" 1
run -e instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u "$known"
check "status of too many events" "$status" 125
check "too many events" "$(grep -c 'modprobe vperfctr.*not enough counters' "$tmp/err")" 1
run --runs=auto -x , -o "$tmp/counts" -e instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u,instructions:u "$known"
check "status of several runs" "$status" 1
check "counts of several runs" "$(grep -c '^2004,,instructions:u' "$tmp/counts")" 12
run -e instructions:u /nonexistent
check "status of a command that does not exist" "$status" 127
check "a command that does not exist" "$(wc -l < "$tmp/err") $(grep -c "^perfex: there is no command" "$tmp/err")" "2 1"

# perfex doctor knows that the module is missing.
run doctor
check "status of doctor" "$status" 1
check "doctor" "$(grep -c '^\(module\|not-installed\|other-kernel\): the vperfctr module is not' "$tmp/out")" 1

# Counters that others have: an error, and no count.
perf stat -a -e instructions:D,instructions:D,instructions:D,instructions:D,instructions:D,instructions:D,instructions:D,instructions:D,instructions:D,instructions:D,instructions:D,instructions:D sleep 1000 > /dev/null 2>&1 &
perf=$!
tries=0
while run -x , -o "$tmp/counts" -e instructions:u "$known"; [ "$status" = 1 ] && [ $tries -lt 100 ]; do
	tries=$((tries + 1))
	usleep 10000
done
check "status without counters" "$status" 125
check "no counters" "$(grep -c 'perf_event' "$tmp/err")" 1
run doctor -j
check "doctor names perf" "$(grep -c "perf (process $perf).*sudo kill.* $perf" "$tmp/out")" 1
kill $perf
wait $perf

[ "$failures" = 0 ] && percent=100 || percent=$(((checks - failures) * 100 / checks))
echo "$percent%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
