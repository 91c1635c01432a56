#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex --sample in the virtual machine: samples of threads, of children and of
# processes that run already.  Each thread of "tree" has as many samples in its loop as
# it says.  The summary looks like one of libcheck.

here=$(dirname "$0")
# the event that overflows at the very instruction in the emulator; on arm64, each
# instruction takes one cycle
event=instructions
[ "$(uname -m)" != aarch64 ] || event=cycles
# the instruction that returns, as the disassembler names it: blr on PowerPC
return=ret
case $(uname -m) in ppc*) return=blr ;; esac
period=10007
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

# sample OPTION... COMMAND...: run perfex, and print the file
sample()
{
	perfex -o "$tmp/samples" "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
	"$here/print_samples" "$tmp/samples" > "$tmp/text" 2>&1
	check "format of the file" $? 0
}

# Print "PID TID SAMPLES" of each thread that has samples in the loop.
loop_samples() # OUTPUT-OF-TREE
{
	# shellcheck disable=SC2046 # these are three words
	set -- $(sed -n 's/^loop //p' "$1")
	awk -v start="x$1" -v end="x$2" '
	# strings of the same length: digits and an e would be a number
	$1 == "sample" && "x" $6 >= start && "x" $6 < end { n[$2 " " $3]++ }
	END { for (t in n) print t, n[t] }' "$tmp/text" | sort
}

# Print how many samples in the loop have chains that do not begin with its call.
chains_without_caller() # OUTPUT-OF-TREE
{
	# shellcheck disable=SC2046 # these are three words
	set -- $(sed -n 's/^loop //p' "$1")
	awk -v start="x$1" -v end="x$2" -v call="x$3" '
	$1 == "sample" && "x" $6 >= start && "x" $6 < end && "x" $7 != call' "$tmp/text" | wc -l
}

threads() # OUTPUT-OF-TREE
{
	sed -n 's/^thread //p' "$1" | sort
}

# the numbers that perfex printed are those of the file, and account for all events
check_end()
{
	end=$(sed -n 's/^end //p' "$tmp/text")
	n=$(grep -c '^sample ' "$tmp/text")
	count=$(sed -n 's/^perfex: .* dropped; \([0-9,]*\) .*/\1/p' "$tmp/err" | tr -d ,)
	check "end of the file, $1" "$end" "$n 0 0 $count"
	# each thread ends within a period, and may have begun with a part of one
	mean=$((count / period))
	check "samples for all events, $1" "$([ "$n" -le $((mean + $2)) ] && [ "$n" -ge $((mean - $2)) ] && echo yes)" yes
}

rate=/sys/module/vperfctr/parameters/max_sample_rate
usual=$(cat $rate)
echo 0 > $rate

# four threads and two children, with their chains of calls
sample --sample=$event:u=$period -g "$here/tree" $period
check "status of tree" "$status" 0
check "errors of tree" "$(grep -vc ' samples in .*, 0 dropped; ' "$tmp/err")" 0
check "threads of tree" "$(threads "$tmp/out" | wc -l)" 7
check "samples of tree" "$(loop_samples "$tmp/out")" "$(threads "$tmp/out")"
check_end tree 7
check "chains without a caller of the loop" "$(chains_without_caller "$tmp/out")" 0
check "event of tree" "$(grep '^event ' "$tmp/text")" "event 0 $period $event:u"
check "mappings of tree" "$(grep -c "^mapping .*$here/tree$" "$tmp/text")" 1
check "execs of tree" "$(awk '$1 == "exec" { print $4 }' "$tmp/text")" tree
check "forks of tree" "$(grep -c '^fork ' "$tmp/text")" 6
check "names of tree" "$(awk '$1 == "comm" { print $4, $5 }' "$tmp/text" | sort)" "worker 0
worker 1
worker 2
worker 3"
check "exits of tree" "$(grep -c '^exit ' "$tmp/text")" 7

# without chains, and the first thread only
sample --sample=$event:u=$period --no-inherit "$here/tree" $period
check "status of --no-inherit" "$status" 0
check "samples of --no-inherit" "$(loop_samples "$tmp/out")" "$(threads "$tmp/out" | grep ' 10$')"
check_end --no-inherit 1
check "no chains" "$(awk '$1 == "sample" && NF != 6' "$tmp/text" | wc -l)" 0

# 64 threads, which make 21,000 samples: their ring has room for all
sample --sample=$event:u=1000 -g "$here/tree" 1000 64
check "status of 64 threads" "$status" 0
check "samples of 64 threads" "$(loop_samples "$tmp/out")" "$(threads "$tmp/out")"
check "dropped and lost of 64 threads" "$(awk '$1 == "end" { print $3, $4 }' "$tmp/text")" "0 0"
check "forks of 64 threads" "$(grep -c '^fork ' "$tmp/text")" 66

# a command that leaves a process behind
sample --sample=$event:u=$period sh -c "sleep 1000 > /dev/null 2>&1 & echo \$!"
check "status of a command that leaves a process" "$status" 0
check "what is said then" "$(grep -c '^perfex: sampled until now: ' "$tmp/err")" 1
kill "$(cat "$tmp/out")"

# Print how many samples in the loop have other callers than these, by the stacks of the file.
other_callers()
{
	perfex --report "$tmp/samples" --export=folded > "$tmp/folded" 2>&1
	check "status of the report of stacks" $? 0
	sed -n 's/ [0-9]*$//; s/;loop_start$/;spin/; /;spin$/p' "$tmp/folded" | sort -u |
		grep -vcE ';(main;(run_children;)?|run_thread;)work;spin$'
}

# running processes: -p|-t THREADS-THAT-ARE-SAMPLED process|thread THEIR-NUMBER fp|dwarf
attach()
{
	rm -f "$tmp/fifo"
	mkfifo "$tmp/fifo"
	"$here/tree" $period 4 wait < "$tmp/fifo" > "$tmp/tree" &
	pid=$!
	exec 3> "$tmp/fifo"
	until [ -d "/proc/$pid" ] && [ "$(sed -n 's/^Threads:[^0-9]*//p' "/proc/$pid/status")" = 5 ]; do sleep 0.1; done
	sample --sample=$event:u=$period -g "$5" "$1$pid" -- \
		sh -c "echo > $tmp/fifo; while [ -d /proc/$pid/task/$pid/fd ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done"
	exec 3>&-
	wait $pid
	check "status of $1" "$status" 0
	check "samples of $1" "$(loop_samples "$tmp/tree")" "$(threads "$tmp/tree" | grep "$2")"
	if [ "$5" = fp ]; then
		check "chains of $1 without a caller of the loop" "$(chains_without_caller "$tmp/tree")" 0
	elif [ $return = blr ]; then
		# perfex finds no calls in stacks there: doc/power.md
		check "samples of $1 without a stack" "$(grep '^sample ' "$tmp/text" | grep -vc ' stack ')" 0
	else
		check "stacks of $1 with another caller of the loop" "$(other_callers)" 0
		check "callers of the loop, $1" "$(grep -c ';work;[^;]*$' "$tmp/folded" | sed 's/^[1-9][0-9]*$/some/')" some
	fi
	check_end "$1" 7
	check "mappings of $1" "$(grep -c "^mapping $pid .*$here/tree$" "$tmp/text")" 1
	check "names of $1" "$(awk '$1 == "comm" && $4 == "worker"' "$tmp/text" | wc -l)" 4
	check "exits of $1" "$(grep -c '^exit ' "$tmp/text")" "$4"
	check "what is sampled, $1" "$(sed -n 's/^command //p' "$tmp/text")" "$3 $pid"
}
attach -p . process 7 fp
attach -t ' \(10\|34\|38\)$' thread 3 fp
attach -p . process 7 dwarf
attach -t ' \(10\|34\|38\)$' thread 3 dwarf

# functions that a program makes at run time, one after the other at the same address: their
# instructions have the samples that the file has there
sample --sample=$event:u=1000 "$here/jit" "$tmp"
check "status of jit" "$status" 0
# shellcheck disable=SC2046 # these are three words
set -- $(cat "$tmp/out")
# Print "SAMPLES" at the offsets that only one of the functions has, but for 0.
samples_at() # ADDRESS OFFSET...
{
	at=$1
	shift
	for offset; do
		printf "sample %x\n" $((0x$at + offset))
	done > "$tmp/addresses"
	awk 'NR == FNR { wanted[$2] = 1; next } $1 == "sample" && $6 in wanted { n++ } END { print n + 0 }' \
		"$tmp/addresses" "$tmp/text"
}
for function in first second; do
	# the loop of each function
	case $(uname -m)-$function in
	aarch64-first) offsets="8 12" ;;
	aarch64-second) offsets="40 44" ;;
	riscv64-first | ppc*-first) offsets="4 8" ;;
	riscv64-second | ppc*-second) offsets="36 40" ;;
	*-first) offsets="5 7" ;;
	*) offsets="21 23" ;;
	esac
	# shellcheck disable=SC2086 # these are two words
	n=$(samples_at "$1" $offsets)
	check "many samples of $function" "$([ "$n" -ge 399 ] && echo yes)" yes
	perfex --report "$tmp/samples" --annotate $function > "$tmp/annotated" 2>&1
	check "status of --annotate $function" $? 0
	# The others run once: one of those before the loop may have a sample, and the return.
	all=$(awk '$1 ~ /%$/ && length($3) > 6 { gsub(",", "", $2); n += $2 } END { print n + 0 }' "$tmp/annotated")
	check "samples of $function: $all, $n in its loop" "$([ "$all" -ge "$n" ] && [ "$all" -le $((n + 2)) ] && echo yes)" yes
	check "ends of $function" "$(grep -c "  $return" "$tmp/annotated")" 1
	for offset in $offsets; do
		n=$(samples_at "$1" "$offset")
		check "samples at $offset of $function" "$(awk -v at="$(printf %x $((0x$1 + offset)))" '
		$1 ~ /%$/ && $3 == at { gsub(",", "", $2); n = $2 }
		END { print n + 0 }' "$tmp/annotated")" "$n"
	done
done

# the same functions side by side, in a list of names: /tmp/perf-PID.map
sample --sample=$event:u=1000 "$here/jit" "$tmp" map
check "status of jit with a list" "$status" 0
pid=$(sed -n 's/^command process //p' "$tmp/text")
[ -n "$pid" ] || pid=$(awk '$1 == "exec" { print $2 }' "$tmp/text")
# shellcheck disable=SC2046 # these are four words
set -- $(cat "$tmp/out")
# Print how many samples are in SIZE bytes from ADDRESS.
samples_in() # ADDRESS SIZE
{
	printf '%016x %016x\n' $((0x$1)) $((0x$1 + $2)) > "$tmp/range"
	awk 'NR == FNR { from = "x" $1; to = "x" $2; next }
	$1 == "sample" { ip = $6; while (length(ip) < 16) ip = "0" ip; ip = "x" ip; n += ip >= from && ip < to }
	END { print n + 0 }' "$tmp/range" "$tmp/text"
}
perfex --report "$tmp/samples" --sort=symbol -v > "$tmp/report" 2> "$tmp/err"
check "status of the report with a list" "$? $(cat "$tmp/err")" "0 "
reported() { awk -v name="$1" '$3 == name { gsub(",", "", $2); n += $2 } END { print n + 0 }' "$tmp/report"; }
n=$(samples_in "$1" "$2")
check "many samples of first in the list" "$([ "$n" -ge 1199 ] && echo yes)" yes
check "samples of first in the list" "$(reported first)" "$n"
n=$(samples_in "$3" "$4")
check "many samples of second in the list" "$([ "$n" -ge 399 ] && echo yes)" yes
check "samples of second in the list" "$(reported second)" "$n"
rm -f "/tmp/perf-$pid.map"

# a program of another mount namespace, where its path is that of another program here
cp "$here/tree" /program
# a path can be found until the namespace ends, which waits for that; an existing file would
# keep its old samples until then
rm "$tmp/samples"
sample --sample=$event:u=1000 unshare -m sh -c "mount --bind $here/two /program && /program; i=0
until $here/print_samples $tmp/samples 2> /dev/null | grep -q '^mapping .* /program$'; do
	i=\$((i + 1)); [ \$i -lt 500 ] || exit
done"
check "status in another namespace" "$status" 0
check "path in another namespace" "$(grep -c '^mapping .* /program$' "$tmp/text")" 1
perfex --report "$tmp/samples" --sort=symbol -v > "$tmp/report"
check "functions of another program" "$(grep -cE ' [a-z_]+ [[]program[]]$' "$tmp/report")" 0
check "the other program is named" "$(grep -c '^ /program: another file has this name now' "$tmp/report")" 1
mkdir "$tmp/root"
cp "$here/two" "$tmp/root/program"
check "functions in another namespace" "$(perfex --report "$tmp/samples" --symfs "$tmp/root" --sort=symbol -v | awk '/ (hot|cold) / { print $3, $2 }')" "hot 1,200
cold 400"
# as long as a process lives, its files can be described, wherever they are
cp "/proc/$$/exe" "$tmp/shell"
cp "$here/tree" /busybox
mkfifo "$tmp/fifo2"
unshare -m sh -c "mount --bind $tmp/shell /busybox && exec /busybox sh -c 'read x; i=0; while [ \$i -lt 2000 ]; do i=\$((i + 1)); done'" < "$tmp/fifo2" &
pid=$!
exec 3> "$tmp/fifo2"
until [ "$(readlink "/proc/$pid/exe")" = /busybox ]; do sleep 0.1; done
sample --sample=$event:u=1000 "-p$pid" -- \
	sh -c "echo > $tmp/fifo2; while [ -d /proc/$pid/task/$pid/fd ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done"
exec 3>&-
wait $pid
check "status of a process in another namespace" "$status" 0
check "description of its file" "$(awk '$1 == "file" && $NF == "/busybox" { print $3 }' "$tmp/text")" "$(stat -c %s "$tmp/shell")"
rm /program /busybox

# calls in the kernel: all that vfs_read() calls is called by a system call of dd's main();
# POWER clears 128 bytes of memory by one instruction, 32-bit PowerPC 32, so few samples are in a
# read
case $(uname -m) in ppc64*) reads=20000 ;; ppc) reads=2000 ;; *) reads=200 ;; esac
for how in fp dwarf; do
	sample --sample=$event=5003 -g $how dd if=/dev/zero of=/dev/null bs=64k count=$reads
	check "status of -g $how in the kernel" "$status" 0
	perfex --report "$tmp/samples" --export=folded > "$tmp/folded"
	check "status of the report of -g $how" $? 0
	check "read() with -g $how" "$(grep -c ';vfs_read_\[k\];.*_\[k\] [0-9]*$' "$tmp/folded" | sed 's/^[1-9][0-9]*$/some/')" some
	check "entry of read() with -g $how" "$(grep ';vfs_read_\[k\]' "$tmp/folded" | grep -vcE ';[^;]*sys[^;]*_\[k\];.*;vfs_read_\[k\]')" 0
	check "user mode calls read() with -g $how" "$(grep ';ksys_read_\[k\]' "$tmp/folded" | grep -cE '^[^;]*;[^;]*_\[k\]')" 0
done
# two events; without options, an event and a period that give some samples
if [ $event = instructions ]; then
	sample --sample=instructions:u=1000,cycles:u=700 "$here/two"
	check "status of two events" "$status" 0
	check "two events" "$(grep '^event' "$tmp/text")" "event 0 1000 instructions:u
event 1 700 cycles:u"
	check "samples of the first" "$(awk '$1 == "sample" && ($4 == 1 || $4 == 3)' "$tmp/text" | wc -l)" 1600
	check "samples of the second" "$(awk '$1 == "sample" && ($4 == 2 || $4 == 3)' "$tmp/text" | wc -l)" \
		"$(awk '$1 == "end" { print int($6 / 700) }' "$tmp/text")"
fi
echo "$usual" > $rate
sample --sample -- "$here/tree" 100000
check "status without options" "$status" 0
check "the choice" "$(grep -c '^perfex: a sample each .* cycles:u (-e EVENT=PERIOD chooses others)$' "$tmp/err")" 1
check "some samples without options" "$([ "$(grep -c '^sample ' "$tmp/text")" -gt 5 ] && echo yes)" yes

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
