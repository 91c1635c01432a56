#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex --sample by thread time, with a PMU and without one.  The summary looks like
# one of libcheck.  This needs virtual time, where time is instructions.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
two=$here/two		# 1600009 instructions, 3/4 of them in hot(), 1/4 in cold()
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# record WHAT OPTION... [-- COMMAND...]: sample, and report it; check that it works
record()
{
	what=$1
	shift
	perfex -o "$tmp/samples" "$@" > "$tmp/out" 2> "$tmp/err"
	check "status, $what" $? 0
	perfex -v --report "$tmp/samples" > "$tmp/report" 2> "$tmp/report.err"
	check "status of --report, $what" $? 0
	check "errors of --report, $what" "$(cat "$tmp/report.err")" ""
}

# print the number of samples, dropped periods and nanoseconds that --sample printed
samples() { sed -n 's/^perfex: \([0-9,]*\) samples in .*/\1/p' "$tmp/err" | tr -d ,; }
dropped() { sed -n 's/^perfex: .*, \([0-9,]*\) dropped;.*/\1/p' "$tmp/err" | tr -d ,; }
time_ns() { sed -n 's/^perfex: .* dropped; \([0-9,]*\) ns task-clock in all$/\1/p' "$tmp/err" | tr -d ,; }

# row PATTERN: print the samples of the functions that match
row()
{
	awk -v pattern="$1" '
	$0 == " Functions:" { on = 1; next }
	/^ [A-Z].*:$/ { on = 0 }
	on && $0 ~ pattern { gsub(",", "", $2); n += $2 }
	END { print n + 0 }' "$tmp/report"
}

# The time of one thread has a sample for each period.
for period in 10us 20000 57us; do
	n=$(echo "$period" | sed s/us/000/)
	record "period $period" --sample=task-clock=$period --no-inherit -- "$two"
	check "samples and dropped, period $period" $(($(samples) + $(dropped))) $(($(time_ns) / n))
	check_range "samples, period $period" "$(samples)" 25 1000
	grep -q " (.*one each .* ns task-clock):" "$tmp/report"
	check "period in the report, period $period" $? 0
done

# hot() has three quarters of the time of two_long, in each of three children.  A kernel for which
# a sample is much work has one in 130 us or so: these are enough.  Where the time of a function
# begins and ends changes its samples by less than one in each child.
record "shares" --sample task-clock=20us -- sh -c "${two}_long; ${two}_long; ${two}_long"
hot=$(row ' hot .two_long.$') cold=$(row ' cold .two_long.$')
check_range "hot" "$hot" 100 2000
check_range "share of hot, in percent" $((100 * hot / (hot + cold))) 72 78
perfex --report "$tmp/samples" --export=pprof > "$tmp/pprof" 2> "$tmp/err"
check "pprof" "$(gzip -dc "$tmp/pprof" | grep -ac nanoseconds)" 1

# With chains of calls, and what the kernel does for a program.  POWER clears 128 bytes of memory
# by one instruction, so that a read takes little time.
case $(uname -m) in ppc64*) reads=400 ;; *) reads=100 ;; esac
record "calls" --sample task-clock=100us -g -- dd if=/dev/zero of=/dev/null bs=1M count=$reads
check_range "samples of the kernel" "$(row '[[]kernel')" 20 1000000

# A user who may not count the kernel sees where the program has called it.
chmod 777 "$tmp"
su -s /bin/sh user -c "perfex --sample task-clock=100us -o $tmp/mine dd if=/dev/zero of=/dev/null bs=1M count=$reads" 2> "$tmp/err"
check "status, user" $? 0
su -s /bin/sh user -c "perfex -v --report $tmp/mine" > "$tmp/report" 2>&1
check "kernel for a user" "$(row '[[]kernel')" 0
system=$(sed -n "s/^ *\([0-9,]*\)  samples of the kernel's work, shown where it was called$/\1/p" "$tmp/report" | tr -d ,)
check_range "the kernel's work for a user" "$system" 20 1000000

# A process that runs already, and one of its threads.
sh -c 'while :; do :; done' &
pid=$!
for target in -p -t; do
	record "running, $target" --sample=task-clock=1ms $target $pid --timeout 0.2
	check_range "samples, $target" "$(samples)" 50 400
done
kill $pid

# The event that is sampled if none is named.
record "default" --sample -- "$two"
if perfex -i | grep -q '^features .*pcint'; then
	check "default" "$(grep -c 'a sample each .* cycles:u' "$tmp/err")" 1
else
	check "default" "$(grep -c 'no overflow interrupts here: a sample each 500,009 ns of thread time' "$tmp/err")" 1
	check_range "samples by default" "$(samples)" 2 6
	perfex --sample cycles=100k -o "$tmp/samples" true 2> "$tmp/err"
	check "cycles" "$(grep -c 'no overflow interrupts, so there are no samples but of task-clock' "$tmp/err")" 1
fi

summary
