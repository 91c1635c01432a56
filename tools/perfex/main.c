// SPDX-License-Identifier: GPL-2.0
/* perfex: options. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "perfex.h"

#define MAX_SPECS	64

struct options {
	const char *specs[MAX_SPECS];
	unsigned int nrspecs;
	const char *output;
	bool info, verbose, no_inherit;
	struct targets targets;
	double timeout;
	const char *report;
	bool sampling;
	struct sample_spec sample;
	char **command;
};

static void usage(FILE *f)
{
	unsigned int i;

	fputs("Usage: perfex [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	      "       perfex [OPTION]... -p PID[,PID]... [--timeout=SECONDS | [--] COMMAND...]\n"
	      "       perfex [OPTION]... -t TID[,TID]... [--timeout=SECONDS | [--] COMMAND...]\n"
	      "       perfex --sample=EVENT=PERIOD -o FILE [--] COMMAND...\n"
	      "       perfex --report=FILE\n"
	      "       perfex -i\n"
	      "Run COMMAND, and print exact counts of what it and all that it started did;\n"
	      "or count what runs already, until it ends, you press Ctrl-C, the time is over, or\n"
	      "COMMAND, which is not counted then, has ended.\n"
	      "\n"
	      "  -e, --event=EVENT   count EVENT; may be repeated, or hold several with commas\n"
	      "  -p, --pid=PID       count all threads of a running process\n"
	      "  -t, --tid=TID       count a running thread\n"
	      "      --timeout=SECONDS  count for so long (with -p and -t; 0.5 is half a second)\n"
	      "      --no-inherit    do not count threads and processes that are started\n"
	      "      --sample=EVENT=PERIOD  note where COMMAND's first thread is after each PERIOD\n"
	      "                      EVENTs (as in instructions:u=100k or cycles=2M), in FILE\n"
	      "      --report=FILE   print the hottest functions and lines that are noted there\n"
	      "  -o, --output=FILE   print to FILE, not to standard error\n"
	      "  -i, --info          show what the module found, and exit\n"
	      "  -v, --verbose       also print which counter each event got, and its control,\n"
	      "                      and the parts of each sum: threads, what they started\n"
	      "  -h, --help          show this, and exit\n"
	      "  -V, --version       show the version, and exit\n"
	      "\n"
	      "EVENT is a name followed by :u (user mode), :k (kernel mode) or :uk (both).\n"
	      "Without, both are counted if you may count kernel mode, else user mode.\n"
	      "Names are:\n"
	      "\n"
	      "  generic    ", f);
	for (i = 0; events_generic_name(i); i++)
		fprintf(f, "%s%s", i ? i % 4 ? ", " : ",\n             " : "",
			events_generic_name(i));
	fputs("\n"
	      "  libpfm4's  as in LONGEST_LAT_CACHE:MISS; those of this processor\n"
	      "  raw        rUUEE, hexadecimal: unit mask, then event select, as perf has it\n"
	      "             (r412e is event 2e with unit mask 41); may go on to the left with\n"
	      "             the bits of the event select register: r10000c0 has a cmask of 1\n"
	      "\n"
	      "There is no multiplexing: what does not fit the counters is refused.\n"
	      "Without -e the generic events that the processor has are counted, as many as fit.\n"
	      "\n"
	      "Exit status: COMMAND's, or 0 without; 128+N if signal N ended it; 127 if it was not\n"
	      "found; 126 if it cannot be executed; 125 if perfex itself failed or was misused,\n"
	      "or if not all was counted.\n", f);
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
			return fail_with(e, "'%s' is no list of %s ids: see perfex --help", arg,
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
		return fail_with(e, "'%s' is no number of seconds: see perfex --help", arg);
	return 0;
}

static int check_sampling(const struct options *o, struct error *e)
{
	const char *what = o->report ? "--report" : "--sample";

	if (o->report && o->sampling)
		return fail_usage(e, "--sample and --report are done one after the other");
	if (o->nrspecs || o->targets.nr || o->timeout >= 0 || o->no_inherit)
		return fail_with(e, "%s goes with none of -e, -p, -t, --timeout and --no-inherit: see perfex --help",
				 what);
	if (o->report && *o->command)
		return fail_usage(e, "--report runs no command");
	if (o->sampling && !o->output)
		return fail_usage(e, "--sample needs a file to write to (-o)");
	if (o->sampling && !*o->command)
		return fail_usage(e, "there is no command to run");
	return 0;
}

static int check_options(const struct options *o, struct error *e)
{
	if (o->info)
		return 0;
	if (o->sampling || o->report)
		return check_sampling(o, e);
	if (o->timeout >= 0 && !o->targets.nr)
		return fail_usage(e, "--timeout is for -p and -t");
	if (o->timeout >= 0 && *o->command)
		return fail_usage(e, "either --timeout or a command says how long to count");
	if (!o->targets.nr && !*o->command)
		return fail_usage(e, "there is no command to run");
	return 0;
}

/* Long options without a letter */
enum { OPT_TIMEOUT = 256, OPT_NO_INHERIT, OPT_SAMPLE, OPT_REPORT };

/* 0: go on; 1: done, exit successfully; -1: *e */
static int parse_options(int argc, char **argv, struct options *o, struct error *e)
{
	static const struct option longs[] = {
		{ "event", required_argument, NULL, 'e' },
		{ "pid", required_argument, NULL, 'p' },
		{ "tid", required_argument, NULL, 't' },
		{ "timeout", required_argument, NULL, OPT_TIMEOUT },
		{ "no-inherit", no_argument, NULL, OPT_NO_INHERIT },
		{ "sample", required_argument, NULL, OPT_SAMPLE },
		{ "report", required_argument, NULL, OPT_REPORT },
		{ "output", required_argument, NULL, 'o' },
		{ "info", no_argument, NULL, 'i' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	/* '+': the command's options are its own.  ':': the messages are ours. */
	while ((c = getopt_long(argc, argv, "+:e:p:t:o:ivhV", longs, NULL)) != -1) {
		switch (c) {
		case 'e':
			if (o->nrspecs == MAX_SPECS)
				return fail_usage(e, "too many -e options");
			o->specs[o->nrspecs++] = optarg;
			break;
		case 'p':
		case 't':
			if (parse_ids(&o->targets, optarg, c == 'p', e))
				return -1;
			break;
		case OPT_TIMEOUT:
			if (parse_timeout(&o->timeout, optarg, e))
				return -1;
			break;
		case OPT_NO_INHERIT:
			o->no_inherit = true;
			break;
		case OPT_SAMPLE:
			if (o->sampling)
				return fail_usage(e, "one --sample at a time");
			if (sample_parse(&o->sample, optarg, e))
				return -1;
			o->sampling = true;
			break;
		case OPT_REPORT:
			o->report = optarg;
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'i':
			o->info = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'h':
			usage(stdout);
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
			/* optopt is 0 for a long one; optind may not be past a short one. */
			if (optopt >= OPT_TIMEOUT)
				return fail_with(e, "option '%s' takes no argument: see perfex --help",
						 argv[optind - 1]);
			if (optopt)
				return fail_with(e, "unknown option -%c: see perfex --help", optopt);
			return fail_with(e, "unknown option '%s': see perfex --help",
				    argv[optind - 1]);
		}
	}
	o->command = argv + optind;
	return check_options(o, e);
}

static int choose_events(const struct options *o, const struct vperfctr_info *info,
			 struct events *events, struct vperfctr_ctr *ctr, struct error *e)
{
	unsigned int i;

	memset(events, 0, sizeof(*events));
	for (i = 0; i < o->nrspecs; i++)
		if (events_parse(events, o->specs[i], info, e))
			return -1;
	if (!o->nrspecs)
		events_default(events, info);
	return assign(events, info, ctr, e);
}

/* For "Counts of ...": the command, or the processes and threads; allocated. */
static char *describe(const struct options *o)
{
	const struct targets *targets = &o->targets;
	char *text = NULL, **arg;
	unsigned int i;
	size_t size;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	for (i = 0; i < targets->nr; i++)
		fprintf(f, "%s%s %d", i ? ", " : "",
			targets->target[i].process ? "process" : "thread",
			(int)targets->target[i].id);
	if (!targets->nr) {
		for (arg = o->command; *arg; arg++)
			fprintf(f, "%s%s", arg == o->command ? "'" : " ", *arg);
		fputc('\'', f);
	}
	fclose(f);
	return text;
}

/* Returns the exit status, or -1 with *e filled in. */
static int count(const struct options *o, FILE *out, struct error *e)
{
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct vperfctr_info info;
	struct events events;
	struct result result;
	char *what;
	int err;

	err = vperfctr_info(&info, 0);
	if (err)
		return fail_device(e, err);
	if (choose_events(o, &info, &events, ctr, e))
		return -1;
	if (!o->no_inherit && !(info.features & VPERFCTR_FEATURE_INHERIT))
		return fail_with(e, "this module cannot count children: use --no-inherit");
	if (o->verbose)
		print_control(stderr, &events, ctr);

	vperfctr_control_init(&control, ctr);
	control.nractrs = events.nr;
	control.flags = o->no_inherit ? 0 : VPERFCTR_CONTROL_INHERIT;
	if (o->targets.nr) {
		control.flags |= VPERFCTR_CONTROL_NO_AFFINITY;
		err = attach(&o->targets, o->command, o->timeout, &control, &result, e);
	} else {
		control.flags |= VPERFCTR_CONTROL_START_ON_EXEC;
		err = run(o->command, &control, &result, e);
	}
	if (!err) {
		what = describe(o);
		print_result(out, what ? what : "?", &events, &info, &result, o->verbose);
		free(what);
	}
	result_free(&result);
	return err ? -1 : result.complete ? result.status : -1;
}

/* The exit status, or -1 with *e filled in.  out: NULL if there is no -o. */
static int act(const struct options *o, FILE *out, struct error *e)
{
	if (o->info)
		return info_print(out ? out : stdout, e);
	if (o->report)
		return report(out ? out : stdout, o->report, o->verbose, e);
	if (o->sampling)
		return sample(&o->sample, o->command, out, o->output, o->verbose, e);
	return count(o, out ? out : stderr, e);
}

int main(int argc, char **argv)
{
	struct options o = { .timeout = NO_TIMEOUT };
	struct error e = { .status = STATUS_FAILED };
	FILE *out = NULL;
	int ret;

	ret = parse_options(argc, argv, &o, &e);
	if (ret > 0)
		return 0;
	if (!ret && o.output) {
		out = fopen(o.output, "we");
		if (!out)
			ret = fail_with(&e, "cannot write to '%s': %s", o.output, strerror(errno));
	}
	if (!ret)
		ret = act(&o, out, &e);
	if (out && (ferror(out) | fclose(out)) && ret >= 0)
		ret = fail_with(&e, "cannot write to '%s': %s", o.output, strerror(errno));
	if (ret < 0) {
		fprintf(stderr, "perfex: %s\n", e.text);
		return e.status;
	}
	return ret;
}
