#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_self_test_faults CHECK...
#
# Plant a fault in the emulated counters for each of these checks of perfex --self-test: the
# check fails, and no other does.  The summary looks like one of libcheck.

dir=$(dirname "$0")
tmp=$(mktemp -d)
# One at a time: rmmod may end at the first that is not there.
trap 'rm -rf "$tmp"; for module in kvm_amd kvm ccp irqbypass msr_reader; do rmmod $module; done 2> /dev/null' EXIT
# shellcheck source=../install/check.sh
. "$(dirname "$0")/check.sh"

# print the number of the model's fault that this check finds
fault_of() # CHECK
{
	case $1 in
	cpuid)		echo 1 ;;
	idle)		echo 2 ;;
	each)		echo 3 ;;
	together)	echo 4 ;;
	modes)		echo 5 ;;
	excess)		echo 6 ;;
	switches)	echo 7 ;;
	sleep)		echo 8 ;;
	migration)	echo 9 ;;
	leak)		echo 10 ;;
	rdpmc)		echo 11 ;;
	reads)		echo 12 ;;
	status)		echo 13 ;;
	steady)		echo 14 ;;
	second)		echo 15 ;;
	values)		echo 16 ;;
	periods)	echo 17 ;;
	skid)		echo 18 ;;
	all-overflow)	echo 19 ;;
	races)		echo 20 ;;
	storm)		echo 21 ;;
	held)		echo 22 ;;
	lvtpc)		echo 23 ;;
	siblings)	echo 24 ;;
	kvm)		echo 25 ;;
	kinds)		echo 26 ;;
	perf)		echo 27 ;;
	hotplug|suspend) echo 29 ;;
	trace)		echo 30 ;;
	log)		echo 0 ;;	# see below
	esac
}

insmod "$dir/msr-reader-$(uname -r).ko" || exit
# A suspend ends before any clock is needed: the machine has none that can wake it.
if [ -f /sys/power/pm_test ]; then
	echo 0 > /sys/module/suspend/parameters/pm_test_delay
	echo platform > /sys/power/pm_test
fi

# A machine that can run an inner one has KVM's modules there.
for module in irqbypass ccp kvm kvm-amd; do
	[ ! -f /inner/$module.ko ] || insmod /inner/$module.ko || exit
done

for name; do
	what=--self-test
	check "$name: without a fault" "$(perfex --self-test="$name" | cut -c 1-4 | head -n 1)" PASS
	case $name in
	hotplug|suspend|trace)
		what=--self-test=$name ;;
	log)
		(sleep 1; echo "vperfctr: a line for test_self_test_faults" > /dev/kmsg) & ;;
	esac
	"$dir/plant" "$(fault_of "$name")"
	perfex "$what" --report="$tmp/report" > "$tmp/out" 2> "$tmp/err"
	status=$?
	"$dir/plant" 0
	check "$name: status" $status 1
	check "$name: checks that fail" \
		"$(sed -n 's/^FAIL  \([^ ]*\) .*/\1/p' "$tmp/out" | tr '\n' ' ')" "$name "
	check "$name: errors" "$(cat "$tmp/err")" ""
	# that fault ends the process of the check
	[ "$name" = kinds ] ||
		check "$name: registers in the report" "$(grep -q "^register	$name	CPU " "$tmp/report" && echo yes)" yes
	grep ^FAIL "$tmp/out"
done
summary
