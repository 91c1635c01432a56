# SPDX-License-Identifier: GPL-2.0
#
# Completion of perfex for fish.

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

# The tokens after perfex's options: the command that is counted, or none.
function __perfex_command
    set -l tokens (commandline -opc)
    set -e tokens[1]
    while set -q tokens[1]
        switch $tokens[1]
            case --
                set -e tokens[1]
                break
            case --pre --post --event --metrics --delay --control --wait --pid --tid --cpu --prometheus --timeout --kind --backend --repeat --runs --interval \
                    --interval-print --field-separator --freq --max-stack --report --sort --comm --export --annotate --symfs \
                    --output --log-fd
                set -e tokens[1]
            case '--*'
            case '-*e' '-*M' '-*D' '-*p' '-*t' '-*o' '-*r' '-*I' '-*x' '-*F' '-*C'
                set -e tokens[1]
            case '-*' stat record report annotate script diff top self-test info
            case '*'
                break
        end
        set -e tokens[1]
    end
    set -q tokens[1]; and printf '%s\n' $tokens
end

function __perfex_has_command
    set -l command (__perfex_command)
    set -q command[1]
end

# The words after a command are completed as its own.
function __perfex_complete_command
    set -l command (__perfex_command)
    if contains -- "$command[1]" plot merge diff
        __fish_complete_path (commandline -ct)
    else if not contains -- "$command[1]" list doctor
        set -l line (string escape -- $command) (commandline -ct)
        complete -C "$line"
    end
end

complete -c perfex -f
complete -c perfex -n __perfex_has_command -a '(__perfex_complete_command)'
complete -c perfex -n 'not __perfex_has_command' -a '(__fish_complete_command)'
# names and summaries, with a tab between
complete -c perfex -n 'not __perfex_has_command' -a '(perfex help --words 2> /dev/null)'

set -l c complete -c perfex -n 'not __perfex_has_command'
$c -s e -l event -x -d 'Count these events' -a '(__fish_append , (__perfex_events))'
$c -s M -l metrics -x -d 'Print the values of these metrics' -a '(__fish_append , (__perfex_metrics))'
$c -s d -l detailed -d 'Print the metrics that fit the counters'
$c -s D -l delay -x -d 'Leave out the first milliseconds'
$c -l control -x -d 'Count while other programs say so' -a 'fifo: fd:'
$c -l wait -x -d 'Wait for counters that others have, no longer than this'
$c -s p -l pid -x -d 'Count all threads of running processes' -a '(__fish_complete_pids)'
$c -s t -l tid -x -d 'Count running threads'
$c -s a -l all-cpus -d 'Count all CPUs'
$c -s C -l cpu -x -d 'Count these CPUs'
$c -l per-cpu -d 'With -a and -C, print the counts of each CPU'
$c -l per-core -d 'With -a and -C, print the counts of each core'
$c -l per-socket -d 'With -a and -C, print the counts of each socket'
$c -l per-kind -d 'With -a and -C, print the counts of each kind of CPUs'
$c -l prometheus -r -F -d 'Write the counts of CPUs to this file, for Prometheus'
$c -l timeout -x -d 'With -p, -t, -a and -C, count this long'
$c -l kind -x -d 'Count on CPUs of this kind' -a 'core atom'
$c -l backend -x -d 'Count by the module or by perf_event' -a 'auto module perf'
$c -l strict -d 'Refuse all events if one cannot be counted here'
$c -l no-inherit -d 'Do not count threads and processes that are started'
$c -l sample -d 'Write where threads are after each PERIOD events'
$c -l sample -x -d 'Choose the event and the period' -a '(__perfex_events)='
$c -s g -l call-graph -d 'With --sample, write the chains of calls'
$c -s F -l freq -x -d 'With --sample, N samples per second'
$c -l max-stack -x -d 'With -g, write at most N calls'
$c -l report -r -F -d 'Print the hottest functions of such a file'
$c -l sort -x -d 'Report by these' -a '(__fish_append , comm pid tid cpu dso symbol line event)'
$c -l children -d 'Report functions with what they have called'
$c -l callers -d 'Report the callers of functions'
$c -l callees -d 'Report paths of calls'
$c -l comm -x -d 'Report threads of this name'
$c -l annotate -x -d 'Report the lines and instructions of a function'
$c -l symfs -x -d 'Report with the programs and libraries in a directory' -a '(__fish_complete_directories)'
$c -l export -x -d 'Print samples for other programs' -a 'svg folded pprof firefox perf'
$c -s r -l repeat -x -d 'Run the command N times'
$c -l runs -x -d 'Run the command as many times as needed to count all events' -a auto
$c -l pre -x -d 'Run a command before each run'
$c -l post -x -d 'Run a command after each run'
$c -s S -l sync -d 'Write all files to disks before each run'
$c -s U -l all-user -d 'Count in user mode'
$c -s K -l all-kernel -d 'Count in kernel mode'
$c -l no-big-num -d 'Print no commas in numbers'
$c -l metric-only -d 'Print metrics and no counts'
$c -l summary -d 'With -I, also print the sums'
$c -l table -d 'With -r, print the time of each run'
$c -s I -l interval -x -d 'Print what was counted in each interval'
$c -s x -l field-separator -x -d 'Print fields with this separator'
$c -s j -l json -d 'Print JSON'
$c -l per-thread -d 'With -p and -t, print the counts of each thread'
$c -s o -l output -r -F -d 'Print to this file'
$c -l append -d 'With -o, add to the end of the file'
$c -l user -d 'Run the command as the caller of sudo'
$c -l user -x -d 'Run the command as this user' -a '(__fish_complete_users)'
$c -l log-fd -x -d 'Print to this descriptor'
$c -s i -l info -d 'Show what the module found'
$c -l self-test -d 'Check that the counters of this machine are right'
$c -l self-test -x -d 'Run only these checks' -a '(__fish_append , (__perfex_checks))'
$c -s v -l verbose -d 'Print more'
$c -s h -l help -d 'Show the options'
$c -s V -l version -d 'Show the version'
