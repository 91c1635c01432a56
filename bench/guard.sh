#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: bench-guard isolated|unisolated
#
# Fails if one of the figures that matter most has grown by more than 5 % over
# bench/recorded, which the build puts in here, or is not there.  In the
# emulator, with the module loaded with that `isolate`.

case $1 in
isolated)	parts="calls switches" ;;
unisolated)	parts=switches ;;
*)		echo "usage: bench-guard isolated|unisolated"; exit 2 ;;
esac

cat > /tmp/recorded << 'END'
@RECORD@
END
# shellcheck disable=SC2086 # several words
bench -e vperfctr $parts > /tmp/measured || exit 1

awk -v which="$1" '
$1 == "@bench" { measured[$2] = $(NF) }
$1 == which {
	n++
	if (!($2 in measured)) {
		print $2 " has not been measured"
		bad = 1
	} else if (measured[$2] > $3 * 1.05) {
		print $2 " is " measured[$2] ", recorded (bench/recorded): " $3
		bad = 1
	}
}
END { exit bad || !n }' /tmp/measured /tmp/recorded
