#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_perf_data
#
# perf reads what perfex exports for it, and perfex what perf records.  Both find the same
# functions and callers, to the sample.  The summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
event=instructions
[ "$(uname -m)" != aarch64 ] || event=cycles
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit
echo 0 > /sys/module/vperfctr/parameters/max_sample_rate

# record EVENT [OPTION]... -- COMMAND...: and export it
record()
{
	options=$1
	shift
	perfex --sample="$options" "$@" > out 2> err
	check "status of --sample=$options $*" $? 0
	perfex --report samples --export=perf -o perf.data
	check "status of --export=perf" $? 0
}

# what perfex reports: its own file, or perf's
from=samples

# Code that is inlined into left(), middle() and right() has another name in perfex's table.
# shellcheck disable=SC2016 # for awk
inlined='$2 !~ /^(call_all|left|middle|right)$/'

# ours, theirs: print "SAMPLES FUNCTION" of each function that has a name
ours()
{
	perfex -v --report "$from" --sort symbol | awk '$1 ~ /%$/ && NF > 3 { gsub(/,/, "", $2); print $2, $3 }' |
		awk "$inlined" | LC_ALL=C sort
}

theirs()
{
	perf report -i perf.data --stdio -q --no-children -g none --percent-limit 0 -F sample,symbol |
		awk '$3 !~ /^0x/ && $1 > 0 { print $1, $3 }' | awk "$inlined" | LC_ALL=C sort
}

# callers: of the samples of perf.data that are in ten() to forty(): print "CALLER FUNCTION
# SAMPLES"
callers()
{
	perf script -i perf.data -F ip,sym --no-inline | awk '
	function end() {
		if (n > 1 && f[1] ~ /^(ten|twenty|thirty|forty)$/)
			sum[f[2] " " f[1]]++
		n = 0
	}
	NF < 2 { end(); next }
	{ f[++n] = $2 }
	END {
		end()
		for (i in sum)
			print i, sum[i]
	}' | LC_ALL=C sort
}

# our_callers: the same of perfex, without what is inlined
our_callers()
{
	perfex --report "$from" --export=folded | awk '
	{
		gsub(/;call_all[^;]*/, "")
		n = split($1, f, ";")
		if (f[n] ~ /^(ten|twenty|thirty|forty)$/)
			sum[f[n - 1] " " f[n]] += $2
	}
	END {
		for (i in sum)
			print i, sum[i]
	}' | LC_ALL=C sort
}

# same HOW: perf and perfex agree on the file
same()
{
	# Each may choose another one of the names of a place: memset and __memset.
	ours | sed 's/ __*/ /' | LC_ALL=C sort > mine
	theirs | sed 's/ __*/ /' | LC_ALL=C sort > perfs
	check "functions that perf finds, $1" "$(diff mine perfs)" ""
	check "there are functions, $1" "$([ "$(grep -c . mine)" -ge 4 ] && echo yes)" yes
}

record $event:u=10007 -g fp -o samples -- "$here/shares"
same "frame pointers"
our_callers > mine
callers > perfs
check "callers that perf finds" "$(diff mine perfs)" ""
check "there are callers" "$(grep -c '^[lmr]' mine)" 12
check "threads that perf finds" "$(perf script -i perf.data -F tid | sort | uniq -c |
	awk '{ n++; sum += $1; if ($1 < least || n == 1) least = $1 } END { print n, (least > sum / n * 0.9) }')" "6 1"
perf report -i perf.data --header-only > info
check "the host" "$(sed -n 's/^# hostname : //p' info)" "$(uname -n)"
check "the kernel" "$(sed -n 's/^# os release : //p' info)" "$(uname -r)"
check "the architecture" "$(sed -n 's/^# arch : //p' info)" "$(uname -m)"
check "the command" "$(sed -n 's/^# cmdline : //p' info | xargs)" "$here/shares"

# perfex finds the calls for perf.
record $event:u=70001 -g dwarf,1024 -o samples -- "$here/shares"
same DWARF
our_callers > mine
callers > perfs
check "callers that perf finds by DWARF" "$(diff mine perfs)" ""
check "there are callers by DWARF" "$(grep -c '^[lmr]' mine)" 12

# Functions of the kernel have perfex's names.
record $event=20011 -o samples -- dd if=/dev/zero of=/dev/null bs=512 count=20000
same "the kernel"
check "samples in the kernel" "$([ "$(perf report -i perf.data --stdio -q --no-children -F sample,symbol |
	grep -c '[[]k[]] [a-z_]')" -ge 4 ] && echo yes)" yes

# record_perf [OPTION]... COMMAND
record_perf()
{
	perf record -q -o perf.data "$@" > out 2> err
	check "status of perf record $*" $? 0
}

# Now perf records.  It loses samples where it finds its interrupts too slow.
from=perf.data
for setting in cpu_time_max_percent=25 event_max_sample_rate=10000000 cpu_time_max_percent=0; do
	echo "${setting#*=}" > "/proc/sys/kernel/perf_${setting%=*}"
done
record_perf -e $event:u -c 10007 -g "$here/shares"
same "perf record"
our_callers > mine
callers > perfs
check "callers of perf record" "$(diff mine perfs)" ""
check "there are callers of perf record" "$(grep -c '^[lmr]' mine)" 12
record_perf -e $event:u -F 1000 "$here/shares"
same "perf record -F"
record_perf -e $event -c 20011 dd if=/dev/zero of=/dev/null bs=512 count=20000
same "perf record of the kernel"
# Each caller has its part: this perf may be built without a library that unwinds.
record_perf -e $event:u -c 70001 --call-graph dwarf,1024 "$here/shares"
same "perf record --call-graph dwarf"
check "callers of perf record --call-graph dwarf" "$(our_callers | grep -c '^[lmr]')" 12

summary
