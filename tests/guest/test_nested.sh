#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_nested perf|pinned|counted
#
# Boot the inner machine while this machine uses its counters:
#
#	perf	perf counts more events than there are counters; KVM's come first
#	pinned	perf holds all counters by events that come before KVM's
#	counted	threads are counted by the module
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

rm -f /tmp/beside /tmp/stop
wait='until [ -e /tmp/stop ]; do sleep 1; done'
case $1 in
perf)		perf stat -a -x , -o /tmp/beside -e "$(six ""),$(six "")" sh -c "$wait" & ;;
pinned)		perf stat -a -x , -o /tmp/beside -e "$(six :D)" sh -c "$wait" & ;;
counted)	perfex -o /tmp/beside -e instructions:u sh -c "$wait" & ;;
*)		echo "usage: test_nested perf|pinned|counted"; exit 2 ;;
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
