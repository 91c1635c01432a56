#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# README's first commands after the installation, in their order and in one boot, where the
# kernel's NMI watchdog runs as a distribution sets it, and no setting is changed.  Each must
# succeed.  "perf" says that the watchdog leaves the module no counters: perf_event counts then,
# and perfex says so in a line.  The summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
watchdog=/proc/sys/kernel/nmi_watchdog

# print the commands: those of a session have marks, and what they print between them
commands()
{
	grep '^perfex' "$here/example_start_text"
	sed -n 's/^# //p' "$here/example_session_text"
	grep -v '^modprobe' "$here/example_hardware_text"
}

# refused COMMAND: true if README shows that perfex refuses it
refused()
{
	grep -A 1 -xF "# $1" "$here/example_session_text" | grep -q '^perfex:'
}

# status_of COMMAND BACKEND: the self-test is one of the module's counters, and fails without them;
# another processor than README's may count what that refuses
status_of()
{
	case $2:$1 in
	perf:*self-test*) echo 1; return ;;
	esac
	[ "$status" != 0 ] && refused "$1" && echo 125 || echo 0
}

check "the watchdog" "$(cat $watchdog)" 1
check "what it has" "$(head -n 1 /proc/vperfctr)" "watchdog: $([ "$1" = perf ] && echo holds || echo kept)"
commands > list
n=0
while read -r command; do
	sh -c "$command" > out 2> err < /dev/null
	status=$?
	expected=$(status_of "$command" "$1")
	check "status of $command" "$status$([ "$status" = "$expected" ] || cat err)" "$expected"
	by_perf=$(grep -c '^perfex: counts by perf_event: ' err)
	if [ "$1" != perf ]; then
		check "who counts in $command" "$by_perf" 0
	elif [ "$by_perf" != 0 ]; then
		check_has "the reason in $command" "$(cat err)" "the NMI watchdog holds the counters"
		told=yes
	fi
	n=$((n + 1))
done < list
check "who counts has been said" "${told:-no}" "$([ "$1" = perf ] && echo yes || echo no)"
check_range "commands" $n 10 30
check "the watchdog afterwards" "$(cat $watchdog)" 1
summary
