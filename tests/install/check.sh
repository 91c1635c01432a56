# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# Checks, and a summary in the form of libcheck.

checks=0 failures=0

check() # WHAT GOT EXPECTED
{
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	failures=$((failures + 1))
	printf "%s: '%s', not '%s'\n" "$1" "$2" "$3"
}

check_has() # WHAT GOT PART
{
	case $2 in
	*"$3"*) checks=$((checks + 1)) ;;
	*)      check "$1" "$2" "... $3 ..." ;;
	esac
}

check_range() # WHAT GOT LEAST MOST
{
	checks=$((checks + 1))
	[ "$2" -ge "$3" ] 2> /dev/null && [ "$2" -le "$4" ] && return
	failures=$((failures + 1))
	echo "$1: '$2', not $3 to $4"
}

summary()
{
	echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
	[ "$failures" = 0 ]
}

# open_dir: make a directory that other users can enter, in /tmp if TMPDIR keeps them out; print it
open_dir()
{
	dir=$(mktemp -d) || return
	chmod 711 "$dir"
	if [ "$(id -u)" = 0 ] && ! su -s /bin/sh nobody -c "cd '$dir'" 2> /dev/null; then
		rmdir "$dir"
		dir=$(TMPDIR=/tmp mktemp -d) || return
		chmod 711 "$dir"
	fi
	echo "$dir"
}
