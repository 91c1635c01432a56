#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Root records and reports whole CPUs beside a user who does all to files and mappings that
# perfex reads, for HOSTILE_SECONDS.  perfex neither hangs nor is killed, touches none of the
# user's FIFOs, and reports the samples of another user.  The summary looks like one of libcheck.

here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'kill $attacker $honest 2> /dev/null; rm -rf "$tmp" /tmp/perf-*.map' EXIT
checks=0 failures=0
seconds=${HOSTILE_SECONDS:-8}
seed=${SEED:-$(date +%s)}
echo "hostile: SEED=$seed, $seconds seconds"
echo 0 > /sys/module/vperfctr/parameters/max_sample_rate

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

echo kept > "$tmp/kept"
mkdir /tmp/hostile
chown user /tmp/hostile
cp "$here/hostile" /tmp/hostile-program
su -s /bin/sh user -c "exec /tmp/hostile-program attack /tmp/hostile $seed" > "$tmp/attack" 2>&1 & attacker=$!
su -s /bin/sh nobody -c "exec /tmp/hostile-program honest" & honest=$!
end=$(($(date +%s) + seconds))
n=0
while [ "$(date +%s)" -lt "$end" ]; do
	n=$((n + 1))
	for stack in "" "-g" "-g dwarf"; do
		# shellcheck disable=SC2086 # words
		timeout 60 perfex -a --sample=instructions:u=200k $stack -o "$tmp/samples" --timeout 0.4 > "$tmp/out" 2> "$tmp/err"
		check "status of the recorder $stack" $? 0
		timeout 120 perfex --report "$tmp/samples" > "$tmp/out" 2> "$tmp/err"
		check "status of the report $stack" "$?: $(head -c 300 "$tmp/err")" "0: "
		check "the other user's samples $stack" "$(grep -c '  honest_work [[]hostile-program]$' "$tmp/out")" 1
		# shellcheck disable=SC2046 # control characters, but for the line feed
		check "control characters" "$(LC_ALL=C tr -d '\n' < "$tmp/out" | LC_ALL=C tr -dc '\000-\037\177' | wc -c)" 0
	done
done
check "the attack runs on" "$(kill -0 $attacker && echo yes)" yes
check "what the attack saw" "$(head -n 1 "$tmp/attack")" ""
check "a file of root" "$(cat "$tmp/kept")" kept
check "commands in names" "$(ls /tmp/hostile/touched touched 2> /dev/null)" ""
check "processes that were killed" "$(dmesg | grep -c 'Out of memory.*perfex')" 0
kill $attacker $honest
wait
rm -rf /tmp/hostile /tmp/hostile-program
echo "hostile: SEED=$seed: $n rounds"
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
