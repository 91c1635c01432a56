/* SPDX-License-Identifier: GPL-2.0 */
/* Write files of perfex --sample, right ones and wrong ones. */
#ifndef SAMPLE_BUILDER_H
#define SAMPLE_BUILDER_H

#include <stdio.h>
#include <string.h>

#include "sample-file.h"

static FILE *built;

static inline void put_record(uint32_t type, const void *data, size_t size, const char *text)
{
	static const char zeros[8];
	size_t more = text ? strlen(text) + 1 : 0, pad = -(size + more) & 7;
	struct record r = { type, (uint32_t)(sizeof(r) + size + more + pad) };

	fwrite(&r, sizeof(r), 1, built);
	if (size)
		fwrite(data, 1, size, built);
	if (more)
		fwrite(text, 1, more, built);
	fwrite(zeros, 1, pad, built);
}

static inline void put_header(const char *file, uint32_t flags)
{
	struct samples_header h = {
		.magic = SAMPLES_MAGIC, .version = SAMPLES_VERSION, .size = sizeof(h),
		.tsc_khz = 1000000, .flags = flags, .cpu_name = "a processor",
	};

	built = fopen(file, "w");
	fwrite(&h, sizeof(h), 1, built);
}

/* The header has been put: its rate is this. */
static inline void put_rate(uint32_t rate)
{
	fseek(built, offsetof(struct samples_header, rate), SEEK_SET);
	fwrite(&rate, sizeof(rate), 1, built);
	fseek(built, 0, SEEK_END);
}

static inline void put_event(uint32_t counter, uint64_t period, const char *name)
{
	struct record_event r = { .counter = counter, .period = period };

	put_record(RECORD_EVENT, &r, sizeof(r), name);
}

/* name: NULL for a RECORD_EXIT */
static inline void put_task(uint32_t type, uint32_t pid, uint32_t tid, uint64_t tsc,
			    const char *name)
{
	struct record_task r = { pid, tid, tsc };

	put_record(type, &r, sizeof(r), name);
}

static inline void put_fork(uint32_t pid, uint32_t tid, uint64_t tsc, uint32_t parent_pid,
			    uint32_t parent_tid)
{
	struct record_fork r = { { pid, tid, tsc }, parent_pid, parent_tid };

	put_record(RECORD_FORK, &r, sizeof(r), NULL);
}

static inline void put_mapping(uint32_t pid, uint64_t tsc, uint64_t start, uint64_t end,
			       uint64_t offset, const char *path)
{
	struct record_mapping r = {
		.task = { pid, pid, tsc }, .start = start, .end = end, .offset = offset,
	};

	put_record(RECORD_MAPPING, &r, sizeof(r), path);
}

/* The chain's addresses follow `nr`. */
static inline void put_chain(uint32_t pid, uint32_t tid, uint64_t tsc, uint64_t overflow,
			     uint64_t ip, uint32_t nr, const uint64_t *chain)
{
	struct {
		struct record_sample r;
		uint64_t chain[MAX_CHAIN];
	} s = {
		.r = {
			.size = (uint32_t)(sizeof(struct record_sample) + nr * sizeof(*chain)),
			.flags = ip >> 63 ? 2 : 1, .pid = pid, .tid = tid, .cpu = tid & 3, .nr = nr,
			.ip = ip, .tsc = tsc, .overflow = overflow,
		},
	};

	if (nr)
		memcpy(s.chain, chain, nr * sizeof(*chain));
	put_record(RECORD_SAMPLES, &s, s.r.size, NULL);
}

static inline void put_sample(uint32_t pid, uint32_t tid, uint64_t tsc, uint64_t ip)
{
	put_chain(pid, tid, tsc, 1, ip, 0, NULL);
}

/* A sample that also stands for `dropped` overflows before it. */
static inline void put_heavy_sample(uint32_t pid, uint64_t tsc, uint64_t ip, uint64_t dropped)
{
	struct record_sample r = {
		.size = sizeof(r), .flags = 1, .pid = pid, .tid = pid, .ip = ip, .tsc = tsc,
		.overflow = 1, .dropped = dropped,
	};

	put_record(RECORD_SAMPLES, &r, sizeof(r), NULL);
}

static inline void put_kernel(uint64_t start, uint64_t end, const char *name)
{
	struct record_kernel r = { start, end };

	put_record(RECORD_KERNEL, &r, sizeof(r), name);
}

/* A sample with calls in the kernel, registers and a stack. */
static inline void put_calls_and_user(uint32_t pid, uint64_t tsc, uint64_t ip, uint32_t nr,
				      const uint64_t *chain, uint32_t mode, uint32_t nrregs,
				      const uint64_t *regs, const void *stack, size_t size)
{
	static char data[65536];
	const struct record_user u = { mode, nrregs, size };
	struct record_sample r = {
		.flags = ip >> 63 ? 2 : 1, .pid = pid, .tid = pid, .ip = ip, .tsc = tsc,
		.overflow = 1, .nr = nr,
		.size = (uint32_t)(sizeof(r) + sizeof(u) + (nr + nrregs) * sizeof(*regs) + size),
	};
	char *to = data;

	to = (char *)memcpy(to, &r, sizeof(r)) + sizeof(r);
	if (nr)
		to = (char *)memcpy(to, chain, nr * sizeof(*chain)) + nr * sizeof(*chain);
	to = (char *)memcpy(to, &u, sizeof(u)) + sizeof(u);
	to = (char *)memcpy(to, regs, nrregs * sizeof(*regs)) + nrregs * sizeof(*regs);
	memcpy(to, stack, size);
	put_record(RECORD_SAMPLES, data, r.size, NULL);
}

static inline void put_user(uint32_t pid, uint64_t tsc, uint64_t ip, uint32_t mode,
			    uint32_t nrregs, const uint64_t *regs, const void *stack, size_t size)
{
	put_calls_and_user(pid, tsc, ip, 0, NULL, mode, nrregs, regs, stack, size);
}

static inline void put_end(uint64_t nr, const uint64_t *counts)
{
	struct {
		struct record_end r;
		uint64_t counts[64];
	} end = { .r = { .tsc = 2000000000, .elapsed = 1000000000, .nr = nr } };

	memcpy(end.counts, counts, nr * sizeof(*counts));
	put_record(RECORD_END, &end, sizeof(end.r) + nr * sizeof(*counts), NULL);
}

static inline void put_close(void)
{
	fclose(built);
}

#endif /* SAMPLE_BUILDER_H */
