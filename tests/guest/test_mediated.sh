#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# KVM gives its guests the counters themselves (enable_mediated_pmu), and writes their registers
# without a reservation.  So the module counts nothing while there is such a machine, and
# there is none while the module counts.  The suite's inner programs check the inner machine.
# The summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

count() # print what perfex counts of a program, or its message
{
	perfex --backend=module -x , -e instructions:u "$here/two" 2>&1 | sed -n 's/^\([0-9]*\),.*/\1/p; s/^perfex: //p'
}

exact=1600009
check "count before" "$(count)" $exact

boot_inner kvm-amd.enable_mediated_pmu=1 > "$tmp/inner" &
machine=$!
timeout 200 sh -c "until grep -q '^inner:' '$tmp/inner'; do sleep 0.2; done"
check "does KVM give counters away" "$(cat /sys/module/kvm_amd/parameters/enable_mediated_pmu)" Y
check "count beside the machine" "$(count | grep -c 'a virtual machine has the counters: end it')" 1
check "fact" "$(grep '^guest: ' /proc/vperfctr)" "guest: holds"
check "holders" "$(perfex info --holders | grep -c '^a virtual machine had the counters')" 1
check "messages" "$(dmesg | grep -c 'vperfctr: a virtual machine has the counters')" 1
wait $machine
check "status of the machine" $? 0
cat "$tmp/inner"
check "count after the machine" "$(count)" $exact
check "fact after the machine" "$(grep -c '^guest: ' /proc/vperfctr)" 0

perfex --backend=module -x , -o "$tmp/counts" -e instructions:u sh -c "until [ -e '$tmp/stop' ]; do sleep 0.1; done" &
counted=$!
sleep 0.5
boot_inner kvm-amd.enable_mediated_pmu=1 > "$tmp/refused" 2>&1
check "does a machine begin beside counts" $? 1
check "programs of that machine" "$(grep -c '^inner:' "$tmp/refused")" 0
check "count beside the attempt" "$(count)" $exact
: > "$tmp/stop"
wait $counted
check "status of the counts" $? 0
# no user can have an event that keeps machines away
check "perf with the module's PMU" "$(perf stat -a -e vperfctr/config=0/ true 2>&1 | grep -c 'not supported')" 1

summary
