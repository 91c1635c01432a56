#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test the programs of libperfctr/examples.  Their counts must be exact.  The summary has
# libcheck's form.

dir=$(dirname "$0")
known=$dir/known	# 4 + 2000 * (number of arguments, its name too) instructions
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 failures=0

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not '$3'"
}

pmc=$(perfex -i | awk '$1 == "counters" { print $2 }')
imode=$("$dir/perfctr_perfex" -i | grep -c 'cpu_features.*pcint')

# self
for program in self_c89 self_c++; do
	"$dir/perfctr_$program" > "$tmp/out" 2>&1
	check "status of $program" $? 0
	one=$(awk '/^1000 rounds/ { print $3 }' "$tmp/out")
	two=$(awk '/^2000 rounds/ { print $3 }' "$tmp/out")
	check "$program counts" $((two - one)) 2000
	check "$program counts no more" $(((one - 2000) / 300)) 0
	check "$program prints its control" "$(grep -c 'evntsel.0.*0x004100C0' "$tmp/out")" 1
	check "$program prints counters" "$(awk '/^cpu_nrctrs/ { print $2 }' "$tmp/out")" "$pmc"
done

# signal
for program in signal_c89 signal_c++; do
	"$dir/perfctr_$program" > "$tmp/out" 2>&1
	status=$?
	if [ "$imode" = 1 ]; then
		check "status of $program" $status 0
		insns=$(cut -d ' ' -f 1 "$tmp/out") signals=$(cut -d ' ' -f 3 "$tmp/out")
		check "$program's signals" "$signals" $((insns / 100000))
		check "$program's instructions" $((insns >= 2000000)) 1
	else
		check "status of $program" $status 1
		check "message of $program" "$(cat "$tmp/out")" "vperfctr_control: Operation not supported"
	fi
done

# a measurement library's layer
for program in substrate_so substrate_a; do
	"$dir/perfctr_$program" > "$tmp/out" 2>&1
	check "status of $program" $? 0
	check "$program" "$(sed -n 's/^[0-9]* checks, //p' "$tmp/out")" "0 failures"
	grep '^line' "$tmp/out"
done

# the layer counts the same for a command as perfex does by the new interface
same() # COMMAND...
{
	perfex -x , -e instructions:u "$@" 2> "$tmp/new" > "$tmp/new.out"
	"$dir/perfctr_substrate_so" "$@" > "$tmp/out" 2> "$tmp/err"
	check "old and new counts of $*" "$(tail -n 1 "$tmp/out")" "$(cut -d , -f 1 "$tmp/new")"
}
same "$known"
same "$known" 2 3
same gzip -c "$0"
same busybox sha256sum "$0"
check "they have counted" "$(($(tail -n 1 "$tmp/out") > 100000))" 1

# the old perfex
old=$dir/perfctr_perfex

run() # ARGUMENT...: set status; the output is in $tmp/out and $tmp/err
{
	"$old" "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
}

count() # FILE EVENT
{
	awk -v event="$2" '$1 " " $2 == event || $1 == event { print $NF; exit }' "$1"
}

insns='event 0x004100C0@0'
run -d -e 004100C0 "$known"
check "status of known" "$status" 1
one=$(count "$tmp/err" "$insns")
check "output of known" "$(wc -l < "$tmp/out")" 0
run -d -e 0x4100c0@0 "$known" 2
two=$(count "$tmp/err" "$insns")
run -d "$known" 2 3
three=$(count "$tmp/err" "$insns")
# the child also executes instructions between the control and the exec
check "known" $(((one - 2004) / 10000)) 0
check "known with an argument" $((two - one)) 2000
check "known with two" $((three - two)) 2000
run -e 004100C0 "$known" 2
check "in hexadecimal" $(($(count "$tmp/err" "$insns"))) "$two"
run -x -e 004100C0 "$known" 2
check "in hexadecimal, asked for" $(($(count "$tmp/err" "$insns"))) "$two"
check "its digits" "$(grep -c '	0x[0-9A-F]\{16\}$' "$tmp/err")" 2
run -d -o "$tmp/counts" -e 4100C0/0 -e 4100C0@1 "$known" 2
check "nothing on standard error" "$(wc -l < "$tmp/err")" 0
check "to a file" "$(count "$tmp/counts" 'event 0x004100C0/0x00000000@0')" "$two"
check "in another counter" "$(count "$tmp/counts" 'event 0x004100C0@1')" "$two"
check "the TSC" $(($(count "$tmp/counts" tsc) > two)) 1
check "lines" "$(wc -l < "$tmp/counts")" 3
# on AMD the second part selects another event, 1C0H; elsewhere there is no high half
run -d -e 004100C0/1 -e 4100C0@1 "$known" 2
case $("$dir/perfctr_perfex" -i | grep cpu_type) in
*AMD*)	check "status with a high half" "$status" 2
	check "another event" "$(count "$tmp/err" 'event 0x004100C0/0x00000001@0')" 0
	check "beside the usual one" "$(count "$tmp/err" 'event 0x004100C0@1')" "$two" ;;
*)	check "status with a high half" "$status" 1
	check "message about a high half" "$(head -n 1 "$tmp/err")" "perfex: _vperfctr_control: Invalid argument"
	check "it counts nothing" "$(count "$tmp/err" 'event 0x004100C0@1')" 0 ;;
esac
run -d --nhlm_offcore_rsp_0=1 -e 004100C0 "$known"
check "an off-core response without its event" "$(head -n 1 "$tmp/err")" "perfex: _vperfctr_control: Invalid argument"
run -d --nhlm_offcore_rsp_1=x -e 004100C0 "$known"
check "an off-core response that is none" "$(cat "$tmp/err")" "perfex: not a value: 'x'"
run -e 004100C0 sh -c 'echo out; exit 42'
check "status of a shell" "$status" 42
check "its output" "$(cat "$tmp/out")" out
run -e 004100C0 sh -c 'kill -9 $$'
check "status after a signal" "$status" 137
check "input" "$(echo words | "$old" -o /dev/null cat)" words
run -e 0041FFFF@99 true
check "status with no such counter" "$status" 1
check "message about no such counter" "$(head -n 1 "$tmp/err")" "perfex: _vperfctr_control: Invalid argument"
run -e nonsense true
check "status with nonsense" "$status" 1
check "message about nonsense" "$(cat "$tmp/err")" "perfex: not EVNTSEL[/EVNTSEL2][@PMC]: 'nonsense'"
run /nowhere/at/all
check "status without a command" "$status" 1
run
check "status without arguments" "$status" 1
run -h
check "status of help" "$status" 0
check "help" "$(head -c 6 "$tmp/out")" usage:

# information
run -i
check "status of -i" "$status" 0
check "abi_version" "$(awk '$1 == "abi_version" { print $2 }' "$tmp/out")" 0x05020501
check "nrctrs" "$(awk '$1 == "cpu_nrctrs" { print $2 }' "$tmp/out")" "$pmc"
check "cpus" "$(grep '^cpus	' "$tmp/out" | tr -s '\t' ' ')" "cpus [0], total: 1"
check "cpus_forbidden" "$(grep '^cpus_f' "$tmp/out" | tr -s '\t' ' ')" "cpus_forbidden [], total: 0"
run -l
check "status of -l" "$status" 0
check "events" "$(grep -c '^[A-Z0-9]*_[A-Z_]*$' "$tmp/out")" "$(wc -l < "$tmp/out")"
check "instructions" "$(grep -Ec '^[A-Z0-9]*_(INSTRUCTIONS_RETIRED|RETIRED_INSTRUCTIONS)$' "$tmp/out")" 1
run -L
check "status of -L" "$status" 0
check "instructions' code" "$(grep -Ec '^[A-Z0-9]*_(INSTRUCTIONS_RETIRED|RETIRED_INSTRUCTIONS):0xC0:0x[0-9A-F]*:' "$tmp/out")" 1

echo "$(((checks - failures) * 100 / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
exit $((failures != 0))
