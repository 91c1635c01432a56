// SPDX-License-Identifier: GPL-2.0
/*
 * The surroundings of the simulated machine when it is fuzzed.  Each run begins with the same
 * memory, in the same process.
 *
 * objcopy has given the variables of the machine and the module sections of their own, and
 * replaced malloc() and others in their objects by those below.  So a reset restores two
 * sections, and forgets the arena.  Addresses are the same in each run, as hash tables
 * depend on them.  Memory that was freed is not used again before the next run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN	1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN	1
#endif
#endif

#ifdef WITH_ASAN
void __asan_poison_memory_region(const volatile void *p, size_t size);
void __asan_unpoison_memory_region(const volatile void *p, size_t size);
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	/* The arena is no heap; nothing of the machine can leak from it. */
	return "detect_leaks=0:abort_on_error=1";
}
#else
#define __asan_poison_memory_region(p, size)	((void)0)
#define __asan_unpoison_memory_region(p, size)	((void)0)
#endif

uint64_t fuzz_calls, fuzz_executions;
int fuzz_verbose;
uint8_t fuzz_sink[FUZZ_SINK];

/* ---- memory of the machine --------------------------------------------------- */

#if UINTPTR_MAX >> 31 >> 1
#define ARENA		((char *)0x500000000000)
#define ARENA_SIZE	(1UL << 30)
#define STACKS		((char *)0x510000000000)
#else
#define ARENA		((char *)0x70000000)
#define ARENA_SIZE	(1UL << 29)
#define STACKS		((char *)0xa0000000)
#endif
#define STACKS_SIZE	(1UL << 30)
#define REDZONE		32UL

static char *arena, *arena_poisoned;	/* the first free byte; the end of what is poisoned */
static char *stacks;
static void *free_stacks[4096];
static unsigned int nr_free_stacks;

void *fuzz_aligned_alloc(size_t align, size_t size);
void *fuzz_malloc(size_t size);
void *fuzz_calloc(size_t n, size_t size);
void fuzz_free(void *p);
void *fuzz_mmap(void *p, size_t size, int prot, int flags, int fd, long offset);
int fuzz_munmap(void *p, size_t size);
void fuzz_exit(int status);

/* The size lies before the block. */
void *fuzz_aligned_alloc(size_t align, size_t size)
{
	char *p = arena + REDZONE;

	align = align < REDZONE ? REDZONE : align;
	p = (char *)(((uintptr_t)p + align - 1) / align * align);
	arena = p + (size + 7) / 8 * 8;
	if (arena > ARENA + ARENA_SIZE) {
		fprintf(stderr, "the program needs too much memory\n");
		abort();
	}
	__asan_unpoison_memory_region(p - sizeof(size_t), sizeof(size_t));
	((size_t *)p)[-1] = size;
	__asan_poison_memory_region(p - sizeof(size_t), sizeof(size_t));
	__asan_unpoison_memory_region(p, size);
	return p;
}

void *fuzz_malloc(size_t size)
{
	return fuzz_aligned_alloc(REDZONE, size);
}

void *fuzz_calloc(size_t n, size_t size)
{
	void *p = fuzz_malloc(n * size);

	return memset(p, 0, n * size);
}

void fuzz_free(void *p)
{
	size_t size;

	if (!p)
		return;
	__asan_unpoison_memory_region((char *)p - sizeof(size_t), sizeof(size_t));
	size = ((size_t *)p)[-1];
	if (size > ARENA_SIZE) {
		fprintf(stderr, "memory is freed twice\n");
		abort();
	}
	((size_t *)p)[-1] = ~0UL;
#ifndef WITH_ASAN
	memset(p, 0x6b, size);
#endif
	__asan_poison_memory_region((char *)p - sizeof(size_t), sizeof(size_t) + size);
}

/* Stacks of coroutines. */
void *fuzz_mmap(void *p, size_t size, int prot, int flags, int fd, long offset)
{
	(void)p;
	(void)prot;
	(void)flags;
	(void)fd;
	(void)offset;
	if (nr_free_stacks)
		return free_stacks[--nr_free_stacks];
	stacks += size;
	return stacks > STACKS + STACKS_SIZE ? MAP_FAILED : stacks - size;
}

int fuzz_munmap(void *p, size_t size)
{
	(void)size;
	if (nr_free_stacks < sizeof(free_stacks) / sizeof(free_stacks[0]))
		free_stacks[nr_free_stacks++] = p;
	return 0;
}

/* The machine has failed, and said why. */
void fuzz_exit(int status)
{
	(void)status;
	fflush(stdout);
	fprintf(stderr, "%llu calls of %llu programs\n", (unsigned long long)fuzz_calls,
		(unsigned long long)fuzz_executions);
	abort();
}

/* ---- the reset ------------------------------------------------------------------- */

extern char __start_sim_data[], __stop_sim_data[], __start_sim_bss[], __stop_sim_bss[];
static char *saved;

/* Not memcpy() and memset(): the sanitizer has marked the space between variables. */
static void copy_bytes(char *to, const char *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (size) : : "memory");
}

static void zero_bytes(char *to, size_t size)
{
	__asm__ volatile("rep stosb" : "+D" (to), "+c" (size) : "a" (0) : "memory");
}

static void map(char *at, size_t size)
{
	if (mmap(at, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != at) {
		perror("mmap");
		exit(2);
	}
}

static void reset(void)
{
	size_t size = __stop_sim_data - __start_sim_data;

	if (!saved) {
		saved = malloc(size);
		copy_bytes(saved, __start_sim_data, size);
		map(ARENA, ARENA_SIZE);
		map(STACKS, STACKS_SIZE);
		arena_poisoned = ARENA;
		arena = ARENA;
		__asan_poison_memory_region(ARENA, ARENA_SIZE);
	} else {
		copy_bytes(__start_sim_data, saved, size);
		zero_bytes(__start_sim_bss, __stop_sim_bss - __start_sim_bss);
	}
	__asan_poison_memory_region(ARENA, arena - ARENA);
	arena = ARENA;
	stacks = STACKS;
	nr_free_stacks = 0;
}

void fuzz_input(const uint8_t *data, size_t size)
{
	if (size < FUZZ_BEGIN)
		return;
	reset();
	fuzz_executions++;
	fuzz_run(data, size);
}

/* ---- mutations ------------------------------------------------------------------------ */

static uint32_t rng;

static uint32_t random_below(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return ((uint64_t)rng * n) >> 32;
}

static void change_byte(uint8_t *p)
{
	switch (random_below(4)) {
	case 0:
		*p = random_below(256);
		break;
	case 1:
		*p ^= 1U << random_below(8);
		break;
	case 2:
		*p += random_below(2) ? 1 : -1;
		break;
	default:
		*p = random_below(8);
		break;
	}
}

/* Actions stay whole: they are added, removed, copied and moved. */
static size_t mutate_once(uint8_t *data, size_t size, size_t max)
{
	size_t nr = (size - FUZZ_BEGIN) / FUZZ_ACTION, i, k, n;
	uint8_t *actions = data + FUZZ_BEGIN, tmp[FUZZ_ACTION];

	i = nr ? random_below(nr) : 0;
	k = nr ? random_below(nr) : 0;
	n = nr ? 1 + random_below(nr - i < 8 ? nr - i : 8) : 0;
	switch (random_below(12)) {
	case 0:
		change_byte(&data[random_below(FUZZ_HEADER)]);
		break;
	case 1:
		change_byte(&data[FUZZ_HEADER + random_below(FUZZ_SCHEDULE)]);
		break;
	case 2:		/* remove some */
		memmove(actions + i * FUZZ_ACTION, actions + (i + n) * FUZZ_ACTION,
			(nr - i - n) * FUZZ_ACTION);
		size -= n * FUZZ_ACTION;
		break;
	case 3: case 4:	/* a new one */
		if (size + FUZZ_ACTION > max)
			break;
		memmove(actions + (i + 1) * FUZZ_ACTION, actions + i * FUZZ_ACTION, (nr - i) * FUZZ_ACTION);
		for (n = 0; n < FUZZ_ACTION; n++)
			actions[i * FUZZ_ACTION + n] = n < 2 || !random_below(3) ? random_below(256) :
							  random_below(4);
		size += FUZZ_ACTION;
		break;
	case 5:		/* copies */
		if (size + n * FUZZ_ACTION > max)
			break;
		memmove(actions + (i + n) * FUZZ_ACTION, actions + i * FUZZ_ACTION, (nr - i) * FUZZ_ACTION);
		size += n * FUZZ_ACTION;
		break;
	case 6:		/* swap */
		if (!nr)
			break;
		memcpy(tmp, actions + i * FUZZ_ACTION, FUZZ_ACTION);
		memcpy(actions + i * FUZZ_ACTION, actions + k * FUZZ_ACTION, FUZZ_ACTION);
		memcpy(actions + k * FUZZ_ACTION, tmp, FUZZ_ACTION);
		break;
	default:
		if (nr)
			change_byte(&actions[i * FUZZ_ACTION + random_below(FUZZ_ACTION)]);
		break;
	}
	return size;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int n;

	rng = seed * 0x9e3779b1U ?: 1;
	max = max < FUZZ_MAX ? max : FUZZ_MAX;
	if (max < FUZZ_BEGIN)
		return size;
	if (size < FUZZ_BEGIN) {
		memset(data + size, 0, FUZZ_BEGIN - size);
		size = FUZZ_BEGIN;
	}
	if (size > max)
		size = max;
	for (n = 1 + random_below(random_below(4) ? 3 : 12); n; n--)
		size = mutate_once(data, size, max);
	return size;
}

/* The header of one, and actions of both. */
size_t fuzz_cross(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *to, size_t max,
		  unsigned int seed)
{
	size_t from, n;

	max = max < FUZZ_MAX ? max : FUZZ_MAX;
	if (na < FUZZ_BEGIN || nb < FUZZ_BEGIN || na > max)
		return 0;
	rng = seed * 0x9e3779b1U ?: 1;
	memcpy(to, a, na);
	na = FUZZ_BEGIN + random_below((na - FUZZ_BEGIN) / FUZZ_ACTION + 1) * FUZZ_ACTION;
	from = FUZZ_BEGIN + random_below((nb - FUZZ_BEGIN) / FUZZ_ACTION + 1) * FUZZ_ACTION;
	n = nb - from;
	if (na + n > max)
		n = max - na;
	memcpy(to + na, b + from, n);
	return na + n;
}
