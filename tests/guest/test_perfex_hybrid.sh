#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex on a hybrid processor: CPU 0 is a core, CPU 1 an atom.  The summary looks
# like one of libcheck.  Counts must be exact.

known=$(dirname "$0")/known	# 4 + 2000 * (number of arguments, its name too) instructions
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

# without --kind, the first kind; all is counted there
run perfex -e instructions:u "$known"
counted 0 core
run perfex --kind=1 -e instructions:u "$known"
counted 1 atom
run perfex --kind atom -e instructions:u "$known"
counted 1 atom
run perfex --kind CORE -e instructions:u "$known"
counted 0 core

# the kind on which perfex may run
run taskset 2 perfex -e instructions:u "$known"
counted 1 atom
run taskset 1 perfex -e instructions:u "$known"
counted 0 core
run taskset 1 perfex --kind=1 -e instructions:u "$known"
check "status where it may not run" "$status" 125

# the kind that has the counter
run perfex -e instructions:u@7 "$known"
has "only a core has counter 7" "kind 0: core " err
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
run perfex -e instructions:u taskset 2 "$known"
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
kill $!

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
