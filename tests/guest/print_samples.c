// SPDX-License-Identifier: GPL-2.0
/*
 * usage: print_samples FILE
 *
 * Print what perfex --sample has written, one record on a line, so that tests of the
 * recording do not depend on perfex --report:
 *
 *	command TEXT
 *	event COUNTER PERIOD NAME
 *	fork PID TID PARENT-PID PARENT-TID
 *	comm|exec PID TID TEXT
 *	exit PID TID
 *	mapping PID START END OFFSET INODE PATH
 *	sample PID TID OVERFLOW DROPPED IP CHAIN... [stack MODE REGISTERS BYTES]
 *	kernel START END NAME
 *	host CPUS ONLINE MACHINE RELEASE NAME
 *	end SAMPLES DROPPED LOST COUNT...
 *
 * Records are in the order of the file.  A record that breaks the format is an error.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/perfex/record/sample-file.h"

union data {
	struct record_event event;
	struct record_task task;
	struct record_fork fork;
	struct record_process process;
	struct record_mapping mapping;
	struct record_sample sample;
	struct record_clock clock;
	struct record_file file;
	struct record_kernel kernel;
	struct record_host host;
	struct record_end end;
	char bytes[MAX_RECORD];
};

static union data data;

/* Return: the text at the end of a record, whose size is a multiple of 8. */
static const char *text_at(const char *text, size_t size)
{
	const char *end = data.bytes + size;

	if (text >= end || !memchr(text, '\0', (size_t)(end - text)))
		errx(1, "a record's text does not end");
	return text;
}

static void print_user(const struct record_user *u, size_t size)
{
	if (!size)
		return;
	if (size < sizeof(*u) || size != sizeof(*u) + u->nrregs * sizeof(*u->regs) + u->stack_size)
		errx(1, "a stack of an impossible size");
	printf(" stack %" PRIu32 " %" PRIu32 " %" PRIu64, u->mode, u->nrregs, u->stack_size);
}

static void print_samples(size_t size)
{
	const struct record_sample *s;
	uint64_t i;
	size_t at;

	for (at = 0; at < size; at += s->size) {
		s = (const struct record_sample *)(data.bytes + at);
		if (size - at < sizeof(*s) || s->size > size - at ||
		    s->size < sizeof(*s) + s->nr * sizeof(s->chain[0]))
			errx(1, "a sample of an impossible size");
		printf("sample %" PRIu32 " %" PRIu32 " %" PRIx64 " %" PRIu64 " %" PRIx64, s->pid,
		       s->tid, s->overflow, s->dropped, s->ip);
		for (i = 0; i < s->nr; i++)
			printf(" %" PRIx64, s->chain[i]);
		print_user((const struct record_user *)&s->chain[i],
			   s->size - sizeof(*s) - s->nr * sizeof(s->chain[0]));
		putchar('\n');
	}
}

static void print_task(const char *name, size_t size)
{
	const struct record_task *t = &data.task;

	printf("%s %" PRIu32 " %" PRIu32, name, t->pid, t->tid);
	if (size > sizeof(*t))
		printf(" %s", text_at(data.bytes + sizeof(*t), size));
	putchar('\n');
}

static void print_mapping(size_t size)
{
	const struct record_mapping *m = &data.mapping;

	printf("mapping %" PRIu32 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 " %s\n", m->task.pid,
	       m->start, m->end, m->offset, m->inode, text_at(m->path, size));
}

static void print_file(size_t size)
{
	const struct record_file *file = &data.file;
	uint32_t i;

	printf("file %" PRIu64 " %" PRIu64 " ", file->inode, file->size);
	for (i = 0; i < file->build_id_size && i < sizeof(file->build_id); i++)
		printf("%02x", file->build_id[i]);
	printf(" %s\n", text_at(file->path, size));
}

static void print_end(void)
{
	uint64_t i;

	printf("end %" PRIu64 " %" PRIu64 " %" PRIu64, data.end.samples, data.end.dropped,
	       data.end.lost);
	for (i = 0; i < data.end.nr; i++)
		printf(" %" PRIu64, data.end.counts[i]);
	putchar('\n');
}

static void print_host(size_t size)
{
	size_t at = sizeof(data.host);
	unsigned int i;

	printf("host %" PRIu32 " %" PRIu32, data.host.cpus, data.host.online);
	for (i = 0; i < 3; i++) {
		const char *name = text_at(data.bytes + at, size);

		printf(" %s", name);
		at += strlen(name) + 1;
	}
	putchar('\n');
}

static void print_record(uint32_t type, size_t size)
{
	switch (type) {
	case RECORD_COMMAND:
		printf("command %s\n", text_at(data.bytes, size));
		break;
	case RECORD_EVENT:
		printf("event %" PRIu32 " %" PRIu64 " %s\n", data.event.counter, data.event.period,
		       text_at(data.event.name, size));
		break;
	case RECORD_FORK:
		printf("fork %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
		       data.fork.child.pid, data.fork.child.tid, data.fork.parent_pid,
		       data.fork.parent_tid);
		break;
	case RECORD_COMM:
		print_task("comm", size);
		break;
	case RECORD_EXEC:
		print_task("exec", size);
		break;
	case RECORD_EXIT:
		print_task("exit", size);
		break;
	case RECORD_MAPPING:
		print_mapping(size);
		break;
	case RECORD_SAMPLES:
		print_samples(size);
		break;
	case RECORD_CLOCK:
		printf("clock %" PRIu64 " %" PRIu64 "\n", data.clock.tsc, data.clock.monotonic);
		break;
	case RECORD_FILE:
		print_file(size);
		break;
	case RECORD_PROCESS:
		printf("process %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", data.process.task.pid,
		       data.process.inner_pid, data.process.uid);
		break;
	case RECORD_KERNEL:
		printf("kernel %" PRIx64 " %" PRIx64 " %s\n", data.kernel.start, data.kernel.end,
		       text_at(data.kernel.name, size));
		break;
	case RECORD_HOST:
		print_host(size);
		break;
	case RECORD_END:
		print_end();
		break;
	default:
		errx(1, "a record of type %" PRIu32, type);
	}
}

int main(int argc, char **argv)
{
	struct samples_header header;
	struct record r;
	FILE *f;

	if (argc != 2)
		errx(2, "usage: print_samples FILE");
	f = fopen(argv[1], "r");
	if (!f)
		err(1, "%s", argv[1]);
	if (fread(&header, sizeof(header), 1, f) != 1 ||
	    memcmp(header.magic, SAMPLES_MAGIC, sizeof(header.magic)) ||
	    header.version != SAMPLES_VERSION || header.size != sizeof(header))
		errx(1, "not a file of samples");
	while (fread(&r, sizeof(r), 1, f) == 1) {
		if (r.size < sizeof(r) || r.size % 8 || r.size > MAX_RECORD ||
		    fread(&data, 1, r.size - sizeof(r), f) != r.size - sizeof(r))
			errx(1, "a record of %" PRIu32 " bytes", r.size);
		print_record(r.type, r.size - sizeof(r));
	}
	fclose(f);
	return 0;
}
