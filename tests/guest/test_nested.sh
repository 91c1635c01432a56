#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_nested perf|pinned|counted|exits
#
# Boot the inner machine while this machine uses its counters:
#
#	perf	perf counts more events than there are counters; KVM's come first
#	pinned	perf holds all counters by events that come before KVM's
#	counted	threads are counted by the module
#
# exits: boot it while this machine counts its exits to KVM.  The inner program "exits" says when.
#
# The suite's inner programs check the inner machine.  The summary looks like one of libcheck.

checks=0 failures=0

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

# print the machine's warnings about virtual machines
warnings()
{
	dmesg | grep -c 'vperfctr: .*: the counters of this virtual machine stand still'
}

six() # MODIFIER: print six events
{
	echo "cycles$1,instructions$1,cycles$1,instructions$1,cycles$1,instructions$1"
}

exits_now() # print the exits of all virtual machines
{
	cat /sys/kernel/debug/kvm/exits
}

# Print a row for each pair of marks: its name, and the exits of a switch, in hundredths.  A round
# is two switches of each process.
rows()
{
	while IFS= read -r line; do
		case $line in
		"exits: rounds "*) rounds=${line##* } ;;
		"exits: begin "*) begin=$(exits_now) ;;
		"exits: end "*)	echo "row ${line##* } $(((($(exits_now) - begin) * 100) / rounds / 2))" ;;
		*) echo "$line" ;;
		esac
	done
}

row() # NAME WITHOUT: the exits of a switch that are due to counters, in hundredths
{
	echo $(($(sed -n "s/^row $1 //p" /tmp/rows) - $(sed -n "s/^row $2 //p" /tmp/rows)))
}

at_most() # WHAT HUNDREDTHS LIMIT
{
	echo "exits of a switch, $1: $2 hundredths"
	check "$1: at most $3 hundredths" "$([ "$2" -ge 0 ] && [ "$2" -le "$3" ] && echo yes)" yes
}

if [ "$1" = exits ]; then
	mount -t debugfs debugfs /sys/kernel/debug 2> /dev/null
	{ boot_inner; echo "status $?"; } | rows > /tmp/rows
	grep -v '^row' /tmp/rows
	check "status of the inner machine" "$(sed -n 's/^status //p' /tmp/rows)" 0
	# One RDPMC for each counter.  A switch is one to, or one from, a counted thread.  While a
	# program runs in between, the counters must be read at both.
	at_most one "$(row one none)" 110
	at_most four "$(row four none)" 410
	# here each switch is both
	at_most both "$(row both none)" 410
	at_most sleep-four "$(row sleep-four sleep)" 210
	# Zen before 4 has no register that stops all: event selects, too
	at_most mapped "$(row mapped none)" 910
	echo "$(((checks - failures) * 100 / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
	[ $failures = 0 ]
	exit
fi

rm -f /tmp/beside /tmp/stop
wait='until [ -e /tmp/stop ]; do sleep 1; done'
case $1 in
perf)		perf stat -a -x , -o /tmp/beside -e "$(six ""),$(six "")" sh -c "$wait" & ;;
pinned)		perf stat -a -x , -o /tmp/beside -e "$(six :D)" sh -c "$wait" & ;;
counted)	perfex -o /tmp/beside -e instructions:u sh -c "$wait" & ;;
*)		echo "usage: test_nested perf|pinned|counted|exits"; exit 2 ;;
esac
beside=$!
sleep 1
before=$(warnings)
boot_inner
check "status of the inner machine" $? 0
kill -0 $beside
check "the counts beside it go on" $? 0
: > /tmp/stop
wait $beside
check "status of the counts beside it" $? 0
case $1 in
counted)
	check "warnings" $(($(warnings) - before)) 1
	;;
*)
	check "warnings" "$(warnings)" 0
	check "events of perf" "$(grep -c '^[1-9][0-9]*,' /tmp/beside)" "$(case $1 in perf) echo 12 ;; *) echo 6; esac)"
	;;
esac
[ $failures = 0 ] || cat /tmp/beside
echo "$(((checks - failures) * 100 / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures = 0 ]
