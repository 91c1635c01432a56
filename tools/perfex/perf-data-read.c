// SPDX-License-Identifier: GPL-2.0
/*
 * Read perf.data: make a file of perfex --sample of it, which the reader of such files reads.
 *
 * The file may come from an attacker.  Each length in it is checked before it is used, and the
 * result is not much larger.  Records that its reader would refuse are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "perf-data.h"
#include "perf-data-read.h"
#include "profile.h"
#include "sample.h"

/* Attributes have at least the first published size, and what follows them. */
#define MIN_ATTR		(PERF_ATTR_SIZE_VER0 + sizeof(struct perf_data_part))
#define MAX_ATTR		4096
#define MAX_IDS			(1U << 20)
#define MAX_FEATURE		(1U << 24)
/* Periods that a sample stands for: profile-read.c knows no more. */
#define MAX_WEIGHT		(UINT64_C(1) << 31)

#define CPUMODE(misc)		((misc) & PERF_RECORD_MISC_CPUMODE_MASK)
#define PROT_EXECUTABLE		4

/* Parts of samples that newer headers have. */
#define BRANCH_HW_INDEX		(UINT64_C(1) << 17)
#define BRANCH_COUNTERS		(UINT64_C(1) << 19)
#define READ_LOST		(1U << 4)

struct event {
	struct perf_event_attr attr;
	char *name;
	uint64_t count;
};

struct id {
	uint64_t id;
	uint32_t event, unused;
};

/* Bytes that are not read yet. */
struct bytes {
	const char *at;
	size_t left;
};

struct converter {
	FILE *in;
	const char *name;
	uint64_t size;			/* of the file */
	struct perf_data_header h;
	struct event events[MAX_SAMPLED];
	unsigned int nrevents;
	struct hash_table ids;		/* of struct id */
	unsigned int nrids;		/* that were read */
	char *texts[PERF_DATA_NR_FEATURES];
	uint32_t cpus, online;
	char *command;
	struct hash_table paths;	/* of files that have build IDs: */
	struct perf_data_build_id *build_ids;
	const struct perf_regs *regs;	/* NULL: not known */
	bool stacks;
	bool freq;			/* of any event */

	struct recording rec;		/* what is made */
	uint64_t samples, dropped, lost, first, last;
	bool looked;			/* for the kernel: */
	bool same_kernel;		/* it runs now, where it was then */
	char record[1 << 16];
	union {
		struct record_sample s;
		uint64_t words[(1 << 17) / sizeof(uint64_t)];
	} sample;
};

static int damaged(const struct converter *c, const char *what, struct error *e)
{
	return fail_with(e, "'%s' is damaged: %s", c->name, what);
}

/* ---- bytes ----------------------------------------------------------------------------- */

static bool get(struct bytes *b, void *to, size_t len)
{
	if (b->left < len)
		return false;
	if (to)
		memcpy(to, b->at, len);
	b->at += len;
	b->left -= len;
	return true;
}

static bool get32(struct bytes *b, uint32_t *n)
{
	return get(b, n, sizeof(*n));
}

static bool get64(struct bytes *b, uint64_t *n)
{
	return get(b, n, sizeof(*n));
}

/* Get n words, and forget them. */
static bool skip64(struct bytes *b, uint64_t n)
{
	return n <= b->left / sizeof(uint64_t) && get(b, NULL, n * sizeof(uint64_t));
}

/* Get a text with its length.  Return: a copy, or NULL: there is none, or no memory */
static char *get_text(struct bytes *b)
{
	const char *at;
	uint32_t len;

	if (!get32(b, &len))
		return NULL;
	at = b->at;
	return get(b, NULL, len) ? strndup(at, len) : NULL;
}

/* Return: the text that begins here, which ends in what is left; NULL: it does not */
static const char *text_here(const struct bytes *b)
{
	return b->left && memchr(b->at, '\0', b->left) ? b->at : NULL;
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
	struct id id = { .id = number };
	uint32_t i;

	if (!c->ids.size)
		c->ids = (struct hash_table){ .size = sizeof(id), .key = sizeof(id.id) };
	i = hash_table_add(&c->ids, &id);
	if (!i)
		return fail_memory(e);
	((struct id *)c->ids.items)[i].event = event;
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
	size_t known;

	if (size < MIN_ATTR || size > MAX_ATTR || c->h.attrs.size < size)
		return damaged(c, "it has no events", e);
	nr = c->h.attrs.size / size;
	if (nr > MAX_SAMPLED)
		return fail_with(e, "'%s' has more events than perfex reports: %d at most", c->name,
				 MAX_SAMPLED);
	known = size - sizeof(ids) < sizeof(c->events[0].attr) ? size - sizeof(ids) :
								sizeof(c->events[0].attr);
	for (i = 0; i < nr; i++) {
		if (!read_at(c, c->h.attrs.offset + i * size, bytes, size))
			return damaged(c, "events are missing", e);
		memcpy(&c->events[i].attr, bytes, known);
		c->nrevents++;
		memcpy(&ids, bytes + size - sizeof(ids), sizeof(ids));
		if (read_ids(c, &ids, (unsigned int)i, e))
			return -1;
		c->freq |= c->events[i].attr.freq;
	}
	return 0;
}

/* Return: the event of a number, or -1.  Records that perf itself makes have number 0. */
static int find_event(const struct converter *c, uint64_t number)
{
	uint32_t i = c->ids.nr ? hash_table_find(&c->ids, &number) : 0;

	if (i)
		return (int)((struct id *)c->ids.items)[i].event;
	return !number || c->nrevents == 1 ? 0 : -1;
}

/* ---- features ---------------------------------------------------------------------------- */

static void read_names(struct converter *c, struct bytes b)
{
	uint32_t nr, size, ids, i;
	char *name;

	if (!get32(&b, &nr) || !get32(&b, &size))
		return;
	for (i = 0; i < nr && i < c->nrevents; i++) {
		if (!get(&b, NULL, size) || !get32(&b, &ids))
			return;
		name = get_text(&b);
		if (!name || !*name || !skip64(&b, ids)) {
			free(name);
			return;
		}
		free(c->events[i].name);
		c->events[i].name = name;
	}
}

static void read_command(struct converter *c, struct bytes b)
{
	char *word, *all = NULL, *longer;
	uint32_t nr, i;

	if (!get32(&b, &nr))
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
		get(&b, NULL, id.header.size);
		if (!text_here(&one) || one.at[0] != '/')
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
		if (get32(&b, &c->cpus))
			get32(&b, &c->online);
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
	for (i = 0; i < c->nrevents; i++) {
		const struct perf_event_attr *attr = &c->events[i].attr;

		if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
			h.flags |= SAMPLES_CHAINS;
		if (attr->freq && attr->sample_freq < UINT32_MAX && h.rate < attr->sample_freq)
			h.rate = (uint32_t)attr->sample_freq;
	}
	if (c->freq && !h.rate)
		h.rate = 1;
	if (c->stacks)
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

static bool is_time(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static uint64_t period_of(const struct perf_event_attr *attr)
{
	return attr->freq || !attr->sample_period ? 1 : attr->sample_period;
}

static void write_events(struct converter *c)
{
	/* CLOCK_MONOTONIC is the clock of JITs. */
	const struct record_clock clocks[] = { { 1, 1 }, { UINT64_C(1) << 62, UINT64_C(1) << 62 } };
	const struct perf_event_attr *attr = &c->events[0].attr;
	struct record_event r;
	char name[256];
	unsigned int i;

	if (c->command)
		write_record(&c->rec, RECORD_COMMAND, NULL, 0, c->command);
	write_machine(c);
	if (attr->use_clockid && attr->clockid == CLOCK_MONOTONIC)
		for (i = 0; i < ARRAY_SIZE(clocks); i++)
			write_record(&c->rec, RECORD_CLOCK, &clocks[i], sizeof(clocks[i]), NULL);
	for (i = 0; i < c->nrevents; i++) {
		attr = &c->events[i].attr;
		r = (struct record_event){
			.counter = i, .map = is_time(attr) ? EVENT_OF_TIME : 0,
			.period = period_of(attr), .evntsel = attr->config,
		};
		if (c->events[i].name)
			snprintf(name, sizeof(name), "%s", c->events[i].name);
		else
			snprintf(name, sizeof(name), "event %u:%#llx", attr->type,
				 (unsigned long long)attr->config);
		write_record(&c->rec, RECORD_EVENT, &r, sizeof(r), name);
	}
}

/* ---- tasks and mappings ----------------------------------------------------------------- */

/* Return: the time of a record that is no sample, from its end; 0: it has none. */
static uint64_t time_of(const struct converter *c, struct bytes *b)
{
	const struct perf_event_attr *attr = &c->events[0].attr;
	static const uint64_t words[] = {
		PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
		PERF_SAMPLE_IDENTIFIER,
	};
	size_t size = 0, i, at = 0;
	uint64_t time = 0;

	if (!attr->sample_id_all)
		return 0;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i] == PERF_SAMPLE_TIME)
			at = size;
		size += attr->sample_type & words[i] ? sizeof(uint64_t) : 0;
	}
	if (size > b->left)
		return 0;
	if (attr->sample_type & PERF_SAMPLE_TIME)
		memcpy(&time, b->at + b->left - size + at, sizeof(time));
	b->left -= size;
	return time;
}

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

	/* Any inode: a file that has a build ID is known by that. */
	if (!map->inode)
		map->inode = 1;
	r.major = map->major;
	r.minor = map->minor;
	r.inode = map->inode;
	memcpy(r.build_id, id, r.build_id_size);
	write_record(&c->rec, RECORD_FILE, &r, sizeof(r), path);
}

/* The part of PERF_RECORD_MMAP2 after what PERF_RECORD_MMAP has. */
struct mmap2 {
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		} file;
		struct {
			uint8_t size, reserved[3];
			uint8_t id[PERF_DATA_BUILD_ID_MAX];
		} build;
	} u;
	uint32_t prot, flags;
};

static void convert_mapping(struct converter *c, const struct perf_event_header *h, struct bytes b)
{
	const struct perf_data_build_id *known;
	struct record_mapping map = { .task = { .tsc = time_of(c, &b) } };
	struct mmap2 more = { .prot = PROT_EXECUTABLE };
	uint8_t id[PERF_DATA_BUILD_ID_MAX + 1] = { 0 };
	const char *path;
	uint64_t len;

	if (!get32(&b, &map.task.pid) || !get32(&b, &map.task.tid) || !get64(&b, &map.start) ||
	    !get64(&b, &len) || !get64(&b, &map.offset) ||
	    (h->type == PERF_RECORD_MMAP2 && !get(&b, &more, sizeof(more))))
		return;
	path = text_here(&b);
	if (!path)
		return;
	if (CPUMODE(h->misc) != PERF_RECORD_MISC_USER) {
		/* "[kernel.kallsyms]_text": the offset is the symbol's address */
		if (!c->looked && !strncmp(path, "[kernel.kallsyms]", 17)) {
			c->looked = true;
			c->same_kernel = kernel_has_symbol(path + 17, map.offset);
		}
		return;
	}
	map.end = map.start + len;
	if (map.start >= map.end || map.offset > UINT64_MAX - len || !(more.prot & PROT_EXECUTABLE) ||
	    (h->type == PERF_RECORD_MMAP && h->misc & PERF_RECORD_MISC_MMAP_DATA))
		return;
	if (h->type == PERF_RECORD_MMAP2 && h->misc & PERF_DATA_MISC_BUILD_ID) {
		if (more.u.build.size <= PERF_DATA_BUILD_ID_MAX) {
			memcpy(id, more.u.build.id, more.u.build.size);
			id[PERF_DATA_BUILD_ID_MAX] = more.u.build.size;
		}
	} else if (h->type == PERF_RECORD_MMAP2) {
		map.major = more.u.file.major;
		map.minor = more.u.file.minor;
		map.inode = more.u.file.inode;
	}
	known = find_build_id(c, path);
	if (!id[PERF_DATA_BUILD_ID_MAX] && known)
		memcpy(id, known->build_id, sizeof(id));
	if (id[PERF_DATA_BUILD_ID_MAX] && path[0] == '/')
		write_file_of(c, &map, id, path);
	write_record(&c->rec, RECORD_MAPPING, &map, sizeof(map), path);
}

static void convert_comm(struct converter *c, const struct perf_event_header *h, struct bytes b)
{
	struct record_task r = { .tsc = time_of(c, &b) };

	if (get32(&b, &r.pid) && get32(&b, &r.tid) && text_here(&b))
		write_record(&c->rec, h->misc & PERF_DATA_MISC_EXEC ? RECORD_EXEC : RECORD_COMM, &r,
			     sizeof(r), b.at);
}

static void convert_fork(struct converter *c, const struct perf_event_header *h, struct bytes b)
{
	struct record_fork r;

	if (!get32(&b, &r.child.pid) || !get32(&b, &r.parent_pid) || !get32(&b, &r.child.tid) ||
	    !get32(&b, &r.parent_tid) || !get64(&b, &r.child.tsc))
		return;
	if (h->type == PERF_RECORD_EXIT)
		write_record(&c->rec, RECORD_EXIT, &r.child, sizeof(r.child), NULL);
	/* perf has made it of a process that has executed another file since. */
	else if (!(h->misc & PERF_DATA_MISC_EXEC))
		write_record(&c->rec, RECORD_FORK, &r, sizeof(r), NULL);
}

static void convert_symbol(struct converter *c, struct bytes b)
{
	struct record_kernel r;
	uint16_t type, flags;
	uint32_t len;

	if (!get64(&b, &r.start) || !get32(&b, &len) || !get(&b, &type, sizeof(type)) ||
	    !get(&b, &flags, sizeof(flags)) || !text_here(&b))
		return;
	r.end = r.start + len;
	/* Bit 0 of the flags: it is gone. */
	if (!(flags & 1) && r.start >> 63 && r.end > r.start)
		write_record(&c->rec, RECORD_KERNEL, &r, sizeof(r), b.at);
}

/* ---- samples ------------------------------------------------------------------------------ */

static bool skip_read(struct bytes *b, uint64_t format)
{
	uint64_t nr = 1, words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);

	if (format & PERF_FORMAT_GROUP && !get64(b, &nr))
		return false;
	return skip64(b, !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING)) &&
	       nr <= b->left / sizeof(uint64_t) && skip64(b, nr * words);
}

/* perf's chain begins with the address of the sample. */
static bool get_chain(struct converter *c, struct bytes *b, struct record_sample *s)
{
	uint64_t *chain = c->sample.s.chain, nr, address, mark = 0;
	bool first = true, kernel = s->flags & VPERFCTR_SAMPLE_KERNEL;

	if (!get64(b, &nr) || nr > b->left / sizeof(uint64_t))
		return false;
	while (nr-- && get64(b, &address)) {
		if (address >= PERF_DATA_CHAIN_MARKS) {
			mark = address;
			continue;
		}
		if (mark == PERF_DATA_CHAIN_KERNEL)
			address = kernel_address(&c->rec, address);
		else if (mark && mark != PERF_DATA_CHAIN_USER)
			continue;
		if (first && address == s->ip && kernel == (mark == PERF_DATA_CHAIN_KERNEL)) {
			first = false;
			continue;
		}
		first = false;
		if (s->nr == MAX_CHAIN)
			continue;
		if (kernel && address >> 63)
			note_kernel(&c->rec, address - 1);
		chain[s->nr++] = address;
	}
	return true;
}

static bool skip_raw(struct bytes *b)
{
	uint32_t size;

	return get32(b, &size) && get(b, NULL, size);
}

static bool skip_branches(struct bytes *b, uint64_t type)
{
	uint64_t nr, words = 3 + !!(type & BRANCH_COUNTERS);

	if (!get64(b, &nr) || (type & BRANCH_HW_INDEX && !skip64(b, 1)))
		return false;
	return nr <= b->left / sizeof(uint64_t) && skip64(b, nr * words);
}

/* The registers follow the chain, if they are known. */
static bool get_registers(struct converter *c, struct bytes *b, uint64_t mask, struct record_user *u)
{
	uint64_t *regs = c->sample.s.chain + c->sample.s.nr + sizeof(*u) / sizeof(uint64_t);
	uint64_t abi, value;
	unsigned int i;
	int place;

	if (!get64(b, &abi))
		return false;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	if (c->regs && c->stacks && abi <= PERF_SAMPLE_REGS_ABI_64) {
		u->mode = abi == PERF_SAMPLE_REGS_ABI_64 ? VPERFCTR_USER_64 : VPERFCTR_USER_32;
		u->nrregs = perf_regs_nr(c->regs);
		memset(regs, 0, u->nrregs * sizeof(*regs));
	}
	for (i = 0; i < 64; i++) {
		if (!(mask >> i & 1))
			continue;
		if (!get64(b, &value))
			return false;
		place = u->nrregs ? perf_regs_place(c->regs, u->mode, i) : -1;
		if (place >= 0)
			regs[place] = value;
	}
	return true;
}

static bool get_stack(struct converter *c, struct bytes *b, struct record_user *u)
{
	uint64_t *to = c->sample.s.chain + c->sample.s.nr + sizeof(*u) / sizeof(uint64_t) + u->nrregs;
	const char *stack;
	uint64_t size, used;

	if (!get64(b, &size))
		return false;
	stack = b->at;
	if (!size)
		return true;
	if (!get(b, NULL, size) || !get64(b, &used))
		return false;
	if (used > size)
		used = size;
	u->stack_size = used / sizeof(*to) * sizeof(*to);
	if (u->nrregs)
		memcpy(to, stack, u->stack_size);
	return true;
}

/* The parts of a sample in front of its calls. */
struct front {
	uint64_t id, stream, addr, period;
	uint32_t cpu, unused;
};

static bool get_front(struct bytes *b, uint64_t type, struct record_sample *s, struct front *f)
{
	return (!(type & PERF_SAMPLE_IDENTIFIER) || get64(b, &f->id)) &&
	       (!(type & PERF_SAMPLE_IP) || get64(b, &s->ip)) &&
	       (!(type & PERF_SAMPLE_TID) || (get32(b, &s->pid) && get32(b, &s->tid))) &&
	       (!(type & PERF_SAMPLE_TIME) || get64(b, &s->tsc)) &&
	       (!(type & PERF_SAMPLE_ADDR) || get64(b, &f->addr)) &&
	       (!(type & PERF_SAMPLE_ID) || get64(b, &f->id)) &&
	       (!(type & PERF_SAMPLE_STREAM_ID) || get64(b, &f->stream)) &&
	       (!(type & PERF_SAMPLE_CPU) || (get32(b, &f->cpu) && get32(b, &f->unused))) &&
	       (!(type & PERF_SAMPLE_PERIOD) || get64(b, &f->period));
}

/* Find the event, which says what the sample has.  All have their number at the same place. */
static int event_of_sample(const struct converter *c, struct bytes b)
{
	uint64_t type = c->events[0].attr.sample_type;
	struct record_sample s = { 0 };
	struct front f = { 0 };

	if (type & PERF_SAMPLE_IDENTIFIER)
		type = PERF_SAMPLE_IDENTIFIER;
	return get_front(&b, type, &s, &f) ? find_event(c, f.id) : -1;
}

static void write_sample(struct converter *c, struct event *event, const struct front *f,
			 const struct record_user *u)
{
	struct record_sample *s = &c->sample.s;
	uint64_t period = period_of(&event->attr), weight = 1;

	/* Without a period in the sample, it is that of the event. */
	if (f->period && (event->attr.freq || !event->attr.sample_period))
		weight = f->period;
	else if (f->period)
		weight = f->period / period + !(f->period / period);
	s->dropped = (weight < MAX_WEIGHT ? weight : MAX_WEIGHT) - 1;
	s->cpu = f->cpu;
	s->overflow = UINT64_C(1) << (event - c->events);
	s->size = (uint32_t)(sizeof(*s) + s->nr * sizeof(uint64_t));
	if (u->nrregs) {
		memcpy(s->chain + s->nr, u, sizeof(*u));
		s->size += (uint32_t)(sizeof(*u) + u->nrregs * sizeof(uint64_t) + u->stack_size);
	}
	if (s->flags & VPERFCTR_SAMPLE_KERNEL)
		note_kernel(&c->rec, s->ip);
	write_record(&c->rec, RECORD_SAMPLES, s, s->size, NULL);
	event->count += f->period ? f->period : period;
	c->dropped += s->dropped;
	c->first = c->samples++ ? c->first : s->tsc;
	c->last = s->tsc;
}

/* Return: false: the sample is of a virtual machine, or damaged */
static bool convert_sample(struct converter *c, const struct perf_event_header *h, struct bytes b)
{
	struct record_sample *s = &c->sample.s;
	struct record_user u = { 0 };
	struct front f = { 0 };
	struct event *event;
	uint64_t type;
	int i = event_of_sample(c, b);

	if (i < 0 || (CPUMODE(h->misc) != PERF_RECORD_MISC_USER &&
		      CPUMODE(h->misc) != PERF_RECORD_MISC_KERNEL))
		return false;
	event = &c->events[i];
	type = event->attr.sample_type;
	memset(s, 0, sizeof(*s));
	if (!get_front(&b, type, s, &f))
		return false;
	s->flags = VPERFCTR_SAMPLE_USER;
	if (CPUMODE(h->misc) == PERF_RECORD_MISC_KERNEL) {
		s->flags = VPERFCTR_SAMPLE_KERNEL;
		s->ip = kernel_address(&c->rec, s->ip);
	}
	if ((type & PERF_SAMPLE_READ && !skip_read(&b, event->attr.read_format)) ||
	    (type & PERF_SAMPLE_CALLCHAIN && !get_chain(c, &b, s)) ||
	    (type & PERF_SAMPLE_RAW && !skip_raw(&b)) ||
	    (type & PERF_SAMPLE_BRANCH_STACK && !skip_branches(&b, event->attr.branch_sample_type)) ||
	    (type & PERF_SAMPLE_REGS_USER && !get_registers(c, &b, event->attr.sample_regs_user, &u)) ||
	    (type & PERF_SAMPLE_STACK_USER && !get_stack(c, &b, &u)))
		return false;
	write_sample(c, event, &f, &u);
	return true;
}

/* ---- records ------------------------------------------------------------------------------ */

static int convert_record(struct converter *c, const struct perf_event_header *h, struct bytes b,
			  struct error *e)
{
	uint64_t n;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		c->lost += !convert_sample(c, h, b);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		convert_mapping(c, h, b);
		break;
	case PERF_RECORD_COMM:
		convert_comm(c, h, b);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		convert_fork(c, h, b);
		break;
	case PERF_RECORD_LOST:
		if (get64(&b, &n) && get64(&b, &n))
			c->lost += n;
		break;
	case PERF_DATA_LOST_SAMPLES:
		if (get64(&b, &n))
			c->lost += n;
		break;
	case PERF_DATA_KSYMBOL:
		convert_symbol(c, b);
		break;
	case PERF_DATA_AUXTRACE:
		/* So many bytes follow. */
		if (get64(&b, &n) && (n > c->size || fseeko(c->in, (off_t)n, SEEK_CUR)))
			return damaged(c, "an impossible record", e);
		break;
	case PERF_DATA_COMPRESSED:
	case PERF_DATA_COMPRESSED2:
		return fail_with(e, "'%s' is compressed, which perfex does not read: record without -z", c->name);
	default:
		break;
	}
	return 0;
}

/* Return: 1: all records are there; 0: the file was cut off; -1: *e */
static int convert_records(struct converter *c, struct error *e)
{
	uint64_t end = c->h.records.offset + c->h.records.size;
	struct perf_event_header h;
	off_t at;

	/* perf writes the size at its end. */
	if (!c->h.records.size || end > c->size || end < c->h.records.offset)
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
	return c->h.records.size && (uint64_t)at >= end;
}

static void write_end_of(struct converter *c)
{
	struct {
		struct record_end r;
		uint64_t counts[MAX_SAMPLED];
	} end = {
		.r = {
			.samples = c->samples, .dropped = c->dropped, .lost = c->lost,
			.elapsed = c->last > c->first ? c->last - c->first : 0, .nr = c->nrevents,
		},
	};
	unsigned int i;

	for (i = 0; i < c->nrevents; i++)
		end.counts[i] = c->events[i].count;
	write_record(&c->rec, RECORD_END, &end, sizeof(end.r) + c->nrevents * sizeof(uint64_t), NULL);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int read_head(struct converter *c, struct error *e)
{
	off_t size;

	if (fread(c->h.magic, 1, sizeof(c->h.magic), c->in) != sizeof(c->h.magic) ||
	    (memcmp(c->h.magic, PERF_DATA_MAGIC, sizeof(c->h.magic)) &&
	     memcmp(c->h.magic, "2ELIFREP", sizeof(c->h.magic))))
		return fail_with(e, "'%s' is not a file of perfex --sample or perf record", c->name);
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

static void use_machine(struct converter *c)
{
	const char *machine = text_of(c, PERF_DATA_ARCH);
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	unsigned int i;

	c->rec.narrow_kernel = *machine && !strstr(machine, "64");
	c->regs = perf_regs_of_machine(machine);
	for (i = 0; i < c->nrevents && c->regs; i++)
		c->stacks |= (c->events[i].attr.sample_type & both) == both;
}

static int convert(struct converter *c, struct error *e)
{
	int whole;

	if (read_head(c, e) || read_attrs(c, e))
		return -1;
	read_features(c);
	use_machine(c);
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

	for (i = 0; i < c->nrevents; i++)
		free(c->events[i].name);
	for (i = 0; i < PERF_DATA_NR_FEATURES; i++)
		free(c->texts[i]);
	free(c->command);
	free(c->build_ids);
	hash_table_free(&c->ids);
	hash_table_free(&c->paths);
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
	int fd = memfd_create("perf.data", MFD_CLOEXEC), err = -1;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!c || !out || recording_init(&c->rec, out, e)) {
		fail_memory(e);
	} else {
		c->in = in;
		c->name = name;
		err = convert(c, e);
	}
	if (c)
		converter_free(c);
	if (!err && (fflush(out) || ferror(out)))
		err = fail_with(e, "cannot read '%s': %s", name, strerror(errno));
	if (out)
		rewind(out);
	if (err && out)
		fclose(out);
	else if (err && fd >= 0)
		close(fd);
	fclose(in);
	return err ? NULL : out;
}
