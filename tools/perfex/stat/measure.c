// SPDX-License-Identifier: GPL-2.0
/* Count as the options say: the events, the number of runs, and the output. */
#include <stdlib.h>

#include "measuring.h"
#include "output.h"

static const struct perf_count *perf_of(const struct choice *choice)
{
	return choice->perf ? &choice->by_perf : NULL;
}

/* Return: the command, or the processes and threads, for "Counts of ..."; allocated. */
static char *describe_targets(const struct count_options *c, const struct kinds *kinds,
			      const struct cpus *cpus)
{
	const struct vperfctr_info *info = kinds->info;
	const char *kind = kind_name(info);
	const struct targets *targets = &c->targets;
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
	if (cpus)
		fprintf(f, "CPUs %s%s%s", cpus->list, c->cpu_list ? "" : ", system wide",
			*c->command ? ", during " : "");
	if (*c->command && !targets->nr) {
		for (arg = c->command; *arg; arg++)
			fprintf(f, "%s%s", arg == c->command ? "'" : " ", *arg);
		fputc('\'', f);
	}
	if (info->nrkinds > 1 && kinds->nr == 1 && !cpus) {
		fputs(" on CPUs ", f);
		print_kind_cpus(f, info->kind);
		fprintf(f, " only, kind %u%s%s", info->kind, kind ? ": " : "", kind ? kind : "");
	}
	fclose(f);
	if (text)
		replace_controls(text);
	return text;
}

/* Count once, with a new gate, intervals, or -p and -t. */
static int try_once(const struct choice *choice, struct ticks *ticks,
		    struct vperfctr_control *control, struct result *r, struct error *e)
{
	const struct count_options *c = choice->counting;
	const struct stat_options *o = choice->o;
	const struct interval interval = ticks_interval(ticks);

	if (choice->cpus)
		return cpus_count(choice->cpus, c->command, c->timeout, control, perf_of(choice),
				  &interval, NULL, r, e);
	if (c->targets.nr)
		return attach_and_count(&c->targets, c->command, c->timeout,
					o->per_thread || choice->show->verbose, control, perf_of(choice),
					&interval, NULL, r, e);
	control->flags |= VPERFCTR_CONTROL_START_ON_EXEC;
	return run_command(c->command, control, choice->perf, &interval, r, e);
}

static int count_once(const struct choice *choice, struct ticks *ticks,
		      struct vperfctr_control *control, struct result *r, struct error *e)
{
	struct patience patience = { .seconds = choice->o->wait };
	int err = choice->again ? 0 : before_run(choice->o, e);

	if (err)
		return err;
	do {
		err = try_once(choice, ticks, control, r, e);
	} while (err && wait_for_counters(&patience, e));
	if (!err && r->complete)
		err = after_run(choice->o, e);
	if (err || !r->counted)
		return err;
	/* Other parts than those of CPUs are not measured at the gate. */
	if (ticks->gate.used && !choice->cpus)
		result_free(r);
	gate_subtract(&ticks->gate, &r->total, r->parts);
	/* A rest of 0 would look like a count. */
	if (ticks->gate.used && !ticks->gate.opened && r->complete) {
		r->counted = r->complete = false;
		fail_with(e, ticks->gate.opens_at < 0 ?
			  "nothing was counted: --control got no 'enable'" :
			  "nothing was counted: the delay of -D, %d ms, is longer than the run",
			  choice->o->delay);
	}
	return 0;
}

static int measure_once(const struct choice *choice, struct printing *p, unsigned int nrgroups,
			struct result *r, struct error *e)
{
	const struct stat_options *o = choice->o;
	uint32_t flags = choice->counting->no_inherit ? 0 : VPERFCTR_CONTROL_INHERIT;
	struct vperfctr_ctr chosen[MAX_KINDS * VPERFCTR_MAX_CTRS];
	unsigned int at[VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct series *series = NULL;
	struct ticks ticks = { .gate = { .control = -1, .ack = -1 } };
	int err;

	if (choice->cpus)
		flags = 0;
	if (o->repeat > 1 || nrgroups > 1) {
		if (!choice->cpus)
			flags |= VPERFCTR_CONTROL_START_ON_EXEC;
		err = measure_series(choice, p, nrgroups, flags, &series, r, e);
	} else {
		make_control(&control, chosen, choice, 0, at);
		control.flags = flags;
		err = ticks_open(&ticks, o, p, choice->cpus, e);
		if (!err)
			err = count_once(choice, &ticks, &control, r, e);
	}
	p->summary = o->interval && o->summary && !o->plain_summary;
	if (!err && (!o->interval || o->summary || !r->complete)) {
		print_result(p, r);
		if (fall_back_to_stderr(p))
			print_result(p, r);
	}
	if (!err && (choice->show->style != STYLE_TEXT || (o->interval && r->complete && !o->summary))) {
		print_remarks(r);
		refusals_print(stderr, &choice->refused, "perfex: ", "\n");
	}
	/* The reason is on standard error. */
	if (!err && *ticks.failed.text) {
		r->complete = false;
		fail_with(e, "the last counts are not in '%.300s'", o->prometheus);
	}
	ticks_close(&ticks);
	free(series);
	return err;
}

/* Find the CPUs, and choose the kinds and events that they count. */
static int choose_for_cpus(struct choice *choice, struct cpus *cpus, struct error *e)
{
	choice->cpus = cpus;
	return cpus_choose(cpus, choice->counting, &choice->kinds, choose_events, choice, e);
}

/* -v: print the counters, and again only if others had them and perfex uses other ones. */
static void print_choice_once(struct choice *choice)
{
	if (choice->again && !memcmp(choice->printed, choice->ctr, sizeof(choice->ctr)))
		return;
	if (choice->again)
		fputs(OTHER_CONTROL, stderr);
	print_control(stderr, choice->events, &choice->kinds, choice->ctr);
	memcpy(choice->printed, choice->ctr, sizeof(choice->ctr));
}

static int measure_choice(struct choice *choice, unsigned int nrgroups, struct output *out,
			  struct error *e)
{
	const struct vperfctr_info *info = choice->kinds.info;
	const struct stat_options *o = choice->o;
	struct result result = { 0 };
	struct printing p = {
		.f = out ? out->f : o->top ? stdout : stderr, .output = out,
		.style = choice->show->style, .separator = choice->show->separator,
		.events = choice->events, .refused = &choice->refused, .metrics = &choice->metrics, .info = info,
		.verbose = choice->show->verbose, .per_thread = o->per_thread,
		.metric_only = o->metric_only, .intervals = o->interval,
		.cpus = choice->cpus, .split = choice->counting->split, .nrparts = nr_cpu_parts(choice),
		.command = *choice->counting->command,
	};
	char *what;
	int err;

	if (!choice->counting->no_inherit && !choice->cpus && !(info->features & VPERFCTR_FEATURE_INHERIT))
		return fail_with(e, "this module cannot count children: use --no-inherit");
	if (o->metric_only && !print_has_columns(&p))
		return fail_with(e, "these events give no metric for --metric-only: -e cycles,instructions does, and so do those of perfex list metric, by -M");
	if (choice->show->verbose && choice->perf && !choice->said)
		fputs("perfex: counts by perf_event\n", stderr);
	else if (choice->show->verbose && !choice->perf)
		print_choice_once(choice);

	what = describe_targets(choice->counting, &choice->kinds, choice->cpus);
	p.what = what ? what : "?";
	err = measure_once(choice, &p, nrgroups, &result, e);
	free(what);
	free(p.times.seconds);
	result_free(&result);
	if (err)
		return -1;
	if (p.write_error) {
		if (!result.complete)
			fprintf(stderr, "perfex: %s\n", e->text);
		return fail_with(e, "cannot write to %s%s%s: %s; the counts are above, on standard error",
				 output_quote(out), out->name, output_quote(out), strerror(p.write_error));
	}
	return result.complete ? result.status : -1;
}

/* Choose counters of the module, and count. */
static int try_module(struct choice *choice, const struct targets *targets,
		      const struct error *beside, struct cpus *cpus, struct output *out,
		      struct error *e)
{
	const struct count_options *c = choice->counting;
	int nrgroups = counts_cpus(c) ? choose_for_cpus(choice, cpus, e) :
		kind_choose(c->kind, targets, &choice->kinds, choose_events, choice, e);

	if (nrgroups < 0 && *beside->text)
		return fail_rest(e, beside);
	if (choice->refused.nr && perf_counts_all(choice)) {
		fail_with(e, "by the module, %.1100s", choice->refused.list->why);
		e->unusable = true;
		return -1;
	}
	return nrgroups < 0 ? -1 : measure_choice(choice, (unsigned int)nrgroups, out, e);
}

/* Count by the module, beside others who count the same threads: their counters are left out. */
static int measure_module(struct choice *choice, struct cpus *cpus, struct output *out,
			  struct error *e)
{
	struct targets targets = choice->counting->targets;
	struct error beside = { .text = "" };
	int ret;

	for (;;) {
		ret = try_module(choice, &targets, &beside, cpus, out, e);
		if (ret >= 0 || !targets_leave_out(&targets, e))
			break;
		beside = *e;
		choice->again = true;
	}
	choice->again = false;
	return ret;
}

int measure(const struct count_options *c, const struct stat_options *o, const struct showing *show,
	    struct output *out, struct error *e)
{
	struct error module = { .text = "" };
	struct choice choice = { .counting = c, .o = o, .show = show };
	struct cpus cpus = { 0 };
	unsigned int i;
	int ret = -1;

	if (backend_choose(&choice.backend, c, e))
		return -1;
	if (choice.backend == BACKEND_PERF && o->wait > 0)
		return fail_with(e, "--wait waits for counters of the module, and cannot be combined with --backend=perf or VPERFCTR_BACKEND=perf");
	if ((o->nrmetrics || o->detail) && metrics_load(e))
		return -1;
	e->unusable = false;
	if (choice.backend != BACKEND_PERF)
		ret = measure_module(&choice, &cpus, out, e);
	/* An error that the module causes is one before the command has run. */
	if (ret < 0 && e->unusable && choice.backend == BACKEND_AUTO && backend_perf_can(c)) {
		module = *e;
		cpus_free(&cpus);
		cpus = (struct cpus){ 0 };
		choice.backend = BACKEND_PERF;
	}
	if (choice.backend == BACKEND_PERF) {
		ret = choose_perf(&choice, &module, &cpus, e);
		if (ret >= 0)
			ret = measure_choice(&choice, (unsigned int)ret, out, e);
	}
	cpus_free(&cpus);
	refusals_free(&choice.refused);
	free(choice.perf);
	for (i = 0; i < ARRAY_SIZE(choice.perf_groups); i++)
		free(choice.perf_groups[i]);
	return ret;
}
