#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex stat and top by perf_event of running processes and of CPUs, with software events: this
# needs neither the module nor a PMU.  It runs in the machine of a test, and as a unit test on
# the one that builds.  The summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
loads=$here/loads	# three threads, each for that many milliseconds of a CPU
tmp=$(open_dir)
trap 'rm -rf "$tmp"' EXIT
cpus=$(getconf _NPROCESSORS_ONLN 2> /dev/null || grep -c '^processor' /proc/cpuinfo)

# run WHAT STATUS ARGUMENT...
run()
{
	what=$1
	expected=$2
	shift 2
	perfex "$@" > "$tmp/out" 2> "$tmp/err"
	check "status, $what" $? "$expected"
}

# print the count of an event, without what follows a dot, in the CSV of -x
count() # EVENT [PART]
{
	awk -F , -v event="$1" -v part="$2" '$(3 + (part != "")) ~ "^" event && (part == "" || $1 == part) {
		sub(/\..*/, "", $(1 + (part != "")))
		print $(1 + (part != "")); exit
	}' "$tmp/counts"
}

if ! perfex stat --backend=perf -e task-clock true > "$tmp/out" 2>&1; then
	echo "perf_event may not be used here, so this is not tested: $(cat "$tmp/out")"
	# a container may forbid it, and a virtual machine of the tests does not
	check "why it may not be used" "$(grep -c 'perf_event may not be used' "$tmp/out") $(ls -d /vm 2> /dev/null)" "1 "
	summary
	exit
fi

# start_loads: a process that waits; go: it begins
start_loads()
{
	mkfifo "$tmp/go"
	"$loads" 60 wait < "$tmp/go" &
	pid=$!
	exec 3> "$tmp/go"
}

# The loads begin when perfex counts: it starts this command then.
until_end()
{
	echo "echo >&3; exec 3>&-; while [ -e /proc/$pid ] && ! grep -qs 'State:.Z' /proc/$pid/status; do sleep 1; done"
}

# A process, and a thread, with all that they start.  The kernel's work for them is more.
for target in -p -t; do
	start_loads
	run "running, $target" 0 stat --backend=perf -x , -o "$tmp/counts" -e task-clock,page-faults $target $pid sh -c "$(until_end)"
	exec 3>&-
	wait $pid
	rm "$tmp/go"
	all=$(count task-clock)
	check_range "time, $target" "$all" 130 5000
	check_range "page faults, $target" "$(count page-faults)" 10 100000
done

# Without what they start, it is the first thread.
start_loads
run "-i" 0 stat --backend=perf -i -x , -o "$tmp/counts" -e task-clock -p $pid sh -c "$(until_end)"
exec 3>&-
wait $pid
rm "$tmp/go"
check_range "time, -i" "$(count task-clock)" 40 $((all * 2 / 3))

# Several threads that there are already, each with its part.
"$loads" 3000 > /dev/null &
pid=$!
until set -- /proc/$pid/task/* && [ $# -ge 2 ]; do sleep 1; done
run "threads" 0 stat --backend=perf -v --per-thread -e task-clock -p $pid sleep 1
check "two threads" "$(grep -c '^ Of these, thread' "$tmp/err")" 2
check "counted threads" "$(grep -c '(2 threads and what they started' "$tmp/err")" 1
kill $pid
wait $pid 2> /dev/null

# CPUs count all of the time.
run "CPUs" 0 stat --backend=perf -a -x , -o "$tmp/counts" -e task-clock,context-switches sleep 1
check_range "time of CPUs" "$(count task-clock)" $((cpus * 990)) $((cpus * 20000))
check_range "switches" "$(count context-switches)" 1 1000000
run "a CPU" 0 stat --backend=perf -C 0 --per-cpu -x , -o "$tmp/counts" -e task-clock sleep 1
check_range "time of CPU 0" "$(count task-clock CPU0)" 990 20000
run "without events" 0 stat --backend=perf -a -x , -o "$tmp/counts" sleep 1
check_range "time without events" "$(count task-clock)" $((cpus * 990)) $((cpus * 20000))
run "runs" 0 stat --backend=perf -a -r 2 -x , -o "$tmp/counts" -e task-clock sleep 1
check_range "mean time" "$(count task-clock)" $((cpus * 990)) $((cpus * 20000))
run "automatic runs" 0 stat --backend=perf -a --runs=auto -x , -o "$tmp/counts" -e task-clock sleep 1
check_range "time of automatic runs" "$(count task-clock)" $((cpus * 990)) $((cpus * 20000))
VPERFCTR_BACKEND=perf run "top" 0 top --timeout 700 -I 300
check "rows of top" "$(($(grep -c ' all ' "$tmp/out") >= 1))" 1

# A rest of the time is no interval of its own, and no process has more than the time of its thread.
sh -c 'while :; do :; done' &
pid=$!
VPERFCTR_BACKEND=perf run "rest" 0 top -e task-clock -p $pid -I 300 --timeout 315
check "intervals of top" "$(grep -c ' CPUs, ' "$tmp/out")" 1
VPERFCTR_BACKEND=perf run "shorter than an interval" 0 top -e task-clock -p $pid -I 300 --timeout 30
check "intervals of top in a moment" "$(grep -c ' CPUs, ' "$tmp/out")" 1
VPERFCTR_BACKEND=perf run "intervals" 0 top -e task-clock -p $pid -I 300 --timeout 700
check "rates above 1 CPU" "$(awk '/ CPUs, / && $2 > 1' "$tmp/out")" ""
kill $pid
wait $pid 2> /dev/null
run "CPUs for no time" 0 stat --backend=perf -a -x , -o "$tmp/counts" -e task-clock --timeout=0
check "rate of CPUs" "$(awk -F , -v cpus="$cpus" '/CPUs utilized/ && $6 > cpus' "$tmp/counts")" ""

# Files of counts find the clock by the name that stat was given.
for file in a b; do
	run "cpu-clock" 0 stat --backend=perf -j -e cpu-clock -o "$tmp/$file" true
done
for command in merge diff; do
	run "$command" 0 $command -e cpu-clock "$tmp/a" "$tmp/b"
	check "a row of $command" "$(grep -c 'task-clock' "$tmp/out")" 1
done
run "another name" 125 merge -e clock "$tmp/a" "$tmp/b"
check "the names of the files" "$(cat "$tmp/err")" "perfex: the files have no event or metric 'clock', which -e names: there is task-clock"

# perfex says in one line what is wrong.
for arguments in "-p 999999999" "-t 999999999" "-C 9999" "-C x" "-a --per-kind" "-p 0" "-a -e nonsense"; do
	# shellcheck disable=SC2086
	run "$arguments" 125 stat --backend=perf $arguments sleep 1
	check "lines, $arguments" "$(wc -l < "$tmp/err") $(grep -c '^perfex: ' "$tmp/err")" "1 1"
done

# perf_event leaves a program whose file its user may not read: its count is too low.  Root may read all.
user=$([ "$(id -u)" != 0 ] || echo --user=65534)
if [ -z "$user" ] || id 65534 > /dev/null 2>&1; then
	cp "$loads" "$tmp/unreadable"
	chmod 711 "$tmp"
	chmod 111 "$tmp/unreadable"
	for command in "$tmp/unreadable 300" "$tmp/unreadable 0" "sh -c $tmp/unreadable\${IFS}300"; do
		# shellcheck disable=SC2086
		run "$command" 125 stat --backend=perf $user -e task-clock $command
		check "why, $command" "$(grep -c '^perfex: not all was counted: perf_event leaves a program that gains privileges' "$tmp/err")" 1
		check "the table, $command" "$(grep -c 'These counts are not complete' "$tmp/err")" 1
		# shellcheck disable=SC2086
		run "record, $command" 125 record --backend=perf $user -e task-clock=1ms -o "$tmp/samples" $command
		check "why, record, $command" "$(grep -c '^perfex: not all was counted: perf_event leaves' "$tmp/err")" 1
		check "no advice, record, $command" "$(grep -c 'shorter period' "$tmp/err")" 0
	done
	rm -f "$tmp/unreadable"
fi
# It counts the whole of others, also of those that end at once.
for command in "$loads 60" true; do
	# shellcheck disable=SC2086
	perfex stat --backend=perf -e task-clock $command > "$tmp/out" 2> "$tmp/err"
	check "whole, $command" "$(grep -c '^perfex: ' "$tmp/err")" 0
	# shellcheck disable=SC2086
	perfex record --backend=perf -e task-clock=1ms -o "$tmp/samples" $command > "$tmp/out" 2> "$tmp/err"
	check "whole, record, $command" "$(grep -c '^perfex: not all' "$tmp/err")" 0
done

# A process that has ended, and has not been waited for, has no count: not 0.
sh -c 'sleep 1 & echo $!; exec sleep 30' > "$tmp/zombie" &
parent=$!
until [ -s "$tmp/zombie" ] && grep -qs 'State:.Z' "/proc/$(cat "$tmp/zombie")/status"; do sleep 1; done
for target in -p -t; do
	run "a zombie, $target" 125 stat --backend=perf -e task-clock $target "$(cat "$tmp/zombie")" sleep 1
	check "lines, a zombie, $target" "$(wc -l < "$tmp/err")" 1
done
kill $parent
wait $parent 2> /dev/null

# perfex says in one line, too, what another user may not count.
if [ ! -e /dev/vperfctr ] && [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
	cp "$(command -v perfex)" "$tmp/perfex"
	chmod 755 "$tmp" "$tmp/perfex"
	for arguments in "-p 1" "-a"; do
		su -s /bin/sh nobody -c "$tmp/perfex stat -e task-clock $arguments sleep 1" 2> "$tmp/err"
		check "status, other user $arguments" $? 125
		check "lines, other user $arguments" "$(wc -l < "$tmp/err")$(grep -c '^perfex: there is no /dev/vperfctr: .*; and by perf_event: ' "$tmp/err")" 11
	done
fi

# Too few descriptors are the reason then, and not that there is no such process.
for target in -p -t; do
	for files in 4 5 6 7 8; do
		# shellcheck disable=SC3045
		(ulimit -n $files; exec perfex stat --backend=perf -e task-clock $target $$ --timeout 1) 2> "$tmp/err"
		check "descriptors, $target, $files" "$(grep -c '^perfex: there is no process' "$tmp/err")" 0
	done
done

# Without the module, the events of perf_event are listed.
if [ ! -e /dev/vperfctr ]; then
	run "list" 0 list task-clock
	check "a listed event" "$(grep -c '^task-clock  *software$' "$tmp/out")" 1
	# libpfm4 may be older than this processor, which is a line of its own.
	check "a line of list" "$(grep -v '^perfex: libpfm4 does not know' "$tmp/err")" "perfex: lists what perf_event counts: there is no /dev/vperfctr: load the module (sudo modprobe vperfctr)"
	if ! perfex stat --backend=perf -e instructions:u true > "$tmp/out" 2>&1; then
		run "list without a PMU" 125 list cycles
		run "samples without a PMU" 125 record -e cycles -c 1000 -o "$tmp/samples" true
		check "why" "$(grep -c '; and by perf_event: there is no PMU, ' "$tmp/err")" 1
	fi
fi

# Where neither the module nor perf_event may count, there is what the kernel tells of each process.
if [ ! -e /dev/vperfctr ] && "$here/without_perf" true; then
	without_perf()
	{
		"$here/without_perf" perfex "$@" > "$tmp/out" 2> "$tmp/err"
	}
	without_perf stat -x , -o "$tmp/counts" -e instructions:u,task-clock,cpu-migrations,page-faults,context-switches "$loads" 60
	check "status without perf_event" $? 3
	check "a line without perf_event" "$(grep -c '^perfex: counts by getrusage, as perf_event may not be used: there is no /dev/vperfctr: ' "$tmp/err")" 1
	check "why without perf_event" "$(grep -c '^perfex: instructions:u, cpu-migrations: perf_event may not be used, ' "$tmp/err")" 1
	check "lines without perf_event" "$(wc -l < "$tmp/err")" 2
	check "what is not permitted" "$(grep -cE '^<not permitted>,,(instructions:u|cpu-migrations)' "$tmp/counts")" 2
	check_range "time without perf_event" "$(count task-clock)" 130 5000
	check_range "page faults without perf_event" "$(count page-faults)" 20 100000
	check_range "switches without perf_event" "$(count context-switches)" 2 1000000
	without_perf stat -r 2 -x , -o "$tmp/counts" -e task-clock "$loads" 60
	check "status of two runs without perf_event" $? 3
	# perfex subtracts what its child has done before.
	without_perf stat -x , -o "$tmp/counts" -e task-clock,page-faults true
	faults=$(count page-faults)
	perfex stat -x , -o "$tmp/counts" -e page-faults true 2> "$tmp/err"
	check_range "page faults of true" "$faults" "$(count page-faults)" $(($(count page-faults) + 20))
	for arguments in "--strict -e task-clock,instructions:u" "-e cycles:u" "-a" "-i -e task-clock" "--backend=perf -e task-clock" "-I 100 -e task-clock" "--backend=module"; do
		# shellcheck disable=SC2086
		without_perf stat $arguments true
		check "status, $arguments" $? 125
		check "lines, $arguments" "$(wc -l < "$tmp/err") $(grep -c '^perfex: ' "$tmp/err")" "1 1"
	done
	without_perf record -e task-clock=1ms -o "$tmp/samples" true
	check "record without perf_event" "$?$(grep -c '; and by perf_event: perf_event may not be used' "$tmp/err")$(wc -l < "$tmp/err")" 12511
fi

# Without /sys it is not known which CPUs there are, and without /proc no file is opened.
if unshare -m true 2> /dev/null; then
	# shellcheck disable=SC2016
	hide='mount -t tmpfs none "/$1" && shift && exec perfex "$@" > /dev/null'
	for command in "stat -a -e task-clock" "record -o $tmp/hidden -e task-clock"; do
		# shellcheck disable=SC2086
		unshare -m sh -c "$hide" sh sys $command --backend=perf true 2> "$tmp/err"
		check "status without /sys, $command" $? 125
		check "message without /sys, $command" \
			"$(grep -c 'cannot read /sys/devices/system/cpu/possible: is /sys mounted?' "$tmp/err")" 1
	done
	: > "$tmp/hidden"
	unshare -m sh -c "$hide" sh proc report -i "$tmp/hidden" 2> "$tmp/err"
	check "status without /proc" $? 125
	check "message without /proc" "$(cat "$tmp/err")" "perfex: cannot read '$tmp/hidden': is /proc mounted?"
fi
summary
