// SPDX-License-Identifier: GPL-2.0
/*
 * Convert records of perf_event.
 *
 * They may come from an attacker's file.  Each length in them is checked before it is used.
 */
#include <string.h>

#include "perf-records.h"

/* Periods that a sample stands for: profile-read.c knows no more. */
#define MAX_WEIGHT		(UINT64_C(1) << 31)

#define CPUMODE(misc)		((misc) & PERF_RECORD_MISC_CPUMODE_MASK)
#define PROT_EXECUTABLE		4

/* Parts of samples that newer headers have. */
#define BRANCH_HW_INDEX		(UINT64_C(1) << 17)
#define BRANCH_COUNTERS		(UINT64_C(1) << 19)
#define READ_LOST		(1U << 4)

struct id {
	uint64_t id;
	uint32_t event, unused;
};

/* A counter that samples read; with inheritance each thread has one of this number. */
struct counter {
	uint64_t id, tid;
	uint64_t value;			/* at the last sample */
};

/* An attacker's file could have any number of them. */
#define MAX_COUNTERS		(1U << 20)

/* ---- bytes ----------------------------------------------------------------------------- */

bool bytes_get(struct bytes *b, void *to, size_t len)
{
	if (b->left < len)
		return false;
	if (to)
		memcpy(to, b->at, len);
	b->at += len;
	b->left -= len;
	return true;
}

bool bytes_get32(struct bytes *b, uint32_t *n)
{
	return bytes_get(b, n, sizeof(*n));
}

bool bytes_get64(struct bytes *b, uint64_t *n)
{
	return bytes_get(b, n, sizeof(*n));
}

bool bytes_skip64(struct bytes *b, uint64_t n)
{
	return n <= b->left / sizeof(uint64_t) && bytes_get(b, NULL, n * sizeof(uint64_t));
}

const char *bytes_text(const struct bytes *b)
{
	return b->left && memchr(b->at, '\0', b->left) ? b->at : NULL;
}

/* ---- events ------------------------------------------------------------------------------ */

int perf_records_add_id(struct perf_records *c, uint64_t number, unsigned int event)
{
	struct id id = { .id = number };
	uint32_t i;

	if (!c->ids.size)
		c->ids = (struct hash_table){ .size = sizeof(id), .key = sizeof(id.id) };
	i = hash_table_add(&c->ids, &id);
	if (!i)
		return -1;
	((struct id *)c->ids.items)[i].event = event;
	return 0;
}

/* Return: the event of a number, or -1.  Records that perf itself makes have number 0. */
static int find_event(const struct perf_records *c, uint64_t number)
{
	uint32_t i = c->ids.nr ? hash_table_find(&c->ids, &number) : 0;

	if (i)
		return (int)((struct id *)c->ids.items)[i].event;
	return !number || c->nrevents == 1 ? 0 : -1;
}

bool perf_is_time(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool perf_is_read(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ && !attr->freq && !attr->sample_period;
}

uint64_t perf_period_of(const struct perf_event_attr *attr)
{
	return attr->freq || !attr->sample_period ? 1 : attr->sample_period;
}

/* ---- tasks and mappings ----------------------------------------------------------------- */

/* Return: the time of a record that is no sample, from its end; 0: it has none. */
static uint64_t time_of(const struct perf_records *c, struct bytes *b)
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

static void convert_mapping(struct perf_records *c, const struct perf_event_header *h, struct bytes b)
{
	struct record_mapping map = { .task = { .tsc = time_of(c, &b) } };
	struct mmap2 more = { .prot = PROT_EXECUTABLE };
	uint8_t id[PERF_DATA_BUILD_ID_MAX + 1] = { 0 };
	const char *path;
	uint64_t len;

	if (!bytes_get32(&b, &map.task.pid) || !bytes_get32(&b, &map.task.tid) || !bytes_get64(&b, &map.start) ||
	    !bytes_get64(&b, &len) || !bytes_get64(&b, &map.offset) ||
	    (h->type == PERF_RECORD_MMAP2 && !bytes_get(&b, &more, sizeof(more))))
		return;
	path = bytes_text(&b);
	if (!path)
		return;
	if (CPUMODE(h->misc) != PERF_RECORD_MISC_USER) {
		if (c->of_kernel)
			c->of_kernel(c, map.offset, path);
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
	path = c->describe(c, &map, id, path);
	write_record(c->rec, RECORD_MAPPING, &map, sizeof(map), path);
}

static void convert_comm(struct perf_records *c, const struct perf_event_header *h, struct bytes b)
{
	struct record_task r = { .tsc = time_of(c, &b) };

	const bool executed = h->misc & PERF_DATA_MISC_EXEC;

	if (!bytes_get32(&b, &r.pid) || !bytes_get32(&b, &r.tid) || !bytes_text(&b))
		return;
	write_record(c->rec, executed ? RECORD_EXEC : RECORD_COMM, &r, sizeof(r), b.at);
	if (executed && c->live)
		note_executed(c->rec, &r);
}

static void convert_fork(struct perf_records *c, const struct perf_event_header *h, struct bytes b)
{
	struct record_fork r;

	if (!bytes_get32(&b, &r.child.pid) || !bytes_get32(&b, &r.parent_pid) || !bytes_get32(&b, &r.child.tid) ||
	    !bytes_get32(&b, &r.parent_tid) || !bytes_get64(&b, &r.child.tsc))
		return;
	if (h->type == PERF_RECORD_EXIT)
		write_record(c->rec, RECORD_EXIT, &r.child, sizeof(r.child), NULL);
	/* perf has made it of a process that has executed another file since. */
	else if (!(h->misc & PERF_DATA_MISC_EXEC))
		write_record(c->rec, RECORD_FORK, &r, sizeof(r), NULL);
}

static void convert_symbol(struct perf_records *c, struct bytes b)
{
	struct record_kernel r;
	uint16_t type, flags;
	uint32_t len;

	if (!bytes_get64(&b, &r.start) || !bytes_get32(&b, &len) || !bytes_get(&b, &type, sizeof(type)) ||
	    !bytes_get(&b, &flags, sizeof(flags)) || !bytes_text(&b))
		return;
	r.end = r.start + len;
	/* Bit 0 of the flags: it is gone. */
	if (!(flags & 1) && r.start >> 63 && r.end > r.start)
		write_record(c->rec, RECORD_KERNEL, &r, sizeof(r), b.at);
}

/* ---- samples ------------------------------------------------------------------------------ */

/* The values of a group, each with its number. */
struct values {
	struct bytes b;
	uint64_t nr;			/* 0: the sample has none */
	bool lost;			/* behind each: how many samples are lost */
};

static bool get_values(struct bytes *b, uint64_t format, struct values *v)
{
	uint64_t nr = 1, words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);

	if (format & PERF_FORMAT_GROUP && !bytes_get64(b, &nr))
		return false;
	if (!bytes_skip64(b, !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			  !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING)))
		return false;
	if (format & PERF_FORMAT_GROUP && format & PERF_FORMAT_ID)
		*v = (struct values){ *b, nr, !!(format & READ_LOST) };
	return nr <= b->left / sizeof(uint64_t) && bytes_skip64(b, nr * words);
}

/* perf's chain begins with the address of the sample. */
static bool get_chain(struct perf_records *c, struct bytes *b, struct record_sample *s)
{
	uint64_t *chain = c->sample.s.chain, nr, address, mark = 0;
	bool first = true, kernel = s->flags & VPERFCTR_SAMPLE_KERNEL;
	uint32_t nruser = 0;

	if (!bytes_get64(b, &nr) || nr > b->left / sizeof(uint64_t))
		return false;
	while (nr-- && bytes_get64(b, &address)) {
		if (address >= PERF_DATA_CHAIN_MARKS) {
			mark = address;
			continue;
		}
		if (mark == PERF_DATA_CHAIN_KERNEL)
			address = kernel_address(c->rec, address);
		else if (mark && mark != PERF_DATA_CHAIN_USER)
			continue;
		if (first && address == s->ip && kernel == (mark == PERF_DATA_CHAIN_KERNEL)) {
			first = false;
			continue;
		}
		first = false;
		if (mark != PERF_DATA_CHAIN_KERNEL && c->depth && nruser++ >= c->depth)
			continue;
		if (s->nr == MAX_CHAIN)
			continue;
		if (kernel && address >> 63)
			note_kernel(c->rec, address - 1);
		chain[s->nr++] = address;
	}
	return true;
}

static bool skip_raw(struct bytes *b)
{
	uint32_t size;

	return bytes_get32(b, &size) && bytes_get(b, NULL, size);
}

static bool skip_branches(struct bytes *b, uint64_t type)
{
	uint64_t nr, words = 3 + !!(type & BRANCH_COUNTERS);

	if (!bytes_get64(b, &nr) || (type & BRANCH_HW_INDEX && !bytes_skip64(b, 1)))
		return false;
	return nr <= b->left / sizeof(uint64_t) && bytes_skip64(b, nr * words);
}

/* The registers follow the chain, if they are known. */
static bool get_registers(struct perf_records *c, struct bytes *b, uint64_t mask, struct record_user *u)
{
	uint64_t *regs = c->sample.s.chain + c->sample.s.nr + sizeof(*u) / sizeof(uint64_t);
	uint64_t abi, value;
	unsigned int i;
	int place;

	if (!bytes_get64(b, &abi))
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
		if (!bytes_get64(b, &value))
			return false;
		place = u->nrregs ? perf_regs_place(c->regs, u->mode, i) : -1;
		if (place >= 0)
			regs[place] = value;
	}
	return true;
}

static bool get_stack(struct perf_records *c, struct bytes *b, struct record_user *u)
{
	uint64_t *to = c->sample.s.chain + c->sample.s.nr + sizeof(*u) / sizeof(uint64_t) + u->nrregs;
	const char *stack;
	uint64_t size, used;

	if (!bytes_get64(b, &size))
		return false;
	stack = b->at;
	if (!size)
		return true;
	if (!bytes_get(b, NULL, size) || !bytes_get64(b, &used))
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
	return (!(type & PERF_SAMPLE_IDENTIFIER) || bytes_get64(b, &f->id)) &&
	       (!(type & PERF_SAMPLE_IP) || bytes_get64(b, &s->ip)) &&
	       (!(type & PERF_SAMPLE_TID) || (bytes_get32(b, &s->pid) && bytes_get32(b, &s->tid))) &&
	       (!(type & PERF_SAMPLE_TIME) || bytes_get64(b, &s->tsc)) &&
	       (!(type & PERF_SAMPLE_ADDR) || bytes_get64(b, &f->addr)) &&
	       (!(type & PERF_SAMPLE_ID) || bytes_get64(b, &f->id)) &&
	       (!(type & PERF_SAMPLE_STREAM_ID) || bytes_get64(b, &f->stream)) &&
	       (!(type & PERF_SAMPLE_CPU) || (bytes_get32(b, &f->cpu) && bytes_get32(b, &f->unused))) &&
	       (!(type & PERF_SAMPLE_PERIOD) || bytes_get64(b, &f->period));
}

/* Find the event, which says what the sample has.  All have their number at the same place. */
static int event_of_sample(const struct perf_records *c, struct bytes b)
{
	uint64_t type = c->events[0].attr.sample_type;
	struct record_sample s = { 0 };
	struct front f = { 0 };

	if (type & PERF_SAMPLE_IDENTIFIER)
		type = PERF_SAMPLE_IDENTIFIER;
	return get_front(&b, type, &s, &f) ? find_event(c, f.id) : -1;
}

static void write_sample(struct perf_records *c, struct perf_sampled *event, const struct front *f,
			 const struct record_user *u)
{
	struct record_sample *s = &c->sample.s;
	uint64_t period = perf_period_of(&event->attr), weight = 1;

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
		note_kernel(c->rec, s->ip);
	write_record(c->rec, RECORD_SAMPLES, s, s->size, NULL);
	event->count += f->period ? f->period : period;
	if (!perf_is_read(&event->attr))
		c->dropped += s->dropped;
	c->first = c->samples++ ? c->first : s->tsc;
	c->last = s->tsc;
}

/* Return: what the counter has counted since the last sample. */
static uint64_t difference(struct perf_records *c, uint64_t id, uint32_t tid, uint64_t value)
{
	struct counter key = { .id = id, .tid = tid }, *counter;
	uint64_t before;
	uint32_t i;

	if (!c->counters.size)
		c->counters = (struct hash_table){ .size = sizeof(key), .key = sizeof(key) - sizeof(key.value) };
	i = c->counters.nr < MAX_COUNTERS ? hash_table_add(&c->counters, &key) :
					    hash_table_find(&c->counters, &key);
	if (!i)
		return 0;
	counter = &((struct counter *)c->counters.items)[i];
	before = counter->value;
	/* It is less if the number of a thread is used again: a counter begins at 0. */
	counter->value = value;
	return value > before ? value - before : 0;
}

/* Return: the event that the next value of a group is of, or -1: it is of none that is known. */
static int next_value(const struct perf_records *c, struct values *v, uint64_t *value, uint64_t *id)
{
	uint32_t at;

	v->nr--;
	if (!bytes_get64(&v->b, value) || !bytes_get64(&v->b, id) || (v->lost && !bytes_skip64(&v->b, 1)))
		return -1;
	at = c->ids.nr ? hash_table_find(&c->ids, id) : 0;
	return at ? (int)((struct id *)c->ids.items)[at].event : -1;
}

/*
 * True if no event has two values.  An attacker's sample could have any number of them, each of
 * which would become a sample.
 */
static bool counts_events_once(const struct perf_records *c, struct values v)
{
	uint64_t value, id, seen = 0;
	int event;

	if (v.nr > c->nrevents)
		return false;
	while (v.nr) {
		event = next_value(c, &v, &value, &id);
		if (event >= 0 && seen >> event & 1)
			return false;
		seen |= event >= 0 ? UINT64_C(1) << event : 0;
	}
	return true;
}

/*
 * perf record -e '{A,B}:S': samples of A read both.  As in perf, each stands for what both have
 * counted since the last one, and is a sample of each that has counted anything.
 */
static void write_samples(struct perf_records *c, const struct perf_event_attr *attr, struct front *f,
			  const struct record_user *u, struct values v)
{
	uint64_t value, id;
	int event;

	while (v.nr) {
		event = next_value(c, &v, &value, &id);
		f->period = event >= 0 ? difference(c, id, attr->inherit ? c->sample.s.tid : 0, value) : 0;
		if (f->period)
			write_sample(c, &c->events[event], f, u);
	}
}

/*
 * Convert a sample of perf's to one of perfex's.  Return: false: the sample is of a virtual
 * machine, or damaged
 */
static bool convert_sample(struct perf_records *c, const struct perf_event_header *h, struct bytes b)
{
	struct record_sample *s = &c->sample.s;
	struct record_user u = { 0 };
	struct values v = { .nr = 0 };
	struct front f = { 0 };
	struct perf_sampled *event;
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
		s->ip = kernel_address(c->rec, s->ip);
	}
	if ((type & PERF_SAMPLE_READ && !get_values(&b, event->attr.read_format, &v)) ||
	    (type & PERF_SAMPLE_CALLCHAIN && !get_chain(c, &b, s)) ||
	    (type & PERF_SAMPLE_RAW && !skip_raw(&b)) ||
	    (type & PERF_SAMPLE_BRANCH_STACK && !skip_branches(&b, event->attr.branch_sample_type)) ||
	    (type & PERF_SAMPLE_REGS_USER && !get_registers(c, &b, event->attr.sample_regs_user, &u)) ||
	    (type & PERF_SAMPLE_STACK_USER && !get_stack(c, &b, &u)))
		return false;
	if (!counts_events_once(c, v))
		return false;
	if (v.nr)
		write_samples(c, &event->attr, &f, &u, v);
	else
		write_sample(c, event, &f, &u);
	return true;
}

/* ---- records ------------------------------------------------------------------------------ */

void perf_records_convert(struct perf_records *c, const struct perf_event_header *h,
			  struct bytes b)
{
	uint64_t n;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		c->unusable += !convert_sample(c, h, b);
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
		if (bytes_get64(&b, &n) && bytes_get64(&b, &n))
			c->lost += n;
		break;
	case PERF_RECORD_THROTTLE:
		c->throttled++;
		break;
	case PERF_DATA_LOST_SAMPLES:
		/* Those that a filter has refused are not lost. */
		if (!(h->misc & PERF_DATA_MISC_FILTERED) && bytes_get64(&b, &n))
			c->lost_samples += n;
		break;
	case PERF_DATA_KSYMBOL:
		convert_symbol(c, b);
		break;
	default:
		break;
	}
}

/*
 * Since Linux 6.0, the kernel also counts the lost samples of each event.  perf asks for that, and
 * writes these numbers at its end: the losses that the ring has told before are among them.
 */
uint64_t perf_records_lost(const struct perf_records *c)
{
	bool counted = false;
	unsigned int i;

	for (i = 0; i < c->nrevents; i++)
		counted |= !!(c->events[i].attr.read_format & READ_LOST);
	return c->unusable + c->lost_samples + (counted && c->lost_samples ? 0 : c->lost);
}

void perf_records_set_machine(struct perf_records *c, const char *machine)
{
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	unsigned int i;

	c->rec->narrow_kernel = *machine && !strstr(machine, "64");
	c->regs = perf_regs_of_machine(machine);
	for (i = 0; i < c->nrevents && c->regs; i++)
		c->stacks |= (c->events[i].attr.sample_type & both) == both;
}

void perf_records_free(struct perf_records *c)
{
	hash_table_free(&c->ids);
	hash_table_free(&c->counters);
}
