// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --report --export=perf: perf.data, as perf record writes it.
 *
 * The records of the file are written one by one, in the order of their time, and not what a
 * profile makes of them: other programs find names themselves.  Calls in a stack are found here:
 * perf would need mappings that are not executable, which the file does not have.  All samples
 * are there; readers can choose among them.
 *
 * The file begins with where its parts are, and output may be a pipe.  So the records are gone
 * through twice: their size is known before the first one is written.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vperfctr.h>

#include "jit-dump.h"
#include "output.h"
#include "perf-data.h"
#include "profile.h"
#include "sample-file.h"
#include "work.h"

/* perf's records have names of limited lengths. */
#define MAX_PERF_PATH		4095
#define MAX_PERF_COMM		15
#define MAX_PERF_SYMBOL		255

/* Linux has no machine with more. */
#define MAX_CPUS		8192

#define PROT_OF_CODE		5	/* readable and executable */
#define MAP_OF_CODE		2	/* private */

struct writer {
	FILE *f;		/* NULL: only sizes are wanted */
	uint64_t at;
	struct profile *p;
	const struct reader *in;

	uint64_t time, first, last;	/* of the latest record, and of the samples */
	uint32_t nrcpus;		/* up to the last one that has a sample */
	struct hash_table paths;	/* of files that have build IDs: */
	const struct file_description **files;

	uint32_t len;
	char record[1 << 16];
};

static void put(struct writer *x, const void *data, size_t len)
{
	x->at += len;
	if (x->f && len)
		output_write(x->f, data, len);
}

/* ---- records --------------------------------------------------------------------------- */

static void begin(struct writer *x)
{
	x->len = sizeof(struct perf_event_header);
}

/* The caller knows that there is room. */
static void add(struct writer *x, const void *data, size_t len)
{
	memcpy(x->record + x->len, data, len);
	x->len += (uint32_t)len;
}

static void add32(struct writer *x, uint32_t n)
{
	add(x, &n, sizeof(n));
}

static void add64(struct writer *x, uint64_t n)
{
	add(x, &n, sizeof(n));
}

/* Add text of that many bytes at most, and NULs up to the next multiple of 8. */
static void add_text(struct writer *x, const char *text, size_t max)
{
	static const char zeros[8];
	size_t len = strnlen(text, max);

	add(x, text, len);
	add(x, zeros, sizeof(zeros) - len % sizeof(zeros));
}

static void end(struct writer *x, uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = { type, misc, (uint16_t)x->len };

	memcpy(x->record, &h, sizeof(h));
	put(x, x->record, x->len);
}

/* Number of the event, as in its attributes. */
static uint64_t id_of(unsigned int event)
{
	return event + 1;
}

/* Nanoseconds; of CLOCK_MONOTONIC, if the file has that.  They never decrease. */
static uint64_t time_of(struct writer *x, uint64_t tsc)
{
	const struct profile *p = x->p;
	uint64_t time = tsc;

	/* perf takes what is before all samples as without time. */
	if (!tsc)
		return 0;
	if (p->nrclocks > 1)
		time = to_monotonic(tsc, p->clocks, p->nrclocks);
	else if (p->tsc_khz)
		time = tsc / p->tsc_khz * 1000000 + tsc % p->tsc_khz * 1000000 / p->tsc_khz;
	if (time < x->time)
		time = x->time;
	x->time = time;
	return time;
}

/* Add the end of each record but samples. */
static void add_sample_id(struct writer *x, uint32_t pid, uint32_t tid, uint64_t time)
{
	add32(x, pid);
	add32(x, tid);
	add64(x, time);
	add64(x, 0);		/* CPU */
	add64(x, id_of(0));
}

static void put_mapping(struct writer *x, const struct profile_record *r)
{
	uint64_t time = time_of(x, r->tsc);
	struct record_mapping map;
	const char *path = r->data + sizeof(map);

	memcpy(&map, r->data, sizeof(map));
	begin(x);
	add32(x, map.task.pid);
	add32(x, map.task.tid);
	add64(x, map.start);
	add64(x, map.end - map.start);
	add64(x, map.offset);
	add32(x, map.major);
	add32(x, map.minor);
	add64(x, map.inode);
	add64(x, 0);		/* the inode's generation */
	add32(x, PROT_OF_CODE);
	add32(x, MAP_OF_CODE);
	/* perf knows memory without a file by this name. */
	add_text(x, *path ? path : "//anon", MAX_PERF_PATH);
	add_sample_id(x, map.task.pid, map.task.tid, time);
	end(x, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
}

static void put_comm(struct writer *x, const struct profile_record *r)
{
	uint64_t time = time_of(x, r->tsc);
	bool exec = r->type == RECORD_EXEC;
	struct record_task task;
	char name[MAX_PERF_COMM + 1];

	memcpy(&task, r->data, sizeof(task));
	/* The thread that executes a file becomes the first one. */
	if (exec)
		task.tid = task.pid;
	snprintf(name, sizeof(name), "%s", r->data + sizeof(task));
	replace_controls(name);
	begin(x);
	add32(x, task.pid);
	add32(x, task.tid);
	add_text(x, name, MAX_PERF_COMM);
	add_sample_id(x, task.pid, task.tid, time);
	end(x, PERF_RECORD_COMM, exec ? PERF_DATA_MISC_EXEC : 0);
}

static void put_fork(struct writer *x, const struct profile_record *r)
{
	uint64_t time = time_of(x, r->tsc);
	struct record_fork fork;

	memcpy(&fork, r->data, sizeof(fork));
	begin(x);
	add32(x, fork.child.pid);
	add32(x, fork.parent_pid);
	add32(x, fork.child.tid);
	add32(x, fork.parent_tid);
	add64(x, time);
	add_sample_id(x, fork.child.pid, fork.child.tid, time);
	end(x, PERF_RECORD_FORK, 0);
}

static void put_exit(struct writer *x, const struct profile_record *r)
{
	uint64_t time = time_of(x, r->tsc);
	struct record_task task;

	memcpy(&task, r->data, sizeof(task));
	begin(x);
	add32(x, task.pid);
	add32(x, task.pid);	/* the parent's are not known */
	add32(x, task.tid);
	add32(x, task.tid);
	add64(x, time);
	add_sample_id(x, task.pid, task.tid, time);
	end(x, PERF_RECORD_EXIT, 0);
}

/*
 * The kernel's functions that have samples, as if they were loaded one by one: so they have
 * the names that the recorder has seen, on whichever machine, and after each boot.  The kernel
 * itself, where readers would look for names otherwise, is elsewhere.
 */
static void put_kernel(struct writer *x)
{
	size_t i;

	if (!x->p->nrkernel)
		return;
	begin(x);
	add32(x, UINT32_MAX);
	add32(x, 0);
	add64(x, UINT64_MAX - 4095);
	add64(x, 4094);
	add64(x, 0);
	add_text(x, "[kernel.kallsyms]_text", MAX_PERF_PATH);
	add_sample_id(x, UINT32_MAX, 0, 0);
	end(x, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	for (i = 0; i < x->p->nrkernel; i++) {
		const struct kernel_function *function = &x->p->kernel[i];
		uint64_t size = function->end - function->start;

		begin(x);
		add64(x, function->start);
		add32(x, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX);
		add32(x, 0);
		add_text(x, string_of(x->p, function->name), MAX_PERF_SYMBOL);
		add_sample_id(x, UINT32_MAX, 0, 0);
		end(x, PERF_DATA_KSYMBOL, PERF_RECORD_MISC_KERNEL);
	}
}

/* ---- samples ----------------------------------------------------------------------------- */

/* perf's chain begins with the address of the sample. */
static void add_chain(struct writer *x, const struct record_sample *s, const char *calls)
{
	uint64_t chain[MAX_CHAIN + 3], nr = 0, address;
	bool kernel = s->flags & VPERFCTR_SAMPLE_KERNEL;
	uint32_t i;

	chain[nr++] = kernel ? PERF_DATA_CHAIN_KERNEL : PERF_DATA_CHAIN_USER;
	chain[nr++] = s->ip;
	for (i = 0; i < s->nr; i++) {
		memcpy(&address, calls + i * sizeof(address), sizeof(address));
		if (kernel && !(address >> 63)) {
			chain[nr++] = PERF_DATA_CHAIN_USER;
			kernel = false;
		}
		chain[nr++] = address;
	}
	add64(x, nr);
	add(x, chain, nr * sizeof(*chain));
}

static void put_sample_of_event(struct writer *x, const struct record_sample *s, const char *calls,
				unsigned int event, uint64_t weight, uint64_t time)
{
	uint64_t period = x->p->events[event].period;

	begin(x);
	add64(x, id_of(event));
	add64(x, s->ip);
	add32(x, s->pid);
	add32(x, s->tid);
	add64(x, time);
	add32(x, s->cpu);
	add32(x, 0);
	add64(x, weight * (period ? period : 1));
	if (x->p->chains)
		add_chain(x, s, calls);
	end(x, PERF_RECORD_SAMPLE, s->flags & VPERFCTR_SAMPLE_KERNEL ? PERF_RECORD_MISC_KERNEL :
								     PERF_RECORD_MISC_USER);
}

/* As in a profile: the overflows that were dropped are those of the first event. */
static void put_sample(struct writer *x, const struct profile_record *r)
{
	uint64_t time = time_of(x, r->tsc), weight = r->weight;
	const struct profile *p = x->p;
	struct record_sample s;
	bool any = false;
	unsigned int i;

	memcpy(&s, r->data, sizeof(s));
	if (!x->first)
		x->first = time;
	x->last = time;
	if (s.cpu < MAX_CPUS && s.cpu >= x->nrcpus)
		x->nrcpus = s.cpu + 1;
	for (i = 0; i < p->nrevents; i++) {
		if (!(s.overflow >> p->events[i].counter & 1))
			continue;
		put_sample_of_event(x, &s, r->data + sizeof(s), i, weight, time);
		weight = 1;
		any = true;
	}
	if (!any)
		put_sample_of_event(x, &s, r->data + sizeof(s), 0, weight, time);
}

static void put_lost(struct writer *x)
{
	if (!x->p->lost)
		return;
	begin(x);
	add64(x, id_of(0));
	add64(x, x->p->lost);
	add_sample_id(x, UINT32_MAX, UINT32_MAX, x->time);
	end(x, PERF_RECORD_LOST, 0);
}

static void put_records(struct writer *x)
{
	struct profile_record r;
	size_t i;

	x->time = 0;
	put_kernel(x);
	for (i = 0; records_get(x->in, i, &r); i++) {
		switch (r.type) {
		case RECORD_SAMPLES:
			put_sample(x, &r);
			break;
		case RECORD_MAPPING:
			put_mapping(x, &r);
			break;
		case RECORD_FORK:
			put_fork(x, &r);
			break;
		case RECORD_EXIT:
			put_exit(x, &r);
			break;
		default:
			put_comm(x, &r);
			break;
		}
	}
	put_lost(x);
	/* perf takes a file without any record for one that was cut off. */
	begin(x);
	end(x, PERF_DATA_FINISHED_ROUND, 0);
}

/* ---- events -------------------------------------------------------------------------- */

/* True if the name says that the event counts in this mode: all of them without a suffix. */
static bool counts_in(const char *name, char mode)
{
	const char *suffix = strrchr(name, ':');

	if (!suffix || !suffix[1] || suffix[1 + strspn(suffix + 1, "uk")])
		return true;
	return strchr(suffix, mode);
}

static void make_attr(const struct profile *p, unsigned int event, struct perf_event_attr *attr)
{
	const struct profile_event *from = &p->events[event];

	*attr = (struct perf_event_attr){
		.type = from->time ? PERF_TYPE_SOFTWARE : PERF_TYPE_RAW, .size = PERF_DATA_ATTR,
		.config = from->time ? PERF_COUNT_SW_TASK_CLOCK : from->evntsel,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       (p->chains ? PERF_SAMPLE_CALLCHAIN : 0),
		.disabled = 1, .inherit = 1, .mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1,
		.task = 1, .sample_id_all = 1,
		.exclude_user = !counts_in(from->name, 'u'),
		.exclude_kernel = !counts_in(from->name, 'k'),
		.exclude_hv = !counts_in(from->name, 'k'),
		.use_clockid = p->nrclocks > 1, .clockid = p->nrclocks > 1 ? CLOCK_MONOTONIC : 0,
	};
	if (p->rate) {
		attr->freq = 1;
		attr->sample_freq = p->rate;
	} else {
		attr->sample_period = from->period ? from->period : 1;
	}
}

/* Where the parts of the file are. */
static uint64_t place_of_attrs(const struct writer *x)
{
	return sizeof(struct perf_data_header) + x->p->nrevents * sizeof(uint64_t);
}

static uint64_t size_of_attrs(const struct writer *x)
{
	return x->p->nrevents * (PERF_DATA_ATTR + sizeof(struct perf_data_part));
}

static void put_attrs(struct writer *x)
{
	struct perf_event_attr attr;
	struct perf_data_part ids;
	unsigned int i;
	uint64_t id;

	for (i = 0; i < x->p->nrevents; i++) {
		id = id_of(i);
		put(x, &id, sizeof(id));
	}
	for (i = 0; i < x->p->nrevents; i++) {
		make_attr(x->p, i, &attr);
		put(x, &attr, PERF_DATA_ATTR);
		ids.offset = sizeof(struct perf_data_header) + i * sizeof(id);
		ids.size = sizeof(id);
		put(x, &ids, sizeof(ids));
	}
}

/* ---- features ----------------------------------------------------------------------------- */

static void put32(struct writer *x, uint32_t n)
{
	put(x, &n, sizeof(n));
}

static void put64(struct writer *x, uint64_t n)
{
	put(x, &n, sizeof(n));
}

static void put_string(struct writer *x, const char *text)
{
	static const char zeros[PERF_DATA_ALIGN];
	size_t len = strlen(text), pad = PERF_DATA_ALIGN - len % PERF_DATA_ALIGN;

	put32(x, (uint32_t)(len + pad));
	put(x, text, len);
	put(x, zeros, pad);
}

static void put_build_ids(struct writer *x)
{
	static const char zeros[PERF_DATA_ALIGN];
	uint32_t i;

	for (i = 1; i < x->paths.nr; i++) {
		const char *path = ((char **)x->paths.items)[i];
		size_t len = strnlen(path, MAX_PERF_PATH), pad = PERF_DATA_ALIGN - len % PERF_DATA_ALIGN;
		struct perf_data_build_id id = {
			.header = {
				.misc = PERF_RECORD_MISC_USER | PERF_DATA_MISC_HAS_SIZE,
				.size = (uint16_t)(sizeof(id) + len + pad),
			},
			.pid = -1,
		};

		memcpy(id.build_id, x->files[i]->build_id, x->files[i]->build_id_size);
		id.build_id[PERF_DATA_BUILD_ID_MAX] = (uint8_t)x->files[i]->build_id_size;
		put(x, &id, sizeof(id));
		put(x, path, len);
		put(x, zeros, pad);
	}
}

static void put_events(struct writer *x)
{
	struct perf_event_attr attr;
	unsigned int i;

	put32(x, x->p->nrevents);
	put32(x, PERF_DATA_ATTR);
	for (i = 0; i < x->p->nrevents; i++) {
		make_attr(x->p, i, &attr);
		put(x, &attr, PERF_DATA_ATTR);
		put32(x, 1);
		put_string(x, x->p->events[i].name);
		put64(x, id_of(i));
	}
}

/* Write a feature of the file.  Return: false: the file has no such feature */
static bool put_feature(struct writer *x, unsigned int feature)
{
	const struct profile_host *host = &x->p->host;
	const char *const texts[] = {
		[PERF_DATA_HOSTNAME] = host->name, [PERF_DATA_OSRELEASE] = host->release,
		[PERF_DATA_VERSION] = "perfex " VPERFCTR_VERSION, [PERF_DATA_ARCH] = host->machine,
		[PERF_DATA_CPUDESC] = x->p->cpu_name,
	};

	if (feature < ARRAY_SIZE(texts) && texts[feature]) {
		put_string(x, texts[feature]);
		return true;
	}
	switch (feature) {
	case PERF_DATA_BUILD_ID:
		put_build_ids(x);
		return x->paths.nr > 1;
	case PERF_DATA_NRCPUS:
		/*
		 * hotspot 1.3 has a table of these, and crashes if a sample has another CPU.  The host
		 * may have said fewer: without /sys, the C library counts those of the affinity.
		 */
		put32(x, host->cpus > x->nrcpus ? host->cpus : x->nrcpus);
		put32(x, host->cpus ? host->online : x->nrcpus);
		return host->cpus || x->nrcpus;
	case PERF_DATA_CMDLINE:
		put32(x, 1);
		put_string(x, x->p->command ? x->p->command : "?");
		return true;
	case PERF_DATA_EVENT_DESC:
		put_events(x);
		return true;
	case PERF_DATA_SAMPLE_TIME:
		put64(x, x->first);
		put64(x, x->last);
		return x->first;
	case PERF_DATA_CLOCKID:
		put64(x, 1);
		return x->p->nrclocks > 1;
	default:
		return false;
	}
}

/* Find the size of a feature without writing it.  Return: false: there is none */
static bool measure_feature(struct writer *x, unsigned int feature, uint64_t *size)
{
	uint64_t at = x->at;
	FILE *f = x->f;
	bool there;

	x->f = NULL;
	there = put_feature(x, feature);
	*size = x->at - at;
	x->at = at;
	x->f = f;
	return there;
}

static void put_features(struct writer *x)
{
	struct perf_data_part part = { .offset = x->at };
	unsigned int i;

	for (i = 0; i < PERF_DATA_NR_FEATURES; i++)
		if (measure_feature(x, i, &part.size))
			part.offset += sizeof(part);
	for (i = 0; i < PERF_DATA_NR_FEATURES; i++) {
		if (!measure_feature(x, i, &part.size))
			continue;
		put(x, &part, sizeof(part));
		part.offset += part.size;
	}
	for (i = 0; i < PERF_DATA_NR_FEATURES; i++)
		if (measure_feature(x, i, &part.size))
			put_feature(x, i);
}

/* Find the build IDs of files: of those that had the same path, the last one's. */
static bool find_build_ids(struct writer *x)
{
	const struct file_description **files;
	struct profile_record r;
	uint32_t n, nr;
	size_t i;

	x->paths = (struct hash_table){ .size = sizeof(char *), .text = true };
	for (i = 0; records_get(x->in, i, &r); i++) {
		if (!r.file || !r.file->build_id_size || r.file->build_id_size > PERF_DATA_BUILD_ID_MAX)
			continue;
		nr = x->paths.nr;
		n = hash_table_add(&x->paths, r.data + sizeof(struct record_mapping));
		if (!n)
			return false;
		if (x->paths.nr != nr && !(n & (n - 1))) {
			/* There is room for a power of two. */
			files = reallocarray(x->files, (size_t)n * 2, sizeof(*files));
			if (!files)
				return false;
			x->files = files;
		}
		x->files[n] = r.file;
	}
	return true;
}

/* ---- the file --------------------------------------------------------------------------- */

static void put_all(struct writer *x, FILE *f)
{
	struct perf_data_header h = { .size = sizeof(h) };
	uint64_t size;
	unsigned int i;

	put_records(x);
	memcpy(h.magic, PERF_DATA_MAGIC, sizeof(h.magic));
	h.attr_size = PERF_DATA_ATTR + sizeof(struct perf_data_part);
	h.attrs = (struct perf_data_part){ place_of_attrs(x), size_of_attrs(x) };
	h.records = (struct perf_data_part){ h.attrs.offset + h.attrs.size, x->at };
	for (i = 0; i < PERF_DATA_NR_FEATURES; i++)
		if (measure_feature(x, i, &size))
			h.features[i / 64] |= UINT64_C(1) << i % 64;
	x->f = f;
	x->at = 0;
	put(x, &h, sizeof(h));
	put_attrs(x);
	put_records(x);
	put_features(x);
}

int export_perf_data(FILE *f, const struct reporting *o, struct error *e)
{
	struct writer *x;
	struct profile p;
	struct reader *in;
	int err = 0;

	if (o->events.nr || o->targets.nr || o->comm)
		return fail_with(e, "--export=perf writes all samples: perf report chooses among them, by --comm, --pid and --tid");
	if (o->no_inline)
		return fail_with(e, "--export=perf writes addresses, and cannot be combined with --no-inline: perf report has --no-inline, too");
	if (isatty(fileno(f)))
		return fail_with(e, "perf.data is no text: name a file for it (-o)");
	in = records_open(&p, o->file, e);
	x = in ? calloc(1, sizeof(*x)) : NULL;
	if (x) {
		x->p = &p;
		x->in = in;
		work_prints();
		report_missing(&p, o);
		if (find_build_ids(x))
			put_all(x, f);
		else
			err = fail_memory(e);
		/* All records have been read. */
		if (!err)
			report_cut_off(p.complete, p.name, o);
		hash_table_free(&x->paths);
		free(x->files);
		free(x);
	} else if (in) {
		err = fail_memory(e);
	}
	if (in)
		records_close(in);
	profile_free(&p);
	return in ? err : -1;
}
