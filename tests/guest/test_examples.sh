#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test the examples in the manual pages, in README and in doc/examples, which extract has
# found.  The summary has libcheck's form.

here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
checks=0 failures=0

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

# ---- programs ----

for program in "$here"/example_*; do
	case $program in
	*_text|*_benchmark)	continue ;;
	*example_events*)	set -- instructions:u cycles:u ;;
	*)			set -- ;;
	esac
	"$program" "$@" > out 2> err
	check "status of $program" $? 0
	check "errors of $program" "$(cat err)" ""
	check "$program prints numbers" "$(grep -c '[1-9][0-9]' out | sed 's/^[1-9][0-9]*$/some/')" some
done
"$here/example_events" nonsense > out 2> err
check "status of an unknown event" $? 1
check "it says so" "$(grep -c "^events: nonsense: unknown event 'nonsense'" err)" 1

# ---- commands: with what they run and count ----

for name in benchmark load-generator make; do
	printf '#!/bin/sh\nexit 0\n' > $name
done
# Longer than -D, and --control gets a command from it.
printf '#!/bin/sh\nif [ -p control ]; then echo enable > control; rm control; fi\nsleep 0.3\n' > prog
printf '#!/bin/sh\nwhile :; do sleep 1; done\n' > server
chmod +x ./*
cp "$here/test_examples" file
PATH=$tmp:$PATH
server & s=$!

n=0
while read -r command; do
	case $command in
	'')	continue ;;
	*4711*)
		# Give the next process this id.
		echo 4710 > /proc/sys/kernel/ns_last_pid
		sleep 5 & p=$!
		check "the process of the examples" "$p" 4711 ;;
	esac
	# BusyBox's pidof has no -s, and there is one server.
	sh -c "$(echo "$command" | sed 's/pidof -s/pidof/')" > out 2> err
	status=$?
	check "status of $command" "$status$([ $status = 0 ] || cat err)" 0
	written=$(echo "$command " | sed -n 's/.* -o \([^ ]*\) .*/\1/p; s/.* --prometheus=\([^ ]*\) .*/\1/p')
	# shellcheck disable=SC2086 # none, or a name
	check "output of $command" "$(cat out err $written 2> /dev/null | wc -c | sed 's/^[1-9].*/some/')" some
	n=$((n + 1))
	case $command in
	*"${p:-4711}"*)	kill "$p" 2> /dev/null; wait "$p" 2> /dev/null ;;
	esac
done < "$here/example_commands_text"
check "commands in pages of perfex" "$([ $n -ge 28 ] && echo enough)" enough

# ---- commands for real hardware ----

n=0
while read -r command; do
	sh -c "$command" > out 2> err
	check "status of $command" $? 0
	n=$((n + 1))
done < "$here/example_hardware_text"
check "commands for real hardware" "$([ $n -ge 2 ] && echo enough)" enough

# ---- a session: its output, and its counts, but not its times ----

expect() # COMMAND EXPECTED-FILE
{
	[ -n "$1" ] || return
	sh -c "$1" > out 2>&1
	status=$?
	# The machine's clock differs from the demo's by some kilohertz.
	sed '/^$/d; /^tsc/s/[0-9.]*[0-9] MHz/N MHz/' "$2" > expected
	sed '/^$/d; /^tsc/s/[0-9.]*[0-9] MHz/N MHz/' out > got
	case $(cat expected) in
	'')		check "status of $1" "$status$([ $status = 0 ] || cat out)" 0; return ;;
	perfex:*)	check "status of $1" "$status" 125 ;;
	*)		check "status of $1" "$status" 0 ;;
	esac
	for f in expected got; do cp $f $f.text; done
	if grep -q 'Counts of' expected; then
		for f in expected got; do
			sed 's/[0-9][0-9,]*/N/g; s/  */ /g' $f > $f.n
			mv $f.n $f
		done
	fi
	check "output of $1" "$(cat got)" "$(cat expected)"
	check "counts of $1" "$(far)" ""
}

# far: print the counts that differ by more than 3 % from those of the text: libraries and the
# environment of the command change them a bit
far()
{
	counts got.text > got.counts
	counts expected.text | while read -r event count; do
		got=$(sed -n "s/^$event //p" got.counts)
		[ $((${got:-0} * 100)) -ge $((count * 97)) ] && [ $((got * 100)) -le $((count * 103)) ] ||
			echo "$event: ${got:-none}, not $count"
	done
}

# counts FILE: print each event and its count
counts()
{
	sed -n 's/^ *\([0-9][0-9,]*\)  *\([a-z:-]*:u\)\( .*\)*$/\2 \1/p' "$1" | tr -d ,
}

session() # FILE: sets n
{
	n=0 command=
	: > part
	while IFS= read -r line; do
		case $line in
		'# '*)
			expect "$command" part
			command=${line#"# "} n=$((n + 1))
			: > part ;;
		*)	echo "$line" >> part ;;
		esac
	done < "$1"
	expect "$command" part
}
session "$here/example_session_text"
check "commands in README" "$([ $n -ge 6 ] && echo enough)" enough
session "$here/example_tutorial_text"
check "commands in the tutorial" "$([ $n -ge 20 ] && echo enough)" enough
# README and the tutorial have started top.
# shellcheck disable=SC2046 # several processes
kill "$s" $(pidof top)

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
