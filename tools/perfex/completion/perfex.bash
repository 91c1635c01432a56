# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Completion of perfex for bash.  It needs no other file; with bash-completion, the
# counted command has its own completions.

# The names of this processor's events.  Lines of descriptions begin with a space.
_perfex_events()
{
    "$1" list 2> /dev/null | sed -n 's/^\([^ ][^ ]*\)  .*/\1/p'
}

_perfex_metrics()
{
    "$1" list 2> /dev/null | sed -n 's/^-M \([^ ]*\) .*/\1/p'
}

# _perfex_last WORDS: complete what follows the last comma of $value
_perfex_last()
{
    local before=

    [[ $value != *,* ]] || before=${value%,*},
    mapfile -t COMPREPLY < <(compgen -P "$prefix$before" -W "$1" -- "${value##*,}")
}

# _perfex_value OPTION: complete $value
_perfex_value()
{
    case $1 in
    -e|--event)
        compopt -o nospace
        _perfex_last "$(_perfex_events "$perfex")"
        ;;
    -M|--metrics)
        compopt -o nospace
        _perfex_last "$(_perfex_metrics "$perfex")"
        ;;
    --sample)
        compopt -o nospace
        [[ ${value##*,} == *=* || $value == *,* ]] || mapfile -t COMPREPLY < <(compgen -P "$prefix" -S = \
            -W "$(_perfex_events "$perfex")" -- "$value")
        ;;
    -p|--pid)
        compopt -o nospace
        _perfex_last "$(cd /proc && printf '%s\n' [0-9]*)"
        ;;
    --kind)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "core atom" -- "$value")
        ;;
    --runs)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W auto -- "$value")
        ;;
    --sort)
        compopt -o nospace
        _perfex_last "comm pid tid cpu dso symbol line event"
        ;;
    --export)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "svg folded pprof firefox perf" -- "$value")
        ;;
    --self-test)
        compopt -o nospace
        _perfex_last "$("$perfex" --self-test=help 2> /dev/null | cut -d ' ' -f 1)"
        ;;
    --user)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -u -- "$value")
        ;;
    --backend)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "auto module perf" -- "$value")
        ;;
    -o|--output|--report|--prometheus)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$value")
        ;;
    esac
}

_perfex()
{
    local perfex=$1 cur value prefix='' option='' files='' word i skip actual
    local -a words=()
    # Options that take the next word as their argument.
    local with_argument='^(-[A-Za-z]*[eptorIxFCMD]|--(event|delay|control|wait|metrics|freq|pid|tid|cpu|prometheus|timeout|kind|backend|repeat|runs|interval|interval-print|field-separator|max-stack|report|sort|comm|export|annotate|symfs|output|log-fd))$'

    COMPREPLY=()
    # Bash splits words at "=" and ":", which events have.  These words are whole.
    read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]] || words+=("")
    cur=${words[-1]}

    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ -n $option ]]; then
            option=
        elif [[ $word =~ $with_argument ]]; then
            option=$word
        elif [[ $word != -* || $word == -- ]]; then
            # the command, or words of perfex list
            [[ $word != list && $word != doctor ]] || return 0
            [[ $word != top ]] || continue
            # their files and options may come in any order
            if [[ $word == plot || $word == merge ]]; then
                files=y
                continue
            fi
            [[ -z $files ]] || continue
            [[ $word != -- ]] || i=$((i + 1))
            if declare -F _command_offset > /dev/null; then
                _command_offset "$i"
            elif ((i == ${#words[@]} - 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                compopt -o default
            fi
            return 0
        fi
    done

    if [[ -n $option ]]; then
        value=$cur
        # the last letter of a group such as -jo
        [[ $option == --* ]] || option=-${option: -1}
        _perfex_value "$option"
    elif [[ $cur == --*=* ]]; then
        value=${cur#*=}
        prefix=${cur%%=*}=
        _perfex_value "${cur%%=*}"
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-e -M -d -D -p -t -a -C -g -F -r -I -x -j -o -i -v -h -V
            --event= --metrics= --detailed --delay= --control= --wait= --pid= --tid= --all-cpus --cpu= --per-cpu --per-core --per-socket --per-kind --prometheus= --timeout= --kind= --backend= --strict --no-inherit --sample= --freq= --call-graph --max-stack= --report= --sort= --children --callers --callees
            --comm= --export= --annotate= --symfs=
            --repeat= --runs= --interval= --field-separator= --json --per-thread --output= --append --log-fd= --user
            --info --holders --self-test --verbose --help --version" -- "$cur")
        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
    elif [[ -n $files ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -c -W "list doctor top plot merge" -- "$cur")
    fi

    # Bash replaces only what follows the last "=" or ":".
    actual=${COMP_WORDS[COMP_CWORD]}
    [[ $actual != [=:] ]] || actual=
    skip=$((${#cur} - ${#actual}))
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]:skip}
    done
}

complete -F _perfex perfex
