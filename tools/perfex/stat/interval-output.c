// SPDX-License-Identifier: GPL-2.0
/* The counts of intervals: what was counted since the last one, printed or for Prometheus. */
#include <stdlib.h>

#include "measuring.h"
#include "output.h"

bool fall_back_to_stderr(struct printing *p)
{
	int err = p->output ? output_publish(p->output) : 0;

	if (!err)
		return false;
	p->write_error = err;
	p->output = NULL;
	p->f = stderr;
	/* A pipe without a reader is no reason to end a command.  Without a command, it ends the counting. */
	if (p->command)
		signals_forget(SIGPIPE);
	return true;
}

/* A program that counts itself starts its counters at 0; the end reports that. */
static uint64_t count_since(uint64_t sum, uint64_t before)
{
	return sum > before ? sum - before : 0;
}

/* Set *difference to the counts since *before, and *before to these sums. */
static void take_difference(struct sums *difference, const struct sums *sums,
			    struct sums *before)
{
	unsigned int i;

	difference->tsc = count_since(sums->tsc, before->tsc);
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		difference->pmc[i] = count_since(sums->pmc[i], before->pmc[i]);
	for (i = 0; i < NR_SOFT; i++)
		difference->soft[i] = count_since(sums->soft[i], before->soft[i]);
	*before = *sums;
}

/* Write the file for Prometheus.  Say once why this fails, and try again in each interval. */
static void write_metrics(struct ticks *t, const struct part *parts)
{
	struct error e = { .text = "" };

	if (prometheus_write(t->o->prometheus, t->printing, parts, &e) &&
	    strcmp(e.text, t->failed.text))
		fprintf(stderr, "perfex: %s\n", e.text);
	t->failed = e;
}

static void on_interval(void *arg, double at, const struct sums *sums, const struct part *parts)
{
	struct ticks *t = arg;
	struct sums difference, open = *sums, part;
	unsigned int i;

	if (t->o->prometheus) {
		write_metrics(t, parts);
		return;
	}
	if (parts && t->open) {
		memcpy(t->open, parts, t->printing->nrparts * sizeof(*parts));
		for (i = 0; i < t->printing->nrparts; i++)
			t->open[i].sums.soft[SOFT_ELAPSED] = nanoseconds(at);
		parts = t->open;
	}
	open.soft[SOFT_ELAPSED] = nanoseconds(at);
	gate_subtract(&t->gate, &open, t->open);
	take_difference(&difference, &open, &t->before);
	for (i = 0; parts && i < t->printing->nrparts; i++) {
		t->parts[i] = parts[i];
		part = parts[i].sums;
		if (!t->open)
			part.soft[SOFT_ELAPSED] = nanoseconds(at);
		take_difference(&t->parts[i].sums, &part, &t->parts_before[i]);
	}
	if (t->o->top) {
		top_print(t->printing, at, &difference, t->parts, !t->any);
		t->any = true;
		if (fall_back_to_stderr(t->printing))
			top_print(t->printing, at, &difference, t->parts, true);
		return;
	}
	if (!t->any)
		print_interval_head(t->printing);
	t->any = true;
	print_interval(t->printing, at, &difference, t->parts);
	if (fall_back_to_stderr(t->printing)) {
		print_interval_head(t->printing);
		print_interval(t->printing, at, &difference, t->parts);
	}
}

/* Room for the parts in intervals. */
static int make_parts(void *arg, unsigned int nrparts, struct error *e)
{
	struct ticks *t = arg;

	t->printing->nrparts = nrparts;
	if (!nrparts)
		return 0;
	/* A count that begins again, after --wait, has new ones. */
	free(t->parts);
	free(t->parts_before);
	t->parts = calloc(nrparts, sizeof(*t->parts));
	t->parts_before = calloc(nrparts, sizeof(*t->parts_before));
	return t->parts && t->parts_before ? 0 : fail_with(e, "out of memory");
}

struct interval ticks_interval(struct ticks *t)
{
	return (struct interval){
		.ms = t->o->interval, .gate = t->gate.used ? &t->gate : NULL,
		.begin = make_parts, .fn = on_interval, .arg = t,
	};
}

int ticks_open(struct ticks *t, const struct stat_options *o, struct printing *p,
	       const struct cpus *cpus, struct error *e)
{
	t->o = o;
	t->printing = p;
	/* A file that cannot be written is an error before anything is counted. */
	if (o->prometheus && prometheus_write(o->prometheus, p, NULL, e))
		return -1;
	if (gate_open(&t->gate, o, cpus ? cpus->nrparts : 0, e))
		return -1;
	if (!cpus || !cpus->nrparts)
		return 0;
	t->open = calloc(cpus->nrparts, sizeof(*t->open));
	if (!t->open)
		return fail_with(e, "out of memory");
	return make_parts(t, cpus->nrparts, e);
}

void ticks_close(struct ticks *t)
{
	gate_close(&t->gate);
	free(t->parts);
	free(t->parts_before);
	free(t->open);
}
