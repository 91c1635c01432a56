// SPDX-License-Identifier: GPL-2.0
/*
 * Runs in one process.  When one begins, or at a choice that is explored, the memory of the machine
 * is saved, and a run that has ended restores it, to go on with the next run or with another
 * possibility.  This is three times as fast as a fork, most of whose time is spent on faults
 * of pages.
 *
 * objcopy has given the variables of the machine and of the module sections of their own, and
 * replaced malloc() and others in their objects by those below.  So the memory of the
 * machine is two sections, the arena, and the stacks.  All of this has the same addresses in
 * each run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim.h"

/* ---- memory of the machine --------------------------------------------------- */

#define ARENA		((struct arena *)0x500000000000)
#define ARENA_SIZE	(1UL << 30)
#define UNIT		64UL
#define NR_SIZES	1024

#define STACKS		((char *)0x510000000000)
#define STACKS_SIZE	(1UL << 32)

/* Free blocks are lists, one for each number of units. */
struct arena {
	char *end, *stacks;
	void *free[NR_SIZES];
};

#define HEADER		UNIT		/* before each block: its units */

void *sim_arena_aligned_alloc(size_t align, size_t size);
void *sim_arena_malloc(size_t size);
void *sim_arena_calloc(size_t n, size_t size);
void sim_arena_free(void *p);
void *sim_arena_mmap(void *p, size_t size, int prot, int flags, int fd, long offset);

static void map(void *p, size_t size)
{
	if (mmap(p, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != p) {
		perror("mmap");
		exit(2);
	}
}

static void map_arena(void)
{
	map(ARENA, ARENA_SIZE);
	map(STACKS, STACKS_SIZE);
	ARENA->end = (char *)(ARENA + 1);
	ARENA->stacks = STACKS;
}

void *sim_arena_aligned_alloc(size_t align, size_t size)
{
	size_t units = DIV_ROUND_UP(size, UNIT) ?: 1;
	unsigned long p;

	if (align <= UNIT && units < NR_SIZES && ARENA->free[units]) {
		p = (unsigned long)ARENA->free[units];
		ARENA->free[units] = *(void **)p;
		return (void *)p;
	}
	align = max(align, UNIT);
	p = ((unsigned long)ARENA->end + HEADER + align - 1) / align * align;
	ARENA->end = (char *)p + units * UNIT;
	sim_require(ARENA->end <= (char *)ARENA + ARENA_SIZE, "the machine needs too much memory");
	*(size_t *)(p - HEADER) = units;
	return (void *)p;
}

void *sim_arena_malloc(size_t size)
{
	return sim_arena_aligned_alloc(UNIT, size);
}

void *sim_arena_calloc(size_t n, size_t size)
{
	return memset(sim_arena_malloc(n * size), 0, n * size);
}

void sim_arena_free(void *p)
{
	size_t units;

	if (!p)
		return;
	units = *(size_t *)((char *)p - HEADER);
	if (units >= NR_SIZES)
		return;
	*(void **)p = ARENA->free[units];
	ARENA->free[units] = p;
}

/* Stacks. */
void *sim_arena_mmap(void *p, size_t size, int prot, int flags, int fd, long offset)
{
	p = ARENA->stacks;
	ARENA->stacks += size;
	(void)prot;
	(void)flags;
	(void)fd;
	(void)offset;
	return ARENA->stacks <= STACKS + STACKS_SIZE ? p : MAP_FAILED;
}

/* ---- saving and restoring it ------------------------------------------------- */

struct piece { void *p; size_t size; };

#define MAX_PIECES	1024
#define MAX_FRAMES	8
#define COPY_SIZE	(1UL << 28)

/* A choice that has possibilities left. */
static struct frame {
	struct sim_explorer explorer;
	void *sp;
	unsigned int n, next;
	struct piece pieces[MAX_PIECES];
	unsigned int nr_pieces;
	char *copy;
} frames[MAX_FRAMES];

static unsigned int nr_frames, chosen;

#define SECTION(name)	extern char __start_##name[], __stop_##name[]

SECTION(sim_data);
SECTION(sim_bss);
SECTION(sim_read_mostly);
SECTION(sim_percpu);

static void add_piece_to(struct frame *f, void *p, size_t size)
{
	if (f->nr_pieces == MAX_PIECES) {
		fprintf(stderr, "too many stacks\n");
		exit(2);
	}
	f->pieces[f->nr_pieces++] = (struct piece) { p, size };
}

static void add_piece(void *p, size_t size)
{
	add_piece_to(&frames[nr_frames - 1], p, size);
}

static void map_copy(struct frame *f)
{
	if (!f->copy)
		f->copy = mmap(NULL, COPY_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void add_variables(struct frame *f)
{
	f->nr_pieces = 0;
	add_piece_to(f, __start_sim_data, __stop_sim_data - __start_sim_data);
	add_piece_to(f, __start_sim_bss, __stop_sim_bss - __start_sim_bss);
	add_piece_to(f, __start_sim_read_mostly, __stop_sim_read_mostly - __start_sim_read_mostly);
	add_piece_to(f, __start_sim_percpu, __stop_sim_percpu - __start_sim_percpu);
	add_piece_to(f, ARENA, ARENA->end - (char *)ARENA);
}

static void save(struct frame *f)
{
	char *to = f->copy;
	unsigned int i;

	for (i = 0; i < f->nr_pieces; i++) {
		if (to + f->pieces[i].size > f->copy + COPY_SIZE) {
			fprintf(stderr, "the machine is too large to explore\n");
			exit(2);
		}
		memcpy(to, f->pieces[i].p, f->pieces[i].size);
		to += f->pieces[i].size;
	}
}

static void restore(const struct frame *f)
{
	const char *from = f->copy;
	unsigned int i;

	for (i = 0; i < f->nr_pieces; i++) {
		memcpy(f->pieces[i].p, from, f->pieces[i].size);
		from += f->pieces[i].size;
	}
}

/* No task has a stack yet. */
static void reset(void)
{
	static struct frame first;

	if (!first.copy) {
		map_copy(&first);
		add_variables(&first);
		save(&first);
		return;
	}
	/* New memory is zero, as it is in the first run. */
	memset(ARENA + 1, 0, ARENA->end - (char *)(ARENA + 1));
	restore(&first);
}

/* ---- the order of the runs --------------------------------------------------- */

static char stack[65536] __attribute__((__aligned__(16)));
static void *rewinder_sp;
static bool run_has_ended;

/* On a stack of its own: save the machine, or restore it, and let it go on. */
static void rewinder(void)
{
	struct frame *f;

	for (;;) {
		f = &frames[nr_frames - 1];
		if (run_has_ended) {
			restore(f);
		} else {
			add_variables(f);
			sim_each_stack(f->sp, add_piece);
			save(f);
		}
		sim_explorer = f->explorer;
		if (f->next < f->n && sim_takes_branch(f->next)) {
			chosen = f->next++;
		} else {
			chosen = 0;
			nr_frames--;
		}
		sim_swap(&rewinder_sp, f->sp);
	}
}

static unsigned int branch(unsigned int n)
{
	struct frame *f = &frames[nr_frames];

	if (nr_frames == MAX_FRAMES) {
		fprintf(stderr, "too many unusual choices\n");
		exit(2);
	}
	map_copy(f);
	nr_frames++;
	f->explorer = sim_explorer;
	f->n = n;
	f->next = 1;
	run_has_ended = false;
	sim_swap(&f->sp, rewinder_sp);
	return chosen;
}

static void rewind_machine(void)
{
	void *sp;

	if (!nr_frames)
		return;
	run_has_ended = true;
	sim_swap(&sp, rewinder_sp);
}

static __attribute__((__constructor__)) void init(void)
{
	void **sp = (void **)(stack + sizeof(stack)) - 3;	/* aligned as after a call */

	*--sp = (void *)rewinder;
	sp -= 6;
	rewinder_sp = sp;
	map_arena();
	sim_reset = reset;
	sim_branch = branch;
	sim_rewind = rewind_machine;
}
