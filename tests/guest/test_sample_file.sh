#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Write a file of samples and its report to /dev/ttyS2: another machine must report the same of
# the file (tests/exports/other-machine).  First come their sizes.

here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if ! perfex --sample=instructions:u=1001,cycles:u=2k -g -o "$tmp/samples" -- "$here/two" 2> "$tmp/err" ||
	! perfex --report "$tmp/samples" -v --sort=event,comm,pid,tid,cpu,dso,symbol,line > "$tmp/report" 2>> "$tmp/err"; then
	cat "$tmp/err"
	exit 1
fi
echo "$(wc -c < "$tmp/samples") $(wc -c < "$tmp/report")" > "$tmp/sizes"
stty -F /dev/ttyS2 raw
cat "$tmp/sizes" "$tmp/samples" "$tmp/report" > /dev/ttyS2
