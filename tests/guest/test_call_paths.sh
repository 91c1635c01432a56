#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex --sample -g dwarf in the virtual machine: programs without frame pointers have
# the calls that are known from call_paths.c.  The summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
# the event that overflows at the very instruction in the emulator; on arm64, each
# instruction takes one cycle
event=instructions
[ "$(uname -m)" != aarch64 ] || event=cycles
period=5003
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# sample HOW PROGRAM [LIBRARY]: run it, and write its paths of calls
sample()
{
	perfex --sample=$event:u=$period -g "$1" -o "$tmp/samples" -- "$2" $period ${3:+"$3"} \
		> "$tmp/out" 2> "$tmp/err"
	check "status of $2 with $1" $? 0
	check "errors of $2 with $1" "$(grep -vc ' samples in .*, 0 dropped; ' "$tmp/err")" 0
	perfex --report="$tmp/samples" --export=folded > "$tmp/folded" 2> "$tmp/err"
	check "report of $2 with $1" "$? $(cat "$tmp/err")" "0 "
}

# Print "SAMPLES PATH" of the paths to the loop, with their last functions that have names of
# the program.
paths()
{
	sed -n 's/\(.*\);spin \([0-9]*\)$/\2 \1/p' "$tmp/folded" | awk '{
		n = split($2, f, ";")
		path = "spin"
		for (i = n; i && path !~ /main|in_thread/; i--)
			if (f[i] !~ /^\[|^_|^0x/)
				path = f[i] ";" path
		sum[path] += $1
	}
	END { for (path in sum) print sum[path], path }' | sort -n
}

rate=/sys/module/vperfctr/parameters/max_sample_rate
usual=$(cat $rate)
echo 0 > $rate

plain="16 main;outer;middle;inner;spin"
rest="24 main;interrupted;on_signal;spin
28 in_thread;spin
32 main;in_child;spin"
library="36 main;with_library;library_calls;from_library;spin"

# without functions of libc, which have names only where they are in its table of symbols
without_libc()
{
	paths | sed 's/ call_path[a-z_]*;/ /; s/;kill;/;/; s/put_in_order;.*;compare/put_in_order;compare/'
}

for program in call_paths_without_frames call_paths; do
	sample dwarf "$here/$program" "$here/call_paths.so"
	check "paths of $program" "$(without_libc)" "$plain
20 main;put_in_order;compare;spin
$rest
$library"
	# a period may also end elsewhere in inner()
	check "callers of $program's main" "$(grep -c '^[^ ]*;main;outer;middle;inner;spin [0-9]*$' "$tmp/folded")" 1
	# the vDSO; that of arm64 has no tables
	grep '\(\[vdso\]\|__vdso_[^;]*\|__kernel_[^;]*\) [0-9]*$' "$tmp/folded" > "$tmp/vdso"
	check "vDSO in $program" "$([ -s "$tmp/vdso" ] && grep -vc ';main;look_at_clock;' "$tmp/vdso")" 0
done

sample dwarf "$here/call_paths_static"
check "paths of a static program" "$(without_libc)" "$plain
20 main;put_in_order;compare;spin
$rest"

# perfex and the module have no part in this run
if [ "$(uname -m)" = x86_64 ]; then
	"$here/call_paths_32" $period
	status_32=$?
fi
if [ "$status_32" = 77 ]; then
	echo "no program of 32 bits: this kernel has no futex() for it (CONFIG_COMPAT_32BIT_TIME)"
elif [ "$(uname -m)" != aarch64 ]; then
	# chains end in the vDSO of 32 bits
	sample dwarf "$here/call_paths_32"
	check "paths of a program of 32 bits" "$(without_libc)" "$plain
20 main;put_in_order;compare;spin
24 call_paths_32;on_signal;spin
28 in_thread;spin
32 main;in_child;spin"
else
	sample dwarf "$here/call_paths_signed" "$here/call_paths.so"
	check "paths of a program that signs addresses" "$(without_libc)" "$plain
20 main;put_in_order;compare;spin
$rest
$library"
	# the processor must do it, too
	[ -z "$SIGNED" ] ||
		check "signed addresses" "$(grep -c -m 1 '^Features.* paca' /proc/cpuinfo)" 1
fi

# frame pointers find the same paths where all functions have them: the library has none
sample fp "$here/call_paths" "$here/call_paths.so"
check "paths by frame pointers" "$(paths | grep 'outer\|child')" "$plain
32 main;in_child;spin"

# a stack that is too small for all calls: those that it has
sample dwarf,1024 "$here/call_paths_without_frames" "$here/call_paths.so"
check "paths in a small stack" "$(paths | sed -n 's/[^ ]*;inner;/inner;/p')" "16 inner;spin"

echo "$usual" > $rate
echo "Running suite(s): call_paths"
summary
