#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex in the virtual machine, from end to end.  The summary looks like one of
# libcheck.  Counts must be exact.
# shellcheck disable=SC2086 # no event has a space in it

known=$(dirname "$0")/known	# 4 + 2000 * (number of arguments, its name too) instructions
known_waits=$(dirname "$0")/known_waits	# the same, after five others and a byte of input
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 failures=0

# the maker of the processor
case $(uname -m) in
aarch64)	maker=arm ;;
riscv64)	maker=riscv ;;
ppc64le)	maker=power ;;
ppc)		maker=ppc32 ;;
*)		maker=intel
		! grep -q AuthenticAMD /proc/cpuinfo || maker=amd ;;
esac
model=$(awk -F ': ' '/^model[\t ]*:/ { print $2; exit }' /proc/cpuinfo)

# the general counters, and their number
general=$(perfex -i | sed -n 's/^general .*: //p')
n=$(perfex -i | sed -n 's/^general  *\([0-9]*\),.*/\1/p')
last=$((n - 1))		# of those that can count instructions
fixed=""
case $maker in
intel | power) perfex -i | grep -q '^fixed  *none' || fixed="fixed 0, " ;;
esac

# False on processors for which Linux's perf has no driver: it is compared with nothing there.
perf_has_driver=true
[ $maker != ppc32 ] || [ -d /sys/bus/event_source/devices/cpu ] || perf_has_driver=false

# N events that general counters take: x86: cycles with at least that many instructions;
# RISC-V and PowerPC, whose emulators have no other raw events: cycles by their number, with ever
# more zeros
raw_events()
{
	awk -v n="$1" -v maker=$maker 'BEGIN {
		for (i = 0; i < n; i++) {
			printf i ? "," : ""
			if (maker == "riscv")
				printf "0x%s1:u", zeros = zeros "0"
			else if (maker == "power")
				printf "r%s1e:u", zeros = zeros "0"
			else if (maker == "ppc32")
				printf "r%s1:u", zeros = zeros "0"
			else
				printf maker == "arm" ? "r%02x:u" : "r%02x0000c0:u",
				       (maker == "arm" ? 64 : 1) + i
		}
	}'
}

# raw, register: instructions as a raw event or by number, and as a register for user mode
# many: too many events for the processor
# some: too many for two runs, or as many for two as perfex can have, with one more in each case;
#	the first two are instructions
# where: the counters that can count instructions
case $maker in
arm)	raw=r0008 register=0x80000008 ;;
riscv)	raw=0x2 register=0x2000000000000002 ;;
power | ppc32)
	raw=r02 register=0x8000000000000002 ;;
*)	raw=r00c0 register=0x4100c0 ;;
esac
# True if all counters share their modes.
shared_modes=false
[ $maker != ppc32 ] || shared_modes=true
# that many of them are counted at a time: POWER has a fixed counter of cycles, too
room=$n
[ $maker != power ] || room=$((n + 1))
many=$(raw_events $((room + 1)))
more=$((2 * room + 1)) runs=3
[ "$more" -le 29 ] || more=29 runs=2
some=$raw:u,$raw:k,$(raw_events $more)
where="${fixed}general $general"
if [ $maker = ppc32 ] && [ "$n" -gt 4 ]; then
	last=3 where="general 0-3"
fi
# as perfex prints it; the shell takes bit 63 for a sign
case $register in
0x8???????????????) printed=$register ;;
*)	printed=$(printf '0x%08x' $register) ;;
esac

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

# print the count of an event in FILE, by its whole name
count() # FILE EVENT
{
	awk -v event="$2" '
	{ for (i = 2; i <= NF; i++) if ($i == event) { gsub(",", "", $1); print $1; exit } }' "$1"
}

lines() # FILE
{
	wc -l < "$1"
}

# an error of perfex itself: one line, and no count
bad() # STATUS WHAT ARGUMENT...
{
	expected=$1 what=$2
	shift 2
	run "$@"
	check "status: $what" "$status" "$expected"
	check "standard output: $what" "$(lines "$tmp/out")" 0
	check "lines of standard error: $what" "$(lines "$tmp/err")" 1
	check "who says it: $what" "$(cut -c 1-8 "$tmp/err")" "perfex: "
}

# counts of one event by different names, with different numbers of arguments
run -e instructions:u "$known"
check "status of known" "$status" 1
check "instructions:u" "$(count "$tmp/err" instructions:u)" 2004
check "output of known" "$(lines "$tmp/out")" 0
run -e instructions:u,$raw:u -o "$tmp/counts" -- "$known" 2 3
check "status of known with two arguments" "$status" 3
check "instructions:u to a file" "$(count "$tmp/counts" instructions:u)" 6004
check "$raw:u to a file" "$(count "$tmp/counts" $raw:u)" 6004
check "nothing on standard error" "$(lines "$tmp/err")" 0
# a P6 has two counters, and so not all three at once
both=$raw:uk
[ -n "$fixed" ] || [ "$n" -gt 2 ] || both=
if $shared_modes; then
	both=
	bad 125 "events with different modes" -e $raw:u,$raw:k "$known"
	check "they are named" "$(grep -c "counts all events in the same modes: '$raw:k' has other modes than '$raw:u'" "$tmp/err")" 1
	run -e $raw:u "$known" 2
	user=$(count "$tmp/err" $raw:u)
	run -e $raw:k "$known" 2
else
	run -e $raw:u -e $raw:k ${both:+-e $both} "$known" 2
	user=$(count "$tmp/err" $raw:u)
fi
kernel=$(count "$tmp/err" $raw:k)
check "$raw:u" "$user" 4004
# without a global control, counters start one after the other, in the kernel
[ -z "$both" ] || off=$(($(count "$tmp/err" $both) - user - kernel)) may=0
perfex -i | grep -q '^processor.*\(PerfMonV2\|version [2-9]\|PMUv3\)' || may=100
# KCSAN delays the kernel in between
case $(uname -r) in *-debug-kcsan*) may=$((may * 10000)) ;; esac
[ -z "$both" ] || check "user + kernel" "$((off <= may && off >= -may))" 1
check "something in the kernel" "$([ "$kernel" -gt 1000 ] && echo yes)" yes

# metrics are computed from the counts that are printed, and -d prints what fits
run -x , -M ipc:u,cpi:u -e instructions:u -o "$tmp/counts" "$known" 2 3
check "instructions of a metric" "$(grep -c '^6004,,instructions:u,' "$tmp/counts")" 1
check "values of metrics" "$(awk -F , '
	$3 == "instructions:u" { i = $1 }
	$3 == "cycles:u" { c = $1 }
	$3 == "ipc:u" { ipc = $6 == sprintf("%.6f", i / c) }
	$3 == "cpi:u" { cpi = $6 == sprintf("%.6f", c / i) }
	END { print ipc, cpi }' "$tmp/counts")" "1 1"
# (the table of Neoverse N1 has events that its emulator does not count)
run -d "$known"
check "status with -d" "$status" 1
check "ipc of -d" "$(grep -c ' ipc  *# insn per cycle$' "$tmp/err")" 1
check "instructions of -d" "$([ "$(count "$tmp/err" instructions)" -ge 2004 ] && echo yes)" yes
run -M topdown-of-nothing "$known"
check "status of an unknown metric" "$status" 125

# Counts of the time while counting is off are left out, also those of children that run
# on.  The shell executes the same in both runs, or nearly.
mkfifo "$tmp/control" "$tmp/ack" "$tmp/never"
controlled() # ARGUMENTS: count a program between two others that have these
{
	# shellcheck disable=SC2016 # for that shell
	run -x , -o "$tmp/counts" -e instructions:u -D -1 --control "fifo:$tmp/control,$tmp/ack" sh -c '
		known=$1 control=$2 ack=$3 never=$4; shift 4
		# a child that runs on, and never executes much
		exec 4<> "$never"
		read -r a <&4 &
		exec 3<> "$ack"
		"$known" "$@"
		echo enable > "$control"; read -r a <&3
		"$known" 2 3 4
		echo disable > "$control"; read -r a <&3
		"$known" "$@"
		echo >&4
		wait' sh "$known" "$tmp/control" "$tmp/ack" "$tmp/never" "$@"
	count_first "$tmp/counts"
}
count_first() { sed -n 's/,.*//p' "$1"; }
few=$(controlled)
much=$(controlled $(seq 500))
check "what is counted ($few)" "$((few >= 8004))" 1
check "what is left out ($few, $much)" "$((much - few < 100000 && few - much < 100000))" 1
check "answers" "$(grep -c . "$tmp/err")" 0
run -x , -e instructions:u -D 60000 "$known"
check "a delay that does not end" "$(sed 's/[,:].*//' "$tmp/err" | tr '\n' ' ')" "<not counted> perfex "

# status, output and input of the command are its own
run -e instructions:u sh -c 'echo out; echo err >&2; exit 42'
check "status of a shell" "$status" 42
check "its output" "$(cat "$tmp/out")" out
check "its errors" "$(grep -c '^err$' "$tmp/err")" 1
for signal in 9 11 15; do
	run -e instructions:u sh -c "kill -$signal \$\$"
	check "status after signal $signal" "$status" $((128 + signal))
done
check "input" "$(echo words | perfex -o /dev/null -e instructions:u cat)" words

# errors of perfex itself: one line, and no count
bad 127 "no such command" -e instructions:u /nowhere/at/all
bad 126 "not executable" -e instructions:u /etc/passwd
bad 125 "no command" -e instructions:u
bad 125 "no such event" -e nonsense true
bad 125 "an unknown option" --nonsense true
bad 125 "more events than counters" -e $many true
bad 125 "nowhere to write" -o /nowhere/at/all -e instructions:u true

# perf and the module do not count at the same time
held_by_perf()
{
	perf stat -a -e instructions:u -o /dev/null sleep 5 & perf=$!
	sleep 1
	bad 125 "perf has the counters" --backend=module -e instructions:u true
	check "the holder's name and id" "$(grep -c "holds the counters for perf (process $perf)" "$tmp/err")" 1
	# follow the advice to the letter, but for sudo
	free=$(sed -n "s/.*'sudo \(kill [0-9]*\)'.*/\1/p" "$tmp/err")
	check "the command that frees the counters" "$free" "kill $perf"
	$free
	wait "$perf" 2> /dev/null
	run -e instructions:u "$known"
	check "after perf" "$(count "$tmp/err" instructions:u)" 2004
}

if $perf_has_driver; then
	held_by_perf
else
	check "perf's count without a driver" "$(perf stat -x , -e instructions:u true 2>&1 | cut -d , -f 1)" "<not supported>"
fi

# the NMI watchdog and the module do not count at the same time, where it uses a counter
watchdog=/proc/sys/kernel/nmi_watchdog
if echo 1 2> /dev/null > $watchdog && ! perfex --backend=module -o /dev/null -e instructions:u true 2> /dev/null; then
	bad 125 "the watchdog has the counters" --backend=module -e instructions:u true
	free=$(sed -n "s/.*: 'sudo \([^']*\)' frees them.*/\1/p" "$tmp/err")
	restore=$(sed -n "s/.*, 'sudo \([^']*\)' restores it.*/\1/p" "$tmp/err")
	$free > /dev/null
	run -e instructions:u "$known"
	check "after the watchdog" "$(count "$tmp/err" instructions:u)" 2004
	$restore > /dev/null
	check "the watchdog is back" "$(cat $watchdog)" 1
fi
echo 0 2> /dev/null > $watchdog

# perfex under a perfex that counts only itself
run --no-inherit -x , -o "$tmp/outer" -e instructions:u perfex -e instructions:u "$known"
check "status of perfex under perfex" "$status" 1
check "instructions:u under perfex" "$(count "$tmp/err" instructions:u)" 2004
check "perfex itself, under perfex" "$([ "$(cut -d , -f 1 "$tmp/outer")" -gt 100000 ] && echo yes)" yes

# perf counts the same of a real program in the same environment (perf adds to PATH)
same_as_perf()
{
	environment=$(perf stat -o /dev/null -- env)
	# shellcheck disable=SC2086 # several words
	env -i $environment perfex -o "$tmp/perfex" -e instructions:u gzip -c "$0" > /dev/null
	perf stat -x , -o "$tmp/perf" -e instructions:u gzip -c "$0" > /dev/null
	check "perf's count of gzip" "$(sed -n 's/,.*instructions:u.*//p' "$tmp/perf")" \
		"$(count "$tmp/perfex" instructions:u)"
}

! $perf_has_driver || same_as_perf

# The part of a process's end that is counted in kernel mode: see perfex.1, "The end of
# a process".  The work of freeing 20 MB shows which: it is counted if it is done before the end.
exit_mapped=$(dirname "$0")/exit_mapped
perfex_counts() { perfex -x , -o "$tmp/perfex" -e instructions:k "$exit_mapped" "$@"; cut -d , -f 1 "$tmp/perfex"; }
perf_counts_too() { perf stat -x , -o "$tmp/perf" -e instructions:k "$exit_mapped" "$@"; sed -n 's/,.*instructions:k.*//p' "$tmp/perf"; }
# print whether the count has all of the work if the end frees the memory, or a part of it
share() # COUNT ALL
{
	if [ "$1" -gt $(($2 * 95 / 100)) ]; then
		echo all
	elif [ "$1" -lt $(($2 * 9 / 10)) ]; then
		echo part
	fi
}

# Since Linux 6.7 the kernel adapts the length of its lists of free pages, so the same pages
# cost more or less by what ran before: keep that length.
lists=/proc/sys/vm/percpu_pagelist_high_fraction
if [ -e $lists ]; then
	usual=$(cat $lists)
	echo 8 > $lists
	perfex_counts 20 > /dev/null
fi
by_perfex=$(perfex_counts 20 unmap)
# exec and exit have other windows, too: 19 MB more must cost the same by both
more_by_perfex=$((by_perfex - $(perfex_counts 1 unmap)))
perfex_share=$(share "$(perfex_counts 20)" "$by_perfex")
perf_share="no driver"
if $perf_has_driver; then
	by_perf=$(perf_counts_too 20 unmap)
	more_by_perf=$((by_perf - $(perf_counts_too 1 unmap)))
	check "freed before the end, perf agrees" "$((more_by_perfex * 100 > more_by_perf * 98 && more_by_perfex * 100 < more_by_perf * 102))" 1
	perf_share=$(share "$(perf_counts_too 20)" "$by_perf")
	check "perf counts no more of it" "$([ "$perf_share" = "$perfex_share" ] || echo "$perf_share")" \
		"$([ "$perf_share" = "$perfex_share" ] || echo part)"
fi
[ ! -e $lists ] || echo "$usual" > $lists
# since 6.16, vperfctr stops at a tracepoint before the memory is freed
release=$(uname -r | awk -F '[.-]' '{ print $1 * 1000 + $2 }')
check "what perfex counts of the end" "$perfex_share" "$([ "$release" -ge 6016 ] && echo part || echo all)"
echo "the end of a process, Linux $(uname -r): perfex counts $perfex_share of it, perf $perf_share"

# for programs: perf's fields, each at its place
fields_of_perf()
{
	perf stat -x , -o "$tmp/perf" -e instructions:u,cycles:u "$known" 2
	run -x , -o "$tmp/perfex" -e instructions:u,cycles:u "$known" 2
	fields() { grep instructions:u "$1" | awk -F , '{ print NF, $1, $2, $3, $5, $7 }'; }
	check "fields of -x" "$(fields "$tmp/perfex")" "$(fields "$tmp/perf")"
	perf stat -r 3 -x , -o "$tmp/perf" -e instructions:u,cycles:u "$known" 2
	run -r 3 -x , -o "$tmp/perfex" -e instructions:u,cycles:u "$known" 2
	fields() { grep instructions:u "$1" | awk -F , '{ print NF, $1, $2, $3, $4, $6, $8 }'; }
	check "fields of -x with -r" "$(fields "$tmp/perfex")" "$(fields "$tmp/perf")"
	perf stat -j -o "$tmp/perf" -e instructions:u,cycles:u "$known" 2
	run -j -o "$tmp/perfex" -e instructions:u,cycles:u "$known" 2
	names() { grep instructions:u "$1" | grep -o '"[a-z-]*" :' | tr '\n' ' '; }
	check "names of -j" "$(names "$tmp/perfex")" "$(names "$tmp/perf")"
}

! $perf_has_driver || fields_of_perf
run -j -o "$tmp/perfex" -e instructions:u,cycles:u "$known" 2
check "value of -j" "$(grep instructions:u "$tmp/perfex" | grep -c '"counter-value" : "4004.000000"')" 1

# several runs, of the same or of different events; parts of one
run -r 5 -e instructions:u "$known" 3
check "status of -r" "$status" 2
check "mean" "$(count "$tmp/err" instructions:u)" 4004
check "deviation" "$(grep instructions:u "$tmp/err" | grep -c '( +-  0.00% )')" 1
# with shared modes, those of the second mode would be refused, however many there are
one_mode=$some
! $shared_modes || one_mode=$raw:u,$(raw_events $more)
bad 125 "too many for one run" -e $one_mode "$known"
run --runs=auto -e $some,instructions:u "$known"
check "status of --runs" "$status" 1
check "$raw:u of several runs" "$(count "$tmp/err" $raw:u)" 2004
check "instructions:u of several runs" "$(count "$tmp/err" instructions:u)" 2004
# on Ice Lake, half of the counters can count some of the events
[ "$maker-$model" != intel-106 ] || runs='[3-9]'
# two counters take fewer of those that larger processors count in the same run
[ -n "$both" ] || runs=4
# those of user mode fill these runs; the one of kernel mode needs a run of its own
! $shared_modes || runs=$(((3 * n + 2) / n + 1))
check "how many runs" "$(grep -c "each from one of $runs runs" "$tmp/err")" 1
run -e $register@0,instructions:u@$last "$known"
check "a chosen counter" "$(count "$tmp/err" $register@0)" 2004
check "another" "$(count "$tmp/err" instructions:u@$last)" 2004
run -v -e $raw:u@$last true
check "the counter that was chosen" "$(grep -c "map $(printf 0x%08x $last) evntsel $printed" "$tmp/err")" 1
run -I 20 -x , -e instructions:u sh -c "'$known'; sleep 0.1; '$known' 2"
check "status of -I" "$status" 2
# not of a shell: its count depends on the digits of its parent's number
printf '%s\n' 0.05 0.05 > "$tmp/naps"
run -I 20 -x , -e instructions:u xargs -n 1 sleep < "$tmp/naps"
intervals=$(awk -F , '{ n += $2 } END { print n }' "$tmp/err")
run -x , -e instructions:u xargs -n 1 sleep < "$tmp/naps"
check "sum of intervals" "$intervals" "$(cut -d , -f 1 "$tmp/err")"

run list instructions
check "status of list" "$status" 0
check "instructions are listed" "$(grep -c "^instructions .* $where$" "$tmp/out")" 1
check "columns of list" "$(awk 'length > 80' "$tmp/out")" ""

# counters that can count an event, and events that clash: libpfm4 knows this processor
case $maker-$model in
intel-42)
	run list L1D_PEND_MISS:PENDING
	check "counters of a restricted event" "$(grep -c '^L1D_PEND_MISS:PENDING .* general 2$' "$tmp/out")" 1
	bad 125 "two events for one counter" -e L1D_PEND_MISS:PENDING:u,CYCLE_ACTIVITY:CYCLES_L1D_PENDING:u true
	check "they are named" "$(grep -c 'only general counter 2 can count L1D_PEND_MISS:PENDING:u, CYCLE_ACTIVITY:CYCLES_L1D_PENDING:u' "$tmp/err")" 1
	run -v -e r010e:u,r0151:u,L1D_PEND_MISS:PENDING:u true
	check "the only counter" "$(sed -n 's/^perfex: L1D_PEND_MISS:PENDING:u: map \([^ ]*\) .*/\1/p' "$tmp/err")" 0x00000002
	run -e r010e:u,L1D_PEND_MISS:PENDING:u "$known" 2
	check "its count in the model, as of instructions" "$(count "$tmp/err" L1D_PEND_MISS:PENDING:u)" 4004
	bad 125 "an event that Intel's list lacks" -e r0001:u true
	check "what is said" "$(cat "$tmp/err")" "perfex: it is not known which counters of this processor can count 'r0001:u': name one that can, as in 'r0001:u@0'"
	run -v -e r0001:u@1 true
	check "the named counter" "$(sed -n 's/^perfex: r0001:u@1: map \([^ ]*\) .*/\1/p' "$tmp/err")" 0x00000001
	;;
amd-*)
	run -e RETIRED_INSTRUCTIONS:u,RETIRED_BRANCH_INSTRUCTIONS:u "$known" 2
	check "libpfm4's instructions" "$(count "$tmp/err" RETIRED_INSTRUCTIONS:u)" 4004
	run list RETIRED_INSTRUCTIONS
	check "they are listed" "$(grep -c "^RETIRED_INSTRUCTIONS  *general $general$" "$tmp/out")" 1
	run -v list ref-cycles
	check "what no counter takes" "$(grep -c '^ref-cycles  *none$' "$tmp/out")" 1
	run list cycles
	check "it is not listed without -v" "$(grep -c '^ref-cycles ' "$tmp/out")" 0
	bad 125 "an event that there is not" -e cache-misses:u true
	check "it is named" "$(grep -c "cannot count 'cache-misses:u'" "$tmp/err")" 1
	bad 125 "bits that only longer codes have" -e r1000000000:u true
	# a processor on which only counter 3 can count floating point events
	LIBPFM_FORCE_PMU=amd64_fam15h_interlagos
	export LIBPFM_FORCE_PMU
	run -v -e "$(raw_events $((n - 2))),RETIRED_SSE_OPS:ALL:u" true
	check "the only counter" "$(sed -n 's/^perfex: RETIRED_SSE_OPS:ALL:u: map \([^ ]*\) .*/\1/p' "$tmp/err")" 0x00000003
	unset LIBPFM_FORCE_PMU
	;;
power-* | ppc32-*)
	# a selector that each counter has for another event
	bad 125 "an event without its counter" -e r54:u true
	check "what is said" "$(cat "$tmp/err")" "perfex: it is not known which counters of this processor can count 'r54:u': name one that can, as in 'r54:u@0'"
	run -v -e r54:u@1 true
	check "the named counter" "$(sed -n 's/^perfex: r54:u@1: map \([^ ]*\) .*/\1/p' "$tmp/err")" 0x00000001
	;;
esac
case $maker in
power)
	# libpfm4's names, whose codes have the counter
	run -e PM_RUN_INST_CMPL:u "$known" 2
	check "libpfm4's instructions" "$(count "$tmp/err" PM_RUN_INST_CMPL:u)" 4004
	run -e r20002:u,r40002:u "$known" 2
	check "instructions by a code with a counter" "$(count "$tmp/err" r20002:u)" 4004
	run -v -e r3d05e:u true
	check "what the module gets" "$(sed -n 's/^perfex: r3d05e:u: //p' "$tmp/err")" \
		"map 0x00000002 evntsel 0x800000000000d05e"
	perfex list PM_ > "$tmp/out"
	check "hundreds of names" "$([ "$(grep -c '^PM_.* general [0-3]' "$tmp/out")" -gt 600 ] && echo yes)" yes
	check "what counts nothing is left out" "$(grep -c '^PM_SUSPENDED\|^PM_MRK_' "$tmp/out")" 0
	bad 125 "an event that counts nothing" -e r10000:u true
	check "what is said" "$(cat "$tmp/err")" "perfex: r10000:u: 'r10000' counts nothing: its selector is 0"
	;;
esac

# no name is listed twice
check "names that are listed twice" "$(perfex -v list | grep '^[^ ]' | sed 's/^-M //' | cut -d ' ' -f 1 | sort | uniq -d)" ""

# the example of perfex list --help is an event of this processor, if libpfm4 knows it
run list --help
check "columns of --help" "$(awk 'length > 80' "$tmp/out")" ""
example=$(sed -n "s/^  libpfm4's  as in //p" "$tmp/out")
run -o /dev/null -e "${example:-instructions}:u" true
check "status of the example of --help" "$status" 0

# perf's names and subcommands, as people type them
for name in alignment-faults sched:sched_switch instructions:k:u; do
	bad 125 "$name" -e $name true
	check "$name is named" "$(grep -c "'$name'" "$tmp/err")" 1
done
# the program that has the name of a command
run -e instructions:u -- stat -c %F /
check "a program named like a command" "$(cat "$tmp/out")" directory
run stat -e instructions:u "$known" 50
check "perfex stat" "$(grep -c instructions:u "$tmp/err")" 1

# derived figures: from the two counts, to two digits; only of the same mode
run -e instructions:u,cycles:u "$known" 50
check "instructions per cycle" "$(sed -n 's/.* instructions:u .*# \(.*\)/\1/p' "$tmp/err")" \
	"$(awk -v n="$(count "$tmp/err" instructions:u)" -v c="$(count "$tmp/err" cycles:u)" \
	'BEGIN { printf("%.2f per cycle\n", n / c) }')"
if ! $shared_modes; then
	run -e instructions:u,cycles:k "$known"
	check "nothing per cycle of another mode" "$(grep -c 'per cycle' "$tmp/err")" 0
fi

# events that are counted by default, as many as there are counters for
run "$known" 7
check "status without events" "$status" 2
defaults=$(perfex -i | sed -n 's/^generic events *//p' | tr -d ,)
[ -n "$both" ] || defaults="instructions cycles"
for event in $defaults; do
	check "$event by default" "$(awk -v e="$event" '$2 == e { n++ } END { print n + 0 }' "$tmp/err")" 1
done

run -i
check "status of -i" "$status" 0
check "errors of -i" "$(lines "$tmp/err")" 0

# users in the group may count in user mode; others get a message
su -s /bin/sh user -c "exec perfex -e instructions:u '$known'" 2> "$tmp/err"
check "status in the group" $? 1
check "instructions:u in the group" "$(count "$tmp/err" instructions:u)" 2004
su -s /bin/sh user -c "exec perfex -e instructions '$known'" 2> "$tmp/err"
check "user mode by default in the group" "$(count "$tmp/err" instructions:u)" 2004
check "the default is said" "$(grep -c 'user mode only (kernel mode needs CAP_PERFMON)' "$tmp/err")" 1
su -s /bin/sh user -c "exec perfex -e instructions:k true" 2> "$tmp/err"
check "status of kernel mode without rights" $? 125
check "lines of kernel mode without rights" "$(lines "$tmp/err")" 1
chmod 600 /dev/vperfctr
su -s /bin/sh user -c "exec perfex --backend=module -e instructions:u true" 2> "$tmp/err"
check "status without rights" $? 125
check "lines without rights" "$(lines "$tmp/err")" 1
chmod 660 /dev/vperfctr

# of 32 bits, too: files that are larger than 2 GiB, and users by their numbers
if [ $maker != ppc32 ]; then	# there is no dd
	dd if=/dev/zero of="$tmp/big" bs=1 count=0 seek=3221225472 2> "$tmp/err"
	run report -i "$tmp/big"
	check "a file of 3 GiB" "$(grep -c "big' is not a file of perfex" "$tmp/err")" 1
	rm -f "$tmp/big"
fi
run --user=1000 -e instructions:u sh -c 'exit 7'
check "status of the command of user 1000" "$status" 7

# children of a command are counted with it, unless --no-inherit is given
tree="'$known'; '$known' 2; :"
run -e instructions:u sh -c "$tree"
all=$(count "$tmp/err" instructions:u)
run --no-inherit -e instructions:u sh -c "$tree"
own=$(count "$tmp/err" instructions:u)
check "children are counted" "$([ "$all" -gt $((own + 2004 + 4004)) ] && echo yes)" yes
limit=/sys/module/vperfctr/parameters/max_states_per_user
usual=$(cat $limit)
echo 1 > $limit
run -e instructions:u sh -c "$tree"
echo "$usual" > $limit
check "status when children are missed" "$status" 125
check "how many are missed" "$(grep -c '^perfex: 2 threads' "$tmp/err")" 1

# running processes are counted, and left as they were
allowed() { grep Cpus_allowed: "/proc/$1/status"; }
tracer() { sed -n 's/TracerPid:[[:space:]]*//p' "/proc/$1/status"; }
# Print nothing if perf gets the counters.  If perf has no driver: print nothing if no state is left.
if ! $perf_has_driver; then
	perf_counts() { timeout 5 sh -c 'until grep -qx 0 /sys/module/vperfctr/refcnt; do sleep 0.1; done' || echo "states are left"; }
else
	perf_counts() { perf stat -x , -o "$tmp/perf" -e instructions:u true; sed -n 's/,.*instr.*//p' "$tmp/perf" | tr -d 0-9; }
fi

has_state()
{
	for file in "/proc/$1/fd/"*; do
		if [ "$(readlink "$file")" = 'anon_inode:[vperfctr]' ]; then
			return 0
		fi
	done
	return 1
}

# Wait until this perfex counts this process: it has its state, and has released it.
await_counting()
{
	until has_state "$1" && [ "$(tracer "$2")" = 0 ]; do
		kill -0 "$1" || return
		sleep 0.05
	done
	sleep 0.3
}

# print the state of a process
sleeps() # PROCESS
{
	sed 's/.*) //; s/ .*//' "/proc/$1/stat"
}

part_time=$(dirname "$0")/part_time
$part_time & busy=$!
before=$(allowed $busy)
run -e instructions:u -p $busy --timeout 0.2
check "status of -p" "$status" 0
check "-p counts" "$([ "$(count "$tmp/err" instructions:u)" -gt 100000 ] && echo yes)" yes
run -e instructions:u -t $busy -- sleep 0.2
check "status of -t with a command" "$status" 0
check "-t counts" "$([ "$(count "$tmp/err" instructions:u)" -gt 100000 ] && echo yes)" yes
run -e instructions:u -p $busy -t $busy --timeout 0.2
check "status of -p with one of its threads" "$status" 0
check "it is counted once" "$(grep -c '1 thread and what it started' "$tmp/err")" 1
check "all of it is included" "$(grep -cE '^ (Counted until now|Not included)' "$tmp/err")" 0
run --no-inherit -e instructions:u -p $busy --timeout 0.2
check "-p without children" "$([ "$(count "$tmp/err" instructions:u)" -gt 100000 ] && echo yes)" yes
run --per-thread -x , -e instructions:u -p $busy --timeout 0.2
check "a thread's name" "$(sed -n "s/^\(part_time-$busy\),[0-9]*,,instructions:u,.*/\1/p" "$tmp/err")" "part_time-$busy"
check "affinity" "$(allowed $busy)" "$before"
check "tracer" "$(tracer $busy)" 0
# Threads have counts of their own without ptrace.
perfex --per-thread -x , -e instructions:u -p $busy 2> "$tmp/err" & attached=$!
await_counting $attached $busy
check "tracer with --per-thread" "$(tracer $busy)" 0
kill $attached
wait $attached
check "status of --per-thread" $? 0
check "its counts" "$(sed -n "s/^part_time-$busy,\([0-9]*\),,instructions:u,.*/\1/p" "$tmp/err" | awk '{ print ($1 > 1000) }')" 1
check "what was started meanwhile" "$(sed -n "s/^(started),\([0-9]*\),,instructions:u,.*/\1/p" "$tmp/err")" 0
# The same in intervals.  (started) is the sum of their process without that of its threads.
run --per-thread -I 20 -x , -e instructions:u -p $busy --timeout 0.2
check "status of --per-thread -I" "$status" 0
check "the thread in each interval" \
	"$(awk -F , -v name="part_time-$busy" '$2 == name { n++; few += !($3 > 1000) } END { print (n > 4), few + 0 }' "$tmp/err")" "1 0"
check "started in intervals" "$(awk -F , '$2 == "(started)" { n++; sum += $3 } END { print (n > 4), sum }' "$tmp/err")" "1 0"
check "other rows of intervals" "$(grep -cv ",part_time-$busy,\|,(started)," "$tmp/err")" 0
run --per-thread -I 50 -e instructions:u -p $busy --timeout 0.1
check "head of the threads' intervals" "$(head -n 1 "$tmp/err" | tr -s ' ')" "# time thread counts events"
check "columns" "$(awk -v name="part_time-$busy" '$2 == name && $4 == "instructions:u"' "$tmp/err" | sort -u | wc -l | sed 's/^[12]$/some/')" some
check "nothing is left" "$(perf_counts)" ""
# perfex in perfex: each has counters of its own, and the inner one counts exactly.  Two more attach
# to the command, and each finds counters that are free.  They are exact from then on.
beside=false
case $maker in
intel | amd | arm)
	if [ "$n" -gt 1 ]; then
		beside=true
		perfex -x , -e instructions:u perfex -x , -e instructions:u "$known" 2> "$tmp/err"
		check "status of perfex in perfex" $? 1
		check "the inner count" "$(sed -n '1s/,.*//p' "$tmp/err")" 2004
		check "the outer count" "$(awk -F , 'NR == 2 { print ($1 > 2004) }' "$tmp/err")" 1
	fi
	if [ "$n" -gt 3 ]; then
		mkfifo "$tmp/go"
		perfex -x , -o "$tmp/outer" -e instructions:u perfex -x , -o "$tmp/inner" -e instructions:u \
			"$known_waits" a 0< "$tmp/go" & outer=$!
		exec 9> "$tmp/go"
		until waits=$(pidof known_waits) && [ "$(sleeps "$waits")" = S ]; do
			sleep 0.05
		done
		perfex -x , -o "$tmp/first" -e instructions:u -p "$waits" & first=$!
		await_counting $first "$waits"
		perfex -x , -o "$tmp/second" -e instructions:u -p "$waits" & second=$!
		await_counting $second "$waits"
		echo >&9
		exec 9>&-
		wait $outer
		check "status of perfex in perfex, and two" $? 2
		wait $first
		check "status of one that attaches" $? 0
		wait $second
		check "status of another" $? 0
		check "the inner count of four" "$(sed 's/,.*//' "$tmp/inner")" 4009
		check "the outer count of four" "$(awk -F , '{ print ($1 > 4009) }' "$tmp/outer")" 1
		check "the first one's count" "$(sed 's/,.*//' "$tmp/first")" 4004
		check "the second one's count" "$(sed 's/,.*//' "$tmp/second")" 4004
	fi ;;
esac
for signal in TERM KILL; do
	perfex -e "$(raw_events 1)" -p $busy 2> "$tmp/err" & attached=$!
	await_counting $attached $busy
	if $beside; then
		run -e "$(raw_events 1)" -p $busy --timeout 0.1
		check "status of another, $signal" "$status" 0
		check "lines of another, $signal" "$(grep -c '^perfex' "$tmp/err")" 0
	fi
	bad 125 "too few counters are left, $signal" -e "$(raw_events "$room")" -p $busy
	check "what is said, $signal" "$(grep -c "^perfex: process $busy is counted already.* with counters .*; and by the other counters: " "$tmp/err")" 1
	kill -$signal $attached
	wait $attached 2> /dev/null
	status=$?
	check "status after SIG$signal" "$status" "$([ $signal = TERM ] && echo 0 || echo 137)"
	check "tracer after SIG$signal" "$(tracer $busy)" 0
	check "nothing is left after SIG$signal" "$(perf_counts)" ""
done
perfex -e instructions:u -p $busy 2> "$tmp/err" & attached=$!
await_counting $attached $busy
kill $busy
wait $attached
check "status when the process ended" $? 0
check "it was counted" "$([ "$(count "$tmp/err" instructions:u)" -gt 100000 ] && echo yes)" yes
bad 125 "no such process" -e instructions:u -p $busy

# processes that a command leaves behind are counted until it ends, and no further
# shellcheck disable=SC2016
run -e instructions:u sh -c '"$1" & echo $! > "$0"; sleep 0.2' "$tmp/pid" "$part_time"
check "status when something lives on" "$status" 0
check "it was counted" "$([ "$(count "$tmp/err" instructions:u)" -gt 5000000 ] && echo yes)" yes
check "it is said" "$(grep -c '^ Counted until now' "$tmp/err")" 1
check "it is alive" "$(kill -0 "$(cat "$tmp/pid")" && echo yes)" yes
check "nothing counts on" "$(perf_counts)" ""
kill "$(cat "$tmp/pid")"
# shellcheck disable=SC2016
sh -c 'sleep 1; "$1" & echo $! > "$0"; sleep 0.2' "$tmp/pid" "$part_time" & busy=$!
run -e instructions:u -p $busy
check "status when something of a process lives on" "$status" 0
check "that was counted" "$([ "$(count "$tmp/err" instructions:u)" -gt 1000000 ] && echo yes)" yes
check "that is said" "$(grep -c '^ Counted until now' "$tmp/err")" 1
check "nothing counts on of it" "$(perf_counts)" ""
kill "$(cat "$tmp/pid")"
# shellcheck disable=SC2016
sh -c 'sleep 1; "$1" & echo $! > "$0"; sleep 0.2' "$tmp/pid" "$part_time" & busy=$!
run -e instructions:u -t $busy
check "status when something of a thread lives on" "$status" 0
check "that is said of a thread" "$(grep -c '^ Counted until now' "$tmp/err")" 1
kill "$(cat "$tmp/pid")"

# when perfex is killed, its command is not counted any more
# shellcheck disable=SC2016 # the inner shell's
perfex -e instructions:u sh -c 'echo $$ > "$0"; exec "$1"' "$tmp/pid" "$part_time" & attached=$!
sleep 0.5
kill -KILL $attached
wait $attached 2> /dev/null
check "nothing is left of a command" "$(perf_counts)" ""
kill "$(cat "$tmp/pid")"

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
