#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test the software events of perfex in the virtual machine, with a PMU or without, and
# compare them with perf stat's.  The summary looks like one of libcheck.

known=$(dirname "$0")/known	# one page fault after its exec
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 failures=0
four=task-clock,context-switches,cpu-migrations,page-faults

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

# run ARGUMENT...: run perfex; its status is in $status, its output in $tmp/out and $tmp/err
run()
{
	perfex "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
}

# print fields of the line about an event in a file of -x
field() # FILE EVENT FIELD
{
	awk -F , -v event="$2" -v field="$3" '$3 == event { print $field }' "$1"
}

# perf's counts of the same program, and its fields
run -x , -o "$tmp/perfex" -e $four "$known" 2 3
check "status of known" "$status" 3
perf stat -x , -o "$tmp/perf" -e $four "$known" 2 3
# not context-switches: the exec wakes perfex, which may take the CPU
check "perf's cpu-migrations" "$(field "$tmp/perfex" cpu-migrations 1)" "$(field "$tmp/perf" cpu-migrations 1)"
# perf starts before the program is loaded.  Before Linux 6.0 the exec writes to the stack
# after it has protected it against writes: a fault more.
loading=$(uname -r | awk -F . '{ print ($1 < 6) }')
check "perf's page-faults" "$(field "$tmp/perf" page-faults 1)" "$(($(field "$tmp/perfex" page-faults 1) + loading))"
for event in task-clock page-faults; do
	for i in 2 3 5; do
		check "field $i of $event" "$(field "$tmp/perfex" $event $i)" "$(field "$tmp/perf" $event $i)"
	done
done
check "perf's metric of task-clock" "$(field "$tmp/perfex" task-clock 7)" "$(field "$tmp/perf" task-clock 7)"
perf stat -j -o "$tmp/perf" -e $four "$known"
run -j -o "$tmp/perfex" -e $four "$known"
names() { grep task-clock "$1" | grep -o '"[a-z-]*" :\|msec' | tr '\n' ' '; }
check "names of -j" "$(names "$tmp/perfex")" "$(names "$tmp/perf")"

# children and threads are counted, too: four processes that each fault at least once
run -x , -o "$tmp/alone" --no-inherit -e page-faults,cs sh -c "$known; $known; sleep 0.1; sleep 0.1"
run -x , -o "$tmp/all" -e page-faults,cs sh -c "$known; $known; sleep 0.1; sleep 0.1"
check "children's page faults" "$(($(field "$tmp/all" page-faults 1) > $(field "$tmp/alone" page-faults 1) + 4))" 1
# five sleeps, and as many waits of a child for them; the shell itself waits once
sleeps='for i in 1 2 3 4 5; do sleep 0.02; done'
run -x , -o "$tmp/alone" --no-inherit -e cs sh -c "sh -c '$sleeps'; true"
run -x , -o "$tmp/all" -e cs sh -c "sh -c '$sleeps'; true"
check "switches of a shell that waits" "$(($(field "$tmp/alone" cs 1) < 10))" 1
check "switches of its descendants" "$(($(field "$tmp/all" cs 1) >= 10))" 1

# the order of -e; means; names that are the same
run -e page-faults,cs,faults,minor-faults,major-faults,migrations,task-clock "$known"
check "order of the table" "$(awk '/^ +[0-9]/ && $2 != "seconds" { printf "%s ", $2 == "msec" ? $3 : $2 }' "$tmp/err")" \
	"page-faults cs faults minor-faults major-faults migrations task-clock "
run -r 3 -x , -o "$tmp/perfex" -e faults,minor-faults "$known"
check "mean" "$(field "$tmp/perfex" faults 1) $(field "$tmp/perfex" minor-faults 1)" "1 1"

# without -e they come first
run "$known"
check "first events by default" "$(awk '/^ +[0-9]/ { printf "%s ", $2 == "msec" ? $3 : $2 }' "$tmp/err" | cut -d ' ' -f 1-4)" \
	"task-clock context-switches cpu-migrations page-faults"
run list page-faults
check "list" "$(awk '/^page-faults/ { print $2 }' "$tmp/out")" software

# what is refused
for event in page-faults:u cs@0; do
	run -e $event true
	check "status of $event" "$status" 125
	check "lines of $event" "$(wc -l < "$tmp/err")" 1
done

# without counters perfex says so, and offers none
if perfex -i | grep -q '^general  *none'; then
	run -e instructions:u true
	check "status without counters" "$status" 125
	check "why" "$(grep -c 'there are no counters here.*perfex doctor says more' "$tmp/err")" 1
	run list
	check "events that are offered" "$(awk '/^[^ ]/ && $NF != "software"' "$tmp/out")" ""
fi

# with hardware events, where there are any; perf gets the PMU if there are none in -e
if perfex -i | grep -q '^generic events.*instructions'; then
	run -e page-faults,instructions:u,cs "$known" 2
	check "instructions among software events" "$(awk '$2 == "instructions:u" { print $1 }' "$tmp/err")" 4,004
	check "page faults with instructions" "$(awk '$2 == "page-faults" { print $1 }' "$tmp/err")" 1
	# Linux's perf has no driver for some processors of 32-bit PowerPC
	if [ "$(uname -m)" != ppc ] || [ -d /sys/bus/event_source/devices/cpu ]; then
		run -e $four perf stat -x , -o "$tmp/perf" -e instructions:u "$known"
		check "perf has the counters" "$(field "$tmp/perf" instructions:u 1)" 2004
	fi
fi

[ "$failures" = 0 ] && percent=100 || percent=$(((checks - failures) * 100 / checks))
echo "$percent%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
