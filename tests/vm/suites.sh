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

# arch_of NAME: that of the suite
arch_of()
{
    local arch

    arch=$(setting "${1%@*}" arch)
    echo "${arch:-amd64}"
}

# kernel_of NAME: the kernel that the suite runs on, as "build" wants it
kernel_of()
{
    local suite=${1%@*} wanted=${KERNEL:-} kernel

    [ "$suite" = "$1" ] || wanted=${1#*@}
    kernel=$(setting "$suite" kernel)
    # SUITE@KERNEL is on that kernel; KERNEL=NAME is for suites that name none
    [[ $suite = "$1" && -n $kernel && $(like_of "$wanted") != "$kernel" ]] || kernel=$wanted
    # boot.sh knows the default
    (arch=$(arch_of "$1"); . "$vm/boot.sh"
        own=$(vm_kernel_says arch)
        [ "$own" = "$arch" ] || kernel=$arch:$kernel
        echo "$kernel")
}

# words_of SUITE: print the names of the programs that it runs, and their arguments
words_of()
{
    # variables may come first
    sed -nE 's/^(run|inner) +//p' <<< "${suite_text[$1]}" | tr ' ' '\n' | sed '/=/d; /^$/d'
}

# programs_of ARCH NAME...: print these words of the suites with these names on it
programs_of()
{
    local arch=$1 name
    shift

    for name; do
        if [ "$(arch_of "$name")" = "$arch" ]; then
            words_of "${name%@*}"
        fi
    done | sort -u | xargs
}

# machine_of NAME: print the settings of the machine on which the suite runs, and the kernel's name if
# NAME has it, in one line; nothing if the suite needs a machine of its own
machine_of()
{
    local text=${suite_text[${1%@*}]-}

    ! grep -qE '^(after=|files=|alone=|inner )' <<< "$text" || return 0
    echo "machine: $(grep -vE '^(run |(check|also|only|matrix|limit|timeout)=|$)' <<< "$text" | LC_ALL=C sort |
        xargs) ${1#"${1%@*}"}"
}
