// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of a thread's user mode, and the top of its stack.  A reader of samples finds
 * the thread's callers in them by the tables that compilers make for exceptions.  Unlike
 * callchain.c, this needs no frame pointers.
 *
 * The stack is read as frames are: in the interrupt of the sample, which may be an NMI, with
 * the rights of user mode and without faulting.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "overflow.h"
#include "state.h"
#include "user-frame.h"

/*
 * Copy words of user memory.  Return: how many of n words were read.
 *
 * Eight words in each turn take a third of the instructions.  If one of them cannot be
 * read, those before it are read alone.
 */
static unsigned int copy_words(u64 *to, unsigned long from, unsigned int n)
{
	const u64 __user *words = (const u64 __user *)from;
	unsigned int i = 0;

	if (!user_access_begin(words, n * sizeof(*words)))
		return 0;
	for (; n - i >= 8; i += 8) {
		unsafe_get_user(to[i], &words[i], rest);
		unsafe_get_user(to[i + 1], &words[i + 1], rest);
		unsafe_get_user(to[i + 2], &words[i + 2], rest);
		unsafe_get_user(to[i + 3], &words[i + 3], rest);
		unsafe_get_user(to[i + 4], &words[i + 4], rest);
		unsafe_get_user(to[i + 5], &words[i + 5], rest);
		unsafe_get_user(to[i + 6], &words[i + 6], rest);
		unsafe_get_user(to[i + 7], &words[i + 7], rest);
	}
rest:
	for (; i < n; i++)
		unsafe_get_user(to[i], &words[i], fault);
fault:
	user_access_end();
	return i;
}

/*
 * Copy words of the stack, page by page.  Return: how many of n words were read.
 *
 * Each page has an access of its own, so that the words before the end of user memory are
 * read.  A stack pointer may be wrong, and so may lead to a word in two pages.
 */
static unsigned int copy_stack(u64 *to, unsigned long from, unsigned int n)
{
	unsigned int done = 0, some, got;

	do {
		some = (PAGE_SIZE - from % PAGE_SIZE) / sizeof(*to);
		some = clamp_t(unsigned int, some, 1, n - done);
		got = copy_words(to + done, from, some);
		done += got;
		from += got * sizeof(*to);
	} while (got == some && done < n);
	return done;
}

/*
 * Store what struct vperfctr_sample says about current: the mode, the registers, the number
 * of bytes, and at most max bytes of the stack.
 *
 * Context: as for vperfctr_user_chain().
 * Return: the end of what was stored.
 */
u64 *vperfctr_user_stack(u64 *to, unsigned int max)
{
	const struct pt_regs *regs = task_pt_regs(current);
	u64 *nr = to + 1 + PERFCTR_USER_REGS;
	unsigned int n;

	*to = perfctr_user_regs(to + 1, regs);
	pagefault_disable();
	n = copy_stack(nr + 1, perfctr_user_sp(regs), max / sizeof(*to));
	pagefault_enable();
	*nr = n * sizeof(*to);
	return nr + 1 + n;
}
