// SPDX-License-Identifier: GPL-2.0
/*
 * Read perf.data: make a file of perfex --sample of it, which the reader of such files reads.
 *
 * The file may come from an attacker.  Each length in it is checked before it is used, and the
 * result is not much larger, or MAX_EXPANDED times as large if it is compressed.  Records that the
 * reader of the result would refuse are left out.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "expand.h"
#include "output.h"
#include "perf-data-read.h"
#include "perf-records.h"

/* Attributes have at least the first published size, and what follows them. */
#define MIN_ATTR		(PERF_ATTR_SIZE_VER0 + sizeof(struct perf_data_part))
#define MAX_ATTR		4096
#define MAX_IDS			(1U << 20)
#define MAX_FEATURE		(1U << 24)
/* perf compresses samples to a fifth or so: more than this, for each byte of a file, is an attacker's. */
#define MAX_EXPANDED		200

struct converter {
	FILE *in;
	const char *name;
	uint64_t size;			/* of the file */
	struct perf_data_header h;
	char *names[MAX_SAMPLED];	/* of events; NULL: not known */
	unsigned int nrids;		/* that were read */
	char *texts[PERF_DATA_NR_FEATURES];
	uint32_t cpus, online;
	char *command;
	struct hash_table paths;	/* of files that have build IDs: */
	struct perf_data_build_id *build_ids;
	bool freq;			/* of any event */

	struct recording rec;		/* what is made */
	struct perf_records records;
	bool looked;			/* for the kernel: */
	bool same_kernel;		/* the kernel that runs is that of the file, at the same addresses */
	char record[1 << 16];
	struct expander *expander;
	uint64_t nrexpanded;		/* bytes, by all of the file */
	size_t nrpartial;		/* bytes of a record whose rest is in the next compressed one */
	char expanded[2 << 16];
};

static int damaged(const struct converter *c, const char *what, struct error *e)
{
	return fail_with(e, "'%s' is damaged: %s", c->name, what);
}

/* Get a text with its length.  Return: a copy, or NULL: there is none, or no memory */
static char *get_text(struct bytes *b)
{
	const char *at;
	uint32_t len;

	if (!bytes_get32(b, &len))
		return NULL;
	at = b->at;
	return bytes_get(b, NULL, len) ? strndup(at, len) : NULL;
}

/* Read a part of the file.  Return: false: it is not there */
static bool read_at(struct converter *c, uint64_t offset, void *to, size_t len)
{
	if (offset > c->size || len > c->size - offset || fseeko(c->in, (off_t)offset, SEEK_SET))
		return false;
	return fread(to, 1, len, c->in) == len;
}

/* ---- events ------------------------------------------------------------------------------ */

static int add_id(struct converter *c, uint64_t number, unsigned int event, struct error *e)
{
	if (perf_records_add_id(&c->records, number, event))
		return fail_memory(e);
	/* The same ones, again and again, take time, too. */
	return c->nrids++ < MAX_IDS ? 0 : damaged(c, "too many events", e);
}

static int read_ids(struct converter *c, const struct perf_data_part *part, unsigned int event,
		    struct error *e)
{
	uint64_t ids[512], left = part->size / sizeof(*ids), at = part->offset, nr, i;

	for (; left; left -= nr, at += nr * sizeof(*ids)) {
		nr = left < ARRAY_SIZE(ids) ? left : ARRAY_SIZE(ids);
		if (!read_at(c, at, ids, nr * sizeof(*ids)))
			return damaged(c, "the numbers of events are missing", e);
		for (i = 0; i < nr; i++)
			if (add_id(c, ids[i], event, e))
				return -1;
	}
	return 0;
}

static int read_attrs(struct converter *c, struct error *e)
{
	uint64_t size = c->h.attr_size, nr, i;
	struct perf_data_part ids;
	char bytes[MAX_ATTR];
	bool read = false, backward = false;
	size_t known;

	if (size < MIN_ATTR || size > MAX_ATTR || c->h.attrs.size < size)
		return damaged(c, "it has no events", e);
	nr = c->h.attrs.size / size;
	if (nr > MAX_SAMPLED)
		return fail_with(e, "'%s' has more events than perfex reports: %d at most", c->name,
				 MAX_SAMPLED);
	known = size - sizeof(ids) < sizeof(c->records.events[0].attr) ? size - sizeof(ids) :
								sizeof(c->records.events[0].attr);
	for (i = 0; i < nr; i++) {
		if (!read_at(c, c->h.attrs.offset + i * size, bytes, size))
			return damaged(c, "events are missing", e);
		memcpy(&c->records.events[i].attr, bytes, known);
		c->records.nrevents++;
		memcpy(&ids, bytes + size - sizeof(ids), sizeof(ids));
		if (read_ids(c, &ids, (unsigned int)i, e))
			return -1;
		c->freq |= c->records.events[i].attr.freq;
		read |= perf_is_read(&c->records.events[i].attr);
		backward |= c->records.events[i].attr.write_backward &&
			    c->records.events[i].attr.sample_type & PERF_SAMPLE_READ &&
			    c->records.events[i].attr.read_format & PERF_FORMAT_GROUP;
	}
	/* A sample's weight may be large only in a file with a frequency. */
	if (read && !c->freq)
		return fail_with(e, "'%s' has samples that read other events ({...}:S of perf) and have a fixed period, which perfex does not read: record it with -F instead of -c",
				 c->name);
	/* The newest sample is the first, so values do not grow. */
	if (backward)
		return fail_with(e, "'%s' has samples that read other events ({...}:S of perf) and are newest first, which perfex does not read: record it without --overwrite",
				 c->name);
	return 0;
}

/* ---- features ---------------------------------------------------------------------------- */

static void read_names(struct converter *c, struct bytes b)
{
	uint32_t nr, size, ids, i;
	char *name;

	if (!bytes_get32(&b, &nr) || !bytes_get32(&b, &size))
		return;
	for (i = 0; i < nr && i < c->records.nrevents; i++) {
		if (!bytes_get(&b, NULL, size) || !bytes_get32(&b, &ids))
			return;
		name = get_text(&b);
		if (!name || !*name || !bytes_skip64(&b, ids)) {
			free(name);
			return;
		}
		free(c->names[i]);
		c->names[i] = name;
	}
}

static void read_command(struct converter *c, struct bytes b)
{
	char *word, *all = NULL, *longer;
	uint32_t nr, i;

	if (!bytes_get32(&b, &nr))
		return;
	/* The first words of a long command are enough for a title. */
	for (i = 0; i < nr && (!all || strlen(all) < 4096); i++) {
		word = get_text(&b);
		if (!word || asprintf(&longer, "%s%s%.4096s", all ? all : "", all ? " " : "", word) < 0)
			longer = NULL;
		free(word);
		if (!longer)
			break;
		free(all);
		all = longer;
	}
	free(c->command);
	c->command = all;
}

static void read_build_ids(struct converter *c, struct bytes b)
{
	struct perf_data_build_id id, *ids;
	struct bytes one;
	uint32_t i, nr;

	c->paths = (struct hash_table){ .size = sizeof(char *), .text = true };
	while (b.left >= sizeof(id)) {
		memcpy(&id, b.at, sizeof(id));
		one = (struct bytes){ b.at + sizeof(id), 0 };
		if (id.header.size < sizeof(id) || id.header.size > b.left)
			return;
		one.left = id.header.size - sizeof(id);
		bytes_get(&b, NULL, id.header.size);
		if (!bytes_text(&one) || one.at[0] != '/')
			continue;
		if (!(id.header.misc & PERF_DATA_MISC_HAS_SIZE) ||
		    id.build_id[PERF_DATA_BUILD_ID_MAX] > PERF_DATA_BUILD_ID_MAX)
			id.build_id[PERF_DATA_BUILD_ID_MAX] = PERF_DATA_BUILD_ID_MAX;
		nr = c->paths.nr;
		i = hash_table_add(&c->paths, one.at);
		if (!i)
			return;
		if (c->paths.nr != nr && !(i & (i - 1))) {
			/* There is room for a power of two. */
			ids = reallocarray(c->build_ids, (size_t)i * 2, sizeof(*ids));
			if (!ids) {
				hash_table_free(&c->paths);
				return;
			}
			c->build_ids = ids;
		}
		c->build_ids[i] = id;
	}
}

static void use_feature(struct converter *c, unsigned int feature, struct bytes b)
{
	switch (feature) {
	case PERF_DATA_HOSTNAME:
	case PERF_DATA_OSRELEASE:
	case PERF_DATA_ARCH:
	case PERF_DATA_CPUDESC:
		free(c->texts[feature]);
		c->texts[feature] = get_text(&b);
		break;
	case PERF_DATA_NRCPUS:
		if (bytes_get32(&b, &c->cpus))
			bytes_get32(&b, &c->online);
		break;
	case PERF_DATA_CMDLINE:
		read_command(c, b);
		break;
	case PERF_DATA_EVENT_DESC:
		read_names(c, b);
		break;
	case PERF_DATA_BUILD_ID:
		read_build_ids(c, b);
		break;
	default:
		break;
	}
}

/* Features say more.  A damaged one is left out. */
static void read_features(struct converter *c)
{
	uint64_t at = c->h.records.offset + c->h.records.size;
	struct perf_data_part part;
	unsigned int i;
	char *data;

	for (i = 0; i < PERF_DATA_NR_FEATURES; i++) {
		if (!(c->h.features[i / 64] >> i % 64 & 1))
			continue;
		if (!read_at(c, at, &part, sizeof(part)))
			return;
		at += sizeof(part);
		data = i <= PERF_DATA_EVENT_DESC && part.size <= MAX_FEATURE ? malloc(part.size + 1) : NULL;
		if (data && read_at(c, part.offset, data, part.size))
			use_feature(c, i, (struct bytes){ data, part.size });
		free(data);
	}
}

/* ---- the beginning of what is made ---------------------------------------------------- */

static const char *text_of(const struct converter *c, enum perf_data_feature feature)
{
	return c->texts[feature] ? c->texts[feature] : "";
}

static void write_head(struct converter *c)
{
	struct samples_header h = {
		.version = SAMPLES_VERSION, .size = sizeof(h), .tsc_khz = 1000000,
	};
	unsigned int i;

	memcpy(h.magic, SAMPLES_MAGIC, sizeof(h.magic));
	snprintf(h.cpu_name, sizeof(h.cpu_name), "%s", text_of(c, PERF_DATA_CPUDESC));
	for (i = 0; i < c->records.nrevents; i++) {
		const struct perf_event_attr *attr = &c->records.events[i].attr;

		if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
			h.flags |= SAMPLES_CHAINS;
		if (attr->freq && attr->sample_freq < UINT32_MAX && h.rate < attr->sample_freq)
			h.rate = (uint32_t)attr->sample_freq;
	}
	if (c->freq && !h.rate)
		h.rate = 1;
	if (c->records.stacks)
		h.flags |= SAMPLES_STACKS;
	fwrite(&h, sizeof(h), 1, c->rec.out);
}

static void write_machine(struct converter *c)
{
	static const enum perf_data_feature features[] = {
		PERF_DATA_ARCH, PERF_DATA_OSRELEASE, PERF_DATA_HOSTNAME,
	};
	struct {
		struct record_host r;
		char names[3 * 256];
	} host = { .r = { c->cpus, c->online } };
	char *end = host.names;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(features); i++)
		end += sprintf(end, "%.255s", text_of(c, features[i])) + 1;
	if (host.names[0])
		write_record(&c->rec, RECORD_HOST, &host, (size_t)(end - (char *)&host), NULL);
}

static void write_events(struct converter *c)
{
	/* CLOCK_MONOTONIC is the clock of JITs. */
	const struct record_clock clocks[] = { { 1, 1 }, { UINT64_C(1) << 62, UINT64_C(1) << 62 } };
	const struct perf_event_attr *attr = &c->records.events[0].attr;
	struct record_event r;
	char name[256];
	unsigned int i;

	if (c->command)
		write_record(&c->rec, RECORD_COMMAND, NULL, 0, c->command);
	write_machine(c);
	if (attr->use_clockid && attr->clockid == CLOCK_MONOTONIC)
		for (i = 0; i < ARRAY_SIZE(clocks); i++)
			write_record(&c->rec, RECORD_CLOCK, &clocks[i], sizeof(clocks[i]), NULL);
	for (i = 0; i < c->records.nrevents; i++) {
		attr = &c->records.events[i].attr;
		r = (struct record_event){
			.counter = i, .map = perf_is_time(attr) ? EVENT_OF_TIME : 0,
			.period = perf_period_of(attr), .evntsel = attr->config,
		};
		if (c->names[i])
			snprintf(name, sizeof(name), "%s", c->names[i]);
		else
			snprintf(name, sizeof(name), "event %u:%#llx", attr->type,
				 (unsigned long long)attr->config);
		write_record(&c->rec, RECORD_EVENT, &r, sizeof(r), name);
	}
}

/* ---- records ------------------------------------------------------------------------------ */

static const struct perf_data_build_id *find_build_id(const struct converter *c, const char *path)
{
	uint32_t i = c->paths.nr ? hash_table_find(&c->paths, path) : 0;

	return i ? &c->build_ids[i] : NULL;
}

/* id: PERF_DATA_BUILD_ID_MAX bytes and their number */
static void write_file_of(struct converter *c, struct record_mapping *map, const uint8_t *id,
			  const char *path)
{
	struct record_file r = { .build_id_size = id[PERF_DATA_BUILD_ID_MAX] };

	/* perf has no inode beside a build ID, which identifies the file.  0 would be no file. */
	if (!map->inode)
		map->inode = 1;
	r.major = map->major;
	r.minor = map->minor;
	r.inode = map->inode;
	memcpy(r.build_id, id, r.build_id_size);
	write_record(&c->rec, RECORD_FILE, &r, sizeof(r), path);
}

static const char *describe(struct perf_records *records, struct record_mapping *map,
			    const uint8_t *id, const char *path)
{
	struct converter *c = records->arg;
	const struct perf_data_build_id *known = find_build_id(c, path);

	if (!id[PERF_DATA_BUILD_ID_MAX] && known)
		id = known->build_id;
	if (id[PERF_DATA_BUILD_ID_MAX] && path[0] == '/')
		write_file_of(c, map, id, path);
	return path;
}

/* "[kernel.kallsyms]_text": the offset is the symbol's address */
static void look_for_kernel(struct perf_records *records, uint64_t offset, const char *path)
{
	struct converter *c = records->arg;

	if (c->looked || strncmp(path, "[kernel.kallsyms]", 17))
		return;
	c->looked = true;
	c->same_kernel = kernel_has_symbol(path + 17, offset);
}

static int convert_record(struct converter *c, const struct perf_event_header *h, struct bytes b,
			  struct error *e);

/* Convert the whole records of what is expanded, and keep the beginning of the next. */
static int convert_expanded(struct converter *c, size_t nr, struct error *e)
{
	struct perf_event_header h;
	size_t at;

	for (at = 0; nr - at >= sizeof(h); at += h.size) {
		memcpy(&h, c->expanded + at, sizeof(h));
		/* No record of these types is in another one. */
		if (h.size < sizeof(h) || h.type == PERF_DATA_AUXTRACE ||
		    h.type == PERF_DATA_COMPRESSED || h.type == PERF_DATA_COMPRESSED2)
			return damaged(c, "an impossible record that is compressed", e);
		if (h.size > nr - at)
			break;
		if (convert_record(c, &h, (struct bytes){ c->expanded + at + sizeof(h), h.size - sizeof(h) }, e))
			return -1;
	}
	c->nrpartial = nr - at;
	memmove(c->expanded, c->expanded + at, c->nrpartial);
	return 0;
}

/* perf record -z: records are in one stream, of which each compressed record has a piece. */
static int convert_compressed(struct converter *c, struct bytes b, struct error *e)
{
	struct expanding x = { .from = b.at, .left = b.left };
	long n;

	if (!c->expander)
		c->expander = expander_open();
	if (!c->expander)
		return fail_with(e, "'%s' is compressed, and there is no libzstd.so.1, which expands it (Debian: libzstd1; Fedora: libzstd): install it, or record without -z",
				 c->name);
	/* A piece may expand to more than there is room for, also when all of it is read. */
	do {
		x.to = c->expanded + c->nrpartial;
		x.room = sizeof(c->expanded) - c->nrpartial;
		n = expander_run(c->expander, &x);
		if (n < 0)
			return damaged(c, "a compressed record", e);
		c->nrexpanded += (uint64_t)n;
		if (c->nrexpanded / MAX_EXPANDED > c->size)
			return damaged(c, "a record that is compressed too much", e);
		if (convert_expanded(c, c->nrpartial + (size_t)n, e))
			return -1;
	} while (n && (x.left || (size_t)n == x.room));
	return x.left ? damaged(c, "a compressed record", e) : 0;
}

static int convert_record(struct converter *c, const struct perf_event_header *h, struct bytes b,
			  struct error *e)
{
	uint64_t n;

	switch (h->type) {
	case PERF_DATA_AUXTRACE:
		/* That many bytes follow. */
		if (bytes_get64(&b, &n) && (n > c->size || fseeko(c->in, (off_t)n, SEEK_CUR)))
			return damaged(c, "an impossible record", e);
		return 0;
	case PERF_DATA_COMPRESSED2:
		/* The piece has its size before it, and is padded. */
		if (!bytes_get64(&b, &n) || n > b.left)
			return damaged(c, "a compressed record", e);
		b.left = n;
		/* fall through */
	case PERF_DATA_COMPRESSED:
		return convert_compressed(c, b, e);
	default:
		perf_records_convert(&c->records, h, b);
		return 0;
	}
}

/*
 * Convert all records of the file.  Return: 1: all records are there; 0: the file was cut off;
 * -1: *e
 */
static int convert_records(struct converter *c, struct error *e)
{
	uint64_t end = c->h.records.offset + c->h.records.size;
	bool shorter = end > c->size;	/* perhaps by whole records */
	struct perf_event_header h;
	off_t at;

	/* perf writes the size at its end. */
	if (!c->h.records.size || shorter || end < c->h.records.offset)
		end = c->size;
	if (fseeko(c->in, (off_t)c->h.records.offset, SEEK_SET))
		return damaged(c, "it has no records", e);
	for (;;) {
		at = ftello(c->in);
		if (at < 0 || (uint64_t)at + sizeof(h) > end || fread(&h, sizeof(h), 1, c->in) != 1)
			break;
		if (h.size < sizeof(h))
			return damaged(c, "an impossible record", e);
		if ((uint64_t)at + h.size > end ||
		    fread(c->record, 1, h.size - sizeof(h), c->in) != h.size - sizeof(h))
			return 0;
		if (convert_record(c, &h, (struct bytes){ c->record, h.size - sizeof(h) }, e))
			return -1;
	}
	return c->h.records.size && !shorter && (uint64_t)at >= end;
}

static void write_end_of(struct converter *c)
{
	struct {
		struct record_end r;
		uint64_t counts[MAX_SAMPLED];
	} end = {
		.r = {
			.samples = c->records.samples, .dropped = c->records.dropped, .lost = perf_records_lost(&c->records),
			.elapsed = c->records.last > c->records.first ? c->records.last - c->records.first : 0, .nr = c->records.nrevents,
		},
	};
	unsigned int i;

	for (i = 0; i < c->records.nrevents; i++)
		end.counts[i] = c->records.events[i].count;
	write_record(&c->rec, RECORD_END, &end, sizeof(end.r) + c->records.nrevents * sizeof(uint64_t), NULL);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int read_head(struct converter *c, struct error *e)
{
	off_t size;

	if (fread(c->h.magic, 1, sizeof(c->h.magic), c->in) != sizeof(c->h.magic) ||
	    (memcmp(c->h.magic, PERF_DATA_MAGIC, sizeof(c->h.magic)) &&
	     memcmp(c->h.magic, PERF_DATA_OTHER, sizeof(c->h.magic))))
		return fail_with(e, "'%s' is not a file of perfex record or perf record", c->name);
	if (c->h.magic[0] == '2')
		return fail_with(e, "'%s' is of a machine with another byte order, whose perf.data perfex does not read",
				 c->name);
	size = fseeko(c->in, 0, SEEK_END) ? -1 : ftello(c->in);
	if (size < 0)
		return fail_with(e, "perf.data is read from a file only, and '%s' is none", c->name);
	c->size = (uint64_t)size;
	if (read_at(c, 0, &c->h, 2 * sizeof(uint64_t)) && c->h.size == 2 * sizeof(uint64_t))
		return fail_with(e, "'%s' is what perf record writes to a pipe, which perfex does not read: use 'perf record -o FILE'",
				 c->name);
	if (!read_at(c, 0, &c->h, sizeof(c->h)) || c->h.size < sizeof(c->h))
		return damaged(c, "no whole header", e);
	return 0;
}

static int convert(struct converter *c, struct error *e)
{
	int whole;

	if (read_head(c, e) || read_attrs(c, e))
		return -1;
	read_features(c);
	perf_records_set_machine(&c->records, text_of(c, PERF_DATA_ARCH));
	write_head(c);
	write_events(c);
	whole = convert_records(c, e);
	if (whole < 0)
		return -1;
	if (c->same_kernel)
		write_kernel(&c->rec);
	if (whole)
		write_end_of(c);
	return 0;
}

static void converter_free(struct converter *c)
{
	unsigned int i;

	for (i = 0; i < MAX_SAMPLED; i++)
		free(c->names[i]);
	for (i = 0; i < PERF_DATA_NR_FEATURES; i++)
		free(c->texts[i]);
	free(c->command);
	free(c->build_ids);
	perf_records_free(&c->records);
	hash_table_free(&c->paths);
	expander_close(c->expander);
	recording_free(&c->rec);
	free(c);
}

bool is_perf_data(FILE *f)
{
	int first = getc(f);

	/* 2: of another byte order */
	return ungetc(first, f) == 'P' || first == '2';
}

FILE *perf_data_convert(FILE *in, const char *name, struct error *e)
{
	struct converter *c = calloc(1, sizeof(*c));
	int fd = memfd_create("perf.data", MFD_CLOEXEC), err = -1, lost;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!c || !out || recording_init(&c->rec, out, e)) {
		fail_memory(e);
	} else {
		c->in = in;
		c->name = name;
		c->records.rec = &c->rec;
		c->records.describe = describe;
		c->records.of_kernel = look_for_kernel;
		c->records.arg = c;
		err = convert(c, e);
	}
	if (c)
		converter_free(c);
	lost = err ? 0 : output_error(out);
	if (lost)
		err = fail_with(e, "cannot read '%s': %s", name, strerror(lost));
	if (out)
		rewind(out);
	if (err && out)
		fclose(out);
	else if (err && fd >= 0)
		close(fd);
	fclose(in);
	return err ? NULL : out;
}
