// SPDX-License-Identifier: GPL-2.0
/* Options and commands of perf that perfex does not have: what to write instead. */
#include <limits.h>
#include <string.h>

#include "option-table.h"

#define GROUPS		"-p $(paste -sd, /sys/fs/cgroup/NAME/cgroup.procs) takes the processes of a control group, with what they start"
#define NODES		"--per-socket and --per-core print sums of CPUs"
#define TRACEPOINTS	"there are no tracepoints: use perf for these"
#define BRANCHES	"samples have no branch records: use perf record -b"
#define MEMORY		"samples have no data addresses: use perf mem record"
#define RING		"the module chooses the size of the ring: its parameter max_ring_kb_per_user limits it"
#define NOT_NEEDED	"perfex needs no such setting: leave it out"
#define AGAIN		"start perfex record again for another file"
#define PT		"traces of a processor (Intel PT, CoreSight) are read by perf only"
#define WRITTEN		"the first lines of perfex report say what was recorded"
#define KERNEL_NAMES	"the kernel's functions were recorded with their names"
#define INSTRUCTIONS	"perfex annotate FUNCTION shows instructions as objdump does"
#define DEMANGLED	"names of C++ and Rust are printed as in the source"
#define ONE_FUNCTION	"perfex annotate FUNCTION shows one function"
#define FILES		"--sort=dso,symbol shows the files"
#define THREADS		"--sort=comm,tid shows the threads"
#define TIMES		"perfex script prints the times"
#define SWITCHES	"perfex stat -e context-switches counts switches: use perf for single ones"
#define SAMPLES_ONLY	"perfex script prints samples only: use perf script for other records"
#define ALL_FIELDS	"-j prints all rows, with all their fields"

/* Lists have spaces between their words. */
static const struct {
	const char *commands, *names, *advice;
} perf_options[] = {
	{ "stat", "-c --scale", "counts are never scaled" },
	{ "stat", "--group --no-merge", "all events are counted together, as one group" },
	{ "stat", "-G --cgroup --for-each-cgroup", GROUPS },
	{ "stat", "-T --transaction", "use perf stat for transactions" },
	{ "stat", "--interval-count", "-I prints until the end, and --timeout ends -p, -t, -a and -C" },
	{ "stat", "--interval-clear", "perfex top shows counts again and again" },
	{ "stat", "--metric-no-group --metric-no-merge --metric-no-threshold", "metrics are computed from one run, in which all their events are counted" },
	{ "stat", "--td-level", "-M topdown prints the first level" },
	{ "stat", "-q --quiet", "-o /dev/null drops the counts, and keeps messages" },
	{ "stat", "--per-die --per-cluster --per-node --per-cache --percore-show-thread", NODES },
	{ "stat list", "--cputype", "--kind=core and --kind=atom choose the CPUs of a hybrid processor" },
	{ "stat", "--hybrid-merge", "--per-kind prints the counts of each kind, and without it their sums are printed" },
	{ "stat record", "--filter", TRACEPOINTS },
	{ "stat", "--smi-cost", "use perf stat for the cost of SMIs" },
	{ "stat", "--iostat", "use perf stat for the uncore's counters" },
	{ "stat", "-b --bpf-prog --bpf-counters --bpf-attr-map", "perfex counts threads or CPUs: use perf stat for BPF programs" },

	{ "record top", "-b --branch-any", BRANCHES },
	{ "record", "-j --branch-filter", BRANCHES },
	{ "top", "-j --branch-filter", "samples have no branch records, and perfex stat -I MS -j prints JSON" },
	{ "record", "-d --data -W --weight --phys-data --data-page-size --code-page-size", MEMORY },
	{ "record", "-D --delay", "start the program, and sample it by -p" },
	{ "record top", "-G --cgroup --all-cgroups", GROUPS },
	{ "record", "-I --intr-regs --user-regs", "-g dwarf writes the registers that unwinding needs" },
	{ "record", "-k --clockid", "samples have the time stamp counter, and the times of JITs are matched with it" },
	{ "record top", "-m --mmap-pages", RING },
	{ "record", "-n --no-samples", "perfex stat counts without samples" },
	{ "record top", "-r --realtime", "chrt -f N perfex record runs with this priority" },
	{ "record", "-s --stat --per-thread", "perfex report --sort=tid shows the threads" },
	{ "record", "-S --snapshot --overwrite", "a file has all samples, from the start on" },
	{ "top", "--overwrite", "all samples are shown" },
	{ "record", "--switch-output --switch-max-files --switch-output-event", AGAIN },
	{ "record", "--timestamp-filename", "the shell makes such names: -o perfex.data.$(date +%s)" },
	{ "record", "--max-size", "--timeout ends a recording of -p, -t, -a and -C, and -F and -c make it smaller" },
	{ "record top", "-u --uid", "-p takes processes: -p $(pgrep -d, -u USER)" },
	{ "record", "-z --compression-level", "gzip compresses the file afterwards" },
	{ "record", "--all-user", "end the names of events with :u" },
	{ "record", "--all-kernel", "end the names of events with :k" },
	{ "record", "--control", "start and end perfex record, or use perfex stat --control" },
	{ "record", "--off-cpu", "samples are those of running threads: use perf record for others" },
	{ "record", "-R --raw-samples", TRACEPOINTS },
	{ "record", "--aux-sample", PT },
	{ "record", "--clang-opt --clang-path", "perfex compiles no BPF programs: use perf record for these" },
	{ "record", "--transaction", "use perf record for transactions" },
	{ "record", "--switch-events", SWITCHES },
	{ "record", "--dry-run", "perfex list shows the events that can be counted here" },
	{ "record", "--exclude-perf", "perfex report --comm=NAME leaves out other threads, and perfex itself" },
	{ "record", "--kernel-callchains --user-callchains", "-g writes the calls of the mode that the event has: -e cycles:u has no kernel mode" },
	{ "record", "--kcore --vmlinux --buildid-all --buildid-mmap", "perfex writes the kernel's names, and perfex report finds files by their build IDs" },
	{ "record", "--debuginfod", "DEBUGINFOD_URLS names the servers that perfex report asks" },
	{ "record top", "--num-thread-synthesize --affinity --aio --threads --no-buffering --mmap-flush --proc-map-timeout --running-time --strict-freq --synth --tail-synthesize --timestamp-boundary --namespaces", NOT_NEEDED },

	{ "report", "-b --branch-stack --branch-history --total-cycles --stitch-lbr", BRANCHES },
	{ "report", "-C --cpu", "--sort=cpu shows the CPUs" },
	{ "report script", "-c --comms", "--comm=NAME chooses the threads" },
	{ "report", "-d --dsos", FILES },
	{ "report", "-S --symbols --symbol-filter", ONE_FUNCTION },
	{ "report annotate diff", "-D --dump-raw-trace", "perfex script prints all samples" },
	{ "report", "-F --fields", "--sort=KEY,... chooses the columns" },
	{ "report", "-I --show-info --header --header-only --stats", "the first lines of a report say what was recorded" },
	{ "script", "-I --show-info --header --header-only", WRITTEN },
	{ "report annotate script top diff", "-k --vmlinux --kallsyms --ignore-vmlinux -m --modules --demangle-kernel", KERNEL_NAMES },
	{ "report", "-T --threads --tasks", THREADS },
	{ "report", "-U --hide-unresolved", "[unknown] is in the sums, so that shares are right" },
	{ "report top", "-w --column-widths", "columns are as wide as their texts" },
	{ "report", "-x --exclude-other -t --field-separator", ALL_FIELDS },
	{ "report top", "--hierarchy", "--sort=comm,dso,symbol has a row for each" },
	{ "report", "--parent --ignore-callees", "-g callee shows the callers of a function" },
	{ "report script", "--max-stack", "perfex record -g --max-stack limits what is recorded" },
	{ "report", "--time --time-quantum --samples", TIMES },
	{ "report", "--percentage", "--comm, -p and -t choose the samples, and shares are those of the samples that they leave" },
	{ "report", "--show-total-period --show-cpu-utilization", "-j prints the events that samples stand for" },
	{ "report", "--group --group-sort-idx", "-e EVENT shows the samples of one event, and --sort=event,symbol those of all" },
	{ "report", "--mem-mode", MEMORY },
	{ "report", "--socket-filter", "--sort=cpu shows the CPUs" },
	{ "report annotate script", "--itrace", PT },
	{ "report", "--mmaps", "perfex report -v says which files it has read" },
	{ "report", "--raw-trace", TRACEPOINTS },
	{ "report", "--pretty", "--stdio prints text" },
	{ "report annotate", "--percent-type", "perfex report prints shares of all samples, and perfex annotate those of the function" },
	{ "report annotate", "--stdio-color", "colours are for terminals, and NO_COLOR=1 in the environment turns them off" },
	{ "report script", "--switch-on --switch-off --show-on-off-events", TRACEPOINTS },
	{ "report script", "--ns", "perfex script prints microseconds, as perf script does" },
	{ "report", "--disable-order --show-ref-call-graph", NOT_NEEDED },
	{ "report annotate script top", "--demangle", DEMANGLED },
	{ "report", "--asm-raw --objdump --source --prefix --prefix-strip --full-source-path -M --disassembler-style", INSTRUCTIONS },

	{ "annotate", "-l --print-line", "lines are printed with their numbers" },
	{ "annotate", "-d --dsos", "FUNCTION@LIBRARY is the function of a library" },
	{ "annotate", "-M --disassembler-style --asm-raw --objdump --source --prefix --prefix-strip", "instructions are in the style of objdump, with their lines" },
	{ "annotate", "-P --full-paths", "names of files are printed as the compiler wrote them" },
	{ "annotate", "-C --cpu", "perfex report --sort=cpu,symbol shows the CPUs" },
	{ "annotate", "--percent-limit --show-total-period --skip-missing", "each line with samples is printed with their number" },
	{ "annotate", "--group", "-e EVENT shows the samples of one event" },

	{ "script", "-F --fields", "each sample is printed with comm, pid, tid, cpu, time, period, event, ip, sym and dso" },
	{ "script", "-D --dump-raw-trace --dump-unsorted-raw-trace -d --debug-mode", "all samples are printed" },
	{ "script", "-s --script -g --gen-script -l --list -L --latency --dlfilter --dlarg --list-dlfilters", "perf's scripts need perf: others read this text" },
	{ "script", "-C --cpu -a --all-cpus", "each sample is printed with its CPU" },
	{ "script", "--time --deltatime --reltime", "each sample is printed with its time" },
	{ "script", "-G --hide-call-graph", "perfex report shows functions without calls" },
	{ "script", "-S --symbols --addr-range --dsos --graph-function --stop-bt", "--comm, -p and -t choose the samples, and grep the lines" },
	{ "script", "--insn-trace --call-trace --call-ret-trace --xed --max-blocks --stitch-lbr", PT },
	{ "script", "--show-task-events --show-mmap-events --show-switch-events --show-namespace-events --show-lost-events --show-round-events --show-bpf-events --show-cgroup-events --show-text-poke-events", SAMPLES_ONLY },
	{ "script", "--guest-code --guestmount --guestkallsyms --guestmodules --guestvmlinux", "use perf kvm for guests" },
	{ "script", "--per-event-dump", "-e EVENT prints the samples of one event, and -o FILE says where to" },
	{ "script", "--full-source-path --show-kernel-path", "perfex annotate shows the lines of a function" },

	{ "diff", "-b --baseline-only -p --period -F --formula -c --compute", "the shares of both files and their difference are printed; -v prints all rows" },
	{ "diff", "--order", "rows are in the order of the difference" },
	{ "diff", "-s --sort -d --dsos -S --symbols", "functions are compared: perfex report --sort of each file shows other keys" },
	{ "diff", "-C --comms --cpu --pid --tid --time --percentage", "all samples are compared: perfex report of each file shows some of them" },
	{ "diff", "-t --field-separator", ALL_FIELDS },
	{ "diff", "--cycles-hist --stream", BRANCHES },

	{ "top", "-g --call-graph --children --max-stack", "perfex record -a -g, and perfex report -g, show calls" },
	{ "top", "-d --delay", "-I MS is the time between two counts" },
	{ "top", "-K --hide_kernel_symbols", "-e cycles:u has no kernel mode" },
	{ "top", "-U --hide_user_symbols", "-e cycles:k has no user mode" },
	{ "top", "-E --entries -f --count-filter --percent-limit --percentage", "as many functions are shown as the terminal has lines for" },
	{ "top", "-z --zero", "each table has the samples since the last one" },
	{ "top", "-i --no-inherit", "-t TID shows one thread" },
	{ "top", "--comms --dsos --symbols --fields", "--sort=comm,dso,symbol shows these" },
	{ "top", "-D --dump-symtab --group --group-sort-idx --ignore-callees --raw-trace --show-total-period", "perfex record, and perfex report, show more" },
	{ "top", "--sym-annotate --asm-raw --objdump --source --prefix --prefix-strip -M --disassembler-style", "perfex record, and perfex annotate FUNCTION, show instructions" },
	{ "top", "--switch-on --switch-off --show-on-off-events", TRACEPOINTS },
	{ "top", "--stitch-lbr", BRANCHES },

	{ "list", "--debug", "-v shows also what cannot be counted here" },
	{ "list", "-j --json --raw-dump", "an event's name is the first word of each line that has no space before it" },
	{ "list", "--unit", "events are those of the cores: use perf list --unit for others" },

	/* before a command */
	{ "perf", "--debug --debugfs-dir --exec-path --html-path", NOT_NEEDED },
	{ "perf", "--buildid-dir", "perfex report --symfs=DIR reads other files" },
	{ "perf", "--list-cmds", "perfex --help shows the commands" },
	{ "perf", "--list-opts", "perfex COMMAND --help shows the options" },
};

/* True if a list has this word, or one that begins so. */
static bool has_word(const char *list, const char *word, size_t length, bool beginning)
{
	size_t n;

	for (; *list; list += n + strspn(list + n, " ")) {
		n = strcspn(list, " ");
		if ((n == length || (beginning && n > length)) && !strncmp(list, word, length))
			return true;
	}
	return false;
}

/* perf takes the beginning of a long name, too: of several that have it, the first one advises. */
#define LEAST_BEGINNING	5	/* with the hyphens */

static const char *find_advice(const char *command, const char *option, size_t length)
{
	bool beginning = false;
	size_t i;

	do {
		for (i = 0; i < ARRAY_SIZE(perf_options); i++)
			if (has_word(perf_options[i].commands, command, strlen(command), false) &&
			    has_word(perf_options[i].names, option, length, beginning))
				return perf_options[i].advice;
		beginning = !beginning && length >= LEAST_BEGINNING && option[1] == '-';
	} while (beginning);
	return NULL;
}

int advise_perf_option(const struct command *command, char letter, const char *name, size_t length,
		       struct error *e)
{
	char option[64];
	int n = letter ? snprintf(option, sizeof(option), "-%c", letter) :
		snprintf(option, sizeof(option), "--%.*s", length < 60 ? (int)length : 60, name);
	const char *name_of_command = command ? command->name : "perf";
	const char *advice = find_advice(name_of_command, option, (size_t)n);

	/* perf has it of each option that has no argument. */
	if (!advice && !strncmp(option, "--no-", 5)) {
		memmove(option + 2, option + 5, strlen(option + 5) + 1);
		advice = find_advice(name_of_command, option, strlen(option));
		snprintf(option, sizeof(option), "--%.*s", length < 60 ? (int)length : 60, name);
	}
	return !advice ? 0 : fail_with(e, "there is no %s, which perf%s%s has: %s", option,
				       command ? " " : "", command ? command->name : "", advice);
}

/* ---- commands of perf ----------------------------------------------------------------------- */

static const struct {
	const char *name, *advice;
} perf_commands[] = {
	{ "trace", "perf trace shows system calls" },
	{ "version", "perfex --version shows the version" },
	{ "evlist", "perfex report shows the events of a file" },
	{ "buildid-list", "perfex report finds files by their build IDs itself" },
	{ "buildid-cache", "perfex report --symfs=DIR reads other files" },
	{ "archive", "copy the programs, and perfex report --symfs=DIR reads them" },
	{ "data", "perfex report --export=perf, pprof and firefox convert samples" },
	{ "inject", "perfex report reads the files of JITs itself" },
	{ "timechart", "perfex report --export=firefox shows samples over time" },
	{ "config", "there is no file of settings but ~/.config/perfex/metrics" },
	{ "check", "perfex doctor checks what works here" },
	{ "test", "perfex self-test checks the counters" },
	{ "iostat", "use perf iostat for the uncore's counters" },
	{ "c2c", "use perf c2c for shared cache lines" },
	{ "mem", "use perf mem for addresses of data" },
	{ "lock", "use perf lock for locks" },
	{ "kmem", "use perf kmem for the kernel's memory" },
	{ "kwork", "use perf kwork for interrupts and work of the kernel" },
	{ "kallsyms", "use perf kallsyms for the kernel's symbols" },
	{ "sched", "use perf sched for the scheduler" },
	{ "probe", "use perf probe for probes" },
	{ "ftrace", "use perf ftrace for the kernel's functions" },
	{ "kvm", "use perf kvm for guests" },
	{ "bench", "use perf bench for benchmarks" },
	{ "daemon", "use perf daemon for recordings in the background" },
};

/* True if there is a program of this name: it can be counted. */
static bool is_program(const char *name)
{
	char path[PATH_MAX];

	return find_program(path, sizeof(path), name);
}

/* perf stat has commands of its own. */
int check_stat_command(struct error *e, char **command)
{
	if (is_program(command[0]))
		return 0;
	if (!strcmp(command[0], "record"))
		return fail_with(e, "'record' is a command of perf stat, and not of perfex: -j -o FILE writes counts to a file");
	if (!strcmp(command[0], "report"))
		return fail_with(e, "'report' is a command of perf stat, and not of perfex: perfex merge and perfex diff show the files of perfex stat -j");
	return 0;
}

/* True if one letter is missing, added or another one in a word, or two have changed their places. */
static bool is_nearly(const char *word, const char *right)
{
	const size_t n = strlen(word), m = strlen(right);
	size_t i = 0;

	if (n < 4 || n > m + 1 || m > n + 1)
		return false;
	while (word[i] && word[i] == right[i])
		i++;
	if (n > m)
		return !strcmp(word + i + 1, right + i);
	if (n < m)
		return !strcmp(word + i, right + i + 1);
	return word[i] && (!strcmp(word + i + 1, right + i + 1) ||
			   (word[i] == right[i + 1] && word[i + 1] == right[i] &&
			    !strcmp(word + i + 2, right + i + 2)));
}

int check_subcommand(struct error *e, char **command)
{
	size_t i;

	for (i = 0; commands[i]; i++)
		if (is_nearly(command[0], commands[i]->name) && !is_program(command[0]))
			return fail_with(e, "there is no command and no program '%s': did you mean 'perfex %s'?",
					 command[0], commands[i]->name);
	for (i = 0; i < ARRAY_SIZE(perf_commands); i++)
		if (!strcmp(command[0], perf_commands[i].name) && !is_program(command[0]))
			return fail_with(e, "'%s' is a command of perf, and not of perfex: %s", command[0],
					 perf_commands[i].advice);
	return 0;
}
