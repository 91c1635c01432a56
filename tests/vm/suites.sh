# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# The table of suites, in memory: the array suite_names, and by these names
# suite_text, the lines of a suite without comments.

suite_names=()
declare -A suite_text=()

# load_suites [FILE]: the table, and the suite in FILE under the name FILE
load_suites()
{
    local table line name=""

    table=$(awk -f "$vm/suites.awk" "$vm/suites" ${1:+"$(realpath "$1")"}) ||
        die "${1:-$vm/suites} cannot be read"
    suite_names=()
    suite_text=()
    while IFS= read -r line; do
        case $line in
        \[*\])
            name=${line#\[} name=${name%\]}
            suite_names+=("$name")
            suite_text[$name]=""
            ;;
        *)
            suite_text[$name]+=$line$'\n'
            ;;
        esac
    done <<< "$table"
}

# is_suite NAME
is_suite()
{
    [ -n "${suite_text[$1]+set}" ]
}

# setting NAME KEY: the value, or nothing
setting()
{
    local line value=""

    while IFS= read -r line; do
        [ "${line%%=*}" != "$2" ] || value=${line#*=}
    done <<< "${suite_text[$1]}"
    echo "$value"
}
