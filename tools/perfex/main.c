// SPDX-License-Identifier: GPL-2.0
/* perfex: options. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "perfex.h"

#define MAX_SPECS	64

struct options {
	const char *specs[MAX_SPECS];
	unsigned int nrspecs;
	const char *output;
	bool info, verbose;
	char **command;
};

static void usage(FILE *f)
{
	unsigned int i;

	fputs("Usage: perfex [-v] [-e EVENT[,EVENT]...]... [-o FILE] [--] COMMAND [ARGUMENT]...\n"
	      "       perfex -i\n"
	      "Run COMMAND and print exact counts of what its first thread did.\n"
	      "\n"
	      "  -e, --event=EVENT   count EVENT; may be repeated, or hold several with commas\n"
	      "  -o, --output=FILE   print to FILE, not to standard error\n"
	      "  -i, --info          show what the module found, and exit\n"
	      "  -v, --verbose       also print which counter each event got, and its control\n"
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
	      "Exit status: COMMAND's; 128+N if signal N ended it; 127 if it was not found;\n"
	      "126 if it cannot be executed; 125 if perfex itself failed or was misused.\n", f);
}

static int fail_usage(struct error *e, const char *what)
{
	return fail_with(e, "%s: see perfex --help", what);
}

/* 0: go on; 1: done, exit successfully; -1: *e */
static int parse_options(int argc, char **argv, struct options *o, struct error *e)
{
	static const struct option longs[] = {
		{ "event", required_argument, NULL, 'e' },
		{ "output", required_argument, NULL, 'o' },
		{ "info", no_argument, NULL, 'i' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	/* '+': the command's options are its own.  ':': the messages are ours. */
	while ((c = getopt_long(argc, argv, "+:e:o:ivhV", longs, NULL)) != -1) {
		switch (c) {
		case 'e':
			if (o->nrspecs == MAX_SPECS)
				return fail_usage(e, "too many -e options");
			o->specs[o->nrspecs++] = optarg;
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
			return fail_with(e, "option -%c needs an argument: see perfex --help", optopt);
		default:
			/* optopt is 0 for a long one; optind may not be past a short one. */
			if (optopt)
				return fail_with(e, "unknown option -%c: see perfex --help", optopt);
			return fail_with(e, "unknown option '%s': see perfex --help",
				    argv[optind - 1]);
		}
	}
	o->command = argv + optind;
	if (!o->info && !*o->command)
		return fail_usage(e, "there is no command to run");
	return 0;
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

/* Returns the exit status, or -1 with *e filled in. */
static int count(const struct options *o, FILE *out, struct error *e)
{
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct vperfctr_info info;
	struct events events;
	struct result result;
	int err;

	err = vperfctr_info(&info, 0);
	if (err)
		return fail_device(e, err);
	if (choose_events(o, &info, &events, ctr, e))
		return -1;
	if (o->verbose)
		print_control(stderr, &events, ctr);

	vperfctr_control_init(&control, ctr);
	control.nractrs = events.nr;
	control.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	if (run(o->command, &control, &result, e))
		return -1;
	print_result(out, o->command, &events, &info, &result);
	return result.counted ? run_status(result.wstatus) : -1;
}

int main(int argc, char **argv)
{
	struct options o = { .output = NULL };
	struct error e = { .status = STATUS_FAILED };
	FILE *out = stderr;
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
		ret = o.info ? info_print(o.output ? out : stdout, &e) : count(&o, out, &e);
	if (out && out != stderr && (ferror(out) | fclose(out)) && ret >= 0)
		ret = fail_with(&e, "cannot write to '%s': %s", o.output, strerror(errno));
	if (ret < 0) {
		fprintf(stderr, "perfex: %s\n", e.text);
		return e.status;
	}
	return ret;
}
