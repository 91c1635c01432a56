#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test_profile [PROGRAM|here]
#
# Profiles of whole programs, or of this one.  Those of a program with known shares go to the second serial
# port: tests/exports/from-guest reads them with other programs.  With "here", only this
# test looks at them: in a kernel with PREEMPT_RT, the emulator's serial port loses its
# interrupt when so much is written.  Those of usual programs must agree with the profiles
# that perf makes in the same boot.  The summary looks like one of libcheck.

here=$(dirname "$0")
# shellcheck source=../install/check.sh
. "$here/check.sh"
event=instructions
[ "$(uname -m)" != aarch64 ] || event=cycles
period=10007
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# sample HOW COMMAND...: into the file "samples", with chains
sample()
{
	how=$1
	shift
	perfex --sample=$event:u=$period -g "$how" -o "$tmp/samples" -- "$@" > "$tmp/out" 2> "$tmp/err"
	check "status of $1" $? 0
	check "dropped of $1" "$(sed -n 's/^perfex: .* samples in .*, \([0-9,]*\) dropped;.*/\1/p' "$tmp/err")" 0
}

# ours KEY: print "SHARE NAME" for each row of perfex's report, without types and arguments
ours()
{
	perfex -v --report "$tmp/samples" --sort "$1" | awk '
	$1 ~ /%$/ && NF > 2 {
		share = $1
		$1 = $2 = ""
		# a function has its library in brackets, a library is in brackets
		if (/[^ ] +[[][^]]*[]]$/)
			sub(/ *[[][^]]*[]]$/, "")
		else
			gsub(/[][]/, "")
		print share $0
	}'
}

# theirs KEY: the same of perf's
theirs()
{
	perf report -i "$tmp/perf" --stdio -q --percent-limit 0 -F "overhead,$1" 2> /dev/null |
		sed -n 's/^ *\([0-9.]*%\) *\([[][.k][]]\)\{0,1\} */\1 /p'
}

# differences: of the two files, more than a percent of the program
differences()
{
	awk '
	function name(	s) {
		s = $0
		sub(/^[^ ]* */, "", s)
		sub(/ *$/, "", s)
		# code without a name, or with several
		if (s ~ /^0x|[+]0x|@plt$/)
			return "?"
		if (s ~ /^(__libc_|c)?free/)
			return "free"
		sub(/[(].*/, "", s)
		while (sub(/<[^<>]*>/, "", s))
			;
		sub(/^.* /, "", s)
		return s
	}
	NF > 1 { sum[FILENAME, name()] += $1; names[name()] = 1 }
	END {
		for (n in names) {
			d = sum[ARGV[1], n] - sum[ARGV[2], n]
			if (d > 1 || d < -1)
				print n, sum[ARGV[1], n], sum[ARGV[2], n]
		}
	}' "$tmp/ours" "$tmp/theirs"
}

# pieces FILE: the same of both, for 256 bytes each of a file without symbols
pieces()
{
	perfex -v --report "$tmp/samples" --sort symbol | awk -v begin="[$1]+0x" '
	index($3, begin) == 1 {
		print $1, "at " substr($3, length(begin) + 1, length($3) - length(begin) - 2)
	}' > "$tmp/ours"
	perf report -i "$tmp/perf" --stdio -q --percent-limit 0 -F overhead,dso,symbol 2> /dev/null |
		awk -v file="$1" '
		$2 == file && sub(/^0x0*/, "", $4) {
			print $1, "at " substr($4, 1, length($4) - 2)
		}' > "$tmp/theirs"
}

# same WHAT ROWS: the files of both profilers have the same rows, and that many or more
same()
{
	check "differences from perf, $1" "$(differences)" ""
	check "there are rows, $1" "$([ "$(grep -c . "$tmp/ours")" -ge "$2" ] &&
		[ "$(grep -c . "$tmp/theirs")" -ge "$2" ] && echo yes)" yes
}

rate=/sys/module/vperfctr/parameters/max_sample_rate
echo 0 > $rate
# perf loses samples where it finds its interrupts too slow, as in kernels that check much
for setting in cpu_time_max_percent=25 event_max_sample_rate=10000000 cpu_time_max_percent=0; do
	echo "${setting#*=}" > "/proc/sys/kernel/perf_${setting%=*}"
done

# known_shares HOW [SIZE]: all reports and exports of the program's profile, into a directory
known_shares()
{
	dir=$tmp/$1
	mkdir "$dir"
	sample "$1${2:+,$2}" "$here/shares"
	for format in folded svg pprof firefox; do
		perfex --report "$tmp/samples" --export=$format -o "$dir/$format"
		check "status of --export=$format" $? 0
	done
	perfex -j --callers --callees --report "$tmp/samples" -o "$dir/json"
	check "status of -j" $? 0
	perfex -j --report "$tmp/samples" --sort pid,tid -o "$dir/threads"
	check "status of -j by thread" $? 0
	perfex -v --report "$tmp/samples" -o "$dir/report"
	check "status of the report" $? 0
	for function in ten twenty thirty forty; do
		perfex -j --report "$tmp/samples" --annotate $function -o "$dir/$function"
		check "status of --annotate $function" $? 0
	done
}

# wrong_shares FOLDED: print what differs by more than a percent from shares.c: each function
# by each of its callers
wrong_shares()
{
	awk '
	{
		# call_all() is inlined
		gsub(/;call_all[^;]*/, "")
		depth = split($1, f, ";")
		total += $2
		sum[f[depth - 1], f[depth]] += $2
	}
	END {
		split("left middle right", caller, " ")
		split("ten twenty thirty forty", name, " ")
		for (c = 1; c <= 3; c++)
			for (n = 1; n <= 4; n++) {
				share = total ? 100 * sum[caller[c], name[n]] / total : 0
				d = share - 10 * n * c / 6
				if (d > 1 || d < -1)
					print caller[c], name[n], share
			}
	}' "$1"
}

# look_here HOW: at what known_shares() has made
look_here()
{
	check "wrong shares with $1" "$(wrong_shares "$tmp/$1/folded")" ""
	check "threads with $1" "$(perfex -v --report "$tmp/samples" --sort pid,tid |
		awk '$1 ~ /%$/ { n += $1 > 15 && $1 < 18 } END { print n + 0 }')" 6
}

# same_rows WHAT KEYS KEYS ROWS: by perfex's and perf's keys
same_rows()
{
	ours "$2" > "$tmp/ours"
	theirs "$3" > "$tmp/theirs"
	same "$1" "$4"
}

# agree ROWS COMMAND...: perfex and perf have the same profile of the command, with
# that many functions; 0: it has no symbols
agree()
{
	least=$1
	shift
	sample fp "$@"
	perf record -q -e $event:u -c $period -o "$tmp/perf" "$@" > /dev/null 2>&1
	check "perf's status of $1" $? 0
	same_rows "libraries of $1" dso dso 1
	if [ "$least" = 0 ]; then
		pieces "${1##*/}"
		same "pieces of $1" 10
	else
		same_rows "functions of $1" symbol symbol "$least"
	fi
}

if [ "${1:-here}" = here ]; then
	known_shares fp
	look_here fp
	# The deepest chain has a few hundred bytes.
	known_shares dwarf 1024
	look_here dwarf
	if [ $# = 0 ]; then
		stty -F /dev/ttyS2 raw
		(cd "$tmp" && tar cf - fp dwarf) > /dev/ttyS2
		check "status of tar" $? 0
	fi
	head -c 500000 /bin/busybox > "$tmp/input"
	agree 0 gzip -9c "$tmp/input"
	agree 8 "$here/words"
else
	agree 8 "$here/$1"
fi

summary
