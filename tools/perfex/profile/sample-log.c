// SPDX-License-Identifier: GPL-2.0
/*
 * Entries as bytes: numbers have seven bits in each byte, the lowest first, and the eighth bit
 * if there are more.  Times and addresses are differences from the entry before; addresses lie
 * on both sides of it, so that their lowest bit is the sign.  The rest of a sample is the number of
 * a task, and that of a mapping the number of a task and a file.
 *
 * A file has the samples of a ring in the order of their time, and those of the next one behind
 * them.  Each such run can be read from its start, and the runs are merged.
 */
#include <stdlib.h>
#include <string.h>

#include "sample-log.h"

#define FIRST_ROOM	4096
#define MAX_NUMBER	10	/* bytes */

struct log_run {
	size_t at, end;		/* of the entry whose time this is: */
	uint64_t tsc, ip, start;
	size_t number;
};

/* The part of samples of a task that is the same in all of them. */
struct task {
	uint32_t flags, pid, tid, cpu;
	uint64_t overflow;
};

/* The part of mappings of a task and a file that is the same in all of them. */
struct mapped_file {
	struct record_task task;	/* without its time */
	uint32_t major, minor;
	uint64_t inode;
	uint32_t path, description;
};

/* ---- bytes ---------------------------------------------------------------------------------- */

static bool make_room(struct sample_log *l, size_t len)
{
	size_t room = l->room ? l->room : FIRST_ROOM;
	unsigned char *bytes;

	if (l->room - l->used >= len)
		return true;
	while (room - l->used < len)
		if (__builtin_mul_overflow(room, 2, &room))
			return false;
	bytes = realloc(l->bytes, room);
	if (!bytes)
		return false;
	l->bytes = bytes;
	l->room = room;
	return true;
}

static void put_number(struct sample_log *l, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		l->bytes[l->used++] = (unsigned char)(n | 0x80);
	l->bytes[l->used++] = (unsigned char)n;
}

static uint64_t get_number(const struct sample_log *l, size_t *at)
{
	unsigned int shift = 0;
	uint64_t n = 0;

	for (; l->bytes[*at] & 0x80; shift += 7)
		n |= (uint64_t)(l->bytes[(*at)++] & 0x7f) << shift;
	return n | (uint64_t)l->bytes[(*at)++] << shift;
}

static uint64_t with_sign(uint64_t difference)
{
	return difference >> 63 ? ~difference << 1 | 1 : difference << 1;
}

static uint64_t without_sign(uint64_t n)
{
	return n & 1 ? ~(n >> 1) : n >> 1;
}

/* ---- add ------------------------------------------------------------------------------------ */

/* Begin an entry, of at most this size; and a run, if it is earlier than the last. */
static bool begin_entry(struct sample_log *l, uint32_t type, uint64_t tsc, size_t most)
{
	struct log_run *runs;
	size_t room;

	if (!make_room(l, most + 2 * MAX_NUMBER))
		return false;
	if (!l->nrruns || tsc < l->tsc) {
		if (l->nrruns == l->runs_room) {
			room = l->runs_room ? l->runs_room * 2 : 16;
			runs = reallocarray(l->runs, room, sizeof(*runs));
			if (!runs)
				return false;
			l->runs = runs;
			l->runs_room = room;
		}
		l->runs[l->nrruns] = (struct log_run){ .at = l->used, .number = l->nrruns };
		if (l->nrruns)
			l->runs[l->nrruns - 1].end = l->used;
		l->nrruns++;
		l->tsc = l->ip = l->start = 0;
	}
	put_number(l, tsc - l->tsc);
	l->tsc = tsc;
	put_number(l, type);
	return true;
}

static void put_bytes(struct sample_log *l, const void *data, size_t len)
{
	put_number(l, len);
	if (len)
		memcpy(l->bytes + l->used, data, len);
	l->used += len;
}

bool log_add(struct sample_log *l, uint32_t type, uint64_t tsc, const void *data, size_t len,
	     uint32_t description)
{
	if (!begin_entry(l, type, tsc, len + 2 * MAX_NUMBER))
		return false;
	put_number(l, description);
	put_bytes(l, data, len);
	return true;
}

/* Return: the number of the mapping's task and file; 0: no memory */
static uint32_t find_file(struct sample_log *l, const struct record_mapping *r, const char *path,
			  uint32_t description)
{
	const struct mapped_file *last = (const struct mapped_file *)l->files.items + l->file;
	struct mapped_file key;

	memset(&key, 0, sizeof(key));
	key.task.pid = r->task.pid;
	key.task.tid = r->task.tid;
	key.major = r->major;
	key.minor = r->minor;
	key.inode = r->inode;
	key.description = description;
	/* A file is often mapped many times. */
	if (l->file) {
		key.path = last->path;
		if (!memcmp(last, &key, sizeof(key)) && !strcmp(((char **)l->paths.items)[key.path], path))
			return l->file;
	}
	if (!l->files.size) {
		l->paths = (struct hash_table){ .size = sizeof(char *), .text = true };
		l->files = (struct hash_table){ .size = sizeof(key), .key = sizeof(key) };
	}
	key.path = hash_table_add(&l->paths, path);
	return key.path ? hash_table_add(&l->files, &key) : 0;
}

bool log_add_mapping(struct sample_log *l, const void *data, uint32_t description)
{
	struct record_mapping r;

	memcpy(&r, data, sizeof(r));
	l->file = find_file(l, &r, (const char *)data + sizeof(r), description);
	if (!l->file || !begin_entry(l, RECORD_MAPPING, r.task.tsc, 4 * MAX_NUMBER))
		return false;
	put_number(l, l->file);
	put_number(l, with_sign(r.start - l->start));
	put_number(l, r.end - r.start);
	put_number(l, r.offset);
	l->start = r.start;
	return true;
}

bool log_add_sample(struct sample_log *l, const void *data, size_t len)
{
	uint64_t address, before;
	struct record_sample r;
	struct task task;
	uint32_t i, number;
	size_t rest;

	memcpy(&r, data, sizeof(r));
	rest = len - sizeof(r) - r.nr * sizeof(address);
	memset(&task, 0, sizeof(task));
	task.flags = r.flags;
	task.pid = r.pid;
	task.tid = r.tid;
	task.cpu = r.cpu;
	task.overflow = r.overflow;
	if (!l->tasks.size)
		l->tasks = (struct hash_table){ .size = sizeof(task), .key = sizeof(task) };
	number = hash_table_add(&l->tasks, &task);
	if (!number ||
	    !begin_entry(l, RECORD_SAMPLES, r.tsc, rest + ((size_t)r.nr + 5) * MAX_NUMBER))
		return false;
	put_number(l, number);
	put_number(l, r.dropped);
	put_number(l, with_sign(r.ip - l->ip));
	l->ip = before = r.ip;
	put_number(l, r.nr);
	for (i = 0; i < r.nr; i++) {
		memcpy(&address, (const char *)data + sizeof(r) + i * sizeof(address),
		       sizeof(address));
		put_number(l, with_sign(address - before));
		before = address;
	}
	put_bytes(l, (const char *)data + len - rest, rest);
	return true;
}

/* ---- take: the runs are a heap, in which each is earlier than the two after it -------------- */

static bool is_before(const struct log_run *x, const struct log_run *y)
{
	return x->tsc != y->tsc ? x->tsc < y->tsc : x->number < y->number;
}

static void sift_down(struct sample_log *l, size_t i)
{
	const struct log_run moved = l->runs[i];
	size_t next;

	for (; (next = 2 * i + 1) < l->nrruns; i = next) {
		if (next + 1 < l->nrruns && is_before(&l->runs[next + 1], &l->runs[next]))
			next++;
		if (is_before(&moved, &l->runs[next]))
			break;
		l->runs[i] = l->runs[next];
	}
	l->runs[i] = moved;
}

void log_end(struct sample_log *l)
{
	size_t i;

	if (!l->nrruns)
		return;
	l->runs[l->nrruns - 1].end = l->used;
	for (i = 0; i < l->nrruns; i++)
		l->runs[i].tsc = get_number(l, &l->runs[i].at);
	for (i = l->nrruns / 2; i-- > 0;)
		sift_down(l, i);
}

static void get_sample(const struct sample_log *l, struct log_run *run, struct log_entry *entry)
{
	const struct task *task = (const struct task *)l->tasks.items + get_number(l, &run->at);
	uint64_t before;
	uint32_t i;

	entry->sample = (struct record_sample){
		.flags = task->flags, .pid = task->pid, .tid = task->tid, .cpu = task->cpu,
		.overflow = task->overflow, .tsc = run->tsc,
	};
	entry->sample.dropped = get_number(l, &run->at);
	run->ip += without_sign(get_number(l, &run->at));
	entry->sample.ip = before = run->ip;
	entry->sample.nr = (uint32_t)get_number(l, &run->at);
	for (i = 0; i < entry->sample.nr; i++) {
		before += without_sign(get_number(l, &run->at));
		entry->chain[i] = before;
	}
	entry->description = 0;
}

static void get_mapping(const struct sample_log *l, struct log_run *run, struct log_entry *entry)
{
	const struct mapped_file *file = (const struct mapped_file *)l->files.items +
					 get_number(l, &run->at);

	run->start += without_sign(get_number(l, &run->at));
	entry->mapping = (struct record_mapping){
		.task = { file->task.pid, file->task.tid, run->tsc }, .start = run->start,
		.major = file->major, .minor = file->minor, .inode = file->inode,
	};
	entry->mapping.end = run->start + get_number(l, &run->at);
	entry->mapping.offset = get_number(l, &run->at);
	entry->path = ((char **)l->paths.items)[file->path];
	entry->description = file->description;
	entry->data = NULL;
	entry->len = 0;
}

bool log_take(struct sample_log *l, struct log_entry *entry)
{
	struct log_run *run = l->runs;

	if (!l->nrruns)
		return false;
	entry->tsc = run->tsc;
	entry->type = (uint32_t)get_number(l, &run->at);
	if (entry->type == RECORD_SAMPLES)
		get_sample(l, run, entry);
	else if (entry->type == RECORD_MAPPING)
		get_mapping(l, run, entry);
	else
		entry->description = (uint32_t)get_number(l, &run->at);
	if (entry->type != RECORD_MAPPING) {
		entry->len = get_number(l, &run->at);
		entry->data = l->bytes + run->at;
		run->at += entry->len;
	}
	if (run->at < run->end)
		run->tsc += get_number(l, &run->at);
	else
		*run = l->runs[--l->nrruns];
	if (l->nrruns)
		sift_down(l, 0);
	return true;
}

void log_free(struct sample_log *l)
{
	free(l->bytes);
	free(l->runs);
	hash_table_free(&l->tasks);
	hash_table_free(&l->paths);
	hash_table_free(&l->files);
	*l = (struct sample_log){ NULL };
}
