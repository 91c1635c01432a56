// SPDX-License-Identifier: GPL-2.0
/* Options and commands of perf that perfex does not have: what to write instead. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "option-table.h"

#define GROUPS		"perfex counts threads or CPUs, and no control groups: use perf stat for these"
#define NODES		"--per-socket and --per-core print sums of CPUs"
#define BRANCHES	"samples have no branch records: use perf record -b"
#define MEMORY		"samples have no data addresses: use perf mem record"
#define RING		"the module chooses the size of the ring: its parameter max_ring_kb_per_user limits it"
#define FILTERS		"--comm, -p and -t choose the samples"

static const struct {
	const struct command *command;
	char letter;
	const char *name, *advice;
} perf_options[] = {
	{ &command_stat, 'c', "scale", "counts are never scaled" },
	{ &command_stat, 0, "no-scale", "counts are never scaled" },
	{ &command_stat, 0, "group", "all events are counted together, as one group" },
	{ &command_stat, 'G', "cgroup", GROUPS },
	{ &command_stat, 0, "for-each-cgroup", GROUPS },
	{ &command_stat, 'T', "transaction", "use perf stat for transactions" },
	{ &command_stat, 0, "interval-count", "-I prints until the end, and --timeout ends -p, -t, -a and -C" },
	{ &command_stat, 0, "interval-clear", "perfex top shows counts again and again" },
	{ &command_stat, 0, "metric-only", "-M prints the metrics after their events" },
	{ &command_stat, 0, "metric-no-group", "metrics are computed from one run, in which all their events are counted" },
	{ &command_stat, 0, "metric-no-merge", "metrics are computed from one run, in which all their events are counted" },
	{ &command_stat, 0, "td-level", "-M topdown prints the first level" },
	{ &command_stat, 'q', "quiet", "-o /dev/null drops the counts, and keeps messages" },
	{ &command_stat, 0, "table", "-r prints the mean and its deviation, and no single runs" },
	{ &command_stat, 0, "summary", "-I prints no sums at the end, and without it perfex prints only these" },
	{ &command_stat, 0, "no-csv-summary", "-I prints no sums at the end" },
	{ &command_stat, 0, "per-die", NODES },
	{ &command_stat, 0, "per-node", NODES },
	{ &command_stat, 0, "per-cache", NODES },
	{ &command_stat, 0, "percore-show-thread", NODES },
	{ &command_stat, 0, "cputype", "--kind=core and --kind=atom choose the CPUs of a hybrid processor" },
	{ &command_stat, 0, "hybrid-merge", "--per-kind prints the counts of each kind, and without it their sums are printed" },
	{ &command_stat, 0, "no-merge", "each event is counted once" },
	{ &command_stat, 0, "filter", "there are no tracepoints: use perf stat for these" },
	{ &command_stat, 0, "smi-cost", "use perf stat for the cost of SMIs" },
	{ &command_stat, 0, "iostat", "use perf stat for the uncore's counters" },

	{ &command_record, 'b', "branch-any", BRANCHES },
	{ &command_record, 'j', "branch-filter", BRANCHES },
	{ &command_record, 'd', "data", MEMORY },
	{ &command_record, 'W', "weight", MEMORY },
	{ &command_record, 0, "phys-data", MEMORY },
	{ &command_record, 'D', "delay", "start the program, and sample it by -p" },
	{ &command_record, 'G', "cgroup", "perfex samples threads or CPUs, and no control groups: use perf record for these" },
	{ &command_record, 'I', "intr-regs", "-g dwarf writes the registers that unwinding needs" },
	{ &command_record, 0, "user-regs", "-g dwarf writes the registers that unwinding needs" },
	{ &command_record, 'k', "clockid", "samples have the time stamp counter, and the times of JITs are matched with it" },
	{ &command_record, 'm', "mmap-pages", RING },
	{ &command_record, 'n', "no-samples", "perfex stat counts without samples" },
	{ &command_record, 'r', "realtime", "chrt -f N perfex record runs with this priority" },
	{ &command_record, 's', "stat", "perfex report --sort=tid shows the threads" },
	{ &command_record, 'S', "snapshot", "a file has all samples, from the start on" },
	{ &command_record, 0, "overwrite", "a file has all samples, from the start on" },
	{ &command_record, 0, "switch-output", "start perfex record again for another file" },
	{ &command_record, 'u', "uid", "-p takes processes: -p $(pgrep -d, -u USER)" },
	{ &command_record, 'z', "compression-level", "gzip compresses the file afterwards" },
	{ &command_record, 0, "all-user", "end the names of events with :u" },
	{ &command_record, 0, "all-kernel", "end the names of events with :k" },
	{ &command_record, 0, "per-thread", "perfex report --sort=tid shows the threads" },
	{ &command_record, 0, "control", "start and end perfex record, or use perfex stat --control" },
	{ &command_record, 0, "filter", "there are no tracepoints: use perf record for these" },
	{ &command_record, 0, "off-cpu", "samples are those of running threads: use perf record for others" },

	{ &command_report, 'b', "branch-stack", BRANCHES },
	{ &command_report, 'C', "cpu", "--sort=cpu shows the CPUs" },
	{ &command_report, 'c', "comms", "--comm=NAME chooses the threads" },
	{ &command_report, 'd', "dsos", "--sort=dso,symbol shows the files" },
	{ &command_report, 'S', "symbols", "perfex annotate FUNCTION shows one function" },
	{ &command_report, 'D', "dump-raw-trace", "perfex script prints all samples" },
	{ &command_report, 'F', "fields", "--sort=KEY,... chooses the columns" },
	{ &command_report, 'I', "show-info", "the first lines of a report say what was recorded" },
	{ &command_report, 0, "header", "the first lines of a report say what was recorded" },
	{ &command_report, 0, "header-only", "the first lines of a report say what was recorded" },
	{ &command_report, 'k', "vmlinux", "the kernel's functions were recorded with their names" },
	{ &command_report, 0, "kallsyms", "the kernel's functions were recorded with their names" },
	{ &command_report, 'T', "threads", "--sort=tid shows the threads" },
	{ &command_report, 0, "tasks", "--sort=comm,tid shows the threads" },
	{ &command_report, 0, "stats", "the first lines of a report say what was recorded" },
	{ &command_report, 'U', "hide-unresolved", "[unknown] is in the sums, so that shares are right" },
	{ &command_report, 'w', "column-widths", "columns are as wide as their texts" },
	{ &command_report, 'x', "exclude-other", "-j prints all rows, with all their fields" },
	{ &command_report, 0, "hierarchy", "--sort=comm,dso,symbol has a row for each" },
	{ &command_report, 0, "symbol-filter", "perfex annotate FUNCTION shows one function" },
	{ &command_report, 0, "max-stack", "perfex record -g --max-stack limits what is recorded" },
	{ &command_report, 0, "time", "perfex script prints the times" },
	{ &command_report, 0, "percentage", FILTERS },
	{ &command_report, 0, "show-total-period", "-j prints the events that samples stand for" },

	{ &command_annotate, 'l', "print-line", "lines are printed with their numbers" },
	{ &command_annotate, 'd', "dsos", "FUNCTION@LIBRARY is the function of a library" },
	{ &command_annotate, 'k', "vmlinux", "the kernel's functions were recorded with their names" },
	{ &command_annotate, 'M', "disassembler-style", "instructions are in the style of objdump" },

	{ &command_script, 'F', "fields", "each sample is printed with comm, pid, tid, cpu, time, period, event, ip, sym and dso" },
	{ &command_script, 'D', "dump-raw-trace", "all samples are printed" },
	{ &command_script, 's', "script", "perf's scripts need perf: others read this text" },
	{ &command_script, 'C', "cpu", "each sample is printed with its CPU" },
	{ &command_script, 0, "header", "the first lines of perfex report say what was recorded" },
	{ &command_script, 0, "time", "each sample is printed with its time" },

	{ &command_top, 'g', "call-graph", "perfex record -a -g, and perfex report -g, show calls" },
	{ &command_top, 'd', "delay", "-I MS is the time between two counts" },
};

int advise_perf_option(const struct command *command, char letter, const char *name, size_t length,
		       struct error *e)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(perf_options); i++) {
		if (perf_options[i].command != command)
			continue;
		if (letter && letter == perf_options[i].letter)
			return fail_with(e, "there is no -%c, which perf %s has: %s", letter, command->name,
					 perf_options[i].advice);
		if (!letter && strlen(perf_options[i].name) == length &&
		    !strncmp(perf_options[i].name, name, length))
			return fail_with(e, "there is no --%s, which perf %s has: %s",
					 perf_options[i].name, command->name, perf_options[i].advice);
	}
	return 0;
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
	{ "inject", "perfex report reads the files of JITs itself" },
	{ "timechart", "perfex report --export=firefox shows samples over time" },
	{ "c2c", "use perf c2c for shared cache lines" },
	{ "mem", "use perf mem for addresses of data" },
	{ "lock", "use perf lock for locks" },
	{ "kmem", "use perf kmem for the kernel's memory" },
	{ "sched", "use perf sched for the scheduler" },
	{ "probe", "use perf probe for probes" },
	{ "ftrace", "use perf ftrace for the kernel's functions" },
	{ "kvm", "use perf kvm for guests" },
	{ "bench", "use perf bench for benchmarks" },
};

/* True if there is a program of this name: it can be counted. */
static bool is_program(const char *name)
{
	const char *path = getenv("PATH");
	char *copy = path ? strdup(path) : NULL, *rest = copy, *dir, *file;
	bool found = false;

	while (!found && rest && (dir = strsep(&rest, ":"))) {
		if (asprintf(&file, "%s/%s", *dir ? dir : ".", name) < 0)
			break;
		found = !access(file, X_OK);
		free(file);
	}
	free(copy);
	return found;
}

int check_subcommand(struct error *e, char **command)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(perf_commands); i++)
		if (!strcmp(command[0], perf_commands[i].name) && !is_program(command[0]))
			return fail_with(e, "'%s' is a command of perf, and not of perfex: %s", command[0],
					 perf_commands[i].advice);
	return 0;
}
