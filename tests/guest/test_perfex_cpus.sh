#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex -a and -C in the virtual machine, beside perf stat -a.  perfex, perf and the
# shell are pinned to CPU 0, and programs of known length to each CPU.  In user mode the
# other CPUs execute nothing else.  Two runs with programs of different lengths differ by
# exactly what the programs do.  The summary looks like one of libcheck.
# shellcheck disable=SC2086 # $copy has several words

known=$(dirname "$0")/known	# 4 + 2000 * (number of arguments, its name too) instructions
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 failures=0
taskset -p 1 $$ > /dev/null
# taskset itself runs on the other CPU for a moment: its instructions depend on addresses
echo 0 > /proc/sys/kernel/randomize_va_space
cpus=$(grep -c ^processor /proc/cpuinfo)
last=$((cpus - 1))

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

# work FACTOR: a program on each CPU; on CPU n it has FACTOR * (n + 1) arguments more than one
cat > "$tmp/work" << END
for cpu in $(seq -s ' ' 0 $last); do
	taskset \$(printf %x \$((1 << cpu))) $known \$(seq \$((\$1 * (cpu + 1)))) || :
done
END
difference() { echo $((2000 * 50 * ($1 + 1))); }	# of factors 50 apart

# counts FILE: "CPU COUNT" of the lines of -x, with -A
counts()
{
	sed -n 's/^CPU\([0-9]*\),\([0-9]*\),.*/\1 \2/p' "$1"
}

# wrong_cpus SHORT LONG: print CPUs whose counts do not differ by what is known
wrong_cpus()
{
	counts "$1" > "$tmp/short"
	counts "$2" > "$tmp/long"
	[ "$(wc -l < "$tmp/long")" = "$cpus" ] || echo "not all CPUs"
	while read -r cpu n; do
		grown=$((n - $(awk -v cpu="$cpu" '$1 == cpu { print $2 }' "$tmp/short")))
		# CPU 0 executes the shells and perfex, too
		[ "$grown" = "$(difference "$cpu")" ] ||
			[ "$cpu" = 0 ] && [ "$grown" -ge "$(difference 0)" ] ||
			echo "CPU $cpu: $grown, not $(difference "$cpu")"
	done < "$tmp/long"
}

# Each CPU's counts are those of its threads, by perfex and by perf.  Now and then taskset
# executes 63 instructions more there: such a run is repeated.
sh "$tmp/work" 1	# once, so that all pages are in memory
for _ in 1 2 3 4 5; do
	for factor in 10 60; do
		run -a --per-cpu -x , -o "$tmp/perfex$factor" -e instructions:u sh "$tmp/work" $factor
		check "status of -a" "$status" 0
		perf stat -a -A -x , -o "$tmp/perf$factor" -e instructions:u sh "$tmp/work" $factor
	done
	by_perfex=$(wrong_cpus "$tmp/perfex10" "$tmp/perfex60")
	by_perf=$(wrong_cpus "$tmp/perf10" "$tmp/perf60")
	[ -n "$by_perfex$by_perf" ] || break
done
check "perfex -a" "$by_perfex" ""
check "perf stat -a" "$by_perf" ""

# The sum of all CPUs grows by as much as the sum of the threads' counts, and by what perfex
# itself and CPU 0's shell execute more.
for factor in 10 60; do
	run -x , -o "$tmp/threads$factor" -e instructions:u sh "$tmp/work" $factor
	run -a -x , -o "$tmp/all$factor" -e instructions:u sh "$tmp/work" $factor
done
first() { sed -n 's/,.*instructions.*//p' "$1"; }
threads=$(($(first "$tmp/threads60") - $(first "$tmp/threads10")))
all=$(($(first "$tmp/all60") - $(first "$tmp/all10")))
check "all CPUs ($all) and all threads ($threads)" "$((all - threads < 20000 && threads - all < 20000))" 1

# In kernel mode the CPU has what the thread executes, and what interrupts and the idle task do.
copy="dd if=/dev/zero of=/dev/null bs=4096 count=20000"
mask=$(printf %x $((1 << last)))
run -x , -o "$tmp/thread" -e instructions:uk taskset "$mask" $copy
run -C $last -x , -o "$tmp/cpu" -e instructions:uk taskset "$mask" $copy
perf stat -C $last -x , -o "$tmp/perf" -e instructions taskset "$mask" $copy 2> "$tmp/err"
thread=$(first "$tmp/thread") cpu=$(first "$tmp/cpu") perf=$(first "$tmp/perf")
echo "instructions of a copy: its thread $thread, its CPU $cpu, by perf $perf"
check "the thread's part ($thread) of its CPU's count ($cpu)" "$((thread * 100 > cpu * 80 && thread * 90 < cpu * 100))" 1
check "perf's count ($perf) of the CPU ($cpu)" "$((perf * 100 > cpu * 95 && perf * 95 < cpu * 100))" 1

# perf's fields and names, and its names of cores and sockets
for split in -A --per-core --per-socket; do
	perf stat -a $split -x , -o "$tmp/perf" -e instructions:u,cycles:u sh "$tmp/work" 1
	run -a $split -x , -o "$tmp/perfex" -e instructions:u,cycles:u sh "$tmp/work" 1
	fields() { grep instructions:u "$1" | awk -F , -v n="$([ $split = -A ] || echo 1)" '{ print NF, $1, n ? $2 : "", $(n + 3), $(n + 4), $(n + 6) }' | sort; }
	check "fields of -x $split" "$(fields "$tmp/perfex")" "$(fields "$tmp/perf")"
	perf stat -a $split -j -o "$tmp/perf" -e instructions:u,cycles:u sh "$tmp/work" 1
	run -a $split -j -o "$tmp/perfex" -e instructions:u,cycles:u sh "$tmp/work" 1
	names() { grep instructions:u "$1" | sed 's/"counter-value" : "[^"]*"/"counter-value" :/;s/"event-runtime" : [0-9]*/"event-runtime" :/;s/"metric-value" : [0-9.]*/"metric-value" :/' | sort; }
	check "JSON of $split" "$(names "$tmp/perfex")" "$(names "$tmp/perf")"
done
perf stat -a -I 100 -A -j -o "$tmp/perf" -e instructions:u,cycles:u sleep 0.3
run -a -I 100 -A -j -o "$tmp/perfex" -e instructions:u,cycles:u sleep 0.3
names() { grep instructions:u "$1" | head -n 1 | grep -o '"[a-z-]*" :' | tr '\n' ' '; }
check "names of -I" "$(names "$tmp/perfex")" "$(names "$tmp/perf")"

# intervals add up: the only program on the last CPU is in them
if [ "$cpus" -gt 1 ]; then
	two="taskset $mask $known; sleep 0.1; taskset $mask $known 2"
	run -C $last -x , -e instructions:u sh -c "$two"	# once, so that all pages are in memory
	for _ in 1 2 3 4 5; do
		run -C $last -I 20 -x , -o "$tmp/intervals" -e instructions:u sh -c "$two"
		run -C $last -x , -o "$tmp/once" -e instructions:u sh -c "$two"
		sum=$(awk -F , '{ n += $2 } END { print n }' "$tmp/intervals")
		[ "$sum" != "$(first "$tmp/once")" ] || break
	done
	check "sum of intervals" "$sum" "$(first "$tmp/once")"
	check "intervals" "$(($(wc -l < "$tmp/intervals") > 3))" 1
	run -C $last -r 3 -e instructions:u taskset "$mask" "$known"
	check "deviation" "$(grep -c 'instructions:u .*( +-  0.00% )' "$tmp/err")" 1
fi

# Counts of the last CPU while counting is off are left out: of known's arguments, those of
# the program that runs while counting is on are counted, and no other.  taskset executes some
# hundred instructions there, whose number varies, so whole arguments of 2000 are compared.
controlled() # OUTER MIDDLE: count a program with arguments MIDDLE between two with OUTER
{
	cat > "$tmp/controlled" <<- END
		exec 3<> "$tmp/ack"
		taskset $mask $known $1
		echo enable > "$tmp/control"; read -r ack <&3
		taskset $mask $known $2
		echo disable > "$tmp/control"; read -r ack <&3
		taskset $mask $known $1
	END
	run -C $last -x , -o "$tmp/part" -e instructions:u -D -1 --control "fifo:$tmp/control,$tmp/ack" \
		sh "$tmp/controlled"
	first "$tmp/part"
}
delayed() # BEFORE AFTER: count a program with arguments AFTER, and leave out one with BEFORE
{
	run -C $last -x , -o "$tmp/part" -e instructions:u -D 1000 \
		sh -c "taskset $mask $known $1; sleep 1.5; taskset $mask $known $2"
	first "$tmp/part"
}
if [ "$cpus" -gt 1 ]; then
	mkfifo "$tmp/control" "$tmp/ack"
	for how in controlled delayed; do
		check "$how: arguments" "$(($($how "$(seq -s ' ' 50)" "2 3") / 2000))" 3
		check "$how: one less" "$(($($how "" "2") / 2000))" 2
	done
fi

# until a time is over; a CPU of all runs for this long, in the TSC's time
run -a --per-cpu -j -o "$tmp/timeout" -e cycles --timeout 0.5
check "status of --timeout" "$status" 0
check "time of each CPU" "$(sed -n 's/.*"event-runtime" : \([0-9]*\),.*/\1/p' "$tmp/timeout" | awk '$1 < 450000000 || $1 > 700000000')" ""

# errors: one line, and no count
bad() # WHAT TEXT COMMAND...
{
	what=$1 text=$2
	shift 2
	"$@" > "$tmp/out" 2> "$tmp/err"
	check "status: $what" $? 125
	check "lines: $what" "$(wc -l < "$tmp/err")" 1
	check "message: $what" "$(grep -c "^perfex: .*$text" "$tmp/err")" 1
}
bad "an ordinary user" "needs CAP_PERFMON" su user -c "perfex -a true"
bad "an ordinary user, one CPU" "needs CAP_PERFMON" su user -c "perfex -C 0 -e instructions:u true"
bad "no such CPU" "there is no CPU $cpus: this machine has CPUs 0" perfex -C "$cpus" true
if [ "$cpus" -gt 1 ]; then
	echo 0 > /sys/devices/system/cpu/cpu$last/online
	bad "an offline CPU" "CPU $last is offline" perfex -C $last true
	run -a --per-cpu -x , -e instructions:u true
	check "all others" "$(grep -c '^CPU' "$tmp/err")" $last
	run -a -x , -e instructions:u sh -c "echo 1 > /sys/devices/system/cpu/cpu$last/online; taskset $mask $known"
	check "a CPU that comes online" "$(grep -c "perfex: CPU $last was offline for a part of the time" "$tmp/err")" 1
	run -C $last true
	check "it can be counted again" "$status" 0
fi

# threads and CPUs exclude each other, and perfex names the other
perfex -o /dev/null -e instructions:u sh -c ": > $tmp/counted; exec sleep 100" & other=$!
until [ -e "$tmp/counted" ]; do sleep 0.1; done
bad "threads are counted" "the counters count threads for perfex (process $other)" perfex -a -e instructions:u true
free=$(sed -n "s/.*'sudo \(kill [0-9]*\)'.*/\1/p" "$tmp/err")
check "the command that frees the counters" "$free" "kill $other"
run --wait=0.1 -a -x , -e instructions:u true
check "waiting in vain" "$status $(grep -c 'has waited for 0.1 seconds' "$tmp/err")" "125 1"
(sleep 0.5; $free) & freeing=$!
run --wait=60 -a -x , -e instructions:u true
check "counters that were waited for" "$status $(grep -c ',instructions:u,' "$tmp/err")" "0 1"
wait $freeing
wait $other
perfex -a -o /dev/null -e instructions:u & other=$!
sleep 0.5
bad "CPUs are counted" "the counters count whole CPUs for perfex (process $other)" perfex -e instructions:u true
bad "CPUs are counted twice" "the counters count whole CPUs for perfex (process $other)" perfex -C 0 -e instructions:u true
kill -KILL $other
wait $other 2> /dev/null
run -e instructions:u "$known"
check "when it was killed" "$status" 1

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
