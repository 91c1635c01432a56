#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2016 # the fields of awk
#
# Run doc/examples/regions.cc and benchmark.cc: a thousand rounds of their loops are two
# thousand instructions.  The summary has libcheck's form.

here=$(dirname "$0")
checks=0 failures=0

# check WHAT AWK-PROGRAM OUTPUT: check that the awk program accepts the output
check()
{
	checks=$((checks + 1))
	printf '%s\n' "$3" | awk "$2" && return
	failures=$((failures + 1))
	printf '%s:\n%s\n' "$1" "$3"
}

check "a region" '
	$1 == "instructions:u:" { exact = $6 - $2 == 2000 && $2 >= 2000 && $2 <= 2005 }
	END { exit !exact }' "$("$here/example_regions" 2>&1)"
# The loop around the function, which calls it, is a few instructions.
check "a benchmark" '
	BEGIN { FS = "," }
	/instructions:u/ { for (i = 1; i <= NF; i++) if ($i ~ /instructions:u/) column = i }
	/^"known"/ { exact = $column >= 2002 && $column < 2010 }
	END { exit !exact }' \
	"$("$here/example_benchmark" --benchmark_filter=known --benchmark_min_time=0.001 --benchmark_format=csv 2>&1)"

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
