#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: bench-guard isolated|unisolated [MEASURED]
#
# Fails if one of the figures that matter most has grown by more than 5 % over
# bench/recorded, which the build puts in here, or is not there.  In the
# emulator, with the module loaded with that `isolate`; or of what is in the file
# MEASURED, which bench printed.

case $1 in
isolated)	parts="calls switches overflows" ;;
unisolated)	parts=switches ;;
*)		echo "usage: bench-guard isolated|unisolated"; exit 2 ;;
esac

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cat > "$tmp/recorded" << 'END'
@RECORD@
END
measured=$2
if [ -z "$measured" ]; then
	measured=$tmp/measured
	# shellcheck disable=SC2086 # several words
	bench -e vperfctr $parts > "$measured" || exit 1
fi

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
END { exit bad || !n }' "$measured" "$tmp/recorded"
