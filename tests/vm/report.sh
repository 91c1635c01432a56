# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# report NAME DIR SECONDS CONSOLE QEMU_STATUS: judge the files that a run left in DIR,
# write "summary" there, and print the result; false if a check failed.

report()
{
    local name=$1 dir=$2 console=$4 status=$5 ok took="$3 s" user system

    "$vm/judge" "$dir/results" "$console" "$status" > "$dir/summary" 2> "$dir/details"
    ok=$(grep -c ' 0 failed$' "$dir/summary") || echo "  logs: $dir" >> "$dir/details"
    { read -r user system < "$dir/time" && took+=", $((user + system)) s of processor time"; } 2>/dev/null
    # in one write, because other runs may report at the same time
    printf '%s\n' "$(printf '%-10s %s (%s)\n' "$name" "$(cat "$dir/summary")" "$took"
        cat "$dir/details")"
    [ "$ok" = 1 ]
}
