// SPDX-License-Identifier: GPL-2.0
/*
 * Read a file of perfex --sample into a profile.
 *
 * The file may come from an attacker.  Each length in it is checked before it is used.
 *
 * All records are read first, as they are not in the order of their time.  Then they
 * are taken in this order, and the samples get the mappings and names that the tasks had then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "intervals.h"
#include "jit-dump.h"
#include "perf-data-read.h"
#include "profile.h"
#include "sample-file.h"
#include "sample-log.h"
#include "sample-swap.h"
#include "unwind.h"

/*
 * A sample also represents the overflows that were dropped before it.  This is right
 * if these are few: the period was too short, so that only each 2nd, 4th, ... overflow
 * made a sample.  While the ring was full, many samples were lost, and their addresses
 * are unknown.
 */
#define MAX_DROPPED	1024

/* With a rate, the kernel has chosen a longer period. */
#define MAX_SKIPPED	(UINT64_C(1) << 31)

struct mapping {
	uint64_t start, end, offset;
	uint32_t file;
};

/* The mappings of a process at some time. */
struct mappings {
	uint32_t number;	/* all that have it are the same; 0: none */
	uint32_t set;		/* of intervals, whose values are in reader.mappings */
	uint32_t dump;		/* the latest file of a JIT: number + 1, or 0 */
};

struct process {
	uint32_t pid;
	struct mappings mappings;
	uint32_t owner;		/* of the set: another one after each fork */
	uint32_t program;	/* how many this number has had before */
};

struct thread {
	uint32_t tid;
	uint32_t comm;
};

/* A location that was looked up before: the mappings of a number never change. */
struct looked_up {
	uint64_t ip;
	uint32_t mappings;
	uint32_t location;	/* 0: free */
};

#define NR_LOOKED_UP	16384

/* A file of this path, device and inode. */
struct file_key {
	uint32_t major, minor;
	uint64_t inode;
	uint32_t path;		/* of reader.paths */
	uint32_t unused;
	/* after the key */
	uint32_t description;	/* the latest; 0: none */
};

/* The file of a mapping's path and description, as it was found before. */
struct known_file {
	uint32_t description;	/* 0: free */
	uint32_t file;
};

#define NR_KNOWN_FILES	64

/* A record that records_get() finds. */
struct kept {
	uint32_t type;
	uint32_t description;	/* of a mapping's file; 0: there is none */
	uint64_t tsc;
	size_t at, len;		/* of kept_bytes */
};

struct reader {
	FILE *f;
	const char *name;
	uint64_t at;
	struct profile *p;
	uint32_t version;
	bool swapped;		/* the file has another byte order */
	struct sample_log log;	/* what must be put into the order of time */
	char *record;		/* the one that is read */
	size_t room;		/* for it */
	struct mapping *mappings;
	size_t nrmappings;
	struct intervals intervals;
	uint32_t nrsets, nrowners;
	struct hash_table processes, threads;
	struct looked_up *looked_up;
	struct known_file known_files[NR_KNOWN_FILES];
	struct hash_table paths, file_keys;
	uint32_t last_key;	/* of file_keys: the one that was asked for last */
	bool stacks;		/* samples may have registers and a stack */
	struct unwinder *unwinder;
	struct mappings unwound;	/* of the sample whose calls are looked for */
	struct kept *kept;		/* of records_open(), in the order of time */
	size_t nrkept;
	char *kept_bytes;
	size_t kept_used, kept_room;
};

/* ---- the file ------------------------------------------------------------------------ */

static int fail_damaged(struct error *e, const struct reader *in, const char *what)
{
	return fail_with(e, "'%s' is damaged: %s at byte %" PRIu64, in->name, what, in->at);
}

/* Read len bytes.  Return: 1: read; 0: the file ends before; -1: *e */
static int read_input(struct reader *in, void *buf, size_t len, struct error *e)
{
	if (fread(buf, 1, len, in->f) == len) {
		in->at += len;
		return 1;
	}
	if (ferror(in->f))
		return fail_with(e, "cannot read '%s': %s", in->name, strerror(errno));
	return 0;
}

static bool is_known(uint32_t version)
{
	return version == SAMPLES_VERSION || version == SAMPLES_VERSION_1;
}

/* Return: the program that expands a file which begins so, or NULL */
static const char *program_of_compressed(const char magic[8])
{
	static const struct { const char *magic, *program; } programs[] = {
		{ "\x1f\x8b", "gzip" }, { "\xfd\x37zXZ", "xz" }, { "\x28\xb5\x2f\xfd", "zstd" }, { "BZh", "bzip2" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(programs); i++)
		if (!memcmp(magic, programs[i].magic, strlen(programs[i].magic)))
			return programs[i].program;
	return NULL;
}

/* Read what version 2 has, and of version 1 the rest. */
static int read_header(struct reader *in, struct error *e)
{
	union {
		struct samples_header h;
		struct samples_header_v1 v1;
	} u;
	size_t size = sizeof(u.h);
	struct profile *p = in->p;
	char skipped[8];
	const char *program;
	int ret;

	memset(&u, 0, sizeof(u));
	ret = read_input(in, &u.h, sizeof(u.h), e);
	if (ret < 0)
		return ret;
	program = program_of_compressed(u.h.magic);
	if (program)
		return fail_with(e, "'%s' is compressed: %s -dc FILE | perfex report -i - reads it", in->name, program);
	if (memcmp(u.h.magic, SAMPLES_MAGIC, sizeof(u.h.magic)))
		return fail_with(e, "'%s' is not a file of perfex record", in->name);
	in->swapped = is_known(__builtin_bswap32(u.h.version));
	in->version = in->swapped ? __builtin_bswap32(u.h.version) : u.h.version;
	if (ret && !is_known(in->version)) {
		uint32_t other = __builtin_bswap32(in->version);

		return fail_with(e, "'%s' has another format than this perfex knows (version %u, not %u)",
				 in->name, other < in->version ? other : in->version, SAMPLES_VERSION);
	}
	if (ret && in->version == SAMPLES_VERSION_1) {
		size = sizeof(u.v1);
		ret = read_input(in, (char *)&u + sizeof(u.h), size - sizeof(u.h), e);
		if (ret < 0)
			return ret;
	}
	if (in->swapped)
		swap_header(&u, size, in->version);
	if (!ret || u.h.size < size || u.h.size % sizeof(skipped) || u.h.size > MAX_RECORD)
		return fail_damaged(e, in, "no whole header");
	for (; size < u.h.size; size += sizeof(skipped)) {
		ret = read_input(in, skipped, sizeof(skipped), e);
		if (ret <= 0)
			return ret ? ret : fail_damaged(e, in, "no whole header");
	}
	if (in->version == SAMPLES_VERSION_1) {
		p->events[0].name = strndup(u.v1.event, sizeof(u.v1.event));
		p->events[0].period = u.v1.period;
		p->nrevents = 1;
		p->tsc_khz = u.v1.tsc_khz;
		p->first_thread = true;
		memcpy(p->cpu_name, u.v1.cpu_name, sizeof(p->cpu_name));
	} else {
		p->tsc_khz = u.h.tsc_khz;
		p->chains = u.h.flags & (SAMPLES_CHAINS | SAMPLES_STACKS);
		in->stacks = u.h.flags & SAMPLES_STACKS;
		p->cpus = u.h.flags & SAMPLES_CPUS;
		p->rate = u.h.rate;
		memcpy(p->cpu_name, u.h.cpu_name, sizeof(p->cpu_name));
	}
	p->cpu_name[sizeof(p->cpu_name) - 1] = '\0';
	if (p->nrevents && !p->events[0].name)
		return fail_memory(e);
	return 0;
}

/* ---- records ------------------------------------------------------------------------- */

static int add_entry(struct reader *in, uint32_t type, uint64_t tsc, const char *data, size_t len,
		     uint32_t description, struct error *e)
{
	return log_add(&in->log, type, tsc, data, len, description) ? 0 : fail_memory(e);
}

static bool has_text(const char *data, size_t len, size_t at)
{
	return len > at && memchr(data + at, '\0', len - at);
}

/*
 * Return: the length of a record up to the end of its text.  A hole of the file may follow, which
 * takes no room on the disk, and need not take any in memory.
 */
static size_t length_with_text(const char *data, size_t at)
{
	return at + strlen(data + at) + 1;
}

static int read_event(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct profile *p = in->p;
	struct record_event r;
	unsigned int i;

	if (!has_text(data, len, sizeof(r)))
		return fail_damaged(e, in, "an event without a name");
	memcpy(&r, data, sizeof(r));
	if (r.counter >= MAX_SAMPLED)
		return fail_damaged(e, in, "an impossible event");
	for (i = 0; i < p->nrevents; i++)
		if (p->events[i].counter == r.counter)
			return fail_damaged(e, in, "two events of one counter");
	p->events[i] = (struct profile_event){
		.name = strndup(data + sizeof(r), MAX_NAME), .counter = r.counter, .period = r.period,
		.time = r.map == EVENT_OF_TIME, .evntsel = r.evntsel,
	};
	p->nrevents++;
	if (!p->events[i].name)
		return fail_memory(e);
	replace_controls(p->events[i].name);
	return 0;
}

static int read_end(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct record_end_v1 v1;
	struct record_end end;
	struct profile *p = in->p;
	uint64_t i;

	if (in->version == SAMPLES_VERSION_1) {
		if (len < sizeof(v1))
			return fail_damaged(e, in, "a short end");
		memcpy(&v1, data, sizeof(v1));
		p->dropped = v1.dropped;
		p->tsc = v1.tsc;
		p->elapsed = v1.elapsed;
		p->events[0].count = v1.count;
	} else {
		if (len < sizeof(end))
			return fail_damaged(e, in, "a short end");
		memcpy(&end, data, sizeof(end));
		if (end.nr > (len - sizeof(end)) / sizeof(uint64_t) || end.nr < p->nrevents)
			return fail_damaged(e, in, "a short end");
		p->dropped = end.dropped;
		p->lost = end.lost;
		p->tsc = end.tsc;
		p->elapsed = end.elapsed;
		for (i = 0; i < p->nrevents; i++)
			memcpy(&p->events[i].count, data + sizeof(end) + i * sizeof(uint64_t),
			       sizeof(uint64_t));
	}
	p->complete = true;
	return 0;
}

static int read_samples_v1(struct reader *in, const char *data, size_t len, struct error *e)
{
	size_t at;

	if (len % sizeof(struct record_sample_v1))
		return fail_damaged(e, in, "samples of another size");
	for (at = 0; at < len; at += sizeof(struct record_sample_v1))
		if (add_entry(in, RECORD_SAMPLES_V1, 0, data + at, sizeof(struct record_sample_v1),
			      0, e))
			return -1;
	return 0;
}

/* True if what follows a chain can be registers and a stack, or nothing. */
static bool is_user(const char *data, size_t len)
{
	struct record_user u;

	if (!len)
		return true;
	if (len < sizeof(u))
		return false;
	memcpy(&u, data, sizeof(u));
	len -= sizeof(u);
	return u.nrregs <= MAX_REGS_OF_SAMPLE && u.nrregs * sizeof(uint64_t) <= len &&
	       u.stack_size <= len - u.nrregs * sizeof(uint64_t) && u.stack_size <= MAX_STACK_OF_SAMPLE;
}

/* Return: the size of the registers and the stack: what follows them is not known. */
static size_t size_of_user(const char *data, size_t len)
{
	struct record_user u;

	if (!len)
		return 0;
	memcpy(&u, data, sizeof(u));
	return sizeof(u) + u.nrregs * sizeof(uint64_t) + u.stack_size;
}

static int read_samples(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct record_sample r;
	size_t at, chain, rest;
	const char *user;

	for (at = 0; at < len; at += r.size) {
		if (len - at < sizeof(r))
			return fail_damaged(e, in, "samples of another size");
		memcpy(&r, data + at, sizeof(r));
		if (r.size < sizeof(r) || r.size % sizeof(uint64_t) || r.size > len - at ||
		    r.nr > MAX_CHAIN || r.nr > (r.size - sizeof(r)) / sizeof(uint64_t))
			return fail_damaged(e, in, "samples of another size");
		chain = r.nr * sizeof(uint64_t);
		user = data + at + sizeof(r) + chain;
		rest = r.size - sizeof(r) - chain;
		if (in->stacks && !is_user(user, rest))
			return fail_damaged(e, in, "an impossible stack");
		/* Without stacks, what follows the chain is not known. */
		if (!log_add_sample(&in->log, data + at, sizeof(r) + chain +
				    (in->stacks ? size_of_user(user, rest) : 0)))
			return fail_memory(e);
	}
	return 0;
}

/* Return: the latest description of the file; NULL: no memory */
static uint32_t *find_description(struct reader *in, const struct file_identity *id,
				  const char *path)
{
	struct file_key key = { .major = id->major, .minor = id->minor, .inode = id->inode };
	struct hash_table *t = &in->file_keys;
	uint32_t i;

	/* A file is often mapped many times. */
	if (in->last_key) {
		struct file_key *last = (struct file_key *)t->items + in->last_key;

		key.path = last->path;
		if (!memcmp(last, &key, offsetof(struct file_key, description)) &&
		    !strcmp(((char **)in->paths.items)[key.path], path))
			return &last->description;
	}
	if (!in->paths.size) {
		in->paths = (struct hash_table){ .size = sizeof(char *), .text = true };
		*t = (struct hash_table){
			.size = sizeof(key), .key = offsetof(struct file_key, description),
		};
	}
	key.path = hash_table_add(&in->paths, path);
	i = key.path ? hash_table_add(t, &key) : 0;
	in->last_key = i;
	return i ? &((struct file_key *)t->items)[i].description : NULL;
}

static int read_file(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct file_description file = { .known = 1 };
	uint32_t *description;
	struct record_file r;

	if (!has_text(data, len, sizeof(r)))
		return fail_damaged(e, in, "a file without a name");
	memcpy(&r, data, sizeof(r));
	if (r.build_id_size > sizeof(r.build_id))
		return fail_damaged(e, in, "an impossible build ID");
	_Static_assert(sizeof(r.build_id) == sizeof(file.build_id), "build IDs");
	file.id = (struct file_identity){ r.major, r.minor, r.inode };
	description = find_description(in, &file.id, data + sizeof(r));
	if (!description)
		return fail_memory(e);
	file.code_offset = r.code_offset;
	file.code_size = r.code_size;
	file.code_address = r.code_address;
	file.build_id_size = r.build_id_size;
	memcpy(file.build_id, r.build_id, r.build_id_size);
	/* Copies of a file are the same. */
	if (r.build_id_size) {
		memset(&file.id, 0, sizeof(file.id));
	} else {
		file.size = r.size;
		file.modified = r.modified;
	}
	*description = profile_description(in->p, &file);
	return *description ? 0 : fail_memory(e);
}

/* A file that nothing describes is known by its device and inode.  Return: 0: no memory */
static uint32_t describe_mapping(struct reader *in, const struct record_mapping *r,
				 const char *path)
{
	struct file_description file = { .id = { r->major, r->minor, r->inode } };
	uint32_t *description = find_description(in, &file.id, path);

	if (description && !*description)
		*description = profile_description(in->p, &file);
	return description ? *description : 0;
}

/* Check a mapping; those of version 1 have no task. */
static int read_mapping(struct reader *in, const char *data, size_t len, struct error *e)
{
	uint64_t start, end, offset;
	struct record_mapping_v1 v1;
	uint32_t description = 0;
	struct record_mapping r;

	if (in->version == SAMPLES_VERSION_1) {
		if (!has_text(data, len, sizeof(v1)))
			return fail_damaged(e, in, "a mapping without a name");
		memcpy(&v1, data, sizeof(v1));
		start = v1.start;
		end = v1.end;
		offset = v1.offset;
		len = length_with_text(data, sizeof(v1));
	} else {
		if (!has_text(data, len, sizeof(r)))
			return fail_damaged(e, in, "a mapping without a name");
		memcpy(&r, data, sizeof(r));
		start = r.start;
		end = r.end;
		offset = r.offset;
	}
	if (start >= end || offset > UINT64_MAX - (end - start))
		return fail_damaged(e, in, "an impossible mapping");
	if (in->version != SAMPLES_VERSION_1 && r.inode && data[sizeof(r)] == '/') {
		description = describe_mapping(in, &r, data + sizeof(r));
		if (!description)
			return fail_memory(e);
	}
	if (in->version == SAMPLES_VERSION_1)
		return add_entry(in, RECORD_MAPPING_V1, 0, data, len, 0, e);
	return log_add_mapping(&in->log, data, description) ? 0 : fail_memory(e);
}

static int read_clock(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct profile *p = in->p;
	struct clock_pair *clocks;
	struct record_clock r;

	if (len < sizeof(r))
		return fail_damaged(e, in, "a short record of clocks");
	memcpy(&r, data, sizeof(r));
	/* They are in the order of their time; those of the same time say nothing. */
	if (p->nrclocks && r.tsc <= p->clocks[p->nrclocks - 1].tsc)
		return 0;
	/* There is room for a power of two. */
	if (!(p->nrclocks & (p->nrclocks - 1))) {
		clocks = reallocarray(p->clocks, p->nrclocks ? p->nrclocks * 2 : 1, sizeof(*clocks));
		if (!clocks)
			return fail_memory(e);
		p->clocks = clocks;
	}
	p->clocks[p->nrclocks++] = (struct clock_pair){ r.tsc, r.monotonic };
	return 0;
}

static int read_kernel(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct record_kernel r;

	if (!has_text(data, len, sizeof(r)))
		return fail_damaged(e, in, "a function of the kernel without a name");
	memcpy(&r, data, sizeof(r));
	if (r.start >= r.end || !(r.start >> 63))
		return fail_damaged(e, in, "an impossible function of the kernel");
	return profile_kernel_function(in->p, r.start, r.end, data + sizeof(r)) ? 0 :
	       fail_memory(e);
}

static int read_process(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct record_process r;
	uint32_t i;

	if (len < sizeof(r))
		return fail_damaged(e, in, "a short record of a process");
	memcpy(&r, data, sizeof(r));
	if (!in->p->processes.size)
		in->p->processes = (struct hash_table){
			.size = sizeof(struct profile_process), .key = sizeof(uint32_t),
		};
	/* A number that is used again has the latest one. */
	i = hash_table_add(&in->p->processes, &r.task.pid);
	if (!i)
		return fail_memory(e);
	((struct profile_process *)in->p->processes.items)[i] = (struct profile_process){
		.pid = r.task.pid, .inner_pid = r.inner_pid, .uid = r.uid,
	};
	return 0;
}

static int read_task(struct reader *in, uint32_t type, const char *data, size_t len,
		     struct error *e)
{
	struct record_task r;

	const bool named = type == RECORD_COMM || type == RECORD_EXEC;
	const size_t size = type == RECORD_FORK ? sizeof(struct record_fork) : sizeof(r);

	if (len < size)
		return fail_damaged(e, in, "a short record of a task");
	if (named && !has_text(data, len, sizeof(r)))
		return fail_damaged(e, in, "a task without a name");
	memcpy(&r, data, sizeof(r));
	len = named ? length_with_text(data, sizeof(r)) : size;
	return add_entry(in, type, r.tsc, data, len, 0, e);
}

static int read_command(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct profile *p = in->p;

	free(p->command);
	p->command = strndup(data, len);
	if (!p->command)
		return fail_memory(e);
	replace_controls(p->command);
	return 0;
}

static int read_host(struct reader *in, const char *data, size_t len, struct error *e)
{
	struct profile_host *host = &in->p->host;
	char **const names[] = { &host->machine, &host->release, &host->name };
	struct record_host r;
	size_t at = sizeof(r), i;

	if (len < sizeof(r) || host->machine)
		return fail_damaged(e, in, "an impossible machine");
	memcpy(&r, data, sizeof(r));
	host->cpus = r.cpus;
	host->online = r.online;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!has_text(data, len, at))
			return fail_damaged(e, in, "an impossible machine");
		*names[i] = strdup(data + at);
		if (!*names[i])
			return fail_memory(e);
		at += strlen(data + at) + 1;
		replace_controls(*names[i]);
	}
	return 0;
}

static int read_record_v1(struct reader *in, uint32_t type, const char *data, size_t len,
			  struct error *e)
{
	switch (type) {
	case RECORD_COMMAND:
		return read_command(in, data, len, e);
	case RECORD_EXEC_V1:
		return add_entry(in, type, 0, NULL, 0, 0, e);
	case RECORD_MAPPING_V1:
		return read_mapping(in, data, len, e);
	case RECORD_SAMPLES_V1:
		return read_samples_v1(in, data, len, e);
	case RECORD_END:
		return read_end(in, data, len, e);
	default:
		return 0;
	}
}

static int read_record_v2(struct reader *in, uint32_t type, const char *data, size_t len,
			  struct error *e)
{
	switch (type) {
	case RECORD_COMMAND:
		return read_command(in, data, len, e);
	case RECORD_EVENT:
		return read_event(in, data, len, e);
	case RECORD_SAMPLES:
		return read_samples(in, data, len, e);
	case RECORD_MAPPING:
		return read_mapping(in, data, len, e);
	case RECORD_FILE:
		return read_file(in, data, len, e);
	case RECORD_CLOCK:
		return read_clock(in, data, len, e);
	case RECORD_KERNEL:
		return read_kernel(in, data, len, e);
	case RECORD_PROCESS:
		return read_process(in, data, len, e);
	case RECORD_HOST:
		return read_host(in, data, len, e);
	case RECORD_COMM:
	case RECORD_EXEC:
	case RECORD_FORK:
	case RECORD_EXIT:
		return read_task(in, type, data, len, e);
	case RECORD_END:
		return read_end(in, data, len, e);
	default:
		return 0;
	}
}

/* Provide in->record with room for that many bytes.  It is as long as the longest record until now:
 * AddressSanitizer finds an access behind it.
 */
static int make_room(struct reader *in, size_t len, struct error *e)
{
	if (in->record && len <= in->room)
		return 0;
	free(in->record);
	in->room = len ? len : 1;
	in->record = malloc(in->room);
	return in->record ? 0 : fail_memory(e);
}

/*
 * Read the next record, and keep what it says.  Return: 1: there may be more; 0: the file ends,
 * perhaps within a record; -1: *e
 */
static int read_record(struct reader *in, struct error *e)
{
	struct record r;
	size_t len;
	int ret;

	ret = read_input(in, &r, sizeof(r), e);
	if (ret <= 0)
		return ret;
	if (in->swapped)
		swap_record_head(&r);
	if (r.size < sizeof(r) || r.size % sizeof(r) || r.size > MAX_RECORD)
		return fail_damaged(e, in, "an impossible record");
	len = r.size - sizeof(r);
	if (make_room(in, len, e))
		return -1;
	ret = read_input(in, in->record, len, e);
	if (ret <= 0)
		return ret;
	if (in->swapped)
		swap_record(in->version, r.type, in->stacks, in->record, len);
	ret = in->version == SAMPLES_VERSION_1 ? read_record_v1(in, r.type, in->record, len, e) :
						 read_record_v2(in, r.type, in->record, len, e);
	return ret ? ret : 1;
}

/* ---- tasks and their mappings ---------------------------------------------------------- */

/* Return: the process or thread of this number, which is made if there is none. */
static void *find_task(struct hash_table *t, size_t size, uint32_t id)
{
	uint32_t i;

	if (!t->size)
		*t = (struct hash_table){ .size = size, .key = sizeof(id) };
	i = hash_table_add(t, &id);
	return i ? (char *)t->items + i * t->size : NULL;
}

static struct process *find_process(struct reader *in, uint32_t pid)
{
	struct process *process = find_task(&in->processes, sizeof(*process), pid);

	if (process && !process->owner)
		process->owner = ++in->nrowners;
	return process;
}

static struct thread *find_thread(struct reader *in, uint32_t tid)
{
	return find_task(&in->threads, sizeof(struct thread), tid);
}

/* dump: 0: the mapping is not that of a JIT's file */
static int add_mapping(struct reader *in, const struct mapping *map, uint32_t pid, uint32_t dump,
		       struct error *e)
{
	struct process *process = find_process(in, pid);
	size_t nr = in->nrmappings;
	struct mapping *mappings;
	struct mappings *to;

	if (!process || nr >= UINT32_MAX)
		return fail_memory(e);
	/* There is room for a power of two; number 0 is that of no mapping. */
	if (!(nr & (nr - 1))) {
		mappings = reallocarray(in->mappings, nr ? nr * 2 : 2, sizeof(*mappings));
		if (!mappings)
			return fail_memory(e);
		in->mappings = mappings;
		if (!nr) {
			mappings[0] = (struct mapping){ 0 };
			nr = 1;
		}
	}
	in->mappings[nr] = *map;
	in->nrmappings = nr + 1;
	to = &process->mappings;
	to->set = intervals_put(&in->intervals, to->set, process->owner, map->start, map->end,
				(uint32_t)nr);
	to->number = ++in->nrsets;
	if (dump)
		to->dump = dump;
	return to->set ? 0 : fail_memory(e);
}

static bool begins_with(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

/* True if this names memory that JITs make code in: huge pages, segments of System V, Android's. */
static bool is_memory(const char *path)
{
	return begins_with(path, "/memfd:") || begins_with(path, "/anon_hugepage") ||
	       begins_with(path, "/SYSV") || begins_with(path, "/dev/ashmem/") ||
	       !strcmp(path, "/dev/zero") || !strcmp(path, "/dev/zero (deleted)");
}

/*
 * True if code there has no file that could have symbols, but may have been made by a JIT.  Some
 * remove a file as soon as they have mapped it.
 */
static bool is_anonymous(const struct reader *in, const struct log_entry *entry, const char *path)
{
	const struct file_description *file = (const struct file_description *)in->p->descriptions.items;
	char before[4096];

	if (!*path || !strcmp(path, "//anon") || begins_with(path, "[anon") || !strcmp(path, "[heap]"))
		return true;
	/* A program in memory, or one that was replaced, is a file that perfex has looked at. */
	if (entry->description && file[entry->description].code_size)
		return false;
	return is_memory(path) ||
	       (path_without_deleted(path, before, sizeof(before)) &&
		((entry->description && file[entry->description].known) || begins_with(path, "/dev/shm/")));
}

/* Read the file of a JIT when it is mapped first.  Return: its number + 1; 0: no memory */
static uint32_t find_dump(struct reader *in, uint32_t file, const struct file_identity *id,
			  uint32_t pid)
{
	struct profile *p = in->p;
	struct profile_dump *dumps;
	struct error why = { .text = "" };
	uint32_t i = p->nrdumps;

	if (file_of(p, file)->dump)
		return file_of(p, file)->dump;
	/* There is room for a power of two. */
	if (!(i & (i - 1))) {
		dumps = reallocarray(p->dumps, i ? (size_t)i * 2 : 1, sizeof(*dumps));
		if (!dumps)
			return 0;
		p->dumps = dumps;
	}
	p->dumps[i] = (struct profile_dump){
		.file = file, .dump = jit_dump_open(string_of(p, file_of(p, file)->path), id, pid, &why),
	};
	p->dumps[i].reason = strdup(why.text);
	p->nrdumps++;
	if (!p->dumps[i].reason)
		return 0;
	file_of(p, file)->dump = i + 1;
	return i + 1;
}

/* Return: the file of a mapping; 0: no memory */
static uint32_t find_file(struct reader *in, const char *path, uint32_t description)
{
	struct known_file *known = &in->known_files[description % NR_KNOWN_FILES];

	if (description && known->description == description &&
	    !strcmp(string_of(in->p, file_of(in->p, known->file)->path), path))
		return known->file;
	known->description = description;
	known->file = profile_file(in->p, path, 0, description);
	return known->file;
}

static int apply_mapping(struct reader *in, const struct log_entry *entry, struct error *e)
{
	const struct record_mapping *r = &entry->mapping;
	const char *path = entry->path;
	struct mapping map;
	char before[4096];
	uint32_t dump = 0, pid = 0;

	if (in->version == SAMPLES_VERSION_1) {
		struct record_mapping_v1 v1;

		memcpy(&v1, entry->data, sizeof(v1));
		map = (struct mapping){ .start = v1.start, .end = v1.end, .offset = v1.offset };
		path = (const char *)entry->data + sizeof(v1);
	} else {
		map = (struct mapping){ .start = r->start, .end = r->end, .offset = r->offset };
		pid = r->task.pid;
	}
	/* Code without a file is known by its address in its process. */
	if (is_anonymous(in, entry, path)) {
		map.offset = map.start;
		map.file = profile_file(in->p, path, pid, 0);
	} else {
		map.file = find_file(in, path, entry->description);
		if (entry->description)
			((struct file_description *)in->p->descriptions.items)[entry->description].pid =
				pid;
	}
	if (!map.file)
		return fail_memory(e);
	if (is_jit_dump(path_without_deleted(path, before, sizeof(before)) ? before : path)) {
		const struct file_identity id = { r->major, r->minor, r->inode };

		dump = find_dump(in, map.file, &id, pid);
		if (!dump)
			return fail_memory(e);
	}
	if (file_of(in->p, map.file)->size < map.end - map.start)
		file_of(in->p, map.file)->size = map.end - map.start;
	return add_mapping(in, &map, pid, dump, e);
}

static int apply_name(struct reader *in, uint32_t tid, const char *name, struct error *e)
{
	struct thread *thread = find_thread(in, tid);

	/* Readers of scripts and of folded stacks take a name for granted. */
	if (thread)
		thread->comm = profile_clean_string(in->p, *name ? name : "(no name)");
	return thread && thread->comm ? 0 : fail_memory(e);
}

static int apply_exec(struct reader *in, uint32_t pid, struct error *e)
{
	struct process *process = find_process(in, pid);

	if (!process)
		return fail_memory(e);
	process->mappings = (struct mappings){ 0 };
	process->program++;
	return 0;
}

static int apply_fork(struct reader *in, const struct record_fork *r, struct error *e)
{
	struct process *parent = find_process(in, r->parent_pid), *process;
	const struct thread *thread = find_thread(in, r->parent_tid);
	struct mappings mappings;
	struct thread *child;
	uint32_t comm;

	if (!parent || !thread)
		return fail_memory(e);
	/* The tables may move when the child is added. */
	mappings = parent->mappings;
	comm = thread->comm;
	/* From now on, each of them must copy what it changes. */
	parent->owner = ++in->nrowners;
	process = find_process(in, r->child.pid);
	child = find_thread(in, r->child.tid);
	if (!process || !child)
		return fail_memory(e);
	if (r->child.pid != r->parent_pid) {
		process->mappings = mappings;
		process->owner = ++in->nrowners;
		process->program++;
	}
	child->comm = comm;
	return 0;
}

static int apply_task(struct reader *in, const struct log_entry *entry, struct error *e)
{
	struct record_fork fork;
	struct record_task r;

	memcpy(&r, entry->data, sizeof(r));
	switch (entry->type) {
	case RECORD_FORK:
		memcpy(&fork, entry->data, sizeof(fork));
		return apply_fork(in, &fork, e);
	case RECORD_EXEC:
		if (apply_exec(in, r.pid, e))
			return -1;
		/* The thread that executes the file becomes the first one. */
		return apply_name(in, r.pid, (const char *)entry->data + sizeof(r), e);
	case RECORD_COMM:
		return apply_name(in, r.tid, (const char *)entry->data + sizeof(r), e);
	default:
		/* A thread that has ended keeps its name for samples that come later. */
		return 0;
	}
}

/* ---- samples ------------------------------------------------------------------------ */

/* Return: the number of the latest of these mappings that has the address, or 0. */
static uint32_t find_mapping(struct reader *in, const struct mappings *mappings, uint64_t ip)
{
	return intervals_find(&in->intervals, mappings->set, ip);
}

/* True if the file's segment of code has all of this mapping, if it were one of the file. */
static bool is_in_code(const struct file_description *file, const struct mapping *map,
		       const struct mapping *before)
{
	const uint64_t offset = map->start - before->start + before->offset;

	return offset >= file->code_offset && offset - file->code_offset <= file->code_size &&
	       map->end - map->start <= file->code_size - (offset - file->code_offset);
}

/*
 * Some programs copy a part of their code into huge pages, which have no file.  The parts of the
 * file on both sides of it, and the size of its code, say which code that is: other memory may lie
 * between two segments of a file.
 * Return: the mapping of the part before it, or 0.  *end: of the part behind it
 */
static uint32_t find_text_around(struct reader *in, const struct mappings *mappings, uint32_t i,
				 uint64_t *end)
{
	const struct mapping *map = &in->mappings[i], *before, *after;
	uint32_t first, last;

	if (!map->start || !file_of(in->p, map->file)->pid)
		return 0;
	first = find_mapping(in, mappings, map->start - 1);
	last = find_mapping(in, mappings, map->end);
	if (!first || !last)
		return 0;
	before = &in->mappings[first];
	after = &in->mappings[last];
	if (before->file != after->file || file_of(in->p, before->file)->pid ||
	    before->offset - before->start != after->offset - after->start ||
	    !is_in_code(description_of(in->p, file_of(in->p, before->file)), map, before))
		return 0;
	*end = after->end;
	return first;
}

/*
 * Find the code of a JIT, which is at no other time than now at this address.
 * Return: its place in the JIT's file; 0: there is none
 */
static uint64_t find_jit_code(struct reader *in, const struct mappings *mappings, uint64_t ip,
			      uint64_t tsc, uint32_t *file)
{
	uint32_t dump = mappings->dump, i;
	const struct profile *p = in->p;

	if (!dump || !p->dumps[dump - 1].dump)
		return 0;
	i = find_mapping(in, mappings, ip);
	if (i && !file_of(p, in->mappings[i].file)->pid)
		return 0;
	*file = p->dumps[dump - 1].file;
	return jit_dump_place(p->dumps[dump - 1].dump, ip, tsc, p->clocks, p->nrclocks);
}

/* Find the location of an address in these mappings, at a time.  Return: 0: no memory */
static uint32_t find_location(struct reader *in, const struct mappings *mappings, uint64_t ip,
			      uint64_t tsc)
{
	uint64_t end;
	size_t slot = (size_t)((ip + mappings->number) * UINT64_C(0x9e3779b97f4a7c15) >> 40) %
		      NR_LOOKED_UP;
	struct looked_up *known = &in->looked_up[slot];
	const struct mapping *map;
	uint32_t i, text, file;
	uint64_t place;

	/* The code of a JIT is another one at another time. */
	if (known->location && known->ip == ip && known->mappings == mappings->number &&
	    !(mappings->dump &&
	      file_of(in->p, location_of(in->p, known->location)->file)->pid))
		return known->location;
	place = find_jit_code(in, mappings, ip, tsc, &file);
	if (place)
		return profile_location(in->p, file, place);
	known->ip = ip;
	known->mappings = mappings->number;
	i = find_mapping(in, mappings, ip);
	if (i) {
		text = find_text_around(in, mappings, i, &end);
		map = &in->mappings[text ? text : i];
		known->location = profile_location(in->p, map->file, ip - map->start + map->offset);
	} else if (ip >> 63) {
		known->location = profile_kernel_location(in->p, ip);
	} else {
		known->location = profile_location(in->p, FILE_UNKNOWN, ip);
	}
	return known->location;
}

/* Return: how many addresses of a chain are in the kernel: the first ones. */
static uint32_t count_kernel(const uint64_t *chain, uint32_t nr)
{
	uint32_t n = 0;

	while (n < nr && chain[n] >> 63)
		n++;
	return n;
}

/* True if both are the same location in the kernel, whose functions have no names. */
static bool is_same_kernel(const struct profile *p, uint32_t location, uint32_t last)
{
	return location && location == last && location_of(p, location)->file == FILE_KERNEL &&
	       !location_of(p, location)->offset;
}

/* Return: the number of the call path, or 0: no memory. */
static uint32_t find_stack(struct reader *in, const struct record_sample *r,
			   const uint64_t *chain)
{
	const struct process *process = find_process(in, r->pid);
	uint32_t location, last = 0, stack = 0, i;
	bool kernel = r->flags & VPERFCTR_SAMPLE_KERNEL;
	uint32_t entry = count_kernel(chain, r->nr);
	struct mappings mappings;
	uint64_t address;

	if (!process)
		return 0;
	mappings = process->mappings;
	for (i = r->nr; i-- > 0;) {
		address = chain[i];
		/*
		 * The call is before the address to which it returns.  The address at which
		 * a thread entered the kernel is no such address.
		 */
		if (address && !(kernel && i == entry))
			address--;
		location = find_location(in, &mappings, address, r->tsc);
		if (is_same_kernel(in->p, location, last))
			continue;
		last = location;
		if (!profile_call(in->p, &stack, location))
			return 0;
	}
	location = kernel ? profile_kernel_location(in->p, r->ip) :
			    find_location(in, &mappings, r->ip, r->tsc);
	if (is_same_kernel(in->p, location, last))
		return stack;
	return profile_call(in->p, &stack, location) ? stack : 0;
}

/* The overflows that were dropped are those of the first event that has overflowed. */
static bool add_samples(struct reader *in, struct profile_sample *sample, uint64_t overflow)
{
	struct profile *p = in->p;
	bool any = false;
	unsigned int i;

	for (i = 0; i < p->nrevents; i++) {
		if (!(overflow >> p->events[i].counter & 1))
			continue;
		sample->event = i;
		if (!profile_add_sample(p, sample))
			return false;
		sample->weight = 1;
		any = true;
	}
	sample->event = 0;
	return any || profile_add_sample(p, sample);
}

static bool find_code(const struct code_mappings *mappings, uint64_t address,
		      struct code_mapping *found)
{
	struct reader *in = mappings->arg;
	uint32_t i = find_mapping(in, &in->unwound, address), text;
	const struct profile_file *file;
	const struct mapping *map;
	uint64_t end;

	if (!i)
		return false;
	text = find_text_around(in, &in->unwound, i, &end);
	map = &in->mappings[text ? text : i];
	file = file_of(in->p, map->file);
	*found = (struct code_mapping){
		.start = map->start, .end = text ? end : map->end, .offset = map->offset,
		.path = string_of(in->p, file->path), .file = description_of(in->p, file),
	};
	return true;
}

/* Remember a file for report_missing(). */
static void note_missing(const struct code_mappings *mappings, const struct code_mapping *map)
{
	struct profile *p = ((struct reader *)mappings->arg)->p;
	struct missing_file *file;
	struct module *module;
	struct error why;
	uint32_t i;

	if (!p->missing.size)
		p->missing = (struct hash_table){ .size = sizeof(*file), .text = true };
	if (p->missing.nr > MAX_MISSING || hash_table_find(&p->missing, map->path))
		return;
	module = module_open_file(map->path, map->file, &why);
	module_close(module);
	i = hash_table_add(&p->missing, map->path);
	/* A file that is there is of another machine than the registers: these are wrong. */
	if (i && !module)
		((struct missing_file *)p->missing.items)[i].why = strdup(why.text);
}

/*
 * Find the calls of a sample that has registers and a stack, instead of those of user mode in
 * its chain.  data: the registers and the stack
 * Return: their number, as in r->nr, or -1: no memory
 */
static int find_calls(struct reader *in, const struct record_sample *r,
		      const unsigned char *data, uint64_t *chain)
{
	const struct process *process = find_process(in, r->pid);
	struct code_mappings mappings = { .find = find_code, .missing = note_missing, .arg = in };
	bool kernel = r->flags & VPERFCTR_SAMPLE_KERNEL;
	struct thread_state thread;
	struct record_user u;
	uint32_t nr = 0;

	if (!in->unwinder)
		in->unwinder = unwinder_new();
	if (!process || !in->unwinder)
		return -1;
	if (kernel)
		nr = count_kernel(chain, r->nr);
	if (nr > MAX_CHAIN - 1)
		nr = MAX_CHAIN - 1;
	memcpy(&u, data, sizeof(u));
	data += sizeof(u);
	thread = (struct thread_state){
		.mode = u.mode, .nrregs = u.nrregs, .regs = data,
		.stack = data + u.nrregs * sizeof(*u.regs), .stack_size = u.stack_size,
	};
	in->unwound = process->mappings;
	mappings.number = process->mappings.number;
	/* Behind the calls in the kernel is where the thread was in user mode. */
	if (kernel)
		chain[nr++] = unwind_start(&thread);
	return (int)nr + (int)unwind(in->unwinder, &mappings, &thread, chain + nr, MAX_CHAIN - nr);
}

/* Return: the name of the sample's thread, or if it has none in the file, that of its process. */
static uint32_t find_name(struct reader *in, const struct record_sample *r)
{
	const struct thread *thread = find_thread(in, r->tid);

	if (thread && !thread->comm && r->pid != r->tid)
		thread = find_thread(in, r->pid);
	return thread ? thread->comm : 0;
}

static uint64_t weight_of(const struct reader *in, const struct record_sample *r)
{
	uint64_t most = in->p->rate ? MAX_SKIPPED : MAX_DROPPED;

	return 1 + (r->dropped < most ? r->dropped : 0);
}

static int apply_sample(struct reader *in, const struct record_sample *r,
			const uint64_t *chain, struct error *e)
{
	struct profile_sample sample = {
		.tsc = r->tsc, .nr = 1, .weight = weight_of(in, r), .cpu = r->cpu,
	};
	const struct process *process;

	process = find_process(in, r->pid);
	sample.thread = !process ? 0 : profile_thread(in->p, r->pid, r->tid, find_name(in, r),
						      process->program);
	sample.stack = sample.thread ? find_stack(in, r, chain) : 0;
	if (!sample.stack || !add_samples(in, &sample, r->overflow))
		return fail_memory(e);
	in->p->nrsystem += !!(r->flags & VPERFCTR_SAMPLE_SYSTEM);
	if (!in->p->complete)
		in->p->dropped += r->dropped;
	return 0;
}

static int apply_sample_v1(struct reader *in, const unsigned char *data, struct error *e)
{
	struct record_sample_v1 v1;
	struct record_sample r;

	memcpy(&v1, data, sizeof(v1));
	r = (struct record_sample){
		.ip = v1.ip, .tsc = v1.tsc, .overflow = 1, .dropped = v1.dropped,
	};
	return apply_sample(in, &r, NULL, e);
}

/* ---- all ---------------------------------------------------------------------------------- */

static int apply_entry(struct reader *in, struct log_entry *entry, struct error *e)
{
	int nr;

	switch (entry->type) {
	case RECORD_SAMPLES_V1:
		return apply_sample_v1(in, entry->data, e);
	case RECORD_SAMPLES:
		if (!entry->len)
			return apply_sample(in, &entry->sample, entry->chain, e);
		nr = find_calls(in, &entry->sample, entry->data, entry->chain);
		if (nr < 0)
			return fail_memory(e);
		entry->sample.nr = (uint32_t)nr;
		return apply_sample(in, &entry->sample, entry->chain, e);
	case RECORD_MAPPING:
	case RECORD_MAPPING_V1:
		return apply_mapping(in, entry, e);
	case RECORD_EXEC_V1:
		return apply_exec(in, 0, e);
	default:
		return apply_task(in, entry, e);
	}
}

/* The name of a thread of version 1, and of others that have none in the file. */
static int name_first_thread(struct reader *in, struct error *e)
{
	char comm[16], *command = in->p->command ? strdup(in->p->command) : NULL, *slash;

	if (!command)
		return 0;
	command[strcspn(command, " ")] = '\0';
	slash = strrchr(command, '/');
	snprintf(comm, sizeof(comm), "%.15s", slash ? slash + 1 : command);
	free(command);
	return apply_name(in, 0, comm, e);
}

/* All records are there. */
static int sort_entries(struct reader *in, struct error *e)
{
	struct profile *p = in->p;

	if (!p->nrevents) {
		p->events[p->nrevents++].name = strdup("events");
		if (!p->events[0].name)
			return fail_memory(e);
	}
	replace_controls(p->cpu_name);
	profile_sort_kernel(p);
	log_end(&in->log);
	return 0;
}

static int apply_entries(struct reader *in, struct error *e)
{
	struct profile *p = in->p;
	struct log_entry entry;

	if (in->version == SAMPLES_VERSION_1) {
		replace_controls(p->events[0].name);
		if (name_first_thread(in, e))
			return -1;
	}
	/* The tables begin with the files that no mapping has. */
	in->looked_up = calloc(NR_LOOKED_UP, sizeof(*in->looked_up));
	if (!in->looked_up || profile_file(p, "[unknown]", UINT32_MAX, 0) != FILE_UNKNOWN ||
	    profile_file(p, "[kernel]", UINT32_MAX, 0) != FILE_KERNEL)
		return fail_memory(e);
	while (log_take(&in->log, &entry))
		if (apply_entry(in, &entry, e))
			return -1;
	profile_end_samples(p);
	return 0;
}

static void reader_free(struct reader *in)
{
	log_free(&in->log);
	free(in->record);
	free(in->mappings);
	intervals_free(&in->intervals);
	free(in->looked_up);
	hash_table_free(&in->paths);
	hash_table_free(&in->file_keys);
	unwinder_free(in->unwinder);
	hash_table_free(&in->processes);
	hash_table_free(&in->threads);
	free(in->kept);
	free(in->kept_bytes);
}

/* Read all records of the file.  Return: 0 or -1 with *e; the caller frees both in any case. */
static int read_file_of(struct reader *in, struct profile *p, const char *name, struct error *e)
{
	struct stat st;
	int ret;

	*in = (struct reader){ .name = name, .p = p };
	p->name = name;
	in->f = open_input(name, e);
	if (!in->f)
		return errno != ENOENT || strcmp(name, "perfex.data") ? -1 :
			fail_with(e, "cannot read '%s': %s (perfex record writes it)", name, strerror(errno));
	if (!fstat(fileno(in->f), &st) && S_ISDIR(st.st_mode) && !faccessat(fileno(in->f), "data", F_OK, 0)) {
		fclose(in->f);
		return fail_with(e, "'%s' is a directory, as perf record writes it with --threads and --kcore: record without these", name);
	}
	if (is_perf_data(in->f)) {
		in->f = perf_data_convert(in->f, name, e);
		if (!in->f)
			return -1;
		p->of_perf = true;
	}
	ret = read_header(in, e);
	if (!ret) {
		do {
			ret = read_record(in, e);
		} while (ret > 0);
	}
	fclose(in->f);
	return ret ? ret : sort_entries(in, e);
}

int profile_read(struct profile *p, const char *name, bool times, const struct details *details,
		 struct error *e)
{
	struct reader in;
	int ret;

	memset(p, 0, sizeof(*p));
	p->times = times;
	p->details = *details;
	ret = read_file_of(&in, p, name, e);
	if (!ret)
		ret = apply_entries(&in, e);
	reader_free(&in);
	return ret ? ret : profile_resolve(p, e);
}

/* ---- records, for exports ------------------------------------------------------------------ */

/* Return: room for len more bytes, or NULL. */
static char *keep_bytes(struct reader *in, size_t len)
{
	size_t room = in->kept_room;
	char *bytes;

	if (room - in->kept_used < len) {
		room = 2 * room + len;
		bytes = realloc(in->kept_bytes, room);
		if (!bytes)
			return NULL;
		in->kept_bytes = bytes;
		in->kept_room = room;
	}
	in->kept_used += len;
	return in->kept_bytes + in->kept_used - len;
}

/* Keep a record as it is in the file; of a sample what precedes the registers. */
static int keep_entry(struct reader *in, const struct log_entry *entry, struct error *e)
{
	const bool is_sample = entry->type == RECORD_SAMPLES;
	const size_t chain = is_sample ? entry->sample.nr * sizeof(entry->chain[0]) : 0;
	const size_t path = entry->type == RECORD_MAPPING ? strlen(entry->path) + 1 : 0;
	const size_t len = is_sample ? sizeof(entry->sample) + chain :
			   path ? sizeof(entry->mapping) + path : entry->len;
	const size_t at = in->kept_used;
	struct kept *kept;
	char *bytes;

	/* There is room for a power of two. */
	if (!(in->nrkept & (in->nrkept - 1))) {
		kept = reallocarray(in->kept, in->nrkept ? in->nrkept * 2 : 1, sizeof(*kept));
		if (!kept)
			return fail_memory(e);
		in->kept = kept;
	}
	bytes = keep_bytes(in, len);
	if (!bytes && len)
		return fail_memory(e);
	if (is_sample) {
		memcpy(bytes, &entry->sample, sizeof(entry->sample));
		memcpy(bytes + sizeof(entry->sample), entry->chain, chain);
	} else if (path) {
		memcpy(bytes, &entry->mapping, sizeof(entry->mapping));
		memcpy(bytes + sizeof(entry->mapping), entry->path, path);
	} else if (len) {
		memcpy(bytes, entry->data, len);
	}
	in->kept[in->nrkept++] = (struct kept){
		.type = entry->type, .tsc = entry->tsc, .at = at, .len = len,
		.description = entry->description,
	};
	return 0;
}

/* Replace the registers and the stack of a sample by the calls that they tell. */
static int unwind_entry(struct reader *in, struct log_entry *entry, struct error *e)
{
	int nr;

	if (entry->type != RECORD_SAMPLES)
		return apply_entry(in, entry, e);
	if (!entry->len)
		return 0;
	nr = find_calls(in, &entry->sample, entry->data, entry->chain);
	if (nr < 0)
		return fail_memory(e);
	entry->sample.nr = (uint32_t)nr;
	return 0;
}

static int keep_entries(struct reader *in, struct error *e)
{
	struct log_entry entry;

	while (log_take(&in->log, &entry))
		if ((in->stacks && unwind_entry(in, &entry, e)) || keep_entry(in, &entry, e))
			return -1;
	return 0;
}

struct reader *records_open(struct profile *p, const char *name, struct error *e)
{
	struct reader *in = malloc(sizeof(*in));
	int ret;

	memset(p, 0, sizeof(*p));
	if (!in) {
		fail_memory(e);
		return NULL;
	}
	ret = read_file_of(in, p, name, e);
	if (!ret && in->version == SAMPLES_VERSION_1)
		ret = fail_with(e, "'%s' is of an old perfex, whose files have no processes: this needs a newer one",
				name);
	if (!ret)
		ret = keep_entries(in, e);
	if (!ret)
		return in;
	records_close(in);
	return NULL;
}

void records_close(struct reader *in)
{
	reader_free(in);
	free(in);
}

bool records_get(const struct reader *in, size_t i, struct profile_record *r)
{
	const struct profile *p = in->p;
	const struct kept *kept;
	struct record_sample sample;

	if (i >= in->nrkept)
		return false;
	kept = &in->kept[i];
	*r = (struct profile_record){
		.type = kept->type, .tsc = kept->tsc, .data = in->kept_bytes + kept->at,
		.len = kept->len, .weight = 1,
	};
	if (kept->description)
		r->file = (const struct file_description *)p->descriptions.items + kept->description;
	if (kept->type == RECORD_SAMPLES) {
		memcpy(&sample, r->data, sizeof(sample));
		r->weight = weight_of(in, &sample);
	}
	return true;
}
