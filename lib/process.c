// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tell a process from its parent, whose handles it has.
 *
 * A process ID does not suffice: the first process of a PID namespace has the number 1, and so may
 * have its parent, in the namespace around it.  So a word has a number of the process.  The kernel
 * clears it in the child of a fork (MADV_WIPEONFORK), which then gets the next number.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

static unsigned int *word;
static unsigned int last;

/* Return the word of this process, or NULL if the kernel has none. */
static unsigned int *get_word(void)
{
	unsigned int *now = __atomic_load_n(&word, __ATOMIC_ACQUIRE), *old = NULL;
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	if (now)
		return now;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	now = (unsigned int *)map;
	if (madvise(map, size, MADV_WIPEONFORK))
		now = NULL;
	/* Another thread may have been faster. */
	if (now && __atomic_compare_exchange_n(&word, &old, now, 0, __ATOMIC_ACQ_REL,
					       __ATOMIC_ACQUIRE))
		return now;
	munmap(map, size);
	return old;
}

/* Return the number of this process, or 0 if only its process ID is known. */
static unsigned int number(void)
{
	unsigned int *mine = get_word(), now, next;

	if (!mine)
		return 0;
	now = __atomic_load_n(mine, __ATOMIC_RELAXED);
	if (now)
		return now;
	next = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(mine, &now, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return next;
	return now;
}

void __vperfctr_this_process(struct vperfctr_process *process)
{
	process->pid = getpid();
	process->number = number();
}

bool __vperfctr_is_child(const struct vperfctr_process *process)
{
	/* Without a number, the process ID alone tells them apart. */
	return process->number && process->number != number();
}

bool __vperfctr_is_this_process(const struct vperfctr_process *process)
{
	return process->pid == getpid() && !__vperfctr_is_child(process);
}
