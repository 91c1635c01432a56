#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex on a hybrid processor: CPU 0 is a core, CPU 1 an atom.  The summary looks
# like one of libcheck.  Counts must be exact.

known=$(dirname "$0")/known	# 4 + 2000 * (number of arguments, its name too) instructions
moves=$(dirname "$0")/known_moves	# moves between two CPUs
insns=40234			# of known_moves: see known.h
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

# run COMMAND...: its status is in $status, its output in $tmp/out and $tmp/err
run()
{
	"$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
}

has() # WHAT TEXT FILE
{
	check "$1" "$(grep -c -- "$2" "$tmp/$3")" 1
	grep -q -- "$2" "$tmp/$3" || cat "$tmp/$3"
}

# check that all of known_moves was counted, by the table of perfex
all_counted() # WHAT
{
	check "status of $1" "$status" 0
	check "instructions of $1" \
		"$(awk '$2 == "instructions:u" { gsub(",", ""); print $1 }' "$tmp/err")" "$insns"
	check "no kind, of $1" "$(grep -c "only, kind" "$tmp/err")" 0
}

# check that the command was counted on this kind
counted() # KIND NAME
{
	check "status on $2" "$status" 1
	check "instructions on $2" \
		"$(awk '$2 == "instructions:u" { gsub(",", ""); print $1 }' "$tmp/err")" 2004
	has "where, on $2" "on CPUs $1 only, kind $1: $2 " err
}

run perfex -i
check "two kinds" "$(grep -c '^kind of CPU ' "$tmp/out")" 2
has "a core" '^kind of CPU     0 (of 0-1): core$' out
has "an atom" '^kind of CPU     1 (of 0-1): atom$' out
has "its CPUs" '^CPUs of it      1$' out
has "its counters" '^general         6, 48 bits wide: 0-5$' out

# without --kind, all kinds: the sum does not depend on where the command runs
for to in 0 1; do
	run perfex -e instructions:u "$moves" $to 1
	all_counted "moves from $to"
	run taskset 1 perfex -e instructions:u,task-clock "$moves" 0 $to
	all_counted "moves to $to"
done
run perfex -v -e instructions:u@1,cycles:u "$moves" 0 1
has "a counter of kind 0" "perfex: instructions:u@1 on kind 0: map 0x00000001 " err
has "a counter of kind 1" "perfex: instructions:u@1 on kind 1: map 0x00000001 " err
run perfex -r 3 -e instructions:u "$moves" 0 1
check "status of a mean" "$status" 0
has "the mean" "40,234  instructions:u .*0.00%" err
run perfex --runs=auto -e instructions:u,r10000c0:u,r20000c0:u,r30000c0:u,r40000c0:u,r50000c0:u,r60000c0:u,r70000c0:u \
	"$moves" 0 1
has "one of several runs" "40,234  instructions:u" err
run perfex -j -e instructions:u "$moves" 0 1
has "JSON" "\"counter-value\" : \"$insns.000000\"" err
run perfex -I 1 -x , -e instructions:u "$moves" 0 1
check "the sum of intervals" "$(awk -F , '{ sum += $2 } END { print sum }' "$tmp/err")" "$insns"
run perfex "$moves" 0 1
check "status without events" "$status" 0
run perfex --sample instructions:u=1000 -o "$tmp/samples" "$moves" 0 1
check "status of samples" "$status" 0
has "all sampled" "40 samples in .*, 0 dropped; 40,234 instructions:u in all" err

run perfex --kind=0 -e instructions:u "$known"
counted 0 core
run perfex --kind=1 -e instructions:u "$known"
counted 1 atom
run perfex --kind atom -e instructions:u "$known"
counted 1 atom
run perfex --kind CORE -e instructions:u "$known"
counted 0 core

# what only one kind can count, where perfex may run
run taskset 1 perfex -e instructions:u@7 "$known"
has "a counter of the only kind" "on CPUs 0 only, kind 0: core " err
run taskset 2 perfex -e instructions:u@7 "$known"
check "status where there is no counter 7" "$status" 125
run taskset 1 perfex --kind=1 -e instructions:u "$known"
check "status where it may not run" "$status" 125

# perfex must be told to count on the only kind that has the counter
run perfex -e instructions:u@7 "$known"
check "status of a counter that not all have" "$status" 125
has "which kind has it" "only those of kind 0: core (--kind=0 .*no general counter 7" err
run perfex --kind=core -e instructions:u@7 "$known"
counted_by_core=$(awk '$2 == "instructions:u@7" { print $1 }' "$tmp/err")
check "by counter 7" "$counted_by_core" 2,004
run perfex --kind=atom -e instructions:u@7 "$known"
check "status without counter 7" "$status" 125
run perfex --kind=2 -e instructions:u "$known"
check "status with a kind that there is not" "$status" 125
has "which" "no kind '2' of CPUs" err

run perfex --kind=big list
check "status of list" "$status" 125
run perfex list
check "lists" "$(grep -c '^on CPUs' "$tmp/out")" 2
run perfex --kind=1 list instructions
has "one list" "^on CPUs 1 (--kind=1):" out
has "its counters" "^instructions.*fixed 0, general 0-5" out
check "nothing of the other" "$(grep -c '0-7' "$tmp/out")" 0

# children stay on this kind
run perfex --kind=1 -e instructions:u sh -c "$known; $known 2; exit 1"
check "status of a shell" "$status" 1

# a command that moves itself is not killed, and perfex says that not all was counted
run perfex --kind=0 -e instructions:u taskset 2 "$known"
check "status of a command that moves" "$status" 125
has "that a command moved" "not all was counted" err
has "so does the table" "These counts are not complete" err

# samples
run perfex --kind=1 --sample instructions:u=1000 -o "$tmp/samples" "$known"
check "status of sampling" "$status" 1

# a process that runs on both kinds is counted on one, and perfex says so
sh -c 'while :; do taskset -p 1 $$; taskset -p 2 $$; done > /dev/null' &
run perfex --kind=0 -e instructions:u -p $! --timeout=0.2
check "status of what moved" "$status" 125
has "that it moved" "not all was counted\|not wholly" err
# by default all is counted, of each thread, too
for option in --verbose --per-thread --no-inherit; do
	run perfex $option -e instructions:u -p $! --timeout=0.2
	check "status of what moved, with $option" "$status" 0
done
kill $!

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
