// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --report: print the functions and lines of the samples in a file.
 *
 * The file may come from an attacker.  Each length in it is checked before it is used,
 * and its text is printed without control characters.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "perfex.h"
#include "sample-file.h"

#define MAX_MAPPINGS	65536
#define SHOWN		25	/* rows of a table without -v */

/*
 * A sample also represents the overflows that were dropped before it.  This is right
 * if these are few: the period was too short, so that only each 2nd, 4th, ... overflow
 * made a sample.  While the ring was full, many samples were lost, and their addresses
 * are unknown.
 */
#define MAX_DROPPED	1024

/* A mapped file, or another name in /proc/PID/maps. */
struct file {
	char *path;
	struct module *module;
	bool opened;		/* or tried to */
};

struct mapping {
	uint64_t start, end, offset;
	unsigned int file;
};

/* Numbers that name no file. */
enum { FILE_UNKNOWN, FILE_KERNEL, FILE_FIRST };

/* A place, and its samples. */
struct spot {
	unsigned int file;
	uint64_t offset;	/* in the file; FILE_UNKNOWN: the address */
	uint64_t samples, weight;
};

struct recording {
	struct samples_header header;
	char *command;
	struct file *files;
	unsigned int nrfiles;
	struct mapping *maps;
	unsigned int nrmaps;
	struct spot *spots;	/* a hash table; a slot without samples is free */
	size_t nrspots, nrslots;
	uint64_t nrsamples, dropped, weight;
	bool complete;
	struct record_end end;
};

static int fail_memory(struct error *e)
{
	return fail_with(e, "out of memory");
}

/* ---- reading ------------------------------------------------------------------------- */

struct input {
	FILE *f;
	const char *name;
	uint64_t at;
};

static int fail_damaged(struct error *e, const struct input *in, const char *what)
{
	return fail_with(e, "'%s' is damaged: %s at byte %" PRIu64, in->name, what, in->at);
}

/* Return: 1: read; 0: the file ends before; -1: *e */
static int read_input(struct input *in, void *buf, size_t len, struct error *e)
{
	if (fread(buf, 1, len, in->f) == len) {
		in->at += len;
		return 1;
	}
	if (ferror(in->f))
		return fail_with(e, "cannot read '%s': %s", in->name, strerror(errno));
	return 0;
}

static int read_header(struct input *in, struct samples_header *h, struct error *e)
{
	char skipped[8];
	uint32_t rest;
	int ret;

	memset(h, 0, sizeof(*h));
	ret = read_input(in, h, sizeof(*h), e);
	if (ret < 0)
		return ret;
	if (memcmp(h->magic, SAMPLES_MAGIC, sizeof(h->magic)))
		return fail_with(e, "'%s' is not a file of perfex --sample", in->name);
	if (ret && h->version != SAMPLES_VERSION)
		return fail_with(e, "'%s' has another format than this perfex knows (version %u, not %u)",
				 in->name, h->version, SAMPLES_VERSION);
	if (!ret || h->size < sizeof(*h) || h->size % sizeof(skipped) || h->size > MAX_RECORD)
		return fail_damaged(e, in, "no whole header");
	for (rest = h->size - sizeof(*h); rest; rest -= sizeof(skipped)) {
		ret = read_input(in, skipped, sizeof(skipped), e);
		if (ret <= 0)
			return ret ? ret : fail_damaged(e, in, "no whole header");
	}
	h->event[sizeof(h->event) - 1] = '\0';
	h->cpu_name[sizeof(h->cpu_name) - 1] = '\0';
	return 0;
}

/* ---- mappings ---------------------------------------------------------------------- */

/* Return: the number of the file; 0 (FILE_UNKNOWN): no memory. */
static unsigned int find_file(struct recording *rec, const char *path)
{
	struct file *files;
	unsigned int i;

	for (i = FILE_FIRST; i < rec->nrfiles; i++)
		if (!strcmp(rec->files[i].path, path))
			return i;
	files = reallocarray(rec->files, i + 1, sizeof(*files));
	if (!files)
		return 0;
	rec->files = files;
	files[i] = (struct file){ .path = strdup(path) };
	if (!files[i].path)
		return 0;
	rec->nrfiles = i + 1;
	return i;
}

static int read_mapping(struct recording *rec, const struct input *in, const void *data,
			size_t len, struct error *e)
{
	struct record_mapping r;
	const char *path = (const char *)data + sizeof(r);
	struct mapping *maps;
	unsigned int file;

	if (len <= sizeof(r) || !memchr(path, '\0', len - sizeof(r)))
		return fail_damaged(e, in, "a mapping without a name");
	memcpy(&r, data, sizeof(r));
	if (r.start >= r.end || r.offset > UINT64_MAX - (r.end - r.start))
		return fail_damaged(e, in, "an impossible mapping");
	if (rec->nrmaps == MAX_MAPPINGS)
		return fail_damaged(e, in, "too many mappings");
	file = find_file(rec, path);
	maps = reallocarray(rec->maps, rec->nrmaps + 1, sizeof(*maps));
	if (maps)
		rec->maps = maps;
	if (!file || !maps)
		return fail_memory(e);
	maps[rec->nrmaps++] = (struct mapping){ r.start, r.end, r.offset, file };
	return 0;
}

/* Return: the latest mapping of the address, or NULL. */
static const struct mapping *find_mapping(const struct recording *rec, uint64_t ip)
{
	unsigned int i;

	for (i = rec->nrmaps; i-- > 0;)
		if (ip >= rec->maps[i].start && ip < rec->maps[i].end)
			return &rec->maps[i];
	return NULL;
}

/* ---- samples ------------------------------------------------------------------------ */

static struct spot *find_slot(struct spot *spots, size_t nrslots, unsigned int file,
			      uint64_t offset)
{
	size_t i = (size_t)((offset + file) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (nrslots - 1);

	while (spots[i].samples && (spots[i].file != file || spots[i].offset != offset))
		i = (i + 1) & (nrslots - 1);
	return &spots[i];
}

static int grow_spots(struct recording *rec)
{
	size_t nrslots = rec->nrslots ? rec->nrslots * 2 : 1024, i;
	struct spot *spots = calloc(nrslots, sizeof(*spots));

	if (!spots)
		return -1;
	for (i = 0; i < rec->nrslots; i++) {
		const struct spot *s = &rec->spots[i];

		if (s->samples)
			*find_slot(spots, nrslots, s->file, s->offset) = *s;
	}
	free(rec->spots);
	rec->spots = spots;
	rec->nrslots = nrslots;
	return 0;
}

static int add_sample(struct recording *rec, const struct record_sample *sample)
{
	uint64_t weight = 1 + (sample->dropped < MAX_DROPPED ? sample->dropped : 0);
	const struct mapping *map = find_mapping(rec, sample->ip);
	unsigned int file = FILE_UNKNOWN;
	uint64_t offset = sample->ip;
	struct spot *spot;

	if (map) {
		file = map->file;
		offset = sample->ip - map->start + map->offset;
	} else if (sample->ip >> 63) {
		/* All of the kernel is one spot. */
		file = FILE_KERNEL;
		offset = 0;
	}
	if (rec->nrspots * 2 >= rec->nrslots && grow_spots(rec))
		return -1;
	spot = find_slot(rec->spots, rec->nrslots, file, offset);
	if (!spot->samples) {
		spot->file = file;
		spot->offset = offset;
		rec->nrspots++;
	}
	spot->samples++;
	spot->weight += weight;
	rec->nrsamples++;
	rec->weight += weight;
	rec->dropped += sample->dropped;
	return 0;
}

static int read_samples(struct recording *rec, const struct input *in, const void *data,
			size_t len, struct error *e)
{
	struct record_sample sample;
	size_t at;

	if (len % sizeof(sample))
		return fail_damaged(e, in, "samples of another size");
	for (at = 0; at < len; at += sizeof(sample)) {
		memcpy(&sample, (const char *)data + at, sizeof(sample));
		if (add_sample(rec, &sample))
			return fail_memory(e);
	}
	return 0;
}

/* ---- records ------------------------------------------------------------------------- */

static int read_record_data(struct recording *rec, const struct input *in, uint32_t type,
		       const void *data, size_t len, struct error *e)
{
	switch (type) {
	case RECORD_COMMAND:
		free(rec->command);
		rec->command = strndup(data, len);
		return rec->command ? 0 : fail_memory(e);
	case RECORD_EXEC:
		rec->nrmaps = 0;
		return 0;
	case RECORD_MAPPING:
		return read_mapping(rec, in, data, len, e);
	case RECORD_SAMPLES:
		return read_samples(rec, in, data, len, e);
	case RECORD_END:
		if (len < sizeof(rec->end))
			return fail_damaged(e, in, "a short end");
		memcpy(&rec->end, data, sizeof(rec->end));
		rec->complete = true;
		return 0;
	default:
		return 0;
	}
}

/* Return: 1: there may be more; 0: the file ends, perhaps within a record; -1: *e */
static int read_record(struct recording *rec, struct input *in, struct error *e)
{
	struct record r;
	void *data;
	int ret;

	ret = read_input(in, &r, sizeof(r), e);
	if (ret <= 0)
		return ret;
	if (r.size < sizeof(r) || r.size % sizeof(r) || r.size > MAX_RECORD)
		return fail_damaged(e, in, "an impossible record");
	data = malloc(r.size);
	if (!data)
		return fail_memory(e);
	ret = read_input(in, data, r.size - sizeof(r), e);
	if (ret > 0 && read_record_data(rec, in, r.type, data, r.size - sizeof(r), e))
		ret = -1;
	free(data);
	return ret;
}

static int read_recording(struct recording *rec, const char *name, struct error *e)
{
	struct input in = { .name = name };
	int ret;

	in.f = fopen(name, "re");
	if (!in.f)
		return fail_with(e, "cannot read '%s': %s", name, strerror(errno));
	ret = read_header(&in, &rec->header, e);
	if (!ret) {
		do {
			ret = read_record(rec, &in, e);
		} while (ret > 0);
	}
	fclose(in.f);
	return ret;
}

static void recording_free(struct recording *rec)
{
	unsigned int i;

	for (i = FILE_FIRST; i < rec->nrfiles; i++) {
		module_close(rec->files[i].module);
		free(rec->files[i].path);
	}
	free(rec->files);
	free(rec->maps);
	free(rec->spots);
	free(rec->command);
}

/* ---- names of spots -------------------------------------------------------------------- */

struct row {
	char *label;
	uint64_t samples, weight;
};

struct table {
	struct row *rows;
	size_t nr;
};

/* Write "[name]"; a mapping without a file has brackets already, or no name. */
static void name_file(char *buf, size_t size, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (path[0] == '[')
		snprintf(buf, size, "%s", path);
	else
		snprintf(buf, size, "[%s]", slash ? slash + 1 : *path ? path : "anonymous");
}

static char *label_of(const struct file *file, const struct spot *spot, bool lines)
{
	struct place place = { .address = spot->offset };
	char name[300], *label = NULL;
	int len;

	if (spot->file == FILE_UNKNOWN)
		return strdup("[unknown]");
	if (spot->file == FILE_KERNEL)
		return strdup("[kernel]");
	name_file(name, sizeof(name), file->path);
	if (file->module)
		module_find(file->module, spot->offset, &place);
	if (lines && place.source)
		len = asprintf(&label, "%s:%d  %s", place.source, place.line,
			       place.function ? place.function : name);
	else if (place.function)
		len = asprintf(&label, lines ? "%s %s, line not known" : "%s %s",
			       place.function, name);
	else
		len = asprintf(&label, "%s+0x%" PRIx64, name, place.address);
	if (len < 0)
		return NULL;
	replace_controls(label);
	return label;
}

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->label, ((const struct row *)b)->label);
}

static int compare_weights(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->label, y->label);
}

static void table_free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++)
		free(t->rows[i].label);
	free(t->rows);
}

/* Make one row of spots with the same name. */
static void merge_rows(struct table *t)
{
	size_t from, to = 0;

	qsort(t->rows, t->nr, sizeof(*t->rows), compare_labels);
	for (from = 0; from < t->nr; from++) {
		struct row *row = &t->rows[from];

		if (to && !strcmp(row->label, t->rows[to - 1].label)) {
			t->rows[to - 1].samples += row->samples;
			t->rows[to - 1].weight += row->weight;
			free(row->label);
		} else {
			t->rows[to++] = *row;
		}
	}
	t->nr = to;
	qsort(t->rows, t->nr, sizeof(*t->rows), compare_weights);
}

static int make_table(const struct recording *rec, struct table *t, bool lines, struct error *e)
{
	size_t i;

	t->nr = 0;
	t->rows = calloc(rec->nrspots, sizeof(*t->rows));
	if (!t->rows)
		return fail_memory(e);
	for (i = 0; i < rec->nrslots; i++) {
		const struct spot *spot = &rec->spots[i];
		char *label;

		if (!spot->samples)
			continue;
		label = label_of(&rec->files[spot->file], spot, lines);
		if (!label)
			return fail_memory(e);
		t->rows[t->nr++] = (struct row){ label, spot->samples, spot->weight };
	}
	merge_rows(t);
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

static void print_table(FILE *f, const char *title, const struct table *t, uint64_t weight,
			bool bars, bool all)
{
	size_t i, shown = all || t->nr < SHOWN ? t->nr : SHOWN;
	char buf[THOUSANDS_LEN];

	fprintf(f, "\n %s:\n\n", title);
	for (i = 0; i < shown; i++) {
		const struct row *row = &t->rows[i];

		fprintf(f, "%7.2f%%  %12s  ", 100 * (double)row->weight / (double)weight,
			thousands(buf, row->samples));
		if (bars)
			print_bar(f, (double)row->weight / (double)t->rows[0].weight);
		fprintf(f, "%s\n", row->label);
	}
	if (shown < t->nr)
		fprintf(f, "\n %zu more are shown with -v.\n", t->nr - shown);
}

static void print_head(FILE *f, struct recording *rec)
{
	char samples[THOUSANDS_LEN], dropped[THOUSANDS_LEN], period[THOUSANDS_LEN],
	     count[THOUSANDS_LEN];
	struct samples_header *h = &rec->header;

	replace_controls(h->event);
	if (rec->command)
		replace_controls(rec->command);
	fprintf(f, "\n Samples of '%s' (its first thread, one each %s %s):\n\n",
		rec->command ? rec->command : "?", thousands(period, h->period), h->event);
	fprintf(f, "%20s  samples\n%20s  dropped\n", thousands(samples, rec->nrsamples),
		thousands(dropped, rec->complete ? rec->end.dropped : rec->dropped));
	if (rec->complete) {
		fprintf(f, "%20s  %s\n", thousands(count, rec->end.count), h->event);
		if (h->tsc_khz)
			fprintf(f, "%20.9f  seconds thread time\n",
				(double)rec->end.tsc / (h->tsc_khz * 1e3));
	} else {
		fputs("\n The recording was cut off: perfex was killed, or is still recording.\n", f);
	}
}

static int print_tables(FILE *f, const struct recording *rec, bool all, struct error *e)
{
	static const char *const titles[] = { "Functions", "Lines" };
	bool bars = isatty(fileno(f));
	struct table t;
	int i, err;

	for (i = 0; i < 2; i++) {
		err = make_table(rec, &t, i, e);
		if (!err)
			print_table(f, titles[i], &t, rec->weight, bars, all);
		table_free(&t);
		if (err)
			return err;
	}
	return 0;
}

static void open_modules(struct recording *rec)
{
	struct file *file;
	size_t k;

	/* Open only files that have samples: reading symbols takes a while. */
	for (k = 0; k < rec->nrslots; k++) {
		file = &rec->files[rec->spots[k].file];
		if (!rec->spots[k].samples || file->opened)
			continue;
		file->opened = true;
		if (file->path && file->path[0] == '/')
			file->module = module_open(file->path);
	}
}

int report_samples(FILE *out, const char *name, bool all, struct error *e)
{
	struct recording rec = { .nrfiles = FILE_FIRST };
	int err;

	rec.files = calloc(FILE_FIRST, sizeof(*rec.files));
	err = rec.files ? read_recording(&rec, name, e) : fail_memory(e);
	if (!err) {
		print_head(out, &rec);
		open_modules(&rec);
		if (rec.nrsamples)
			err = print_tables(out, &rec, all, e);
		fputc('\n', out);
	}
	recording_free(&rec);
	return err;
}
