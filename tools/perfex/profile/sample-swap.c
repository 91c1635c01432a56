// SPDX-License-Identifier: GPL-2.0
/*
 * Files of perfex --sample from a machine with another byte order: reverse the bytes of numbers.
 *
 * The file may come from an attacker.  Nothing here depends on whether a record makes sense; the
 * reader decides that afterwards.
 */
#include <string.h>

#include <linux/vperfctr.h>

#include "perfex.h"
#include "sample-swap.h"

/* The sizes of a record's numbers, in bytes, from its beginning; text may follow. */
static const char *const numbers[] = {
	[RECORD_EVENT]   = "4488",
	[RECORD_MAPPING] = "448888448",
	[RECORD_COMM]    = "448",
	[RECORD_EXEC]    = "448",
	[RECORD_FORK]    = "44844",
	[RECORD_EXIT]    = "448",
	[RECORD_CLOCK]   = "88",
	[RECORD_FILE]    = "448888884",
	[RECORD_KERNEL]  = "88",
	[RECORD_PROCESS] = "44844",
	[RECORD_HOST]    = "44",
};

static const char *const numbers_v1[] = {
	[RECORD_MAPPING_V1] = "888",
};

#define SAMPLE_NUMBERS		"4444448888"
#define SAMPLE_NUMBERS_V1	"8844"
#define USER_NUMBERS		"448"

static void reverse(char *number, size_t size)
{
	size_t i;

	for (i = 0; i < size / 2; i++) {
		char c = number[i];

		number[i] = number[size - 1 - i];
		number[size - 1 - i] = c;
	}
}

/* Reverse numbers of these sizes, as many as len has room for.  Return: the number of their bytes. */
static size_t swap_numbers(const char *sizes, char *data, size_t len)
{
	size_t at = 0, size;

	for (; *sizes; sizes++, at += size) {
		size = (size_t)(*sizes - '0');
		if (size > len - at)
			break;
		reverse(data + at, size);
	}
	return at;
}

/* Reverse numbers of one size, as many as len has room for. */
static void swap_all(char *data, size_t len, size_t size)
{
	size_t at;

	for (at = 0; len - at >= size; at += size)
		reverse(data + at, size);
}

/* Reverse the registers and the words of the stack.  The unwinder reads only whole words. */
static void swap_user(char *data, size_t len)
{
	struct record_user u;
	size_t at = swap_numbers(USER_NUMBERS, data, len), regs;

	if (at < sizeof(u))
		return;
	memcpy(&u, data, sizeof(u));
	regs = u.nrregs < (len - at) / sizeof(uint64_t) ? u.nrregs * sizeof(uint64_t) : len - at;
	swap_all(data + at, regs, sizeof(uint64_t));
	at += regs;
	swap_all(data + at, len - at,
		 u.mode == VPERFCTR_USER_32 ? sizeof(uint32_t) : sizeof(uint64_t));
}

static void swap_samples(bool stacks, char *data, size_t len)
{
	struct record_sample r;
	size_t at = 0, chain;

	while (swap_numbers(SAMPLE_NUMBERS, data + at, len - at) == sizeof(r)) {
		memcpy(&r, data + at, sizeof(r));
		/* read_samples() refuses such a record. */
		if (r.size < sizeof(r) || r.size > len - at)
			break;
		chain = (r.size - sizeof(r)) / sizeof(uint64_t);
		if (r.nr < chain)
			chain = r.nr;
		chain *= sizeof(uint64_t);
		swap_all(data + at + sizeof(r), chain, sizeof(uint64_t));
		if (stacks)
			swap_user(data + at + sizeof(r) + chain, r.size - sizeof(r) - chain);
		at += r.size;
	}
}

static void swap_samples_v1(char *data, size_t len)
{
	size_t at, size;

	for (at = 0; at < len; at += size) {
		size = swap_numbers(SAMPLE_NUMBERS_V1, data + at, len - at);
		if (!size)
			break;
	}
}

void swap_header(void *header, size_t size, uint32_t version)
{
	/* from the version on */
	swap_numbers(version == SAMPLES_VERSION_1 ? "44884444" : "444444",
		     (char *)header + offsetof(struct samples_header, version),
		     size - offsetof(struct samples_header, version));
}

void swap_record_head(struct record *r)
{
	r->type = __builtin_bswap32(r->type);
	r->size = __builtin_bswap32(r->size);
}

void swap_record(uint32_t version, uint32_t type, bool stacks, char *data, size_t len)
{
	bool v1 = version == SAMPLES_VERSION_1;
	const char *sizes = NULL;

	/* RECORD_END has nothing but 64-bit numbers, in both versions. */
	if (type == RECORD_END)
		swap_all(data, len, sizeof(uint64_t));
	else if (v1 && type == RECORD_SAMPLES_V1)
		swap_samples_v1(data, len);
	else if (v1)
		sizes = type < ARRAY_SIZE(numbers_v1) ? numbers_v1[type] : NULL;
	else if (type == RECORD_SAMPLES)
		swap_samples(stacks, data, len);
	else
		sizes = type < ARRAY_SIZE(numbers) ? numbers[type] : NULL;
	if (sizes)
		swap_numbers(sizes, data, len);
}
