// SPDX-License-Identifier: GPL-2.0
/* Move samples and records from the module's ring into the file. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "recording.h"

/* Bytes of samples in one record, and slots that are freed at once. */
#define BUFFER_SIZE	65536
#define MAX_AT_ONCE	4096

/* Seconds. */
#define CLOCK_INTERVAL	1

int recording_init(struct recording *rec, FILE *out, struct error *e)
{
	memset(rec, 0, sizeof(*rec));
	rec->out = out;
	rec->narrow_kernel = kernel_has_32_bits();
	rec->buf = malloc(BUFFER_SIZE);
	return rec->buf ? 0 : fail_with(e, "out of memory");
}

void recording_free(struct recording *rec)
{
	forget_processes(rec);
	forget_files(rec);
	hash_table_free(&rec->kernel);
	free(rec->buf);
}

static void flush_samples(struct recording *rec)
{
	if (rec->used)
		write_record(rec, RECORD_SAMPLES, rec->buf, rec->used, NULL);
	rec->used = 0;
}

static void put(struct recording *rec, const void *data, size_t len)
{
	memcpy(rec->buf + rec->used, data, len);
	rec->used += len;
}

/* The addresses at which the kernel is: itself, and the calls before those to which it returns. */
static void note_sample(struct recording *rec, const struct vperfctr_sample *sample,
			const uint64_t *calls, uint64_t nr)
{
	uint64_t i;

	if (!(sample->flags & VPERFCTR_SAMPLE_KERNEL))
		return;
	note_kernel(rec, kernel_address(rec, sample->ip));
	for (i = 0; i < nr; i++)
		note_kernel(rec, kernel_address(rec, calls[i]) - 1);
}

static void put_kernel_chain(struct recording *rec, const uint64_t *chain, uint64_t nr)
{
	uint64_t address, i;

	for (i = 0; i < nr; i++) {
		address = kernel_address(rec, chain[i]);
		put(rec, &address, sizeof(address));
	}
}

static void add_sample(struct recording *rec, const struct vperfctr *v,
		       const struct vperfctr_sample *sample)
{
	struct record_sample r = {
		.flags = sample->flags, .pid = sample->pid, .tid = sample->tid,
		.cpu = sample->cpu, .ip = sample->ip, .tsc = sample->tsc,
		.overflow = sample->type == VPERFCTR_SAMPLE_CLOCK ? 1 : sample->overflow,
		.dropped = sample->dropped,
	};
	struct vperfctr_user user;
	struct record_user u;
	const uint64_t *chain, *kernel;
	uint64_t nr, nrkernel;

	if (sample->flags & VPERFCTR_SAMPLE_KERNEL)
		r.ip = kernel_address(rec, r.ip);
	kernel = vperfctr_ring_kernel_chain(v, sample, &nrkernel);
	chain = vperfctr_ring_chain(v, sample, &nr);
	vperfctr_ring_user(v, sample, &user);
	u = (struct record_user){ user.mode, user.nrregs, user.stack_size };
	if (nrkernel > MAX_CHAIN)
		nrkernel = MAX_CHAIN;
	if (nr > MAX_CHAIN - nrkernel)
		nr = MAX_CHAIN - nrkernel;
	r.nr = (uint32_t)(nrkernel + nr);
	r.size = (uint32_t)(sizeof(r) + r.nr * sizeof(*chain));
	if (user.mode != VPERFCTR_USER_NONE)
		r.size += (uint32_t)(sizeof(u) + u.nrregs * sizeof(*u.regs) + u.stack_size);
	if (rec->used + r.size > BUFFER_SIZE)
		flush_samples(rec);
	put(rec, &r, sizeof(r));
	put_kernel_chain(rec, kernel, nrkernel);
	put(rec, chain, nr * sizeof(*chain));
	if (user.mode != VPERFCTR_USER_NONE) {
		put(rec, &u, sizeof(u));
		put(rec, user.regs, u.nrregs * sizeof(*u.regs));
		put(rec, user.stack, u.stack_size);
	}
	rec->nrsamples++;
	note_sample(rec, sample, kernel, nrkernel);
	process_has_sample(rec, r.pid, r.tsc);
}

static void write_mapping(struct recording *rec, const struct vperfctr_record *from)
{
	struct record_mapping r = {
		.task = { from->pid, from->tid, from->tsc },
		.start = from->start, .end = from->end, .offset = from->offset,
		.major = from->major, .minor = from->minor, .inode = from->inode,
	};

	write_file(rec, &r, vperfctr_record_text(from));
	write_record(rec, RECORD_MAPPING, &r, sizeof(r), vperfctr_record_text(from));
}

static void write_ring_record(struct recording *rec, const struct vperfctr_record *from)
{
	const struct record_fork r = {
		{ from->pid, from->tid, from->tsc }, from->parent_pid, from->parent_tid,
	};

	switch (from->type) {
	case VPERFCTR_RECORD_FORK:
		write_record(rec, RECORD_FORK, &r, sizeof(r), NULL);
		break;
	case VPERFCTR_RECORD_EXIT:
		write_record(rec, RECORD_EXIT, &r.child, sizeof(r.child), NULL);
		break;
	case VPERFCTR_RECORD_EXEC:
		write_record(rec, RECORD_EXEC, &r.child, sizeof(r.child),
			     vperfctr_record_text(from));
		note_executed(rec, &r.child);
		break;
	case VPERFCTR_RECORD_COMM:
		write_record(rec, RECORD_COMM, &r.child, sizeof(r.child),
			     vperfctr_record_text(from));
		break;
	case VPERFCTR_RECORD_MAP:
		write_mapping(rec, from);
		break;
	default:
		/* of a later kernel */
		break;
	}
}

/* Return: how many slots the sample or the record has; 0: it is not complete yet. */
static unsigned int move_slot(struct recording *rec, const struct vperfctr *v, uint64_t i)
{
	union {
		struct vperfctr_record record;
		char room[VPERFCTR_RECORD_MAX];
	} r;
	const struct vperfctr_sample *sample = vperfctr_ring_sample(v, i);
	int n;

	if (is_sample(sample)) {
		add_sample(rec, v, sample);
		return 1;
	}
	n = vperfctr_ring_record(v, i, &r.record, sizeof(r));
	if (n > 0)
		write_ring_record(rec, &r.record);
	return n < 0 ? 1 : (unsigned int)n;
}

static int move_samples(struct recording *rec, struct vperfctr *v, uint64_t nr, struct error *e)
{
	unsigned int slots = 1;
	uint64_t i;
	int err;

	for (; nr && slots; nr -= i < nr ? i : nr) {
		for (i = 0; i < nr && i < MAX_AT_ONCE && slots; i += slots)
			slots = move_slot(rec, v, i);
		err = vperfctr_ring_consume(v, i);
		if (err)
			return fail_with(e, "cannot read samples: %s", strerror(-err));
	}
	flush_samples(rec);
	return 0;
}

void end_of_drain(struct recording *rec)
{
	/* The clocks may be adjusted to each other. */
	if (seconds_since(&rec->clock) >= CLOCK_INTERVAL)
		write_clock(rec);
	/* If perfex is killed, the file has all until now.  Errors are found at the end. */
	fflush(rec->out);
}

int drain_ring(struct recording *rec, struct vperfctr *v, struct error *e)
{
	uint64_t nr = vperfctr_ring_nr(v);

	/* After the number of samples is known, so that their mappings are found. */
	if (rec->from_proc && look_at_processes(rec, v, nr, e))
		return -1;
	if (move_samples(rec, v, nr, e))
		return -1;
	end_of_drain(rec);
	return 0;
}

/* Milliseconds.  The kernel's worker needs them only where the machine is very busy. */
#define LAST_RECORDS	20000

int drain_last(struct recording *rec, struct vperfctr *v, struct error *e)
{
	const struct timespec wait = { .tv_sec = LAST_RECORDS / 1000 };
	struct pollfd p = { .fd = vperfctr_fd(v), .events = POLLIN };
	int n = 1;

	/* Records that the kernel has not written yet keep it from hanging up. */
	do {
		if (drain_ring(rec, v, e))
			return -1;
		if (!rec->from_proc)
			n = ppoll(&p, 1, &wait, NULL);
	} while (!rec->from_proc && (n > 0 || (n < 0 && errno == EINTR)) && !(p.revents & POLLHUP));
	if (drain_ring(rec, v, e))
		return -1;
	if (n <= 0)
		return fail_with(e, "the kernel did not write its last records of tasks and mappings: the file is not complete");
	rec->dropped += vperfctr_ring_dropped(v);
	rec->lost += vperfctr_ring_lost(v);
	return 0;
}
