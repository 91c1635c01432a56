// SPDX-License-Identifier: GPL-2.0
/*
 * perfex merge: the counts of several files together, such as those of the ranks of an MPI
 * program: sums, means, the least and the largest, and the imbalance.
 *
 * The imbalance is that of O. Pearce et al., "Quantifying the Effectiveness of Load Balance
 * Algorithms", ICS 2012: the largest count as a part of the mean, minus one.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "json.h"
#include "json-counts.h"

/* An event or a metric, over all files. */
struct row {
	const char *name;
	const char *unit;	/* NULL: not known, as no file has had a value so far */
	bool metric, whole;	/* whole: all counts are, and so is their sum */
	unsigned int nrfiles;	/* in which it is */
	unsigned int nrvalues;	/* files with a value */
	const char *instead;	/* in the first file without one; NULL: all have one */
	unsigned int last;	/* of the files, + 1 */
	bool lacks;		/* the last file has no value, or not of all CPUs or threads */
	uint64_t counts;	/* of all files: if they are whole */
	double value, values;	/* of the last file, and of all */
	double least, most;
	const char *least_file, *most_file;
};

/* More than all machines of an MPI program together have. */
#define MAX_ROWS	(1U << 20)

/* A name of events and metrics, and their rows: numbers + 1, or 0. */
struct row_name {
	char *name;
	uint32_t row[2];	/* of the event, of the metric */
};

struct rows {
	unsigned int nr, room;
	struct row *row;
	struct hash_table names, units;
};

/* True if the path ends with these names of directories and the file. */
static bool has_tail(const char *path, const char *tail)
{
	const size_t length = strlen(path), end = strlen(tail);

	return length >= end && !strcmp(path + length - end, tail) &&
	       (length == end || path[length - end - 1] == '/');
}

/* Return: the shortest tail of a path that no other file has: ranks may have directories. */
static const char *tail_of(const char *path, const struct file_list *files)
{
	const char *tail = path + strlen(path);
	unsigned int i;

	do {
		while (tail > path && tail[-1] == '/')
			tail--;
		while (tail > path && tail[-1] != '/')
			tail--;
		for (i = 0; i < files->nr; i++)
			if (strcmp(files->name[i], path) && has_tail(files->name[i], tail))
				break;
	} while (i < files->nr && tail > path);
	return tail;
}

static const char *unit_of(const char *unit)
{
	return *unit ? unit : "no unit";
}

/* Return: the row, or NULL with *e. */
static struct row *find_row(struct rows *rows, const struct count_record *r, const char *file,
			    struct error *e)
{
	const uint32_t i = hash_table_add(&rows->names, r->name), unit = hash_table_add(&rows->units, r->unit);
	struct row_name *name = (struct row_name *)rows->names.items + i;
	struct row *more = rows->row, *row;

	if (i && unit && name->row[r->metric]) {
		row = &rows->row[name->row[r->metric] - 1];
		/* perfex has no unit where it has not counted. */
		if (r->counted && !row->unit)
			row->unit = ((char **)rows->units.items)[unit];
		if (!r->counted || !strcmp(row->unit, r->unit))
			return row;
		fail_with(e, "'%.200s' has '%.100s' in %.40s, and others have it in %.40s, so there is no sum",
			  file, r->name, unit_of(r->unit), unit_of(row->unit));
		return NULL;
	}
	if (i && unit && rows->nr == MAX_ROWS) {
		fail_with(e, "the files have too many events");
		return NULL;
	}
	if (rows->nr == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 64;
		more = reallocarray(rows->row, rows->room, sizeof(*more));
		rows->row = more ? more : rows->row;
	}
	if (!i || !unit || !more) {
		fail_with(e, "out of memory");
		return NULL;
	}
	more = &rows->row[rows->nr++];
	name->row[r->metric] = rows->nr;
	*more = (struct row){
		.name = name->name, .unit = r->counted ? ((char **)rows->units.items)[unit] : NULL,
		.metric = r->metric, .whole = !r->metric,
	};
	return more;
}

/* Add a count to that of its file: a file may have one for each CPU or thread. */
static int add_record(struct row *row, const struct count_record *r, unsigned int file,
		      const char *name, struct error *e)
{
	if (row->last != file + 1) {
		row->last = file + 1;
		row->nrfiles++;
		row->value = 0;
		row->lacks = false;
	} else if (r->metric) {
		return fail_with(e, "'%.200s' has '%.100s' for several CPUs or threads, which cannot be added: leave metrics out by -e",
				 name, r->name);
	}
	if (!r->counted) {
		row->lacks = true;
		row->instead = row->instead ? row->instead : r->instead;
		return 0;
	}
	row->value += r->value;
	row->whole = row->whole && r->whole;
	if (r->whole && __builtin_add_overflow(row->counts, r->count, &row->counts))
		return fail_with(e, "the sum of '%.100s' is too large", r->name);
	return 0;
}

/* All counts of a file are known: compare them with those of others. */
static void end_file(struct rows *rows, unsigned int file, const char *name)
{
	unsigned int i;

	for (i = 0; i < rows->nr; i++) {
		struct row *row = &rows->row[i];

		if (row->last != file + 1 || row->lacks)
			continue;
		row->nrvalues++;
		row->values += row->value;
		if (row->nrvalues == 1 || row->value < row->least) {
			row->least = row->value;
			row->least_file = name;
		}
		if (row->nrvalues == 1 || row->value > row->most) {
			row->most = row->value;
			row->most_file = name;
		}
	}
}

static int add_records(struct rows *rows, const struct records *records, struct hash_table *seen,
		       const struct event_list *events, unsigned int file, const char *name,
		       struct error *e)
{
	struct row *row;
	unsigned int i;

	for (i = 0; i < records->nr; i++) {
		const struct count_record *r = &records->record[i];

		/* A message lists all names. */
		if (!hash_table_add(&rows->names, r->name))
			return fail_with(e, "out of memory");
		if (!wants_event(events, r->name))
			continue;
		if (r->at >= 0)
			return fail_with(e, "'%.200s' has the counts of intervals: merge takes those of whole runs, without -I",
					 name);
		if (records_check_once(seen, r, name, e))
			return -1;
		/* The run has failed, or was not counted: the user must know which file this is. */
		if (!r->counted && !strcmp(r->instead, "<not counted>"))
			return fail_with(e, "'%.200s' has no count of '%.100s', so there is no sum", name,
					 r->name);
		row = find_row(rows, r, name, e);
		if (!row || add_record(row, r, file, name, e))
			return -1;
	}
	return 0;
}

static int add_file(struct rows *rows, const struct event_list *events, unsigned int file,
		    const char *name, struct error *e)
{
	struct hash_table seen = RECORDS_ONCE;
	struct records records;
	int err = records_read(&records, name, e);

	if (!err)
		err = add_records(rows, &records, &seen, events, file, name, e);
	if (!err)
		end_file(rows, file, name);
	hash_table_free(&seen);
	records_free(&records);
	return err;
}

/* A sum over some of the files would be wrong. */
static int check_rows(const struct rows *rows, unsigned int nrfiles,
		      const struct event_list *events, struct error *e)
{
	unsigned int i;

	if (records_check_events(&rows->names, events, "the files have no event or metric", e))
		return -1;
	for (i = 0; i < rows->nr; i++)
		if (rows->row[i].nrfiles != nrfiles)
			return fail_with(e, "only %u of %u files %s '%.100s': count the same in all, or leave it out by -e",
					 rows->row[i].nrfiles, nrfiles,
					 rows->row[i].nrfiles == 1 ? "has" : "have", rows->row[i].name);
	return 0;
}

/* ---- output --------------------------------------------------------------------------- */

static double mean_of(const struct row *row)
{
	return row->values / row->nrvalues;
}

/* In percent; negative: there is none. */
static double imbalance_of(const struct row *row)
{
	const double mean = mean_of(row), imbalance = mean > 0 ? 100 * (row->most / mean - 1) : -1;

	return isfinite(imbalance) ? imbalance : -1;
}

/* No counter reaches numbers that do not fit into a column. */
static const char *number(char *buf, size_t size, const struct row *row, double value)
{
	snprintf(buf, size, fabs(value) >= WIDE_COUNT ? "%.9g" : row->metric || *row->unit ? "%.3f" : "%.0f", value);
	return buf;
}

/* A sum, or a mean, over some of the files would be wrong. */
static void print_text_instead(FILE *f, const struct row *row, unsigned int nrfiles)
{
	fprintf(f, "%20s %18s %18s %18s %9s  %s%s%s  # in %u of %u file%s\n",
		row->metric ? "-" : row->instead, row->metric ? row->instead : "-", "-", "-", "-",
		row->name, row->unit && *row->unit ? ": " : "", row->unit ? row->unit : "",
		row->nrvalues, nrfiles, plural(nrfiles));
}

static void print_text(FILE *f, const struct row *row, const struct file_list *files)
{
	char sum[THOUSANDS_LEN] = "-", mean[32], least[32], most[32], imbalance[32] = "-";
	char least_file[4096], most_file[4096];

	if (row->whole)
		thousands(sum, row->counts);
	else if (!row->metric)
		number(sum, sizeof(sum), row, row->values);
	if (imbalance_of(row) >= 0)
		snprintf(imbalance, sizeof(imbalance), imbalance_of(row) < WIDE_PERCENT ? "%.2f%%" : "%.3g%%",
			 imbalance_of(row));
	fprintf(f, "%20s %18s %18s %18s %9s  %s%s%s\n", sum, number(mean, sizeof(mean), row, mean_of(row)),
		number(least, sizeof(least), row, row->least), number(most, sizeof(most), row, row->most),
		imbalance, row->name, *row->unit ? ": " : "", row->unit);
	if (row->least_file != row->most_file)
		fprintf(f, "%20s %18s %18s %18s\n", "", "",
			plain_text(least_file, sizeof(least_file), tail_of(row->least_file, files)),
			plain_text(most_file, sizeof(most_file), tail_of(row->most_file, files)));
}

static void print_csv(FILE *f, const struct row *row, const char *sep)
{
	if (row->instead)
		fputs(row->metric ? "" : row->instead, f);
	else if (row->whole)
		fprintf(f, "%" PRIu64, row->counts);
	else if (!row->metric)
		fprintf(f, "%.6f", row->values);
	fputs(sep, f);
	print_clean(f, sep, row->unit ? row->unit : "");
	fputs(sep, f);
	print_clean(f, sep, row->name);
	if (row->instead) {
		fprintf(f, "%s%u%s%s%s%s%s\n", sep, row->nrvalues, sep,
			row->metric ? row->instead : "", sep, sep, sep);
		return;
	}
	fprintf(f, "%s%u%s%.6f%s%.6f%s%.6f%s", sep, row->nrvalues, sep, mean_of(row), sep, row->least, sep,
		row->most, sep);
	if (imbalance_of(row) >= 0)
		fprintf(f, "%.2f", imbalance_of(row));
	fputc('\n', f);
}

static void print_json(FILE *f, const struct row *row)
{
	fprintf(f, "{\"%s\" : ", row->metric ? "metric" : "event");
	json_string(f, row->name);
	fputs(", \"unit\" : ", f);
	json_string(f, row->unit ? row->unit : "");
	fprintf(f, ", \"files\" : %u", row->nrvalues);
	if (row->instead) {
		fprintf(f, ", \"%s\" : \"%s\"}\n", row->metric ? "mean" : "sum", row->instead);
		return;
	}
	if (row->whole)
		fprintf(f, ", \"sum\" : %" PRIu64, row->counts);
	else if (!row->metric)
		fprintf(f, ", \"sum\" : %.6f", row->values);
	fprintf(f, ", \"mean\" : %.6f, \"min\" : %.6f, \"min-file\" : ", mean_of(row), row->least);
	json_string(f, row->least_file);
	fprintf(f, ", \"max\" : %.6f, \"max-file\" : ", row->most);
	json_string(f, row->most_file);
	if (imbalance_of(row) >= 0)
		fprintf(f, ", \"imbalance\" : %.2f", imbalance_of(row));
	fputs("}\n", f);
}

static void print_rows(FILE *f, const struct rows *rows, const struct file_list *files,
		       const struct showing *show)
{
	unsigned int i;

	if (show->style == STYLE_TEXT)
		fprintf(f, "\n Counts of %u file%s:\n\n%20s %18s %18s %18s %9s\n\n", files->nr,
			plural(files->nr), "sum", "mean", "least", "most", "imbalance");
	for (i = 0; i < rows->nr; i++)
		if (show->style == STYLE_JSON)
			print_json(f, &rows->row[i]);
		else if (show->style == STYLE_CSV)
			print_csv(f, &rows->row[i], show->separator);
		else if (rows->row[i].instead)
			print_text_instead(f, &rows->row[i], files->nr);
		else
			print_text(f, &rows->row[i], files);
	if (show->style == STYLE_TEXT)
		fputc('\n', f);
}

int merge_counts(FILE *out, const struct file_list *files, const struct event_list *events,
		 const struct showing *show, struct error *e)
{
	struct rows rows = {
		.names = { .size = sizeof(struct row_name), .text = true },
		.units = { .size = sizeof(char *), .text = true },
	};
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < files->nr; i++)
		err = add_file(&rows, events, i, files->name[i], e);
	if (!err)
		err = check_rows(&rows, files->nr, events, e);
	if (!err)
		print_rows(out, &rows, files, show);
	hash_table_free(&rows.names);
	hash_table_free(&rows.units);
	free(rows.row);
	return err;
}
