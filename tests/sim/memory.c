// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of the simulated machine, where sanitizers look at it.  Each run begins with the same
 * memory, in the same process: a process of its own spends most of its time on faults of pages.
 *
 * objcopy has given the variables of the machine and the module sections of their own, and
 * replaced malloc() and others in their objects by those below.  So a reset restores some
 * sections, and forgets the arena.  Addresses are the same in each run, as hash tables
 * depend on them.  Memory that was freed is not used again before the next run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host.h"

#ifdef WITH_ASAN
void __asan_poison_memory_region(const volatile void *p, size_t size);
void __asan_unpoison_memory_region(const volatile void *p, size_t size);
#else
#define __asan_poison_memory_region(p, size)	((void)0)
#define __asan_unpoison_memory_region(p, size)	((void)0)
#endif

/* ---- the arena --------------------------------------------------------------- */

#if UINTPTR_MAX >> 31 >> 1
#define ARENA		((char *)0x500000000000)
#define ARENA_SIZE	(1UL << 30)
#define STACKS		((char *)0x510000000000)
#define STACKS_SIZE	(1UL << 34)
#else
#define ARENA		((char *)0x70000000)
#define ARENA_SIZE	(1UL << 29)
#define STACKS		((char *)0xa0000000)
#define STACKS_SIZE	(1UL << 30)
#endif
#define REDZONE		32UL
#define CHUNK		(1UL << 20)	/* is poisoned at once */
#define GARBAGE		0xbe		/* as the sanitizer's malloc() fills its blocks */

static char *arena = ARENA;		/* the first free byte */
static char *arena_poisoned = ARENA;	/* the end of what is poisoned */
static char *stacks = STACKS;
static void *free_stacks[4096];
static unsigned int nr_free_stacks;

/* Before each block. */
struct header { size_t size; uintptr_t is_block; };

void *host_aligned_alloc(size_t align, size_t size);
void *host_malloc(size_t size);
void *host_calloc(size_t n, size_t size);
void host_free(void *p);
void *host_mmap(void *p, size_t size, int prot, int flags, int fd, long offset);
int host_munmap(void *p, size_t size);

static void *get_block(size_t align, size_t size)
{
	char *p = arena + REDZONE;
	struct header *header;

	align = align < REDZONE ? REDZONE : align;
	p = (char *)(((uintptr_t)p + align - 1) / align * align);
	if (size > ARENA_SIZE || p + size > ARENA + ARENA_SIZE - CHUNK) {
		fprintf(stderr, "the machine needs too much memory\n");
		abort();
	}
	arena = p + (size + 7) / 8 * 8;
	for (; arena_poisoned < arena + REDZONE; arena_poisoned += CHUNK)
		__asan_poison_memory_region(arena_poisoned, CHUNK);
	header = (struct header *)p - 1;
	__asan_unpoison_memory_region(header, sizeof(*header));
	header->size = size;
	header->is_block = ~(uintptr_t)p;
	__asan_poison_memory_region(header, sizeof(*header));
	__asan_unpoison_memory_region(p, size);
	return p;
}

void *host_aligned_alloc(size_t align, size_t size)
{
	return memset(get_block(align, size), GARBAGE, size);
}

void *host_malloc(size_t size)
{
	return host_aligned_alloc(REDZONE, size);
}

void *host_calloc(size_t n, size_t size)
{
	return memset(get_block(REDZONE, n * size), 0, n * size);
}

void host_free(void *p)
{
	struct header *header = (struct header *)p - 1;
	size_t size;

	if (!p)
		return;
	if ((char *)p < ARENA + REDZONE || (char *)p > arena || (uintptr_t)p % REDZONE) {
		fprintf(stderr, "what is freed is no block of memory\n");
		abort();
	}
	__asan_unpoison_memory_region(header, sizeof(*header));
	if (header->is_block != ~(uintptr_t)p) {
		fprintf(stderr, "memory is freed twice, or is no block\n");
		abort();
	}
	header->is_block = 0;
	size = header->size;
#ifndef WITH_ASAN
	memset(p, 0x6b, size);
#endif
	__asan_poison_memory_region(header, sizeof(*header) + size);
}

/* Stacks of coroutines. */
void *host_mmap(void *p, size_t size, int prot, int flags, int fd, long offset)
{
	(void)p;
	(void)prot;
	(void)flags;
	(void)fd;
	(void)offset;
	if ((size_t)(STACKS + STACKS_SIZE - stacks) >= size) {
		stacks += size;
		return stacks - size;
	}
	return nr_free_stacks ? free_stacks[--nr_free_stacks] : MAP_FAILED;
}

/* A late access to the stack of a task that has been freed is found until no other one is left. */
int host_munmap(void *p, size_t size)
{
	__asan_poison_memory_region(p, size);
	(void)size;
	if (nr_free_stacks < sizeof(free_stacks) / sizeof(free_stacks[0]))
		free_stacks[nr_free_stacks++] = p;
	return 0;
}

static void map(char *at, size_t size)
{
	if (mmap(at, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != at) {
		perror("mmap");
		exit(2);
	}
}

/* ---- the reset ------------------------------------------------------------------- */

#define SECTION(name)	extern char __start_##name[] __attribute__((__weak__)),	\
				    __stop_##name[] __attribute__((__weak__))

SECTION(sim_data);
SECTION(sim_bss);
SECTION(sim_read_mostly);
SECTION(sim_in_code);
SECTION(sim_percpu);

static struct section {
	char *start, *stop, *saved;
} sections[] = {
	{ __start_sim_data, __stop_sim_data, NULL },
	{ __start_sim_bss, __stop_sim_bss, NULL },
	{ __start_sim_read_mostly, __stop_sim_read_mostly, NULL },
	{ __start_sim_in_code, __stop_sim_in_code, NULL },
	{ __start_sim_percpu, __stop_sim_percpu, NULL },
};

#define NR_SECTIONS	(sizeof(sections) / sizeof(sections[0]))

/* Not memcpy() and memcmp(): the sanitizer has marked the space between variables. */
static void copy_bytes(char *to, const char *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (size) : : "memory");
}

#define PAGE	4096UL

/* Without a branch in the loop, so that the compiler compares several words at once. */
static __attribute__((__no_sanitize__("address"), __no_sanitize__("undefined")))
int is_equal(const unsigned long *a, const unsigned long *b)
{
	unsigned long difference = 0;
	unsigned int i;

	for (i = 0; i < PAGE / sizeof(*a); i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

/* Store to no page that has not changed: the first store after a fork costs a fault. */
static void restore(char *to, const char *from, size_t size)
{
	size_t n;

	for (; size; to += n, from += n, size -= n) {
		n = PAGE - (uintptr_t)to % PAGE;
		n = size < n ? size : n;
		if (n < PAGE || !is_equal((unsigned long *)to, (const unsigned long *)from))
			copy_bytes(to, from, n);
	}
}

void host_reset(void)
{
	struct section *s;

	for (s = sections; s < sections + NR_SECTIONS; s++) {
		size_t size = s->stop - s->start;

		if (s->saved) {
			restore(s->start, s->saved, size);
			continue;
		}
		s->saved = malloc(size + 1);
		if (!s->saved)
			abort();
		copy_bytes(s->saved, s->start, size);
	}
	__asan_poison_memory_region(ARENA, arena - ARENA);
	__asan_unpoison_memory_region(STACKS, stacks - STACKS);
	arena = ARENA;
	stacks = STACKS;
	nr_free_stacks = 0;
}

/* choice.c: before each run, if there is one. */
extern void (*sim_reset)(void);

static __attribute__((__constructor__)) void init(void)
{
	map(ARENA, ARENA_SIZE);
	map(STACKS, STACKS_SIZE);
	sim_reset = host_reset;
}
