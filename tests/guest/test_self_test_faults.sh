#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_self_test_faults CHECK...
#
# Plant a fault in the emulated counters for each of these checks of perfex --self-test: the
# check fails, and no other does.  The summary looks like one of libcheck.

dir=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"; rmmod msr_reader 2> /dev/null' EXIT
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
	leak)		echo 10 ;;
	rdpmc)		echo 11 ;;
	status)		echo 13 ;;
	second)		echo 15 ;;
	values)		echo 16 ;;
	races)		echo 20 ;;
	storm)		echo 21 ;;
	esac
}

insmod "$dir/msr-reader.ko" || exit

for name; do
	"$dir/plant" "$(fault_of "$name")"
	perfex --self-test > "$tmp/out" 2> "$tmp/err"
	status=$?
	"$dir/plant" 0
	check "$name: status" $status 1
	check "$name: checks that fail" \
		"$(sed -n 's/^FAIL  \([^ ]*\) .*/\1/p' "$tmp/out" | tr '\n' ' ')" "$name "
	check "$name: errors" "$(cat "$tmp/err")" ""
	grep ^FAIL "$tmp/out"
done
summary
