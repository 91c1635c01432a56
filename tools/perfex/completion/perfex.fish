# SPDX-License-Identifier: GPL-2.0
#
# Completion of perfex for fish.  perfex itself says which commands and options it has.

# The names of this processor's events.  Lines of descriptions begin with a space.
function __perfex_events
    perfex list 2> /dev/null | sed -n 's/^\([^ ][^ ]*\)  .*/\1/p'
end

function __perfex_metrics
    perfex list 2> /dev/null | sed -n 's/^-M \([^ ]*\) .*/\1/p'
end

function __perfex_checks
    perfex --self-test=help 2> /dev/null | string replace -r ' +' \t
end

# Print what the option NAME may be given.
function __perfex_values
    switch $argv[1]
        case --event
            __fish_append , (__perfex_events)
        case --metrics
            __fish_append , (__perfex_metrics)
        case --checks
            __fish_append , (__perfex_checks)
        case --sort
            __fish_append , comm pid tid cpu dso symbol sym line srcline event
        case --pid
            __fish_append , (__fish_complete_pids)
        case --control
            printf '%s\n' fifo: fd:
        case --kind
            printf '%s\n' core atom
        case --backend
            printf '%s\n' auto module perf
        case --runs
            echo auto
        case --export
            printf '%s\n' svg folded pprof firefox perf
        case --call-graph
            printf '%s\n' fp dwarf caller callee
        case --user
            __fish_complete_users
        case --symfs
            __fish_complete_directories
    end
end

# True if the argument of the option WORD comes after it.  The others are the options that take one:
# the first of them in a group of letters, such as -jo, ends the group.
function __perfex_wants_argument
    set -l word $argv[1]
    set -e argv[1]
    if not string match -qr '^-[A-Za-z]' -- $word
        contains -- $word $argv
        return
    end
    set -l letters (string split '' -- (string sub -s 2 -- $word))
    while set -q letters[1]
        if contains -- -$letters[1] $argv
            not set -q letters[2]
            return
        end
        set -e letters[1]
    end
    return 1
end

# Print perfex's command: "-" if none is named, "--" if none can be; and then the words of the program
# that perfex runs.
function __perfex_split
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l command -
    # also the options from before there were commands
    set -l with_argument $__perfex_with_argument_stat -F --freq --max-stack --report --sort --comm --export \
        --annotate --symfs
    while set -q tokens[1]
        if __perfex_wants_argument $tokens[1] $with_argument
            set -e tokens[1]
        else if test $tokens[1] = --
            set -e tokens[1]
            test $command != -; or set command --
            break
        else if string match -q -- '-*' $tokens[1]
            # another option
        else if test $command = -; and contains -- $tokens[1] $__perfex_commands
            set command $tokens[1]
            set -l list __perfex_with_argument_(string replace - _ -- $command)
            set with_argument $$list
        else if contains -- $command - stat record
            break
        end
        set -e tokens[1]
    end
    printf '%s\n' $command $tokens
end

# True if the cursor is among the options of one of these commands.
function __perfex_in
    set -l split (__perfex_split)
    contains -- $split[1] $argv; and not set -q split[2]
end

function __perfex_has_program
    set -l split (__perfex_split)
    set -q split[2]
end

# The words after a program are completed as its own.
function __perfex_complete_program
    set -l split (__perfex_split)
    set -l line (string escape -- $split[2..-1]) (commandline -ct)
    complete -C "$line"
end

# Add the options of a command, which are lines of letter, name, argument and help.
function __perfex_add_options
    set -l command $argv[1]
    set -l list __perfex_with_argument_(string replace - _ -- $command)
    # those of stat also come without it
    set -l names $command
    test $command != stat; or set names stat -
    set -g $list
    for line in (perfex help --words $command 2> /dev/null)
        set -l field (string split \t -- $line)
        set -l adds complete -c perfex -n "__perfex_in $names" -d $field[4]
        set -l letters
        set -l name
        test $field[1] = ' '; or set letters -s (string sub -s 2 -- $field[1])
        test -z $field[2]; or set name -l (string sub -s 3 -- $field[2])
        switch $field[3]
            case ''
                $adds $letters $name
            case '[*'
                $adds $letters $name
                not set -q name[1]; or $adds $name -x -a "(__perfex_values $field[2])"
            case FILE
                $adds $letters $name -r -F
                set -a $list $field[1..2]
            case COMMAND
                $adds $letters $name -x -a '(__fish_complete_command)'
                set -a $list $field[1..2]
            case '*'
                $adds $letters $name -x -a "(__perfex_values $field[2])"
                set -a $list $field[1..2]
        end
    end
end

complete -c perfex -f
complete -c perfex -n __perfex_has_program -a '(__perfex_complete_program)'
complete -c perfex -n '__perfex_in - -- stat record' -a '(__fish_complete_command)'
# names and summaries, with a tab between
complete -c perfex -n '__perfex_in - help' -a '(perfex help --words 2> /dev/null)'
complete -c perfex -n '__perfex_in self-test' -a '(__perfex_values --checks)'
complete -c perfex -n '__perfex_in plot merge diff' -F

set -g __perfex_commands (perfex help --words 2> /dev/null | string replace -r '\t.*' '')
for command in $__perfex_commands
    __perfex_add_options $command
end

# Spellings from before there were commands are not offered, but their arguments are.
function __perfex_begun
    string match -q -- "$argv[1]=*" (commandline -ct); and __perfex_in -
end
complete -c perfex -n '__perfex_begun --sample' -l sample -x -a '(__perfex_events)='
complete -c perfex -n '__perfex_begun --report' -l report -r -F
complete -c perfex -n '__perfex_begun --self-test' -l self-test -x -a '(__perfex_values --checks)'
