#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex beside others, with the module loaded: the NMI watchdog, perf, programs that count
# themselves, a user outside the group, no counters ("nopmu").  perf_event counts all that it
# would count without the module, and perfex says so in one line.  With KEEP_WATCHDOG=1 the watchdog
# stays on, beside which the module counts.  The summary has libcheck's form.

here=$(dirname "$0")
known=$here/known	# 4 + 2000 * (number of arguments, its name too) instructions
program="$here/test_coexist count"	# counts itself
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 0777 "$tmp"
checks=0 failures=0
watchdog=/proc/sys/kernel/nmi_watchdog

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

# print the count of an event in the CSV of -x
count() # EVENT
{
	awk -F , -v event="$1" '$3 == event { print $1; exit }' "$tmp/counts"
}

# counts WHAT REASON [ARGUMENT]...: perfex counts known with two arguments by perf_event, as the
# one line says; without a REASON the module counts
counts()
{
	what=$1 reason=$2
	shift 2
	rm -f "$tmp/counts"
	run -x , -o "$tmp/counts" "$@" -e instructions:u,task-clock "$known" 2 3
	check "status: $what" "$status" 3
	check "instructions: $what" "$(count instructions:u)" 6004
	check "time: $what" "$(count task-clock | grep -c '^[0-9.]*[1-9]')" 1
	if [ -n "$reason" ]; then
		check "line: $what" "$(grep -c "^perfex: counts by perf_event: .*$reason" "$tmp/err")" 1
		check "lines: $what" "$(wc -l < "$tmp/err")" 1
	else
		check "lines: $what" "$(cat "$tmp/err")" ""
	fi
}

summary()
{
	[ "$failures" = 0 ] && percent=100 || percent=$(((checks - failures) * 100 / checks))
	echo "$percent%: Checks: $checks, Failures: $failures, Errors: 0"
	[ "$failures" = 0 ]
	exit
}

# as_user COMMAND: with perf_event_paranoid 2, and no right to open the device
as_user()
{
	echo 2 > /proc/sys/kernel/perf_event_paranoid
	chmod 0600 /dev/vperfctr
	su -s /bin/sh nobody -c "$1"
	status=$?
	chmod 0660 /dev/vperfctr
}

as_user "exec perfex -x , -o $tmp/clock -e task-clock $known" 2> "$tmp/err"
check "status of a user's task-clock" "$status" 1
check "a user's task-clock" "$(grep -c '^[0-9.]*[1-9].*task-clock' "$tmp/clock")" 1
check "a user's line" "$(grep -c '^perfex: counts by perf_event: .* may open /dev/vperfctr' "$tmp/err")" 1
check "a user's lines" "$(wc -l < "$tmp/err")" 1

if [ "$1" = nopmu ]; then
	run -x , -o "$tmp/counts" -e task-clock,page-faults "$known"
	check "software events without a PMU" "$status $(cat "$tmp/err")" "1 "
	run -x , -o "$tmp/counts" -e instructions:u,page-faults "$known"
	check "a counter without a PMU" "$status $(head -n 1 "$tmp/counts")" "1 <not supported>,,instructions:u,0,100.00,,"
	check "why" "$(grep -c "^perfex: 'instructions:u' cannot be counted, as there are no counters here" "$tmp/err")" 1
	run --backend=perf -e instructions:u,page-faults "$known"
	check "the same by perf_event" "$status $(grep -c '^ *<not supported>  instructions:u$' "$tmp/err")" "1 1"
	check "why by perf_event" "$(grep -c '^ Not counted: instructions:u: perf_event has no such event' "$tmp/err")" 1
	run --strict -e instructions:u,page-faults "$known"
	check "strict" "$status $(wc -l < "$tmp/err")" "125 1"
	summary
fi

# the watchdog, which keeps its counter on some processors, and holds all on others
echo 1 > $watchdog
run --backend=module -e instructions:u "$known"
[ "$status" = 1 ] && reason= || reason="the NMI watchdog holds the counters"
[ -z "$KEEP_WATCHDOG" ] || check "what the watchdog has" "$(head -n 1 /proc/vperfctr)" "watchdog: kept"
counts "beside the watchdog" "$reason"
run -r 3 -x , -o "$tmp/counts" -e instructions:u "$known"
check "mean beside the watchdog" "$status $(count instructions:u)" "1 2004"
run -x , -I 10 -o "$tmp/counts" -e instructions:u "$known"
check "intervals beside the watchdog" "$status $(awk -F , '/instructions:u/ { n += $2 } END { print n }' "$tmp/counts")" "1 2004"
if [ -n "$reason" ]; then
	run --backend=module -e instructions:u "$known"
	check "the module alone beside the watchdog" "$status $(grep -c "^perfex: $reason" "$tmp/err")" "125 1"
	run -v --wait=0.2 -e instructions:u "$known"
	check "waiting for the watchdog" "$status $(grep -c "perfex has waited for 0.2 seconds" "$tmp/err")" "125 1"
fi
if [ -z "$KEEP_WATCHDOG" ]; then
	echo 0 > $watchdog
	counts "without the watchdog" ""
fi

# perf on all CPUs, and on the command
perf stat -a -e instructions:u sleep 1000 > /dev/null 2>&1 &
perf=$!
tries=0
while run --backend=module -e instructions:u "$known"; [ "$status" = 1 ] && [ $tries -lt 100 ]; do
	tries=$((tries + 1))
	usleep 10000
done
counts "beside perf stat -a" "perf_event holds the counters for perf (process $perf)"
run -a --timeout=0.1 -e instructions:u
check "-a beside perf stat -a" "$status $(grep -c "counts by perf_event" "$tmp/err") $(grep -c ' instructions:u' "$tmp/err")" "0 1 1"
kill $perf
wait $perf
counts "after perf stat -a" ""
# perf's software events take no counter
perf stat -e task-clock sleep 1000 > /dev/null 2>&1 &
perf=$!
# shellcheck disable=SC2010 # what its descriptors are
while ! ls -l /proc/$perf/fd | grep -q 'anon_inode:.perf_event'; do
	usleep 10000
done
run doctor
check "doctor beside software events" "$(grep -c '^perf: ' "$tmp/out")" 0
kill $perf
wait $perf
perf stat -x , -o "$tmp/perf" -e instructions:u perfex -x , -o "$tmp/counts" -e instructions:u "$known" 2> "$tmp/err"
check "perfex under perf" "$? $(count instructions:u)" "1 2004"
check "perfex's line under perf" "$(grep -c '^perfex: counts by perf_event' "$tmp/err")" 1
check "perf counts, too" "$(awk -F , '/instructions:u/ { print ($1 > 2004) }' "$tmp/perf")" 1

# programs that count themselves: under perf, under perfex by perf_event, and by the module
# shellcheck disable=SC2086 # a command and its argument
perf stat -x , -o "$tmp/perf" -e instructions:u $program instructions:u > "$tmp/out"
check "a program under perf" "$(cut -d ' ' -f 1-2 "$tmp/out")" "perf 2000"
# shellcheck disable=SC2086
run --backend=perf -x , -o "$tmp/counts" -e instructions:u $program instructions:u
check "a program under perfex by perf_event" "$status $(cut -d ' ' -f 1-2 "$tmp/out")" "0 perf 2000"
check "perfex of a program by perf_event" "$(($(count instructions:u) > 2000))" 1
# shellcheck disable=SC2086
run -x , -o "$tmp/counts" -e instructions:u $program task-clock
check "a program's software events under perfex" "$status $(cut -d ' ' -f 1 "$tmp/out")" "0 module"
check "perfex of a program" "$(($(count instructions:u) > 2000))" 1
# shellcheck disable=SC2086
run -x , -o "$tmp/counts" -e instructions:u $program instructions:u
check "a program's counters under perfex" "$status $(cut -d ' ' -f 1-2 "$tmp/out")" "0 module 2000"

# perfex under perfex: one of them by perf_event, or both by the module
run --backend=perf -x , -o "$tmp/counts" -e instructions:u perfex -x , -o "$tmp/inner" -e instructions:u "$known"
check "perfex under perfex by perf_event" "$status $(awk -F , '{ print $1 }' "$tmp/inner")" "1 2004"
check "the outer perfex" "$(($(count instructions:u) > 2004))" 1
run -x , -o "$tmp/counts" -e instructions:u perfex -x , -o "$tmp/inner" -e task-clock "$known"
check "software events of perfex under perfex" "$status $(grep -c 'task-clock' "$tmp/inner")" "1 1"
check "lines of perfex under perfex" "$(cat "$tmp/err")" ""
run -x , -o "$tmp/counts" -e instructions:u perfex -x , -o "$tmp/inner" -e instructions:u "$known"
check "perfex under perfex" "$status $(awk -F , '{ print $1 }' "$tmp/inner")" "1 2004"
check "the outer of two" "$(($(count instructions:u) > 2004))" 1

# a program with two handles under perfex under perfex
# shellcheck disable=SC2086
run -x , -o "$tmp/counts" -e instructions:u perfex -x , -o "$tmp/inner" -e instructions:u \
	$program instructions:u instructions:u
check "two handles under two perfexes" "$status $(cut -d ' ' -f 1-2 "$tmp/out" | tr '\n' ' ')" "0 module 2000 module 2000 "
inner=$(awk -F , '{ print $1 }' "$tmp/inner")
check "the inner perfex of two handles" "$((inner > 4000))" 1
check "the outer perfex of two handles" "$(($(count instructions:u) > inner))" 1

# a user outside the group
as_user "exec perfex -x , -o $tmp/user -e instructions:u,task-clock,cycles $known" 2> "$tmp/err"
check "status of a user" "$status" 1
check "a user's instructions" "$(awk -F , '$3 == "instructions:u" { print $1 }' "$tmp/user")" 2004
check "a user's cycles are those of user mode" "$(grep -c '^[1-9][0-9]*,,cycles:u,' "$tmp/user")" 1
check "a user's line" "$(grep -c '^perfex: counts by perf_event: .* may open /dev/vperfctr' "$tmp/err")" 1
as_user "exec perfex -e cs,cycles,instructions:u $known" 2> "$tmp/err"
check "a user's refused event" "$status $(grep -c '^ *<not permitted>  cs$' "$tmp/err") $(grep -c '^ *2,004  instructions:u' "$tmp/err")" "1 1 1"
check "why" "$(grep -c '^ Not counted: cs: perf_event counts .*kernel.perf_event_paranoid is 2' "$tmp/err")" 1
as_user "exec perfex --strict -e cs,instructions:u $known" 2> "$tmp/err"
check "strict" "$status $(wc -l < "$tmp/err") $(grep -c '^perfex: .* may open /dev/vperfctr.*; and by perf_event: .*perf_event_paranoid is 2' "$tmp/err")" "125 1 1"
as_user "exec perfex $known" 2> "$tmp/err"
check "a user's events by default" "$status $(grep -c '^ *2,004  instructions:u' "$tmp/err")" "1 1"

# a user in the group may not count kernel mode by the module, but by perf_event if that lets him
echo 1 > /proc/sys/kernel/perf_event_paranoid
su -s /bin/sh user -c "exec perfex -x , -o $tmp/kernel -e instructions:u,instructions:k $known" 2> "$tmp/err"
check "kernel mode by perf_event" "$? $(grep -c '^[1-9][0-9]*,,instructions:[ku],' "$tmp/kernel")" "1 2"
check "why by perf_event" "$(grep -c '^perfex: counts by perf_event: by the module, .*CAP_PERFMON' "$tmp/err")" 1
echo 2 > /proc/sys/kernel/perf_event_paranoid
su -s /bin/sh user -c "exec perfex -x , -o $tmp/kernel -e instructions:u,instructions:k $known" 2> "$tmp/err"
check "kernel mode is not permitted" "$? $(grep -c '^2004,,instructions:u,\|^<not permitted>,,instructions:k,0,100.00,,$' "$tmp/kernel")" "1 2"
check "why not" "$(grep -c '^perfex: instructions:k: .*CAP_PERFMON' "$tmp/err")" 1
as_user "exec perfex --backend=module -e instructions:u $known" 2> "$tmp/err"
check "a user by the module" "$status $(grep -c '^perfex: .* may open /dev/vperfctr' "$tmp/err")" "125 1"

# which backend: the option, then the environment, then what can count
counts "--backend=perf" "" --backend=perf
export VPERFCTR_BACKEND=perf
run -v -e instructions:u "$known"
check "VPERFCTR_BACKEND=perf" "$status $(grep -c '^perfex: counts by perf_event$' "$tmp/err")" "1 1"
run -v --backend=module -e instructions:u "$known"
check "--backend=module with VPERFCTR_BACKEND=perf" "$status $(grep -c 'evntsel' "$tmp/err")" "1 1"
run -a -e instructions:u "$known"
check "-a with VPERFCTR_BACKEND=perf" "$status $(grep -c ' instructions:u' "$tmp/err")" "1 1"
export VPERFCTR_BACKEND=papi
run -e instructions:u "$known"
check "VPERFCTR_BACKEND=papi" "$status $(cat "$tmp/err")" "125 perfex: the environment variable VPERFCTR_BACKEND is 'papi', and may be auto, module or perf"
run --backend=papi -e instructions:u "$known"
check "--backend=papi" "$status $(cat "$tmp/err")" "125 perfex: --backend is 'papi', and may be auto, module or perf"
unset VPERFCTR_BACKEND

# what does not fit is refused by both
twelve=$(yes instructions:u | head -n 12 | tr '\n' ,)
run -e "${twelve%,}" "$known"
check "too many events" "$status $(wc -l < "$tmp/err") $(grep -c perf_event "$tmp/err")" "125 1 0"

[ -z "$KEEP_WATCHDOG" ] || check "what it has at the end" "$(head -n 1 /proc/vperfctr)" "watchdog: kept"
echo 1 > $watchdog
summary
