// SPDX-License-Identifier: GPL-2.0
/*
 * Where a thread was called from: the return addresses in the frames of its user mode.
 *
 * The frames are read in the interrupt of the sample, which may be an NMI, with the rights
 * of user mode and without faulting.  A page that is not present ends the chain.  So does a
 * frame that does not lie above the one before, so that the walk ends.
 */
#include <linux/compiler.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "overflow.h"
#include "state.h"
#include "user-frame.h"

struct frame {
	u64 next;
	u64 ret;
};

/* The register with the return address, where a function without calls may not save it. */
#ifndef PERFCTR_LEAF_RA
#define PERFCTR_LEAF_RA(regs)	0
#endif

/*
 * The register with the return address, where functions save it in their caller's frame.  The
 * innermost function may not have saved it yet.  Once this function has called another, its
 * return address is in its caller's frame, and the register has an address in the function
 * itself.  0: the return address is certainly in the frame.
 */
#ifdef PERFCTR_CALLER_RA
#define PERFCTR_RA_IN_CALLER	1
#else
#define PERFCTR_RA_IN_CALLER	0
#define PERFCTR_CALLER_RA(regs)	0
#endif

/* The word of a frame of 64 bits that has the return address. */
#ifndef PERFCTR_RA_WORD
#define PERFCTR_RA_WORD		1
#endif

/*
 * True if a frame has the caller's frame pointer in place of the return address: an aligned
 * address not far above it.  Code is elsewhere than a stack.
 */
static bool is_leaf_frame(const struct frame *frame, unsigned long fp)
{
	return !(frame->ret % 16) && frame->ret > fp && frame->ret - fp < SZ_1M;
}

static bool read_frame64(struct frame *frame, unsigned long fp)
{
	const u64 __user *words = (const u64 __user *)fp;
	const size_t size = (1 + PERFCTR_RA_WORD) * sizeof(*words);

	if (fp % sizeof(*words) || !user_access_begin(words, size))
		return false;
	unsafe_get_user(frame->next, &words[0], fault);
	unsafe_get_user(frame->ret, &words[PERFCTR_RA_WORD], fault);
	user_access_end();
	return true;

fault:
	user_access_end();
	return false;
}

static bool read_frame32(struct frame *frame, unsigned long fp)
{
	const u32 __user *words = (const u32 __user *)fp;
	u32 next, ret;

	if (fp % sizeof(*words) || !user_access_begin(words, 2 * sizeof(*words)))
		return false;
	unsafe_get_user(next, &words[0], fault);
	unsafe_get_user(ret, &words[1], fault);
	user_access_end();
	frame->next = next;
	frame->ret = ret;
	return true;

fault:
	user_access_end();
	return false;
}

/*
 * Store at most max return addresses of current, the innermost first.
 *
 * Context: any interrupt, but not while the kernel changes the mm of current.  Interrupts
 * are disabled then, and an NMI comes here only from user mode.
 * Return: their number.
 */
unsigned int vperfctr_user_chain(u64 *to, unsigned int max)
{
	const struct pt_regs *regs = task_pt_regs(current);
	bool is_32bit = perfctr_user_is_32bit(regs);
	const unsigned long first = perfctr_user_frame(regs);
	unsigned long fp = first;
	struct frame frame = { };
	unsigned int n = 0;
	u64 in_register = 0;
	bool is_first;

	pagefault_disable();
	while (n < max) {
		if (!(is_32bit ? read_frame32(&frame, fp) : read_frame64(&frame, fp)))
			break;
		if (!n && PERFCTR_LEAF_RA(regs) && is_leaf_frame(&frame, fp))
			frame = (struct frame){ .next = frame.ret, .ret = PERFCTR_LEAF_RA(regs) };
		is_first = PERFCTR_RA_IN_CALLER && fp == first;
		if (is_first)
			frame.ret = PERFCTR_CALLER_RA(regs);
		else if (!frame.ret)
			break;
		/* Before the first call, the caller's frame has the register's, too. */
		if (frame.ret != in_register)
			to[n++] = frame.ret;
		in_register = is_first ? frame.ret : 0;
		frame.next -= PERFCTR_FRAME_BELOW;
		if (frame.next <= fp)
			break;
		fp = (unsigned long)frame.next;
	}
	pagefault_enable();
	return n;
}
