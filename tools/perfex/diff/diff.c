// SPDX-License-Identifier: GPL-2.0
/* perfex diff: what differs between two files of samples, or between two files of counts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json-counts.h"
#include "json.h"
#include "output.h"
#include "perf-data.h"
#include "report.h"
#include "sample-file.h"
#include "work.h"

#define SHOWN		25	/* rows without -v */
#define MAX_COUNTS	(1U << 20)	/* of a file: more than any run has */

/* A function or an event in both files. */
struct difference {
	char *name;
	bool in[2];
	double value[2];	/* percent of all, or a count */
	const char *instead[2];	/* of a count; or NULL */
	bool joined;		/* with another row */
};

struct differences {
	const char *const *files;
	char *event[2];		/* whose shares these are; "": there are none, or it has no name */
	bool cut_off[2];	/* the recording */
	struct hash_table names;	/* of the events of both */
	unsigned int nr, room;
	struct difference *row;
};

#define NAMES	{ .size = sizeof(char *), .text = true }

static void differences_free(struct differences *d)
{
	unsigned int i;

	for (i = 0; i < d->nr; i++)
		free(d->row[i].name);
	free(d->row);
	hash_table_free(&d->names);
	free(d->event[0]);
	free(d->event[1]);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct difference *)a)->name, ((const struct difference *)b)->name);
}

static int add_value(struct differences *d, const char *name, unsigned int file, double value,
		     struct error *e)
{
	struct difference *row;

	if (d->nr == d->room) {
		unsigned int room = d->room ? 2 * d->room : 64;

		row = realloc(d->row, room * sizeof(*row));
		if (!row)
			return fail_with(e, "out of memory");
		d->row = row;
		d->room = room;
	}
	row = &d->row[d->nr];
	*row = (struct difference){ .name = strdup(name) };
	if (!row->name)
		return fail_with(e, "out of memory");
	row->in[file] = true;
	row->value[file] = value;
	d->nr++;
	return 0;
}

/* Make one row of those with the same name, with their sums. */
static void join_rows(struct differences *d)
{
	unsigned int i, nr = 0, k;

	if (d->nr)
		qsort(d->row, d->nr, sizeof(*d->row), compare_names);
	for (i = 0; i < d->nr; i++) {
		if (!nr || strcmp(d->row[nr - 1].name, d->row[i].name)) {
			d->row[nr++] = d->row[i];
			continue;
		}
		for (k = 0; k < 2; k++) {
			d->row[nr - 1].in[k] |= d->row[i].in[k];
			d->row[nr - 1].value[k] += d->row[i].value[k];
			if (d->row[i].instead[k])
				d->row[nr - 1].instead[k] = d->row[i].instead[k];
		}
		free(d->row[i].name);
	}
	d->nr = nr;
}

/* Return: the row of the same event with its unit, or NULL.  Rows are in the order of their names. */
static struct difference *row_with_unit(const struct differences *d, const char *name)
{
	const size_t length = strlen(name);
	unsigned int from = 0, to = d->nr, middle;
	int order;

	while (from < to) {
		middle = from + (to - from) / 2;
		order = strncmp(d->row[middle].name, name, length);
		if (!order)
			order = strncmp(d->row[middle].name + length, ": ", 2);
		if (order >= 0)
			to = middle;
		else
			from = middle + 1;
	}
	return from < d->nr && !strncmp(d->row[from].name, name, length) &&
	       !strncmp(d->row[from].name + length, ": ", 2) ? &d->row[from] : NULL;
}

/* perfex has no unit where it has not counted: such a row belongs to that of the other file. */
static void join_uncounted(struct differences *d)
{
	struct difference *row, *other;
	unsigned int i, k, nr = 0;

	for (i = 0; i < d->nr; i++) {
		row = &d->row[i];
		other = row->in[0] || row->in[1] ? NULL : row_with_unit(d, row->name);
		for (k = 0; other && k < 2; k++)
			if (row->instead[k] && !other->in[k])
				other->instead[k] = row->instead[k];
		/* Marked: the search needs all names. */
		row->joined = other;
	}
	for (i = 0; i < d->nr; i++)
		if (d->row[i].joined)
			free(d->row[i].name);
		else
			d->row[nr++] = d->row[i];
	d->nr = nr;
}

static double change_of(const struct difference *row)
{
	return row->value[1] - row->value[0];
}

static int compare_changes(const void *a, const void *b)
{
	const double x = fabs(change_of(a)), y = fabs(change_of(b));

	return x != y ? (x < y ? 1 : -1) : compare_names(a, b);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* The shares of functions, of the first event that has samples. */
static int add_shares(struct differences *d, const struct profile *p, unsigned int file,
		      struct error *e)
{
	struct report_keys keys;
	struct hash_table t;
	unsigned int event = 0;
	uint32_t i;
	int err;

	while (event + 1 < p->nrevents && !p->events[event].samples)
		event++;
	d->event[file] = strdup(p->events[event].samples ? p->events[event].name : "");
	if (!d->event[file])
		return fail_with(e, "out of memory");
	if (report_parse_keys(&keys, "symbol", e))
		return -1;
	err = rows_make(p, &t, &keys, event, false, e);
	for (i = 1; !err && i < t.nr; i++)
		err = add_value(d, row_of(&t, i)->label[0], file, 100 * (double)row_of(&t, i)->weight /
				(double)(p->events[event].weight ? p->events[event].weight : 1), e);
	rows_free(&t);
	return err;
}

static int read_shares(struct differences *d, const struct reporting *o, unsigned int file,
		       struct error *e)
{
	const struct details details = { .inlined = true };
	struct profile p;
	unsigned int i;
	int err;

	modules_use_directory(o->symfs);
	err = profile_read(&p, d->files[file], false, &details, e);
	for (i = 0; !err && i < p.nrevents; i++)
		if (!hash_table_add(&d->names, p.events[i].name))
			err = fail_with(e, "out of memory");
	d->cut_off[file] = !err && !p.complete;
	if (!err)
		err = profile_filter(&p, o, e);
	if (!err)
		err = add_shares(d, &p, file, e);
	profile_free(&p);
	return err;
}

/* ---- counts ------------------------------------------------------------------------------ */

static int add_count(struct differences *d, const struct count_record *r, unsigned int file,
		     struct error *e)
{
	char *name;
	int err;

	/* A cut name would be that of another cgroup, too. */
	if (asprintf(&name, "%s%s%s%s%s", r->part, *r->part ? " " : "", r->name, *r->unit ? ": " : "",
		     r->unit) < 0)
		return fail_with(e, "out of memory");
	err = add_value(d, name, file, r->whole ? (double)r->count : r->value, e);
	free(name);
	if (!err && !r->counted) {
		d->row[d->nr - 1].in[file] = false;
		d->row[d->nr - 1].value[file] = 0;
		d->row[d->nr - 1].instead[file] = r->instead;
	}
	return err;
}

static int add_counts(struct differences *d, const struct records *records, struct hash_table *seen,
		      const struct event_list *events, unsigned int file, struct error *e)
{
	const char *name = d->files[file];
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < records->nr; i++) {
		const struct count_record *r = &records->record[i];

		if (!hash_table_add(&d->names, r->name))
			return fail_with(e, "out of memory");
		if (!wants_event(events, r->name))
			continue;
		if (r->at >= 0)
			return fail_with(e, "'%.200s' has the counts of intervals: diff takes those of whole runs, without -I",
					 name);
		if (i >= MAX_COUNTS)
			return fail_with(e, "'%.200s' has too many counts", name);
		/* perf has lines without a count beside that with it. */
		err = r->counted ? records_check_once(seen, r, name, e) : 0;
		if (!err)
			err = add_count(d, r, file, e);
	}
	return err;
}

static int read_counts(struct differences *d, const struct reporting *o, unsigned int file,
		       struct error *e)
{
	struct hash_table seen = RECORDS_ONCE;
	struct records records = { 0 };
	int err = records_read(&records, d->files[file], e);

	if (!err)
		err = add_counts(d, &records, &seen, &o->events, file, e);
	hash_table_free(&seen);
	records_free(&records);
	return err;
}

/* ---- output ------------------------------------------------------------------------------ */

static void print_value(FILE *f, const struct difference *row, unsigned int file, bool share)
{
	char buf[THOUSANDS_LEN];

	if (!row->in[file] && row->instead[file])
		fprintf(f, "%20s", row->instead[file]);
	else if (!row->in[file])
		fprintf(f, "%*s", share ? 9 : 20, "-");
	else if (share)
		fprintf(f, "%8.2f%%", row->value[file]);
	else if (fabs(row->value[file]) >= WIDE_COUNT)
		fprintf(f, "%20.9g", row->value[file]);
	else if (row->value[file] >= 0 && row->value[file] == floor(row->value[file]))
		fprintf(f, "%20s", thousands(buf, (uint64_t)row->value[file]));
	else
		fprintf(f, "%20.3f", row->value[file]);
}

static void print_change(FILE *f, const struct difference *row, bool share)
{
	const double percent = share ? change_of(row) : 100 * change_of(row) / row->value[0];

	if (!share && (!row->in[0] || !row->in[1] || row->value[0] <= 0 || !isfinite(percent)))
		fprintf(f, "  %9s", "-");
	else
		fprintf(f, fabs(percent) < WIDE_PERCENT ? "  %+8.2f%%" : "  %+8.3g%%", percent);
}

static void print_json(FILE *f, const struct difference *row, bool share)
{
	unsigned int k;

	fprintf(f, "{\"%s\" : ", share ? "symbol" : "event");
	json_string(f, row->name);
	for (k = 0; k < 2; k++)
		if (row->in[k])
			fprintf(f, ", \"%s\" : %.6f", k ? "new" : "old", row->value[k]);
		else if (row->instead[k])
			fprintf(f, ", \"%s\" : \"%s\"", k ? "new" : "old", row->instead[k]);
	fputs("}\n", f);
}

static void print_differences(FILE *f, const struct differences *d, const struct showing *show,
			      bool share)
{
	unsigned int i, shown = share && !show->verbose && d->nr > SHOWN ? SHOWN : d->nr;
	char old[MAX_PATH_NAME], new[MAX_PATH_NAME];

	if (show->style == STYLE_JSON) {
		for (i = 0; i < d->nr; i++)
			print_json(f, &d->row[i], share);
		return;
	}
	fprintf(f, "\n %s in '%s' and in '%s':\n\n%*s  ", share ? "Shares of functions" : "Counts",
		plain_text(old, sizeof(old), d->files[0]), plain_text(new, sizeof(new), d->files[1]),
		share ? 9 : 20, "old");
	fprintf(f, "%*s  %9s\n\n", share ? 9 : 20, "new", "change");
	for (i = 0; i < shown; i++) {
		print_value(f, &d->row[i], 0, share);
		fputs("  ", f);
		print_value(f, &d->row[i], 1, share);
		print_change(f, &d->row[i], share);
		fprintf(f, "  %s\n", d->row[i].name);
	}
	if (shown < d->nr)
		fprintf(f, "\n %u more %s shown with -v.\n", d->nr - shown,
			d->nr - shown == 1 ? "is" : "are");
	fputc('\n', f);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Shares of different events may differ although the programs do not. */
static void print_events(const struct differences *d)
{
	char name[2][MAX_PATH_NAME], event[2][MAX_PATH_NAME];
	unsigned int k;

	if (!*d->event[0] || !*d->event[1] || !strcmp(d->event[0], d->event[1]))
		return;
	for (k = 0; k < 2; k++) {
		plain_text(name[k], sizeof(name[k]), d->files[k]);
		plain_text(event[k], sizeof(event[k]), d->event[k]);
	}
	fprintf(stderr, "perfex: the shares are of different events: of %s in '%s', and of %s in '%s'\n",
		event[0], name[0], event[1], name[1]);
}

/* True if a file begins as those of perfex record, or of perf record, do.  A pipe is not looked at. */
static bool has_samples(const char *name)
{
	char magic[sizeof(SAMPLES_MAGIC) - 1];
	int fd = open_named(name, 0);
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		  (!memcmp(magic, SAMPLES_MAGIC, sizeof(magic)) ||
		   !memcmp(magic, PERF_DATA_MAGIC, sizeof(magic)) ||
		   !memcmp(magic, PERF_DATA_OTHER, sizeof(magic)));

	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * True if this is a file: the beginning of a pipe, which tells what is in it, can be read only
 * once.
 */
static bool is_file(const char *name)
{
	struct stat st;

	return !stat(name, &st) && S_ISREG(st.st_mode);
}

int diff_here(FILE *out, const char *const *files, const struct reporting *o, struct error *e)
{
	const bool share = has_samples(files[0]);
	struct differences d = { .files = files, .names = NAMES };
	unsigned int file;
	int err = 0;

	if (share != has_samples(files[1]) && !is_file(files[share]))
		return fail_with(e, "'%.200s' has samples, and '%.200s' is no file: perfex diff reads samples from files only",
				 files[!share], files[share]);
	if (share != has_samples(files[1]))
		return fail_with(e, "'%.200s' has samples, and '%.200s' has none: perfex diff compares two of one sort",
				 files[!share], files[share]);
	if (!share && o->symfs)
		return fail_with(e, "--symfs is for samples, whose programs it finds, and '%.200s' has counts",
				 files[0]);
	for (file = 0; !err && file < 2; file++)
		err = share ? read_shares(&d, o, file, e) : read_counts(&d, o, file, e);
	if (!err)
		err = records_check_events(&d.names, &o->events, share ? "the files have no samples of" :
					   "the files have no event or metric", e);
	if (!err) {
		work_prints();
		for (file = 0; file < 2; file++)
			report_cut_off(!d.cut_off[file], files[file], o);
		if (share)
			print_events(&d);
		join_rows(&d);
		if (!share)
			join_uncounted(&d);
		if (share && d.nr)
			qsort(d.row, d.nr, sizeof(*d.row), compare_changes);
		print_differences(out, &d, &o->show, share);
	}
	differences_free(&d);
	return err;
}

struct request {
	FILE *out;
	const char *const *files;
	const struct reporting *o;
};

static int diff_in_child(void *arg, struct error *e)
{
	const struct request *r = arg;
	const int err = diff_here(r->out, r->files, r->o, e);

	return err ? err : output_flush(r->out, &r->o->show, e);
}

int diff_files(FILE *out, const char *const *files, const struct reporting *o, struct error *e)
{
	struct request r = { out, files, o };
	unsigned int file;

	for (file = 0; file < 2; file++)
		if (access(files[file], R_OK))
			return fail_with(e, "cannot read '%.200s': %s (perfex -- diff runs the program of that name)",
					 files[file], strerror(errno));
	return work_in_child(diff_in_child, &r, true, e);
}
