// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --report --export=pprof: profile.proto of pprof, compressed by gzip.
 *
 * The few fields that a profile needs are written here: a message is a sequence of numbers
 * and of bytes with their length.  A library for that would need a compiler of its own when
 * perfex is built, and be longer to use.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "output.h"
#include "symbols.h"
#include "tree.h"

/* Numbers of fields.  The message that has them is in front. */
enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5, PROFILE_STRING_TABLE = 6, PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12, PROFILE_COMMENT = 13,
	TYPE_TYPE = 1, TYPE_UNIT = 2,
	SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3,
	MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8, MAPPING_HAS_LINE_NUMBERS = 9, MAPPING_HAS_INLINE_FRAMES = 10,
	LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1, LINE_LINE = 2,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4,
};

/* Types of fields on the wire. */
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct message {
	unsigned char *bytes;
	size_t len, room;
	bool failed;		/* no memory */
};

static void put_byte(struct message *m, unsigned char byte)
{
	unsigned char *bytes;
	size_t room = m->room ? m->room * 2 : 256;

	if (m->len == m->room) {
		bytes = m->failed ? NULL : realloc(m->bytes, room);
		if (!bytes) {
			m->failed = true;
			return;
		}
		m->bytes = bytes;
		m->room = room;
	}
	m->bytes[m->len++] = byte;
}

static void put_varint(struct message *m, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		put_byte(m, (unsigned char)(n | 0x80));
	put_byte(m, (unsigned char)n);
}

static void put_number(struct message *m, unsigned int field, uint64_t n)
{
	put_varint(m, field << 3 | WIRE_VARINT);
	put_varint(m, n);
}

static void put_bytes(struct message *m, unsigned int field, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	size_t i;

	put_varint(m, field << 3 | WIRE_BYTES);
	put_varint(m, len);
	for (i = 0; i < len; i++)
		put_byte(m, p[i]);
}

/* Put `part` into m, and empty it for the next one. */
static void put_message(struct message *m, unsigned int field, struct message *part)
{
	put_bytes(m, field, part->bytes, part->len);
	m->failed |= part->failed;
	part->len = 0;
}

/* ---- parts of a profile ----------------------------------------------------------------- */

struct pprof {
	struct profile *p;
	struct message all, part, inner;
	struct hash_table functions;		/* of struct function */
	uint32_t comm, pid, tid;	/* strings */
};

/* The number in pprof's table of strings, in which "" is number 0. */
static uint32_t text(struct pprof *x, const char *s)
{
	uint32_t string = *s ? profile_string(x->p, s) : 0;

	x->all.failed |= *s && !string;
	return string;
}

struct function {
	uint32_t name, source;
};

static void put_value_type(struct pprof *x, unsigned int field, const struct profile_event *event)
{
	put_number(&x->part, TYPE_TYPE, text(x, event->name));
	put_number(&x->part, TYPE_UNIT, text(x, event->time ? "nanoseconds" : "count"));
	put_message(&x->all, field, &x->part);
}

static void put_label(struct pprof *x, uint32_t key, unsigned int field, uint64_t value)
{
	put_number(&x->inner, LABEL_KEY, key);
	put_number(&x->inner, field, value);
	put_message(&x->part, SAMPLE_LABEL, &x->inner);
}

/* The value of an event is how many of them the samples stand for. */
static void put_sample(struct pprof *x, const struct profile_group *group)
{
	const struct profile_thread *thread = thread_of(x->p, group->thread);
	uint64_t period = x->p->events[group->event].period;
	unsigned int i;
	uint32_t stack;

	for (stack = group->stack; stack; stack = stack_of(x->p, stack)->parent)
		put_varint(&x->inner, stack_of(x->p, stack)->location);
	put_message(&x->part, SAMPLE_LOCATION_ID, &x->inner);
	for (i = 0; i < x->p->nrevents; i++)
		put_varint(&x->inner, i == group->event ? group->weight * (period ? period : 1) : 0);
	put_message(&x->part, SAMPLE_VALUE, &x->inner);
	if (thread->comm)
		put_label(x, x->comm, LABEL_STR, thread->comm);
	put_label(x, x->pid, LABEL_NUM, thread->pid);
	put_label(x, x->tid, LABEL_NUM, thread->tid);
	put_message(&x->all, PROFILE_SAMPLE, &x->part);
}

static void put_mapping(struct pprof *x, uint32_t file)
{
	char path[4096];

	/* pprof looks for the program under this name. */
	if (file == FILE_UNKNOWN || file == FILE_KERNEL)
		profile_file_label(x->p, file, path, sizeof(path));
	else if (!path_without_deleted(string_of(x->p, file_of(x->p, file)->path), path, sizeof(path)))
		snprintf(path, sizeof(path), "%s", string_of(x->p, file_of(x->p, file)->path));
	replace_controls(path);
	put_number(&x->part, MAPPING_ID, file);
	put_number(&x->part, MAPPING_FILENAME, text(x, path));
	/* pprof must not look for names itself: the addresses are not those of a process. */
	put_number(&x->part, MAPPING_HAS_FUNCTIONS, 1);
	put_number(&x->part, MAPPING_HAS_FILENAMES, 1);
	put_number(&x->part, MAPPING_HAS_LINE_NUMBERS, 1);
	put_number(&x->part, MAPPING_HAS_INLINE_FRAMES, 1);
	put_message(&x->all, PROFILE_MAPPING, &x->part);
}

static void put_location(struct pprof *x, uint32_t number)
{
	const struct profile_location *location = location_of(x->p, number);
	char label[300];
	uint32_t i;

	put_number(&x->part, LOCATION_ID, number);
	put_number(&x->part, LOCATION_MAPPING_ID, location->file);
	put_number(&x->part, LOCATION_ADDRESS, location->address);
	for (i = 0; i < location->nrframes; i++) {
		const struct profile_frame *frame =
			frame_of(x->p, x->p->frame_list[location->frame + i]);
		struct function key = { .name = frame->function, .source = frame->source };
		uint32_t function;

		if (!key.name) {
			profile_file_label(x->p, frame->file, label, sizeof(label));
			key.name = text(x, label);
		}
		function = hash_table_add(&x->functions, &key);
		x->all.failed |= !function;
		put_number(&x->inner, LINE_FUNCTION_ID, function);
		put_number(&x->inner, LINE_LINE, frame->line);
		put_message(&x->part, LOCATION_LINE, &x->inner);
	}
	put_message(&x->all, PROFILE_LOCATION, &x->part);
}

static void put_functions(struct pprof *x)
{
	uint32_t i;

	for (i = 1; i < x->functions.nr; i++) {
		const struct function *function = (struct function *)x->functions.items + i;

		put_number(&x->part, FUNCTION_ID, i);
		put_number(&x->part, FUNCTION_NAME, function->name);
		put_number(&x->part, FUNCTION_SYSTEM_NAME, function->name);
		put_number(&x->part, FUNCTION_FILENAME, function->source);
		put_message(&x->all, PROFILE_FUNCTION, &x->part);
	}
}

/* Strings must be UTF-8, which the path of a file need not be. */
static void put_strings(struct pprof *x)
{
	char *copy;
	uint32_t i;

	put_bytes(&x->all, PROFILE_STRING_TABLE, "", 0);
	for (i = 1; i < x->p->strings.nr; i++) {
		copy = strdup(string_of(x->p, i));
		if (!copy) {
			x->all.failed = true;
			return;
		}
		replace_controls(copy);
		put_bytes(&x->all, PROFILE_STRING_TABLE, copy, strlen(copy));
		free(copy);
	}
}

static void put_all(struct pprof *x, const struct hash_table *groups)
{
	struct profile *p = x->p;
	char comment[200];
	uint32_t i;

	for (i = 0; i < p->nrevents; i++)
		put_value_type(x, PROFILE_SAMPLE_TYPE, &p->events[i]);
	for (i = 1; i < groups->nr; i++)
		put_sample(x, (struct profile_group *)groups->items + i);
	/* pprof takes the first one for the program. */
	for (i = FILE_KERNEL + 1; i < p->files.nr; i++)
		put_mapping(x, i);
	put_mapping(x, FILE_UNKNOWN);
	put_mapping(x, FILE_KERNEL);
	for (i = 1; i < p->locations.nr; i++)
		put_location(x, i);
	put_functions(x);
	put_number(&x->all, PROFILE_DURATION_NANOS, p->elapsed);
	put_value_type(x, PROFILE_PERIOD_TYPE, &p->events[0]);
	put_number(&x->all, PROFILE_PERIOD, p->events[0].period);
	if (p->command) {
		snprintf(comment, sizeof(comment), "%s", p->command);
		replace_controls(comment);
		put_number(&x->all, PROFILE_COMMENT, text(x, comment));
	}
	/* Last: the other parts make strings. */
	put_strings(x);
}

/* ---- gzip ------------------------------------------------------------------------------ */

static int write_gzip(FILE *f, const struct message *m, struct error *e)
{
	z_stream z = { .next_in = m->bytes };
	unsigned char buf[16384];
	size_t left = m->len;
	int ret;

	/* 16: a gzip header, and not zlib's */
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return fail_memory(e);
	do {
		if (!z.avail_in) {
			z.avail_in = left < (1U << 30) ? (unsigned int)left : 1U << 30;
			left -= z.avail_in;
		}
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		ret = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		output_write(f, buf, sizeof(buf) - z.avail_out);
	} while (ret == Z_OK);
	deflateEnd(&z);
	return ret == Z_STREAM_END ? 0 : fail_with(e, "cannot compress the profile");
}

int export_pprof(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	struct pprof x = {
		.p = p,
		.functions = { .size = sizeof(struct function), .key = sizeof(struct function) },
	};
	struct hash_table groups;
	int err;

	(void)o;
	if (isatty(fileno(f)))
		return fail_with(e, "a profile of pprof is no text: name a file for it (-o)");
	x.comm = text(&x, "thread");
	x.pid = text(&x, "pid");
	x.tid = text(&x, "tid");
	err = profile_group(p, &groups, false, e);
	if (!err) {
		put_all(&x, &groups);
		err = x.all.failed ? fail_memory(e) : write_gzip(f, &x.all, e);
	}
	hash_table_free(&groups);
	hash_table_free(&x.functions);
	free(x.all.bytes);
	free(x.part.bytes);
	free(x.inner.bytes);
	return err;
}
