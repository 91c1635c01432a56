# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks of a profile of tests/guest/shares.c.  It must be right to one percent.

functions="ten twenty thirty forty"
# shellcheck disable=SC2034 # used by the scripts that source this file
parts="ten=10 twenty=20 thirty=30 forty=40"

# near SHARE...: print the lines "NAME PERCENT" of standard input that have another share than
# NAME=PERCENT, by more than one percent of all; and how many of these names there are
near()
{
    awk -v wanted="$*" '
        BEGIN {
            n = split(wanted, pairs, " ")
            for (i = 1; i <= n; i++) {
                split(pairs[i], pair, "=")
                want[pair[1]] = pair[2]
            }
        }
        $1 in want {
            d = $2 - want[$1]
            found++
            if (d < -1 || d > 1)
                print
        }
        END { print found + 0 }'
}

# check_callers WHAT FILE: each function is called by left(), middle() and right(), for a sixth, a
# third and a half of it.  call_all() is inlined into these.  FILE has lines "PATH;OF;FUNCTIONS
# SAMPLES".
check_callers()
{
    local function

    for function in $functions; do
        check "callers of $function in $1" "$(awk -v wanted="$function" '
            {
                weight = $NF
                sub(/ [0-9]*$/, "")
                n = split($0, path, ";")
                if (path[n] == wanted) {
                    all += weight
                    sum[path[n - 2] "." path[n - 1] "." path[n - 3]] += weight
                }
            }
            END {
                for (caller in sum)
                    print caller, 100 * sum[caller] / all
            }' "$2" | near left.call_all.work=16.67 middle.call_all.work=33.33 right.call_all.work=50)" 3
    done
}
