#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex -a and -C, by kind, on a machine with two cores, CPUs 0 and 1, and two atoms,
# CPUs 2 and 3.  perfex and the shell are pinned to CPU 0.  A program waits on each other CPU.
# It executes the same number of instructions for each byte that it reads, and sleeps before
# counting starts and when it ends: so counts in user mode are exact.  The summary looks like
# one of libcheck.
# shellcheck disable=SC2086 # $work has two words

here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'exec 3>&- 5>&- 7>&-; rm -rf "$tmp"' EXIT
checks=0 failures=0
taskset -p 1 $$ > /dev/null

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

has() # WHAT TEXT
{
	check "$1" "$(grep -c -- "$2" "$tmp/err")" 1
	grep -q -- "$2" "$tmp/err" || cat "$tmp/err"
}

# The instructions of a byte, by the counts of a thread.
for bytes in x xx; do
	printf %s "$bytes" | perfex -x , -o "$tmp/$bytes" -e instructions:u "$here/pinned" > "$tmp/out"
done
first() { sed -n 's/,.*instructions.*//p' "$1"; }
byte=$(($(first "$tmp/xx") - $(first "$tmp/x")))
check "instructions of a byte ($byte)" "$((byte > 2000000 && byte < 2100000))" 1

# A program on CPU n is in pid_n, reads to_n and writes from_n.
for cpu in 1 2 3; do
	mkfifo "$tmp/to_$cpu" "$tmp/from_$cpu"
	taskset "$(printf %x $((1 << cpu)))" "$here/pinned" < "$tmp/to_$cpu" > "$tmp/from_$cpu" &
	echo $! > "$tmp/pid_$cpu"
done
exec 3> "$tmp/to_1" 4< "$tmp/from_1" 5> "$tmp/to_2" 6< "$tmp/from_2" 7> "$tmp/to_3" 8< "$tmp/from_3"

# work N1 N2 N3: let the programs read that many bytes, and wait until each of them sleeps again
cat > "$tmp/work" << END
cpu=1
for bytes; do
	head -c \$bytes /dev/zero > $tmp/to_\$cpu
	head -c \$bytes $tmp/from_\$cpu > $tmp/answer
	until grep -q '^State:.S' /proc/\$(cat $tmp/pid_\$cpu)/status; do
		usleep 1000
	done
	cpu=\$((cpu + 1))
done
END
work="sh $tmp/work"
$work 1 1 1	# once, so that all pages are in memory

# kind NAME: the sum of a kind, and of how many CPUs
kind() { sed -n "s/^$1,\([0-9]*\),\([0-9]*\),.*/\2 of \1/p" "$tmp/err"; }
cpu() { sed -n "s/^CPU$1,\([0-9]*\),.*/\1/p" "$tmp/err"; }

run -C 1-3 --per-kind -x , -e instructions:u $work 2 3 1
check "status of -C 1-3" "$status" 0
check "a core" "$(kind core)" "$((2 * byte)) of 1"
check "both atoms" "$(kind atom)" "$((4 * byte)) of 2"
run -a --per-kind -x , -e instructions:u $work 2 1 1
check "both atoms of all CPUs" "$(kind atom)" "$((2 * byte)) of 2"
# The shell and perfex run on a core, too.
check "both cores ($(kind core))" "$(($(kind core | sed 's/ of.*//') > 2 * byte))" 1
run -a --kind=atom -x , -e instructions:u $work 1 2 1
check "all atoms" "$(first "$tmp/err")" $((3 * byte))
run -C 1,3 -x , -e instructions:u $work 2 2 1
check "two CPUs of different kinds" "$(first "$tmp/err")" $((3 * byte))
run -a --per-cpu -x , -e instructions:u $work 3 2 1
for n in 1 2 3; do
	check "CPU $n" "$(cpu $n)" $(((4 - n) * byte))
done
# counters that only one kind has
run -C 1 --kind=core -x , -e instructions:u@7 $work 2 1 1
check "counter 7 of a core" "$(first "$tmp/err")" $((2 * byte))

# errors
run -C 0 --kind=atom -e instructions:u true
check "status of a CPU of another kind" "$status" 125
has "which kind it is not" "CPU 0 is not of kind 1"
run -a -e instructions:u@7 true
check "status of a counter that not all have" "$status" 125

# Samples of both kinds.  A period begins when the interrupt reloads the counter, so there may be
# a bit fewer of them.
run -a --sample=instructions:u=20k -o "$tmp/samples" $work 1 2 1
check "status of samples" "$status" 0
for n in 1 2 3; do
	got=$(perfex --report "$tmp/samples" -v --comm=pinned --sort=cpu |
		awk -v cpu=$n '$1 ~ /%$/ && $NF == cpu { gsub(",", "", $2); print $2 }')
	most=$((byte * (n == 2 ? 2 : 1) / 20000 + 1))
	check "samples of CPU $n ($got of $most)" "$((got >= most * 9 / 10 && got <= most))" 1
done

exec 3>&- 5>&- 7>&-
wait
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
