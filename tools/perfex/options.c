// SPDX-License-Identifier: GPL-2.0
/* The options, their help, and the combinations that are refused. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "gate.h"

/* Samples per second: more are never useful. */
#define MAX_RATE	1000000

/* Return addresses in each sample. */
#define USUAL_DEPTH	64
#define USUAL_STACK	8192

/* An event of this processor with a unit mask, as libpfm4 has it. */
static int find_example(const struct vperfctr_event *event, const char *description, void *arg)
{
	char *example = arg;

	(void)description;
	if (!event->general || !strchr(event->name, ':') || strlen(event->name) > 30)
		return 0;
	strcpy(example, event->name);
	return 1;
}

/* Examples that work on the processor at hand, if the module says which one it is. */
static void print_event_names(FILE *f)
{
	struct vperfctr_info info = { 0 };
	char example[32] = "";
	unsigned int i;

	if (vperfctr_info(&info, 0))
		memset(&info, 0, sizeof(info));
	else
		vperfctr_event_list(&info, find_example, example);
	fputs("  generic    ", f);
	for (i = 0; events_generic_name(i); i++)
		fprintf(f, "%s%s", i ? i % 4 ? ", " : ",\n             " : "",
			events_generic_name(i));
	fprintf(f, "\n  libpfm4's  %s%s\n             (perfex list shows those of this processor)\n",
		*example ? "as in " : "", *example ? example : "EVENT:UMASK");
	switch (info.cpu_type) {
	case VPERFCTR_CPU_ARM_PMUV3:
		fputs("  raw        rEEEE, hexadecimal: the event's number (r0008: instructions)\n"
		      "  register   0xEVNTSEL: the event type register as a whole\n", f);
		break;
	case VPERFCTR_CPU_INTEL_P5:
	case VPERFCTR_CPU_CYRIX:
	case VPERFCTR_CPU_WINCHIP:
	case VPERFCTR_CPU_VIA_C3:
		fputs("  raw        rEEE@N, hexadecimal: the event's number, on counter N\n"
		      "  register   0xEVNTSEL@N: the counter's part of the control register\n", f);
		break;
	case VPERFCTR_CPU_RISCV_SBI:
		fputs("  raw        rDATA, hexadecimal: the value for mhpmevent, as perf has it\n"
		      "  SBI        0xNUMBER: the SBI's number of an event (0x2: instructions)\n", f);
		break;
	case VPERFCTR_CPU_POWER8:
		fputs("  raw        rPUCEE, hexadecimal: counter (1: PMC1), unit, combination and\n"
		      "             selector, as perf has it; rEE@N is for PMC<N + 1>, too\n"
		      "  register   0xEVNTSEL: the same, with bits for the modes\n", f);
		break;
	case VPERFCTR_CPU_PPC32:
		fputs("  raw        rEE@N, hexadecimal: the selector of counter N, which is PMC<N + 1>\n"
		      "  register   0xEVNTSEL@N: the same, with bits for the modes\n", f);
		break;
	case VPERFCTR_CPU_INTEL_P4:
		fputs("  register   0xCCCR/0xESCR@COUNTER: the two registers that an event needs\n", f);
		break;
	case VPERFCTR_CPU_AMD:
	case VPERFCTR_CPU_INTEL_P6:
		fputs("  raw        rUUEE, hexadecimal: unit mask, then event select, as perf has it\n"
		      "             (r00c0: event c0 with unit mask 00, instructions); digits further\n"
		      "             left are bits of the event select register from bit 16 on:\n"
		      "             r10000c0 has a cmask of 1\n"
		      "  register   0xEVNTSEL: the event select register as a whole\n", f);
		break;
	default:
		fputs("  raw        rUUEE, hexadecimal: unit mask, then event select, as perf has it\n"
		      "             (r00c0: event c0 with unit mask 00, instructions); digits further\n"
		      "             left are bits of the event select register from bit 16 on:\n"
		      "             r10000c0 has a cmask of 1\n"
		      "  register   0xEVNTSEL or 0xEVNTSEL/0xAUX: the event select register as a\n"
		      "             whole, and the second one that the event needs\n", f);
	}
}

static void print_usage(FILE *f)
{
	fputs("Usage: perfex [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	      "       perfex [OPTION]... -p PID[,PID]... [--timeout=SECONDS | [--] COMMAND...]\n"
	      "       perfex [OPTION]... -t TID[,TID]... [--timeout=SECONDS | [--] COMMAND...]\n"
	      "       perfex [OPTION]... -a | -C LIST [--timeout=SECONDS | [--] COMMAND...]\n"
	      "       perfex top [OPTION]...\n"
	      "       perfex doctor [-j]\n"
	      "       perfex --sample[=EVENT[=PERIOD],...] -o FILE [-g] [-F N] [--] COMMAND...\n"
	      "       perfex --sample[=EVENT[=PERIOD],...] -o FILE -a | -C LIST [OPTION]...\n"
	      "       perfex --report=FILE [--export=FORMAT] [OPTION]...\n"
	      "       perfex plot FILE -o PICTURE [-e EVENT,...]\n"
	      "       perfex merge FILE... [-j] [-o FILE]\n"
	      "       perfex [-v] list [WORD]...\n"
	      "       perfex --self-test[=CHECK[,CHECK]...] [--report=FILE]\n"
	      "       perfex -i\n"
	      "       perfex info [--holders]\n"
	      "Run COMMAND, and print exact counts of it and of all that it starts;\n"
	      "or count running processes or CPUs until these processes end, you press Ctrl-C,\n"
	      "the time is over, or COMMAND, which has no counts of its own then, has ended.\n"
	      "\n"
	      "  -e, --event=EVENT   count EVENT; may be repeated, or several, with commas\n"
	      "  -M, --metrics=NAME,...  count the events of these metrics, and print their\n"
	      "                      values (perfex list shows the names)\n"
	      "  -d, --detailed      count and print the metrics that fit; -dd: more of them\n"
	      "  -p, --pid=PID       count all threads of a running process\n"
	      "  -t, --tid=TID       count a running thread\n"
	      "  -a, --all-cpus      count whole CPUs, whatever runs there: needs\n"
	      "                      CAP_PERFMON (sudo)\n"
	      "  -C, --cpu=LIST      count these CPUs (0-3,8)\n"
	      "      --per-cpu, --per-core, --per-socket, --per-kind\n"
	      "                      with -a and -C, print the counts of each of these\n"
	      "      --prometheus=FILE  write the counts of each CPU to FILE for\n"
	      "                      Prometheus, with -a and -C, every 15 seconds or as -I says\n"
	      "  -D, --delay=MS      leave out what is counted in the first MS milliseconds\n"
	      "      --control=fifo:FILE[,FILE]  count while programs say so: they write the\n"
	      "                      lines enable and disable to the first FILE, and read ack\n"
	      "                      from the second; =fd:N[,N]: the same with descriptors\n"
	      "      --wait=SECONDS  wait so long for counters that others have\n"
	      "      --timeout=SECONDS  with -p, -t, -a and -C, count this long (0.5: half a\n"
	      "                      second)\n"
	      "      --kind=KIND     count on CPUs of this kind (a hybrid processor's core or\n"
	      "                      atom, or a number that -i shows); COMMAND runs on these\n"
	      "      --backend=auto|module|perf  count COMMAND by the vperfctr module or by\n"
	      "                      perf_event; auto: by perf_event where the module cannot\n"
	      "      --strict        refuse all events if one of them cannot be counted here\n"
	      "      --no-inherit    do not count threads and processes that are started\n"
	      "      --sample[=EVENT[=PERIOD],...]  write to FILE where threads are after each\n"
	      "                      PERIOD events (instructions:u=100k, cycles=2M), or\n"
	      "                      after a time on a CPU (task-clock=1ms)\n"
	      "  -F, --freq=N        with --sample, adapt the periods: a thread has about N\n"
	      "                      samples per second\n"
	      "  -g, --call-graph[=fp]  with --sample, also write the calls that led there, by\n"
	      "                      frame pointers; =dwarf[,SIZE]: by SIZE bytes of the stack\n"
	      "                      (8192), for programs without frame pointers\n"
	      "      --max-stack=N   with -g, write at most N calls of each sample (64)\n"
	      "      --report=FILE   print the hottest functions and lines of such a file, or\n"
	      "                      of a perf.data\n"
	      "      --sort=KEY,...  report by comm, pid, tid, cpu, dso, symbol, line and event\n"
	      "      --children      report functions together with those that they have called\n"
	      "      --callers       report the callers of functions, as a tree\n"
	      "      --callees       report paths of calls, as a tree\n"
	      "      --comm=NAME,... report threads of this name (and -p, -t: of this number;\n"
	      "                      -e: samples of this event)\n"
	      "      --annotate=FUNCTION  report the lines and instructions of a function\n"
	      "                      (FUNCTION@LIBRARY if several have one of that name)\n"
	      "      --symfs=DIR     report with the programs and libraries below DIR\n"
	      "      --export=FORMAT  print samples for other programs: svg (a flame graph),\n"
	      "                      folded, pprof, firefox, perf (perf.data)\n"
	      "  -r, --repeat=N      run COMMAND N times: print means and their deviation\n"
	      "      --runs=auto     run COMMAND as often as it takes to count all events\n"
	      "  -I, --interval=MS   print what was counted in each MS milliseconds\n"
	      "  -x, --field-separator=SEP  print fields with SEP between, as perf stat does\n"
	      "  -j, --json          print JSON, with perf stat's names\n"
	      "      --per-thread    with -p and -t, print each thread's counts\n"
	      "  -o, --output=FILE   print to FILE, not to standard error; in its name, %h is\n"
	      "                      the host, %p perfex's process, %r the rank (MPI, Slurm)\n"
	      "      --append        with -o, add to the end of FILE\n"
	      "      --log-fd=N      print to descriptor N, which is open already\n"
	      "      --user[=NAME]   run COMMAND as this user, or as the caller of sudo\n"
	      "  -i, --info          show what the module found, and exit\n"
	      "      --holders       show who has the counters now, and exit: root sees all,\n"
	      "                      others their own\n"
	      "      --self-test     as root, check that the counters of this machine are right\n"
	      "                      (--self-test=help lists the checks)\n"
	      "  -v, --verbose       also print each event's counter and its control, and the\n"
	      "                      parts of each sum; list all events, report all rows\n"
	      "  -h, --help          show this, and exit\n"
	      "  -V, --version       show the version, and exit\n"
	      "\n"
	      "EVENT is a name followed by :u (user mode), :k (kernel mode) or :uk (both).\n"
	      "Without these, both are counted if you may count kernel mode, else user mode.\n"
	      "Names are:\n"
	      "\n", f);
	print_event_names(f);
	fputs("\n"
	      "After EVENT, @N is general counter N, @fixedN fixed counter N.\n"
	      "Nothing is multiplexed: without --runs, events that do not fit the counters are\n"
	      "refused.  Without -e, the generic events that the processor has are counted, as\n"
	      "many as fit.\n"
	      "\n"
	      "Exit status: COMMAND's, or 0 without; 128+N if signal N ended it; 127 if it was\n"
	      "not found; 126 if it cannot be executed; 125 if perfex itself failed or was\n"
	      "misused, or if not all was counted.\n", f);
}

static int fail_usage(struct error *e, const char *what)
{
	return fail_with(e, "%s: see perfex --help", what);
}

/* "123,456" */
static int parse_ids(struct targets *targets, const char *arg, bool process, struct error *e)
{
	const char *p = arg;
	char *end;
	long id;

	for (;; p = end + 1) {
		errno = 0;
		id = strtol(p, &end, 10);
		if (!isdigit((unsigned char)*p) || (*end && *end != ',') || errno ||
		    id <= 0 || id > INT_MAX)
			return fail_with(e, "'%s' is not a list of %s ids: see perfex --help", arg,
					 process ? "process" : "thread");
		if (targets->nr == MAX_TARGETS)
			return fail_usage(e, "too many -p and -t");
		targets->target[targets->nr++] = (struct target){ (pid_t)id, process };
		if (!*end)
			return 0;
	}
}

static int parse_timeout(double *timeout, const char *arg, struct error *e)
{
	char *end;

	*timeout = strtod(arg, &end);
	if (!*arg || *end || strspn(arg, "0123456789.") != strlen(arg) || *timeout > 1e9)
		return fail_with(e, "'%s' is not a number of seconds: see perfex --help", arg);
	return 0;
}

/* -1: until a command of --control */
static int parse_delay(int *delay, const char *arg, struct error *e)
{
	unsigned long ms;
	char *end;

	if (!strcmp(arg, "-1")) {
		*delay = -1;
		return 0;
	}
	errno = 0;
	ms = strtoul(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || ms > INT_MAX)
		return fail_with(e, "'%.40s' is not a number of milliseconds, nor -1: see perfex --help", arg);
	*delay = (int)ms;
	return 0;
}

/* Parse a number from 1 to `most`. */
static int parse_number(unsigned int *n, const char *arg, unsigned int most, const char *what,
			struct error *e)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || !value || value > most)
		return fail_with(e, "'%s' is not a number of %s, from 1 to %u: see perfex --help", arg,
				 what, most);
	*n = (unsigned int)value;
	return 0;
}

static int parse_descriptor(int *fd, const char *arg, struct error *e)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || n > INT_MAX)
		return fail_with(e, "'%.40s' is not the number of a descriptor: see perfex --help", arg);
	*fd = (int)n;
	return 0;
}

static bool says_how_to_report(const struct options *o)
{
	const struct reporting *r = &o->reporting;

	return r->sort || r->children || r->callers || r->callees || r->comm || r->export || r->annotate ||
	       r->symfs;
}

static int check_report(const struct options *o, struct error *e)
{
	const struct reporting *r = &o->reporting;

	if (o->sampling)
		return fail_usage(e, "--sample and --report cannot be combined");
	if (o->timeout >= 0 || o->no_inherit || o->repeat || o->runs_auto || o->interval ||
	    o->style == STYLE_CSV || o->per_thread)
		return fail_usage(e, "--report cannot be combined with -r, -I, -x, --timeout, --runs, --no-inherit or --per-thread");
	if (*o->command)
		return fail_usage(e, "--report runs no command");
	if (r->export && (r->sort || r->children || r->callers || r->callees ||
			  o->style != STYLE_TEXT))
		return fail_usage(e, "--export cannot be combined with -j, --sort, --children, --callers or --callees");
	if (r->annotate && (r->sort || r->children || r->callers || r->callees || r->export))
		return fail_usage(e, "--annotate cannot be combined with --sort, --children, --callers, --callees or --export");
	return report_check(r, e);
}

static int check_targets(const struct options *o, struct error *e)
{
	const bool cpus = options_cpus(o);

	if (o->timeout >= 0 && !o->targets.nr && !cpus)
		return fail_usage(e, "--timeout is for -p, -t, -a and -C");
	if (o->timeout >= 0 && *o->command)
		return fail_usage(e, "either --timeout or a command says how long to count");
	if (!o->targets.nr && !cpus && !*o->command)
		return fail_usage(e, "there is no command to run");
	return 0;
}

static bool sample_has_period(const struct sample_spec *spec)
{
	unsigned int i;

	for (i = 0; i < spec->nr; i++)
		if (spec->event[i].period)
			return true;
	return false;
}

static int check_sampling(const struct options *o, struct error *e)
{
	if (o->nrspecs || o->repeat || o->runs_auto || o->interval || o->style != STYLE_TEXT ||
	    o->per_thread)
		return fail_usage(e, "--sample cannot be combined with -e, -r, -I, -x, -j, --runs or --per-thread");
	if (!o->output)
		return fail_usage(e, "--sample needs a file to write to (-o)");
	if (o->sample.rate && sample_has_period(&o->sample))
		return fail_usage(e, "either -F or --sample=EVENT=PERIOD says when samples are taken");
	return check_targets(o, e);
}

static int check_self_test(const struct options *o, struct error *e)
{
	if (o->nrspecs || o->targets.nr || o->timeout >= 0 || o->no_inherit || o->repeat ||
	    o->runs_auto || o->interval || o->style == STYLE_CSV || o->per_thread || o->sampling ||
	    o->kind || o->backend || o->strict)
		return fail_usage(e, "--self-test can be combined with -j, -o and --report only");
	if (*o->command)
		return fail_usage(e, "--self-test runs no command");
	return 0;
}

static int check_output(const struct options *o, struct error *e)
{
	if (o->output && o->log_fd >= 0)
		return fail_usage(e, "either -o or --log-fd says where to print");
	if (o->append && !o->output)
		return fail_usage(e, "--append is for -o");
	if (o->sampling && (o->append || o->log_fd >= 0))
		return fail_usage(e, "--sample writes a new file (-o)");
	return 0;
}

static int check_cpus(const struct options *o, struct error *e)
{
	if (!options_cpus(o))
		return !o->split ? 0 :
			fail_usage(e, "--per-cpu, --per-core, --per-socket and --per-kind are for -a and -C");
	if (o->all_cpus && o->cpu_list)
		return fail_usage(e, "either -a or -C says which CPUs to count");
	if (o->sampling && o->split)
		return fail_usage(e, "--per-cpu, --per-core, --per-socket and --per-kind are for counts: --report --sort=cpu divides samples");
	if (o->targets.nr || o->no_inherit || o->per_thread)
		return fail_usage(e, "-a and -C count CPUs, and cannot be combined with -p, -t, --per-thread or --no-inherit, which are for threads");
	if (o->report || o->self_test || o->list || o->info)
		return fail_usage(e, "-a and -C count CPUs, and cannot be combined with --report, --self-test, -i or list");
	if ((o->repeat || o->runs_auto) && !*o->command)
		return fail_usage(e, "-r and --runs need a command to run");
	return 0;
}

static int check_doctor(const struct options *o, struct error *e)
{
	if (o->command[1] || o->nrspecs || o->sampling || o->targets.nr || o->repeat ||
	    o->interval || options_cpus(o) || o->report || o->style == STYLE_CSV)
		return fail_usage(e, "perfex doctor has no arguments, and can be combined with -j and -o only");
	return 0;
}

static int check_metrics(const struct options *o, struct error *e)
{
	if (!o->nrmetrics && !o->detail)
		return 0;
	if (o->runs_auto)
		return fail_usage(e, "-M and -d compute metrics from the counts of one run, and cannot be combined with --runs");
	if (o->top || o->prometheus || o->sampling || o->report || o->self_test || o->info ||
	    o->list || o->doctor)
		return fail_usage(e, "-M and -d are for counts, and cannot be combined with top, --prometheus, --sample, --report, --self-test, -i, list or doctor");
	return 0;
}

static int check_gate(const struct options *o, struct error *e)
{
	const bool gate = o->delay || o->control;

	if (o->delay < 0 && !o->control)
		return fail_usage(e, "-D -1 waits for a command of --control");
	if (gate && (o->repeat > 1 || o->runs_auto || o->per_thread))
		return fail_usage(e, "-D and --control cannot be combined with -r, --runs or --per-thread");
	if ((gate || o->wait > 0) && (o->sampling || o->report || o->self_test || o->info || o->list ||
				      o->doctor))
		return fail_usage(e, "-D, --control and --wait are for counts, and cannot be combined with --sample, --report, --self-test, -i, list or doctor");
	if (gate && o->prometheus)
		return fail_usage(e, "Prometheus expects counts that never stop: -D and --control cannot be combined with --prometheus");
	return 0;
}

/* perfex plot and perfex merge read files, and count nothing. */
static int check_files(const struct options *o, struct error *e)
{
	const char *name = o->plot ? "plot" : "merge";

	if (o->nrmetrics || o->detail || o->targets.nr || o->repeat || o->runs_auto || o->interval ||
	    options_cpus(o) || o->split || o->report || o->sampling || o->self_test || o->info ||
	    o->kind || o->backend || o->strict || o->no_inherit || o->per_thread || o->timeout >= 0 || o->delay || o->control ||
	    o->wait > 0 || o->prometheus || says_how_to_report(o) || o->log_fd >= 0 || o->append)
		return fail_with(e, "perfex %s reads files, and can be combined with %s only: see perfex --help",
				 name, o->plot ? "-e and -o" : "-e, -o, -j and -x");
	if (!o->nrfiles || (o->plot && o->nrfiles > 1))
		return fail_with(e, "perfex %s needs %s: see perfex --help", name,
				 o->plot ? "one file of counts" : "files of counts");
	if (!o->plot)
		return 0;
	if (o->style != STYLE_TEXT)
		return fail_usage(e, "perfex plot draws, and cannot be combined with -j or -x");
	if (!o->output || !plot_can_write(o->output))
		return fail_usage(e, "perfex plot needs -o FILE.svg or -o FILE.html");
	return 0;
}

static int check_options(const struct options *o, struct error *e)
{
	if (o->as_user && (!*o->command || o->plot || o->merge || o->list || o->doctor || o->report))
		return fail_usage(e, "--user is for a command");
	if (o->plot || o->merge)
		return check_files(o, e);
	if (check_gate(o, e))
		return -1;
	if (check_metrics(o, e))
		return -1;
	if (check_output(o, e) || check_cpus(o, e))
		return -1;
	if (says_how_to_report(o) && (!o->report || o->self_test))
		return fail_usage(e, "--sort, --children, --callers, --callees, --comm, --export, --annotate and --symfs are for --report");
	if (o->info && *o->command)
		return fail_usage(e, "-i shows the counters, and runs no command (perf stat's -i is --no-inherit here)");
	if (o->info)
		return 0;
	if (o->self_test)
		return check_self_test(o, e);
	if (o->list)
		return 0;
	if (o->doctor)
		return check_doctor(o, e);
	if (o->report)
		return check_report(o, e);
	if ((o->sample.depth || o->sample.stack || o->max_stack) && !o->sampling)
		return fail_usage(e, "-g and --max-stack are for --sample");
	if (o->sample.rate && !o->sampling)
		return fail_usage(e, "-F is for --sample");
	if (o->max_stack && !o->sample.depth)
		return fail_usage(e, o->sample.stack ? "--max-stack is for -g fp: -g dwarf,SIZE limits the stack" :
				  "--max-stack is for -g");
	if (o->sampling)
		return check_sampling(o, e);
	if (check_targets(o, e))
		return -1;
	if (o->targets.nr && (o->repeat || o->runs_auto))
		return fail_usage(e, "-r and --runs are for a command that is counted");
	if ((o->repeat > 1 || o->runs_auto) && o->interval)
		return fail_usage(e, "-I goes neither with -r nor with --runs");
	if (!o->targets.nr && o->per_thread)
		return fail_usage(e, "--per-thread is for -p and -t");
	return 0;
}

/*
 * The argument of --sample may be the next word, too, if it has a period: no command's name
 * looks like EVENT=PERIOD.
 */
static const char *find_sample_argument(const char *attached, char **argv)
{
	if (attached)
		return attached;
	if (argv[optind] && argv[optind][0] != '-' && argv[optind][0] != '/' &&
	    argv[optind][0] != '.' && strchr(argv[optind], '='))
		return argv[optind++];
	return NULL;
}

/* Return: the number of bytes in a text such as ",8192", or 0. */
static unsigned int parse_stack(const char *text)
{
	unsigned long n;
	char *end;

	if (text[0] != ',' || !isdigit((unsigned char)text[1]))
		return 0;
	errno = 0;
	n = strtoul(text + 1, &end, 10);
	return errno || *end || n > VPERFCTR_STACK_MAX || n % 8 ? 0 : (unsigned int)n;
}

/*
 * -g, -g fp, -gfp: return addresses in the frames of user mode; -g dwarf, -g dwarf,4096: what
 * they can be found from.
 */
static int parse_chains(struct options *o, const char *attached, char **argv, struct error *e)
{
	const char *how = attached, *next = argv[optind];

	if (!how && next && (!strcmp(next, "fp") || !strcmp(next, "dwarf") || !strcmp(next, "lbr") ||
			     !strncmp(next, "dwarf,", 6))) {
		how = next;
		optind++;
	}
	o->sample.depth = o->sample.stack = 0;
	if (!how || !strcmp(how, "fp"))
		o->sample.depth = USUAL_DEPTH;
	else if (!strcmp(how, "dwarf"))
		o->sample.stack = USUAL_STACK;
	else if (strncmp(how, "dwarf,", 6))
		return fail_with(e, "call chains are those of frame pointers (-g fp) or of stacks (-g dwarf), not '%.40s'",
				 how);
	else
		o->sample.stack = parse_stack(how + 5);
	if (!o->sample.depth && !o->sample.stack)
		return fail_with(e, "'%.40s' is not the size of a stack: it is a multiple of 8, from 8 to %u",
				 how + 6, VPERFCTR_STACK_MAX);
	return 0;
}

/* perfex list -v: an option where a word would be. */
static void take_list_options(struct options *o)
{
	char **from, **to = o->command + 1;

	for (from = to; *from; from++) {
		if (!strcmp(*from, "-v") || !strcmp(*from, "--verbose"))
			o->verbose = true;
		else if (to++ != from)
			to[-1] = *from;
	}
	if (to != from)
		*to = NULL;
}

/* perfex top: the options may follow.  Return: whether to parse them, too. */
static bool take_top(struct options *o, char **argv)
{
	if (o->top || !argv[optind] || strcmp(argv[optind], "top") || !strcmp(argv[optind - 1], "--"))
		return false;
	o->top = true;
	optind++;
	return true;
}

/*
 * perfex plot and perfex merge: the options and the files follow in any order.
 * Return: whether to parse more.
 */
static bool take_files(struct options *o, int argc, char **argv)
{
	const char *word = argv[optind];

	if (!word || !strcmp(argv[optind - 1], "--"))
		return false;
	if (o->files) {
		o->files[o->nrfiles++] = word;
		optind++;
		return true;
	}
	o->plot = !strcmp(word, "plot");
	o->merge = !strcmp(word, "merge");
	if (!o->plot && !o->merge)
		return false;
	/* There are not more files than words. */
	o->files = calloc((size_t)argc, sizeof(*o->files));
	if (o->files)
		optind++;
	return o->files;
}

static int choose_split(struct options *o, enum split split, struct error *e)
{
	if (o->split && o->split != split)
		return fail_usage(e, "one of --per-cpu, --per-core, --per-socket and --per-kind at a time");
	o->split = split;
	return 0;
}

#define TOP_INTERVAL		2000	/* milliseconds, as perf top has it */
#define PROMETHEUS_INTERVAL	15000	/* how often Prometheus reads, usually */

/* Set what perfex top does unless options say something else. */
static int choose_top(struct options *o, struct error *e)
{
	if (*o->command)
		return fail_usage(e, "perfex top runs no command (perfex -- top runs the program of that name)");
	if (o->style != STYLE_TEXT || o->prometheus || o->repeat || o->runs_auto || o->sampling)
		return fail_usage(e, "perfex top cannot be combined with -j, -x, -r, --runs, --sample or --prometheus");
	if (!o->cpu_list)
		o->all_cpus = true;
	if (!o->split)
		o->split = SPLIT_CPU;
	if (!o->interval)
		o->interval = TOP_INTERVAL;
	return 0;
}

static int choose_prometheus(struct options *o, struct error *e)
{
	if (!options_cpus(o))
		return fail_usage(e, "--prometheus is for -a and -C");
	if (o->style != STYLE_TEXT || o->output || o->log_fd >= 0 || o->repeat || o->runs_auto)
		return fail_usage(e, "--prometheus prints to its file, and cannot be combined with -j, -x, -o, --log-fd, -r or --runs");
	if (!o->split)
		o->split = SPLIT_CPU;
	if (!o->interval)
		o->interval = PROMETHEUS_INTERVAL;
	return 0;
}

/* Options of perf stat that perfex does not have. */
static const struct {
	char letter;
	const char *name, *advice;
} perf_options[] = {
	{ 'B', "big-num", "counts have commas between thousands, and none with -x and -j" },
	{ 'c', "scale", "counts are never scaled" },
	{ 'G', "cgroup", "perfex counts threads or CPUs, and no control groups: use perf stat for these" },
	{ 'n', "null", "perfex -e task-clock counts the time only" },
	{ 'S', "sync", "run sync before perfex" },
	{ 'T', "transaction", "use perf stat for transactions" },
	{ 0, "no-big-num", "counts have commas between thousands, and none with -x and -j" },
	{ 0, "no-scale", "counts are never scaled" },
	{ 0, "for-each-cgroup", "perfex counts threads or CPUs, and no control groups: use perf stat for these" },
	{ 0, "all-user", "end the names of events with :u" },
	{ 0, "all-kernel", "end the names of events with :k" },
	{ 0, "interval-count", "-I prints until the end, and --timeout ends -p, -t, -a and -C" },
	{ 0, "pre", "run it before perfex, in a shell's loop instead of -r" },
	{ 0, "post", "run it after perfex, in a shell's loop instead of -r" },
	{ 0, "metric-only", "-M prints the metrics after their events" },
	{ 0, "topdown", "-M topdown prints the shares of pipeline slots" },
	{ 0, "td-level", "-M topdown prints the first level" },
	{ 0, "quiet", "-o /dev/null drops the counts, and keeps messages" },
	{ 0, "table", "-r prints the mean and its deviation, and no single runs" },
	{ 0, "summary", "-I prints no sums at the end: without it perfex prints only these" },
	{ 0, "no-csv-summary", "-I prints no sums at the end" },
	{ 0, "per-die", "--per-socket and --per-core print sums of CPUs" },
	{ 0, "per-node", "--per-socket and --per-core print sums of CPUs" },
	{ 0, "per-cache", "--per-socket and --per-core print sums of CPUs" },
};

/* Return: -1 with *e if it is one of these.  letter: 0: the long option in `word`. */
static int advise_perf_option(int letter, const char *word, struct error *e)
{
	size_t i, length;

	word += strspn(word, "-");
	length = strcspn(word, "=");
	for (i = 0; i < ARRAY_SIZE(perf_options); i++)
		if (letter ? letter == perf_options[i].letter :
		    strlen(perf_options[i].name) == length && !strncmp(word, perf_options[i].name, length))
			return letter ? fail_with(e, "there is no -%c, which perf stat has: %s", letter,
						  perf_options[i].advice) :
				fail_with(e, "there is no --%s, which perf stat has: %s", perf_options[i].name,
					  perf_options[i].advice);
	return 0;
}

/* Options without an argument. */
#define LETTERS	"jivhVaAd"

/* Long options without a letter. */
enum { OPT_TIMEOUT = 256, OPT_NO_INHERIT, OPT_SAMPLE, OPT_REPORT,
	OPT_PER_THREAD, OPT_RUNS, OPT_KIND, OPT_SELF_TEST, OPT_APPEND, OPT_USER, OPT_LOG_FD, OPT_HOLDERS,
	OPT_SORT, OPT_CHILDREN, OPT_CALLERS, OPT_CALLEES, OPT_COMM, OPT_EXPORT, OPT_MAX_STACK,
	OPT_ANNOTATE, OPT_SYMFS, OPT_PER_CORE, OPT_PER_SOCKET, OPT_PER_KIND,
	OPT_PROMETHEUS, OPT_CONTROL, OPT_WAIT, OPT_BACKEND, OPT_STRICT };

/* "info", alone or with its option, means the option -i.  With more it is a program's name. */
static void take_info(struct options *o)
{
	const bool holders = o->command[1] && !strcmp(o->command[1], "--holders");

	if (strcmp(*o->command, "info") || o->command[1 + holders])
		return;
	o->info = true;
	o->holders |= holders;
	o->command += 1 + holders;
}

int options_parse(int argc, char **argv, struct options *o, struct error *e)
{
	static const struct option longs[] = {
		{ "event", required_argument, NULL, 'e' },
		{ "metrics", required_argument, NULL, 'M' },
		{ "detailed", no_argument, NULL, 'd' },
		{ "pid", required_argument, NULL, 'p' },
		{ "tid", required_argument, NULL, 't' },
		{ "all-cpus", no_argument, NULL, 'a' },
		{ "cpu", required_argument, NULL, 'C' },
		{ "per-cpu", no_argument, NULL, 'A' },
		{ "no-aggr", no_argument, NULL, 'A' },
		{ "per-core", no_argument, NULL, OPT_PER_CORE },
		{ "per-socket", no_argument, NULL, OPT_PER_SOCKET },
		{ "per-kind", no_argument, NULL, OPT_PER_KIND },
		{ "prometheus", required_argument, NULL, OPT_PROMETHEUS },
		{ "delay", required_argument, NULL, 'D' },
		{ "control", required_argument, NULL, OPT_CONTROL },
		{ "wait", required_argument, NULL, OPT_WAIT },
		{ "timeout", required_argument, NULL, OPT_TIMEOUT },
		{ "kind", required_argument, NULL, OPT_KIND },
		{ "backend", required_argument, NULL, OPT_BACKEND },
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "no-inherit", no_argument, NULL, OPT_NO_INHERIT },
		{ "repeat", required_argument, NULL, 'r' },
		{ "runs", required_argument, NULL, OPT_RUNS },
		{ "interval", required_argument, NULL, 'I' },
		{ "interval-print", required_argument, NULL, 'I' },
		{ "field-separator", required_argument, NULL, 'x' },
		{ "json", no_argument, NULL, 'j' },
		{ "json-output", no_argument, NULL, 'j' },
		{ "per-thread", no_argument, NULL, OPT_PER_THREAD },
		{ "sample", optional_argument, NULL, OPT_SAMPLE },
		{ "call-graph", optional_argument, NULL, 'g' },
		{ "max-stack", required_argument, NULL, OPT_MAX_STACK },
		{ "freq", required_argument, NULL, 'F' },
		{ "report", required_argument, NULL, OPT_REPORT },
		{ "sort", required_argument, NULL, OPT_SORT },
		{ "children", no_argument, NULL, OPT_CHILDREN },
		{ "callers", no_argument, NULL, OPT_CALLERS },
		{ "callees", no_argument, NULL, OPT_CALLEES },
		{ "comm", required_argument, NULL, OPT_COMM },
		{ "export", required_argument, NULL, OPT_EXPORT },
		{ "annotate", required_argument, NULL, OPT_ANNOTATE },
		{ "symfs", required_argument, NULL, OPT_SYMFS },
		{ "self-test", optional_argument, NULL, OPT_SELF_TEST },
		{ "output", required_argument, NULL, 'o' },
		{ "append", no_argument, NULL, OPT_APPEND },
		{ "user", optional_argument, NULL, OPT_USER },
		{ "log-fd", required_argument, NULL, OPT_LOG_FD },
		{ "info", no_argument, NULL, 'i' },
		{ "holders", no_argument, NULL, OPT_HOLDERS },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	static char room[16384];
	const char *arg;
	int c;

	/* '+': stop at the command.  ':': perfex prints the messages. */
	while ((c = getopt_long(argc, argv, "+:e:M:D:p:t:C:o:r:I:x:g::F:" LETTERS, longs, NULL)) != -1 ||
	       take_top(o, argv) || take_files(o, argc, argv)) {
		switch (c) {
		case -1:
			break;
		case 'e':
			if (o->nrspecs == MAX_SPECS)
				return fail_usage(e, "too many -e options");
			o->specs[o->nrspecs++] = optarg;
			break;
		case 'M':
			if (o->nrmetrics == MAX_SPECS)
				return fail_usage(e, "too many -M options");
			o->metrics[o->nrmetrics++] = optarg;
			break;
		case 'd':
			o->detail++;
			break;
		case 'p':
		case 't':
			if (parse_ids(&o->targets, optarg, c == 'p', e))
				return -1;
			break;
		case 'a':
			o->all_cpus = true;
			break;
		case 'C':
			o->cpu_list = optarg;
			break;
		case 'A':
			if (choose_split(o, SPLIT_CPU, e))
				return -1;
			break;
		case OPT_PER_CORE:
			if (choose_split(o, SPLIT_CORE, e))
				return -1;
			break;
		case OPT_PER_SOCKET:
			if (choose_split(o, SPLIT_SOCKET, e))
				return -1;
			break;
		case OPT_PER_KIND:
			if (choose_split(o, SPLIT_KIND, e))
				return -1;
			break;
		case OPT_PROMETHEUS:
			o->prometheus = optarg;
			break;
		case OPT_TIMEOUT:
			if (parse_timeout(&o->timeout, optarg, e))
				return -1;
			break;
		case 'D':
			if (parse_delay(&o->delay, optarg, e))
				return -1;
			break;
		case OPT_CONTROL:
			if (gate_check(optarg, e))
				return -1;
			o->control = optarg;
			break;
		case OPT_WAIT:
			if (parse_timeout(&o->wait, optarg, e))
				return -1;
			break;
		case OPT_KIND:
			o->kind = optarg;
			break;
		case OPT_BACKEND:
			if (backend_parse(&o->backend, optarg, "--backend", e))
				return -1;
			break;
		case OPT_STRICT:
			o->strict = true;
			break;
		case OPT_NO_INHERIT:
			o->no_inherit = true;
			break;
		case 'r':
			if (parse_number(&o->repeat, optarg, 1000000, "runs", e))
				return -1;
			break;
		case OPT_RUNS:
			if (strcmp(optarg, "auto"))
				return fail_with(e, "--runs is 'auto', not '%.40s': to repeat runs there is -r", optarg);
			o->runs_auto = true;
			break;
		case 'I':
			if (parse_number(&o->interval, optarg, 86400000, "milliseconds", e))
				return -1;
			break;
		case 'x':
			if (!*optarg)
				return fail_usage(e, "the separator for -x is empty");
			o->style = STYLE_CSV;
			o->separator = strcmp(optarg, "\\t") ? optarg : "\t";
			break;
		case 'j':
			o->style = STYLE_JSON;
			break;
		case OPT_PER_THREAD:
			o->per_thread = true;
			break;
		case OPT_SAMPLE:
			if (o->sampling)
				return fail_usage(e, "one --sample at a time");
			arg = find_sample_argument(optarg, argv);
			if (arg && sample_parse(&o->sample, arg, e))
				return -1;
			o->sampling = true;
			break;
		case 'g':
			if (parse_chains(o, optarg, argv, e))
				return -1;
			break;
		case 'F':
			if (parse_number(&o->sample.rate, optarg, MAX_RATE, "samples per second", e))
				return -1;
			break;
		case OPT_MAX_STACK:
			if (parse_number(&o->max_stack, optarg, VPERFCTR_CHAIN_MAX, "return addresses", e))
				return -1;
			break;
		case OPT_SORT:
			o->reporting.sort = optarg;
			break;
		case OPT_CHILDREN:
			o->reporting.children = true;
			break;
		case OPT_CALLERS:
			o->reporting.callers = true;
			break;
		case OPT_CALLEES:
			o->reporting.callees = true;
			break;
		case OPT_COMM:
			o->reporting.comm = optarg;
			break;
		case OPT_EXPORT:
			o->reporting.export = optarg;
			break;
		case OPT_ANNOTATE:
			if (!*optarg)
				return fail_usage(e, "--annotate needs the name of a function");
			o->reporting.annotate = optarg;
			break;
		case OPT_SYMFS:
			o->reporting.symfs = optarg;
			break;
		case OPT_SELF_TEST:
			if (optarg && !strcmp(optarg, "help")) {
				self_test_list(stdout);
				return 1;
			}
			if (optarg && self_test_parse(optarg, e))
				return -1;
			o->self_test = true;
			o->checks = optarg;
			break;
		case OPT_REPORT:
			o->report = optarg;
			break;
		case 'o':
			o->output = optarg;
			break;
		case OPT_APPEND:
			o->append = true;
			break;
		case OPT_USER:
			o->as_user = true;
			o->user = optarg;
			break;
		case OPT_LOG_FD:
			if (parse_descriptor(&o->log_fd, optarg, e))
				return -1;
			break;
		case OPT_HOLDERS:
			o->holders = true;
			o->info = true;
			break;
		case 'i':
			o->info = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'h':
			/* Room for all, so that the flush at the end finds an error's reason. */
			setvbuf(stdout, room, _IOFBF, sizeof(room));
			print_usage(stdout);
			return 1;
		case 'V':
			puts("perfex " VPERFCTR_VERSION);
			return 1;
		case ':':
			if (optopt >= OPT_TIMEOUT)
				return fail_with(e, "option '%s' needs an argument: see perfex --help",
						 argv[optind - 1]);
			return fail_with(e, "option -%c needs an argument: see perfex --help", optopt);
		default:
			/*
			 * optopt is 0 for an unknown long option, and that of a long option
			 * that takes no argument; optind may not be past a short one.
			 */
			if (optopt >= OPT_TIMEOUT || (optopt && strchr(LETTERS, optopt)))
				return fail_with(e, "option '%s' takes no argument: see perfex --help",
						 argv[optind - 1]);
			if (advise_perf_option(optopt, argv[optind - 1], e))
				return -1;
			if (optopt)
				return fail_with(e, "unknown option -%c: see perfex --help", optopt);
			return fail_with(e, "unknown option '%s': see perfex --help",
				    argv[optind - 1]);
		}
	}
	if (o->sample.depth && o->max_stack)
		o->sample.depth = o->max_stack;
	o->command = argv + optind;
	/* A command of such a name can be run after "--". */
	if (*o->command && strcmp(argv[optind - 1], "--")) {
		o->list = !strcmp(*o->command, "list");
		o->doctor = !strcmp(*o->command, "doctor");
		take_info(o);
		if (*o->command && check_subcommand(e, o->command))
			return -1;
	}
	if (o->list)
		take_list_options(o);
	/* An option where an argument would be. */
	if (o->doctor && o->command[1] && !strcmp(o->command[1], "-j")) {
		o->style = STYLE_JSON;
		o->command++;
		o->command[0] = o->command[-1];
	}
	if (o->top && choose_top(o, e))
		return -1;
	if (o->prometheus && choose_prometheus(o, e))
		return -1;
	return check_options(o, e);
}
