# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Completion of perfex for bash.  perfex itself says which commands and options it has;
# with bash-completion, the counted program has its own completions.

# The names of this processor's events.  Lines of descriptions begin with a space.
_perfex_events()
{
    "$1" list 2> /dev/null | sed -n 's/^\([^ ][^ ]*\)  .*/\1/p'
}

_perfex_metrics()
{
    "$1" list 2> /dev/null | sed -n 's/^-M \([^ ]*\) .*/\1/p'
}

# Print the options of a command, each with "=" if it has an argument.
_perfex_options()
{
    "$1" help --words "$2" 2> /dev/null | awk -F '\t' '
        $1 != " " { print $1 }
        $2 != "" { print $2 ($3 == "" ? "" : "=") }'
}

# Print the options that take the next word as their argument.
_perfex_with_argument()
{
    "$1" help --words "$2" 2> /dev/null | awk -F '\t' '
        $3 != "" && $3 !~ /^\[/ { if ($1 != " ") print $1; if ($2 != "") print $2 }'
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
        _perfex_last "comm pid tid cpu dso symbol sym line srcline event"
        ;;
    --export)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "svg folded pprof firefox perf" -- "$value")
        ;;
    --self-test|--checks)
        compopt -o nospace
        _perfex_last "$("$perfex" --self-test=help 2> /dev/null | cut -d ' ' -f 1)"
        ;;
    --call-graph)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "fp dwarf caller callee" -- "$value")
        ;;
    --symfs)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -d -- "$value")
        ;;
    --user)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -u -- "$value")
        ;;
    --backend)
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "auto module perf" -- "$value")
        ;;
    -o|--output|-i|--input|--report|--prometheus)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$value")
        ;;
    esac
}

_perfex()
{
    local perfex=$1 cur value prefix='' option='' command='' with_argument word i skip actual
    local -a words=()

    COMPREPLY=()
    # Bash splits words at "=" and ":", which events have.  These words are whole.
    read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]] || words+=("")
    cur=${words[-1]}

    with_argument=$(_perfex_with_argument "$perfex" stat)
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ -n $option ]]; then
            option=
        elif [[ $word == -[A-Za-z]* && $'\n'$with_argument$'\n' == *$'\n'-${word: -1}$'\n'* ]] ||
            [[ $'\n'$with_argument$'\n' == *$'\n'"$word"$'\n'* ]]; then
            # the last letter of a group such as -jo
            option=$word
        elif [[ $word == -* && $word != -- ]]; then
            continue
        elif [[ -z $command && $word != -- ]] &&
            "$perfex" help --words 2> /dev/null | grep -q "^$word	"; then
            command=$word
            with_argument=$(_perfex_with_argument "$perfex" "$command")
        elif [[ -z $command || $command == stat || $command == record || $word == -- ]]; then
            # the program
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
        mapfile -t COMPREPLY < <(compgen -W "$(_perfex_options "$perfex" "${command:-stat}")" -- "$cur")
        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
    elif [[ $command == plot || $command == merge || $command == diff ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -c -W "$("$perfex" help --words 2> /dev/null | cut -f 1)" -- "$cur")
    elif [[ $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$perfex" help --words 2> /dev/null | cut -f 1)" -- "$cur")
    elif [[ $command == stat || $command == record ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
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
