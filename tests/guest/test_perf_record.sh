#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex record by perf_event, with the samples of perf's clock: this needs neither the module
# nor a PMU.  It runs in the machine of a test, and as a unit test on the one that builds.  The
# summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
loads=$here/loads	# three threads: hot() has 3/4 of the time of each, cold() the rest
period=500009		# nanoseconds
tmp=$(open_dir)
trap 'rm -rf "$tmp"' EXIT

# record WHAT STATUS ARGUMENT...: sample by perf_event, and print the file's records
record()
{
	what=$1
	expected=$2
	shift 2
	perfex record --backend=perf -o "$tmp/samples" "$@" > "$tmp/out" 2> "$tmp/err"
	check "status, $what" $? "$expected"
	"$here/print_samples" "$tmp/samples" > "$tmp/records"
	check "records, $what" $? 0
	perfex report -v -i "$tmp/samples" > "$tmp/report" 2> "$tmp/report.err"
	check "report, $what" "$?$(cat "$tmp/report.err")" 0
}

samples() { sed -n 's/^perfex: \([0-9,]*\) samples* in .*/\1/p' "$tmp/err" | tr -d ,; }
dropped() { sed -n 's/^perfex: .*, \([0-9,]*\) dropped;.*/\1/p' "$tmp/err" | tr -d ,; }
time_ns() { sed -n 's/^perfex: .* dropped; \([0-9,]*\) ns [a-z]*-clock in all$/\1/p' "$tmp/err" | tr -d ,; }
lines() { grep -cE "$1" "$tmp/records"; }

# row PATTERN: print the samples of the functions that match
row()
{
	awk -v pattern="$1" '
	$0 == " Functions:" { on = 1; next }
	/^ [A-Z].*:$/ { on = 0 }
	on && $0 ~ pattern { gsub(",", "", $2); n += $2 }
	END { print n + 0 }' "$tmp/report"
}

check_shares() # WHAT LEAST
{
	hot=$(row ' hot .loads.$') cold=$(row ' cold .loads.$')
	check_range "samples of loads, $1" $((hot + cold)) "$2" 100000
	[ $((hot + cold)) -gt 0 ] || return
	check_range "share of hot in percent, $1" $((100 * hot / (hot + cold))) 62 87
}

# chains WHAT: most samples of hot() have been called by work()
check_chains()
{
	perfex report -i "$tmp/samples" --export=folded > "$tmp/folded" 2> "$tmp/report.err"
	check "errors of --export=folded, $1" "$(cat "$tmp/report.err")" ""
	check_range "chains to hot, $1" "$(awk '/;work;hot [0-9]+$/ { n += $NF } END { print n + 0 }' "$tmp/folded")" \
		$((hot * 8 / 10)) $((hot + 1))
}

if ! perfex stat --backend=perf -e task-clock true > "$tmp/out" 2>&1; then
	echo "perf_event may not be used here, so this is not tested: $(cat "$tmp/out")"
	# a container may forbid it, and a virtual machine of the tests does not
	check "why it may not be used" "$(grep -c 'perf_event may not be used' "$tmp/out") $(ls -d /vm 2> /dev/null)" "1 "
	summary
	exit
fi

# A command, with its thread and its child.  An interrupt that comes late makes one sample of
# several periods; that of another thread's start and end are none.
record "command" 3 -g -e task-clock "$loads" 80
check_shares "command" 200
check_chains "command"
check_range "periods" $((100 * $(samples) * period / $(time_ns))) 20 100
check "dropped" "$(dropped)" 0
check "a thread and a child" "$(lines '^fork ')" 2
check "ends" "$(lines '^exit ')" 3
check "programs" "$(lines '^exec [0-9]+ [0-9]+ (loads|exe)$')" 2
check "names" "$(lines '^comm [0-9]+ [0-9]+ second$')" 1
check "mappings of the program" "$(($(lines '^mapping .*/loads$') >= 2))" 1
check "files" "$(($(lines '^file .*/loads$') >= 1))" 1
check "the event" "$(lines "^event 0 $period task-clock(:u)?\$")" 1
check "the end" "$(lines "^end $(samples) 0 0 $(time_ns)\$")" 1
perfex report -i "$tmp/samples" --export=svg > "$tmp/svg" 2> "$tmp/err"
check "flame graph" "$(cat "$tmp/err")$(grep -c 'hot' "$tmp/svg" | grep -c '[1-9]')" 1
perfex script -i "$tmp/samples" > "$tmp/script" 2> "$tmp/err"
check "script" "$(cat "$tmp/err")$(grep -cE '^(loads|second|exe) .* task-clock' "$tmp/script" | grep -c '[1-9]')" 1

# Two calls of a chain, and a command that does not exist.
record "two calls" 3 -g --max-stack=2 -e task-clock "$loads" 40
perfex report -i "$tmp/samples" --export=folded > "$tmp/folded" 2> "$tmp/err"
check "calls of user mode" "$(awk -F ';' '/;hot [0-9]+$/ && NF > 4 { n++ } END { print n + 0 }' "$tmp/folded")" 0
perfex record --backend=perf -o "$tmp/none" -e task-clock /nonexistent 2> "$tmp/err"
check "status of no command" $? 127
perfex record -o "$tmp/none" -e task-clock /nonexistent 2> "$tmp/err"
check "status of no command by any backend" $? 127

# The first thread alone; a period, and a rate, of which a clock makes a period.
record "first thread" 3 -i -e task-clock "$loads" 80
check "threads" "$(awk '$1 == "sample" { print $3 }' "$tmp/records" | sort -u | wc -l)" 1
record "period" 3 -e task-clock=100us "$loads" 40
check "a period" "$(lines '^event 0 100000 ')" 1
record "rate" 3 -F 5000 -e task-clock "$loads" 40
check "the period of a rate" "$(lines '^event 0 200000 ')" 1

# A program in another namespace of processes: a JIT names its map by the number there.
if unshare -r -p -f true 2> /dev/null; then
	record "namespace" 3 -e task-clock unshare -r -p -f "$loads" 80
	check "the number in the namespace" "$(lines '^process [0-9]+ 1 ')" 1
fi

# Calls by the stack.
case $(uname -m) in x86_64|aarch64|riscv64|ppc64*)
	record "stack" 3 -g dwarf -e task-clock "$loads" 80
	check_shares "stack" 200
	check_chains "stack"
esac

# A process that runs already, and one of its threads; a program that perfex runs meanwhile.
for target in -p -t; do
	mkfifo "$tmp/go$target"
	"$loads" 80 wait < "$tmp/go$target" &
	pid=$!
	exec 3> "$tmp/go$target"
	record "running, $target" 0 -g -e task-clock $target $pid sh -c "echo >&3; exec 3>&-; sleep 1; while [ -d /proc/$pid/task ] && ! grep -q 'State:.Z' /proc/$pid/status; do sleep 1; done"
	exec 3>&-
	wait $pid
	check "status of the process, $target" $? 3
	check_shares "running, $target" 200
	check "what was started, $target" "$(lines '^fork ')" 2
	rm "$tmp/go$target"
done

# Three processes share the memory that a user may lock, and a few descriptors are not enough.
if [ ! -e /dev/vperfctr ] && [ "$(id -u)" = 0 ]; then
	cp "$(command -v perfex)" "$tmp/perfex"
	mkdir "$tmp/user"
	chown nobody "$tmp/user"
	chmod 755 "$tmp" "$tmp/perfex"
	su -s /bin/sh nobody -c "cd $tmp/user; ulimit -l 0; ulimit -Sn 10; sleep 2 & a=\$!; sleep 2 & b=\$!; sleep 2 & c=\$!
		$tmp/perfex record --backend=perf -o samples -e task-clock=1ms -p \$a -p \$b -p \$c true" 2> "$tmp/err"
	check "three processes" "$?$(grep -v -E ' samples? in | no samples: ' "$tmp/err")" 0
fi
if perfex stat --backend=perf -e cycles true > "$tmp/out" 2>&1 && [ "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" -lt 1000000 ]; then
	perfex record --backend=perf -o "$tmp/none" -F 1000000 -e cycles true 2> "$tmp/err"
	check "too high a rate" "$? $(grep -c 'kernel.perf_event_max_sample_rate says: use a lower rate than 1000000' "$tmp/err")" "125 1"
fi

# Standard output has the samples, and no text of the program.
for way in "-o -" "-o /proc/self/fd/1" "-a -o -"; do
	# shellcheck disable=SC2086
	perfex record --backend=perf -e cpu-clock=100us $way sh -c "echo among the samples; exec $loads 20" > "$tmp/samples" 2> "$tmp/err"
	check "status, record $way" $? 3
	check "the program's text, $way" "$(grep -c '^among the samples$' "$tmp/err")" 1
	check "the samples, $way" "$(grep -c 'among the samples$' "$tmp/samples")" 0
	perfex report -i "$tmp/samples" > "$tmp/report" 2> "$tmp/report.err"
	check "report, $way" "$?$(cat "$tmp/report.err")" 0
done
# A device has no samples that are read again: the program's text remains where it was.
perfex record --backend=perf -q -e cpu-clock=100us -o /dev/null echo text > /dev/null 2> "$tmp/err"
check "a device" "$?$(cat "$tmp/err")" 0

# With too few descriptors, either the program has not run, or its samples are in the file.
sleep 100 &
pid=$!
for target in "" -a "-p $pid"; do
	files=4 whole=0
	while [ "$whole" = 0 ] && [ $files -lt 100 ]; do
		rm -f "$tmp/ran" "$tmp/few"
		# shellcheck disable=SC2086,SC3045
		(ulimit -n $files; exec perfex record --backend=perf -e cpu-clock -o "$tmp/few" $target touch "$tmp/ran") 2> "$tmp/err" && whole=1
		check "not lost, $target, $files descriptors" "$(ls "$tmp/ran" 2> /dev/null)" "$([ $whole = 1 ] && echo "$tmp/ran")"
		files=$((files + 1))
	done
	check "enough descriptors, $target" $whole 1
done
kill $pid
wait $pid 2> /dev/null

# CPUs, and all that runs there.
record "CPUs" 3 -a -e cpu-clock "$loads" 80
check_shares "CPUs" 200
check "the clock of CPUs" "$(lines '^event 0 500009 cpu-clock$')" 1

# Each name of the clock, and one without the mode, finds its samples.
check "reports of CPUs" "$(for event in cpu-clock task-clock; do perfex report -i "$tmp/samples" -e $event 2> /dev/null | grep -c ' Functions'; done | tr '\n' ' ')" "1 1 "
perfex report -i "$tmp/samples" -e cpu-clock:u > "$tmp/out" 2> "$tmp/err"
check "a mode that was not sampled" "$?$(cat "$tmp/err")" "125perfex: '$tmp/samples' has no samples of 'cpu-clock:u', which -e names: there is cpu-clock"

# In user mode only, as perf has it: nothing is missing then.
record "user mode" 3 -e cpu-clock:u "$loads" 20
check_shares "user mode" 10
check "reports of user mode" "$(for event in cpu-clock:u task-clock cpu-clock task-clock:u; do perfex report -i "$tmp/samples" -e $event 2> /dev/null | grep -c ' Functions'; done | tr '\n' ' ')" "1 1 1 1 "
check "samples in the kernel" "$(perfex report -i "$tmp/samples" --stdio --sort=dso | grep -c 'kernel')" 0
check "missing samples" "$(grep -c 'have no samples' "$tmp/report")" 0

# perfex says in one line what is wrong.
for arguments in "-e nonsense" "-e task-clock=1" "-p 999999999 -e task-clock=1ms" "-t 999999999 -e task-clock=1ms" "-e task-clock,task-clock" "--kind=0"; do
	# shellcheck disable=SC2086
	perfex record --backend=perf -o "$tmp/none" $arguments true 2> "$tmp/err"
	check "status, $arguments" $? 125
	check "lines, $arguments" "$(wc -l < "$tmp/err") $(grep -c '^perfex: ' "$tmp/err")" "1 1"
	check "file, $arguments" "$(ls "$tmp/none" 2> /dev/null)" ""
done

# The advice about periods is true.
for target in "" -a; do
	# shellcheck disable=SC2086
	perfex record --backend=perf $target -o "$tmp/samples" true > "$tmp/out" 2> "$tmp/err"
	advised=$(sed -n 's/^perfex: no overflow interrupts here: .* (-F N or \(-e .*\)PERIOD chooses another period)$/\1/p' "$tmp/err")
	grep -q '^perfex: no overflow interrupts here: ' "$tmp/err" || continue
	check "advice, $target" "$(echo "$advised" | grep -c '^-e .*-clock=$')" 1
	for option in "${advised}1ms" "-F 1000"; do
		# shellcheck disable=SC2086
		record "advice, $target $option" 0 $target $option true
		check "a period by advice, $target $option" "$(lines '^event 0 1000000 ')" 1
	done
done

# Without the module, perf_event takes its place, and perfex says so.
if [ ! -e /dev/vperfctr ]; then
	perfex record -e task-clock -o "$tmp/samples" "$loads" 4 2> "$tmp/err"
	check "status without the module" $? 3
	check "a line" "$(grep -c '^perfex: samples by perf_event: there is no /dev/vperfctr: ' "$tmp/err")" 1
	perfex record -q -e task-clock -o "$tmp/samples" "$loads" 4 2> "$tmp/err"
	check "-q" "$?$(cat "$tmp/err")" 3
	perfex record -q -a -o "$tmp/samples" "$loads" 4 2> "$tmp/err"
	check "-q -a" "$?$(cat "$tmp/err")" 3
	VPERFCTR_BACKEND=perf perfex top -a -I 100 --timeout 200 > "$tmp/out" 2> "$tmp/err"
	check "top -a" "$?$(cat "$tmp/err")" 0
	# The file is no matter of the module.
	perfex record -q -e task-clock -o /dev/full "$loads" 4 2> "$tmp/err"
	check "status of a full disk" $? 125
	check "a full disk" "$(grep -c "^perfex: cannot write to '/dev/full': No space left on device" "$tmp/err")" 1
	# Nor are processes, and periods that are too short for both.
	perfex record -q -e task-clock -o "$tmp/none" -p 999999999 2> "$tmp/err"
	check "a process" "$(cat "$tmp/err")" "perfex: there is no process or thread 999999999 (any more)"
	perfex record -q -c 1 -e task-clock -o "$tmp/none" true 2> "$tmp/err"
	check "a period" "$(cat "$tmp/err")" "perfex: the period is too small: 10,000 ns is the smallest of task-clock"
	perfex record --backend=module -e task-clock -o "$tmp/samples" true 2> "$tmp/err"
	check "status of --backend=module" $? 125
	check "--backend=module" "$(cat "$tmp/err")" "perfex: there is no /dev/vperfctr: load the module (sudo modprobe vperfctr)"
fi

summary
