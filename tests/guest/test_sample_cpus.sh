#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex --sample with -a and -C in the virtual machine.  perfex and the shell are pinned
# to CPU 0, and a program whose functions execute a known number of instructions to the last
# CPU.  The summary looks like one of libcheck.

here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'exec 3>&-; rm -rf "$tmp"' EXIT
checks=0 failures=0
taskset -p 1 $$ > /dev/null
cpus=$(grep -c ^processor /proc/cpuinfo)
last=$((cpus - 1))
echo 0 > /sys/module/vperfctr/parameters/max_sample_rate

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

# record ARGUMENT...: let perfex sample while the program works once
record()
{
	perfex "$@" -o "$tmp/samples" -- sh -c "printf x > $tmp/to; head -c 1 $tmp/from" > "$tmp/out" 2> "$tmp/err"
	check "status of $*" $? 0
}

report() { perfex --report "$tmp/samples" "$@" 2> "$tmp/report.err"; }

# samples SORT PATTERN: print the samples of the rows that match
samples()
{
	report -v --sort="$1" | awk -v pattern="$2" '$1 ~ /%$/ && $0 ~ pattern { gsub(",", "", $2); n += $2 } END { print n + 0 }'
}

# A period begins when the interrupt reloads the counter, so there may be a bit fewer samples.
about() { [ "$1" -le $(($2 + 1)) ] && [ "$1" -ge $(($2 - $2 / 10 - 1)) ] && echo yes; }

mkfifo "$tmp/to" "$tmp/from"
taskset "$(printf %x $((1 << last)))" "$here/pinned" < "$tmp/to" > "$tmp/from" & pinned=$!
exec 3> "$tmp/to" 4< "$tmp/from"
printf x >&3
head -c 1 <&4 > "$tmp/out"	# once, so that all pages are in memory

# user mode: each function of the program has its samples, on its CPU
for which in -a "-C $last"; do
	# shellcheck disable=SC2086 # two words
	record --sample=instructions:u=10k $which
	check "dropped by $which" "$(sed -n 's/.* samples in .*, \([0-9,]*\) dropped;.*/\1/p' "$tmp/err")" 0
	n=$(samples symbol 'hot [[]pinned')
	check "hot() by $which ($n)" "$(about "$n" 150)" yes
	n=$(samples symbol 'cold [[]pinned')
	check "cold() by $which ($n)" "$(about "$n" 50)" yes
	n=$(samples cpu,comm "$last  *pinned")
	check "the program on its CPU by $which ($n)" "$([ "$n" -ge 179 ] && [ "$n" -le 220 ] && echo yes)" yes
	check "the program on other CPUs by $which" "$((n - $(samples comm pinned)))" 0
	check "its process by $which" "$((n - $(samples pid "$pinned")))" 0
	check "errors of --report" "$(cat "$tmp/report.err")" ""
done
check "all samples are of CPU $last" "$(samples cpu "^ *[0-9.]*%  *[0-9,]*  *[0-9.% ]*$last$")" "$(samples comm .)"
check "the head" "$(report | grep -c "Samples of 'CPUs $last during sh -c .*' (one each 10,000 instructions:u):")" 1
check "no addresses of the kernel" "$(report | grep -c '[[]kernel')" 0

# kernel mode, with its calls
record --sample=instructions=5k -g -a
report --comm=pinned --export=folded > "$tmp/folded"
check "calls in the kernel" "$([ "$(grep -c 'main;.*;do_syscall_64_\[k\];\|main;.*;el0.*_\[k\];' "$tmp/folded")" -gt 0 ] && echo yes)" yes
check "names of the kernel" "$([ "$(samples symbol '[[]kernel')" -gt 20 ] && echo yes)" yes

# A CPU that has nothing to do executes its idle task.
perfex --sample=instructions=100 -C $last -o "$tmp/samples" --timeout 0.5 2> "$tmp/err"
check "status of an idle CPU" $? 0
check "the idle task" "$([ "$(samples comm,pid 'swapper  *0$')" -gt 0 ] && echo yes)" yes

# -F: less than twice as many
record --sample=instructions:u -F 1000 -a
check "a rate" "$(grep -c 'samples in .* for .* periods;' "$tmp/err")" 1

# an ordinary user
su user -c "perfex -a --sample -o /dev/null true" > "$tmp/out" 2> "$tmp/err"
check "status of an ordinary user" $? 125
check "message to an ordinary user" "$(grep -c '^perfex: .*needs CAP_PERFMON' "$tmp/err") $(wc -l < "$tmp/err")" "1 1"

exec 3>&-
wait $pinned
check "status of the program" $? 0
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
