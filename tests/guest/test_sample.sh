#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Test perfex --sample and --report in the virtual machine, and the profilers of
# doc/examples.  The summary looks like one of libcheck.  Each function must have
# the number of samples that its instructions give.

here=$(dirname "$0")
# the event that overflows at the very instruction in the emulator; on arm64, each
# instruction takes one cycle
event=instructions
[ "$(uname -m)" != aarch64 ] || event=cycles
two=$here/two		# 1600009 instructions, 3/4 of them in hot(), 1/4 in cold()
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

# record EVENT=PERIOD COMMAND...: sample the command, and report it
record()
{
	spec=$1
	shift
	perfex --sample "$spec" -o "$tmp/samples" -- "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
	perfex -v --report "$tmp/samples" > "$tmp/report" 2> "$tmp/report.err"
	check "status of --report" $? 0
	check "errors of --report" "$(cat "$tmp/report.err")" ""
}

# print the number of samples, dropped overflows and events that --sample printed
samples() { sed -n 's/^perfex: \([0-9,]*\) samples in .*/\1/p' "$tmp/err" | tr -d ,; }
dropped() { sed -n 's/^perfex: .*, \([0-9,]*\) dropped;.*/\1/p' "$tmp/err" | tr -d ,; }
events() { sed -n 's/^perfex: .* dropped; \([0-9,]*\) .*/\1/p' "$tmp/err" | tr -d ,; }

# row TABLE PATTERN: print the samples of the rows that match
row()
{
	awk -v table=" $1:" -v pattern="$2" '
	$0 == table { on = 1; next }
	/^ [A-Z].*:$/ { on = 0 }
	on && $0 ~ pattern { gsub(",", "", $2); n += $2 }
	END { print n + 0 }' "$tmp/report"
}

rate=/sys/module/vperfctr/parameters/max_sample_rate
usual=$(cat $rate)
echo 0 > $rate

# each function and line has its exact number of samples
total=$(perfex -e instructions:u "$two" 2>&1 | awk '$2 == "instructions:u" { gsub(",", "", $1); print $1 }')
check "instructions of two" "$total" 1600009
for period in 1000 1001 100k; do
	n=$(echo "$period" | sed s/k/000/)
	record "$event:u=$period" "$two"
	check "status, period $period" "$status" 0
	check "events, period $period" "$(events)" "$total"
	check "samples, period $period" "$(samples)" $((total / n))
	check "dropped, period $period" "$(dropped)" 0
	check "hot, period $period" "$(row Functions ' hot .two.$')" $((1200003 / n))
	check "cold, period $period" "$(row Functions ' cold .two.$')" $((1600006 / n - 1200003 / n))
	check "elsewhere, period $period" "$(row Functions '[[]two[]]$')" $((total / n))
done
record $event:u=1000 "$two"
check "mode of the file" "$(stat -c %a "$tmp/samples")" 600
check "share of hot" "$(grep -c '^  75.00%  .* hot .two.$' "$tmp/report")" 1
# hot() is entered after an even number of instructions, cold() after an odd one.  So
# after an even number, the next instruction is dec in hot(), and jnz in cold().
hot_line=$(grep -n 'hot line' "$here/two.S" | cut -d: -f 1)
cold_line=$(grep -n 'cold line' "$here/two.S" | cut -d: -f 1)
check "line of hot" "$(row Lines "/two[.]S:$hot_line  hot")" 1200
check "line of cold" "$(row Lines "/two[.]S:$((cold_line + 1))  cold")" 400

# Print "NUMBER SAMPLES" of the instructions with samples, and how many there are.
annotate() # FUNCTION
{
	perfex --report "$tmp/samples" --annotate "$1" > "$tmp/annotated" 2>&1
	check "status of --annotate $1" $? 0
	awk '
	/^ Instructions:/ { on = 1; next }
	on && $1 ~ /%$/ { print ++n, $2 }
	on && length($1) >= 5 && $1 !~ /[^0-9a-f]/ { n++ }
	END { print n }' "$tmp/annotated"
}

check "instructions of hot" "$(annotate hot)" "1 1,200
3"
check "instructions of cold" "$(annotate cold)" "2 400
3"
check "instructions of gone" "$(perfex --report "$tmp/samples" --annotate gone 2>&1 | grep -c "no samples in a function 'gone'")" 1
check "no bars in a pipe" "$(grep -c '#' "$tmp/report")" 0

# the mappings are those of the program that was executed last, even if its life is short
record $event:u=1000 sh -c "exec $two"
check "status of exec" "$status" 0
check "hot after exec" "$(row Functions ' hot .two.$')" 1200
check "unknown after exec" "$(row Functions '[[]unknown')" 0

# a usual program, with libraries and without symbols
head -c 300000 /bin/busybox > "$tmp/input"
record $event:u=20k gzip -9c "$tmp/input"
check "status of gzip" "$status" 0
check "gzip's output" "$(gunzip -c < "$tmp/out" | cmp - "$tmp/input" && echo same)" same
check "samples of gzip" "$(samples)" $(($(events) / 20000))
check "many samples of gzip" "$([ "$(samples)" -gt 1000 ] && echo yes)" yes
check "gzip's are explained" "$([ "$(row Functions '[[](gzip|libc[.].*)[]]')" -gt $(($(samples) * 99 / 100)) ] && echo yes)" yes
check "unknown of gzip" "$(row Functions '[[]unknown')" 0
check "kernel addresses of user mode" "$(row Functions '[[]kernel')" 0

# a rate: samples stand for all periods, and are not many more than asked for
perfex --sample=$event:u -F 2000 -o "$tmp/samples" gzip -9c "$tmp/input" > "$tmp/out" 2> "$tmp/err"
check "status with a rate" $? 0
perfex -j --report "$tmp/samples" > "$tmp/report"
period=$(sed -n 's/.*"period":\([0-9]*\).*/\1/p' "$tmp/report")
numbers=$(sed -n 's/^perfex: \([0-9,]*\) samples in .* for \([0-9,]*\) periods; \([0-9,]*\) .*/\1 \2 \3/p' "$tmp/err" | tr -d ,)
check "periods with a rate" "$(echo "$numbers" | awk -v period="$period" '{ print $2 - int($3 / period) }')" 0
check "samples with a rate" "$(echo "$numbers" | awk -v seconds="$(sed -n 's/.*"thread-seconds":\([0-9.]*\).*/\1/p' "$tmp/report")" '
	{ print ($1 > 20 && $1 < 40 + 2200 * seconds && $2 > 5 * $1) ? "as many as asked for" : $0 }')" \
	"as many as asked for"

# more overflows than samples are allowed: some are dropped, all events are counted
case $(uname -r) in
# a sample takes milliseconds there
*-debug-kcsan*) echo 1 > $rate ;;
*) echo "$usual" > $rate ;;
esac
record $event:u=1000 "$two"
check "status when throttled" "$status" 0
check "events when throttled" "$(events)" "$total"
check "some dropped when throttled" "$([ "$(dropped)" -gt 0 ] && echo yes)" yes
shortest=$(perfex -i | sed -n "s/^shortest period *//p" | head -n 1)
record "$event:u=$shortest" "$two"
check "status, shortest period" "$status" 0
check "events, shortest period" "$(events)" "$total"
check "some dropped, shortest period" "$([ "$(dropped)" -gt 0 ] && echo yes)" yes
[ "$(dropped)" -le "$(samples)" ] ||
	check "advice, shortest period" "$(grep -c 'overflows gave no sample: use a longer period' "$tmp/err")" 1
record $event:u=100M "$two"
check "status, period 100M" "$status" 0
check "samples, period 100M" "$(samples)" 0
check "advice, period 100M" "$(sed -n 's/^perfex: no samples: .* as in -e //p' "$tmp/err")" "$event:u=1000"
echo "$usual" > $rate

# kernel mode, for users with the right to count it
record $event=10k dd if=/dev/zero of=/dev/null bs=64k count=100
check "kernel mode" "$([ "$(row Functions '[[]kernel')" -gt 0 ] && echo yes)" yes
check "kernel addresses" "$(grep -c ffffffff "$tmp/report")" 0
chmod 777 "$tmp"
su -s /bin/sh user -c "perfex --sample $event=1000 -o $tmp/mine $two" 2> "$tmp/err"
check "status in the group" $? 0
check "user mode in the group" "$(grep -c "dropped; 1,600,009 $event:u in all" "$tmp/err")" 1
su -s /bin/sh user -c "perfex --sample $event:k=1000 -o $tmp/mine $two" 2> "$tmp/err"
check "status of kernel mode without rights" $? 125
check "lines of kernel mode without rights" "$(wc -l < "$tmp/err")" 1

# bad periods, a bad file
for bad in $event:u=0 $event:u=-5 $event:u=x $event:u=99999999999G; do
	perfex --sample "$bad" -o "$tmp/bad" "$two" > "$tmp/out" 2> "$tmp/err"
	check "status of $bad" $? 125
	check "lines of $bad" "$(wc -l < "$tmp/err")" 1
done
perfex --report "$two" > "$tmp/out" 2> "$tmp/err"
check "status of another file's report" $? 125
check "lines of another file's report" "$(wc -l < "$tmp/err")" 1

# links and FIFOs of another user in a shared directory: as the kernel's protections say
protect() # 0|1: switch the protections off or on
{
	echo "$1" > /proc/sys/fs/protected_symlinks
	echo "$1" > /proc/sys/fs/protected_fifos
}

mkdir -m 1777 "$tmp/shared"
chmod 711 "$tmp"
echo kept > "$tmp/target"
chmod 600 "$tmp/target"
su -s /bin/sh user -c "ln -s $tmp/target $tmp/shared/link; mkfifo -m 666 $tmp/shared/fifo"
links=$(cat /proc/sys/fs/protected_symlinks) fifos=$(cat /proc/sys/fs/protected_fifos)
protect 1
for options in "-e $event:u" "--sample=$event:u=1000"; do
	for name in link fifo; do
		# shellcheck disable=SC2086 # words
		timeout 10 perfex $options -o "$tmp/shared/$name" "$two" > "$tmp/out" 2> "$tmp/err"
		check "status of $options -o a protected $name" $? 125
		check "reason of $options -o a protected $name" "$(grep -c "'$tmp/shared/$name'" "$tmp/err")" 1
	done
done
check "the file behind a protected link" "$(cat "$tmp/target")" kept
# without them, root writes where the link leads, as a shell does, but no samples into a user's FIFO
protect 0
timeout 10 perfex -e $event:u -o "$tmp/shared/link" "$two" > "$tmp/out" 2> "$tmp/err"
check "status of -o a link" "$?: $(cat "$tmp/err")" "0: "
check "counts behind a link" "$(grep -c " $event:u" "$tmp/target")" 1
su -s /bin/sh user -c "exec timeout 10 cat $tmp/shared/fifo" > "$tmp/read" & reader=$!
timeout 10 perfex --sample=$event:u=1000 -o "$tmp/shared/fifo" "$two" > "$tmp/out" 2> "$tmp/err"
check "status of samples to a user's FIFO" $? 125
kill $reader 2> /dev/null
wait $reader 2> /dev/null
check "what the user reads" "$(cat "$tmp/read")" ""
echo "$links" > /proc/sys/fs/protected_symlinks
echo "$fifos" > /proc/sys/fs/protected_fifos
chmod 700 "$tmp"

# The reader asks for a short slice, the command does not.  Older kernels have none.
case $(uname -r) in
[45].*|6.?.*|6.1[01].*) slices="same 0" ;;
*) slices="short 100000" ;;
esac
for options in "" "-a"; do
	# shellcheck disable=SC2086 # words
	perfex --sample=$event:u=100k $options -o "$tmp/samples" "$here/slices" > "$tmp/out" 2> "$tmp/err"
	check "slices of perfex --sample $options" \
		"$(awk '{ print ($1 == $2 ? "same" : "short"), $1 }' "$tmp/out")" "$slices"
done

# afterwards the counters are free; on 32-bit PowerPC, perf has no driver for some processors
if [ "$(uname -m)" = ppc ] && [ ! -d /sys/bus/event_source/devices/cpu ]; then
	timeout 5 sh -c 'until grep -qx 0 /sys/module/vperfctr/refcnt; do sleep 0.1; done'
	check "states afterwards" "$(cat /sys/module/vperfctr/refcnt)" 0
else
	check "perf afterwards" "$(perf stat -x , -o "$tmp/perf" -e instructions:u "$two"; sed -n 's/^\([0-9]*\),.*instr.*/\1/p' "$tmp/perf")" "$total"
fi

# the examples, by instructions: three times as many in hot() as in cold()
examples="profiler sampler"
[ $event = instructions ] || examples=
for example in $examples; do
	"$here/$example" > "$tmp/out" 2> "$tmp/err"
	check "status of $example" $? 0
	check "errors of $example" "$(cat "$tmp/err")" ""
	check "ratio of $example" "$(awk '
	/^hot / { hot = $2 } /^cold / { cold = $2 }
	END {
		r = cold ? hot / cold : 0
		print (r > 2.9 && r < 3.1 && cold >= 90) ? "3:1" : hot ":" cold
	}
	' "$tmp/out")" 3:1
	check "bar of hot in $example" "$(grep -c '^hot .*##########' "$tmp/out")" 1
	check "elsewhere in $example" "$(awk '/^elsewhere / { print ($2 <= 40) }' "$tmp/out")" 1
done

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
