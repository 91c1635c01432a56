#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the kernel that boot_next has booted by kexec while counters counted: neither perf, as it
# began, nor the module has found one that still counts, and the NMI watchdog has its counter.
# The summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"

nmis() # print the NMIs of CPU 0 since the boot
{
	awk '$1 == "NMI:" { print $2 }' /proc/interrupts
}

check "kexec has booted this kernel" "$(grep -c 'vmlinux\|boot_next' /vm/programs)" 0
check "perf's complaints" "$(dmesg | grep -i 'corrupted hw-PMU\|Broken\|Firmware Bug')" ""
check "the module's complaints" "$(dmesg | grep 'vperfctr: .*counting for firmware')" ""
check "the watchdog's sysctl" "$(cat /proc/sys/kernel/nmi_watchdog)" 1
check "the watchdog's counter" "$(head -n 1 /proc/vperfctr)" "watchdog: kept"
echo 1 > /proc/sys/kernel/watchdog_thresh
before=$(nmis)
# busy loops: the watchdog's event counts cycles, and an idle CPU has none
tries=0
while [ "$(nmis)" = "$before" ] && [ $tries -lt 20 ]; do
	timeout 1 sh -c 'while :; do :; done'
	tries=$((tries + 1))
done
check "NMIs of the watchdog" $(($(nmis) > before)) 1
check "instructions" "$(perfex --backend=module -x , -e instructions:u "$here/two" 2>&1 | sed -n 's/^\([0-9]*\),.*/\1/p')" 1600009
summary
