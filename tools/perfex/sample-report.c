// SPDX-License-Identifier: GPL-2.0
/* perfex --report: print the functions and lines of the samples in a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile.h"

#define SHOWN		25	/* rows of a table without -v */

/* A row is a function or a line. */
enum { BY_FUNCTION, BY_LINE };

/* Samples with the same key are one row. */
struct row_key {
	uint32_t file, function, source, line;
	uint64_t address;	/* without a function */
};

struct row {
	struct row_key key;
	uint64_t samples, weight;
	char *label;
};

/* ---- rows ------------------------------------------------------------------------------ */

static struct row_key key_of(const struct profile *p, const struct profile_sample *sample, int by)
{
	const struct profile_location *location =
		location_of(p, stack_of(p, sample->stack)->location);
	const struct profile_frame *frame = frame_of(p, p->frame_list[location->frame]);
	struct row_key key = {
		.file = frame->file, .function = frame->function, .address = frame->address,
	};

	if (by == BY_LINE && frame->source) {
		key.source = frame->source;
		key.line = frame->line;
		key.address = 0;
	}
	return key;
}

static char *label_of(const struct profile *p, const struct row_key *key, int by)
{
	char file[300], *label = NULL;
	int len;

	profile_file_label(p, key->file, file, sizeof(file));
	if (key->source)
		len = asprintf(&label, "%s:%u  %s", string_of(p, key->source), key->line,
			       key->function ? string_of(p, key->function) : file);
	else if (key->function)
		len = asprintf(&label, by == BY_LINE ? "%s %s, line not known" : "%s %s",
			       string_of(p, key->function), file);
	else if (key->file == FILE_UNKNOWN || key->file == FILE_KERNEL)
		len = asprintf(&label, "%s", file);
	else
		len = asprintf(&label, "%s+0x%" PRIx64, file, key->address);
	if (len < 0)
		return NULL;
	replace_controls(label);
	return label;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->label, y->label);
}

static void rows_free(struct table *t)
{
	struct row *rows = t->items;
	uint32_t i;

	for (i = 1; i < t->nr; i++)
		free(rows[i].label);
	table_free(t);
}

/* Rows 1 to t->nr - 1 are those with the greatest weights first. */
static int make_rows(const struct profile *p, struct table *t, unsigned int event, int by,
		     struct error *e)
{
	struct row *row;
	uint32_t nr;
	size_t i;

	*t = (struct table){ .size = sizeof(struct row), .key = sizeof(struct row_key) };
	for (i = 0; i < p->nrsamples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		struct row_key key = key_of(p, sample, by);

		if (sample->event != event)
			continue;
		nr = table_add(t, &key);
		if (!nr)
			return fail_memory(e);
		row = (struct row *)t->items + nr;
		row->samples++;
		row->weight += sample->weight;
	}
	for (nr = 1; nr < t->nr; nr++) {
		row = (struct row *)t->items + nr;
		row->label = label_of(p, &row->key, by);
		if (!row->label)
			return fail_memory(e);
	}
	if (t->nr)
		qsort((struct row *)t->items + 1, t->nr - 1, sizeof(struct row), compare_rows);
	return 0;
}

/* ---- printing -------------------------------------------------------------------------- */

#define BAR		24

static void print_bar(FILE *f, double share)
{
	static const char full[] = "########################";
	int len = (int)(share * BAR + 0.5);

	_Static_assert(sizeof(full) == BAR + 1, "a bar's length");
	fprintf(f, "%-*.*s  ", BAR, len, full);
}

static void print_rows(FILE *f, const char *title, const struct table *t,
		       const struct profile_event *event, bool several, bool all)
{
	uint32_t i, nr = t->nr - 1, shown = all || nr < SHOWN ? nr : SHOWN;
	const struct row *rows = (struct row *)t->items + 1;
	bool bars = isatty(fileno(f));
	char buf[THOUSANDS_LEN];

	fprintf(f, several ? "\n %s, %s:\n\n" : "\n %s:\n\n", title, event->name);
	for (i = 0; i < shown; i++) {
		fprintf(f, "%7.2f%%  %12s  ", 100 * (double)rows[i].weight / (double)event->weight,
			thousands(buf, rows[i].samples));
		if (bars)
			print_bar(f, (double)rows[i].weight / (double)rows[0].weight);
		fprintf(f, "%s\n", rows[i].label);
	}
	if (shown < nr)
		fprintf(f, "\n %u more are shown with -v.\n", nr - shown);
}

static void print_counts(FILE *f, const struct profile *p)
{
	char count[THOUSANDS_LEN], samples[THOUSANDS_LEN], period[THOUSANDS_LEN];
	unsigned int i;

	for (i = 0; i < p->nrevents; i++) {
		const struct profile_event *event = &p->events[i];

		if (p->complete)
			fprintf(f, "%20s  %s", thousands(count, event->count), event->name);
		else if (p->nrevents > 1)
			fprintf(f, "%20s  %s", "?", event->name);
		else
			continue;
		if (p->nrevents > 1)
			fprintf(f, ", %s samples, one each %s", thousands(samples, event->samples),
				thousands(period, event->period));
		fputc('\n', f);
	}
}

static void print_head(FILE *f, const struct profile *p)
{
	char buf[THOUSANDS_LEN];

	fprintf(f, "\n Samples of '%s'", p->command ? p->command : "?");
	if (p->nrevents == 1)
		fprintf(f, " (%sone each %s %s)", p->first_thread ? "its first thread, " : "",
			thousands(buf, p->events[0].period), p->events[0].name);
	fprintf(f, ":\n\n%20s  samples\n", thousands(buf, p->nrsamples));
	fprintf(f, "%20s  dropped\n", thousands(buf, p->dropped));
	if (p->lost)
		fprintf(f, "%20s  records of mappings and tasks lost\n", thousands(buf, p->lost));
	print_counts(f, p);
	if (!p->complete)
		fputs("\n The recording was cut off: perfex was killed, or is still recording.\n", f);
	else if (p->tsc_khz)
		fprintf(f, "%20.9f  seconds thread time\n", (double)p->tsc / (p->tsc_khz * 1e3));
}

static int print_tables(FILE *f, const struct profile *p, bool all, struct error *e)
{
	static const char *const titles[] = { "Functions", "Lines" };
	unsigned int event;
	struct table t;
	int by, err;

	for (event = 0; event < p->nrevents; event++) {
		if (!p->events[event].samples)
			continue;
		for (by = BY_FUNCTION; by <= BY_LINE; by++) {
			err = make_rows(p, &t, event, by, e);
			if (!err)
				print_rows(f, titles[by], &t, &p->events[event], p->nrevents > 1,
					   all);
			rows_free(&t);
			if (err)
				return err;
		}
	}
	return 0;
}

int report_samples(FILE *out, const char *name, bool all, struct error *e)
{
	struct profile p;
	int err;

	err = profile_read(&p, name, e);
	if (!err) {
		print_head(out, &p);
		err = print_tables(out, &p, all, e);
		fputc('\n', out);
	}
	profile_free(&p);
	return err;
}
