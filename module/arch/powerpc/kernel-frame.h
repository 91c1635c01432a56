/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of the kernel, from the registers that were interrupted.  They have the form of user
 * mode's: see user-frame.h.  The kernel's own unwinder starts only from where it is called.
 */
#ifndef VPERFCTR_POWERPC_KERNEL_FRAME_H
#define VPERFCTR_POWERPC_KERNEL_FRAME_H

#include <linux/align.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/page.h>
#include <asm/ptrace.h>
#include <asm/thread_info.h>

#define PERFCTR_KERNEL_FRAMES	1

/* Addresses for which perfctr_kernel_frames() needs room, besides those it stores. */
#define PERFCTR_KERNEL_EXTRA	0

/* The first argument of a function that begins: Linux may not have regs_get_kernel_argument(). */
#define PERFCTR_FIRST_ARGUMENT(regs)	((regs)->gpr[3])

/* Where an interrupt's entry leaves the registers and its mark in its frame; since Linux 6.2. */
#ifndef STACK_INT_FRAME_REGS
#define STACK_INT_FRAME_REGS	STACK_FRAME_OVERHEAD
#define STACK_INT_FRAME_MARKER	(STACK_FRAME_MARKER * sizeof(long))
#endif

struct perfctr_frame {
	unsigned long next;
#ifdef CONFIG_PPC64
	unsigned long cr;
#endif
	unsigned long ra;
};

/* True if an interrupt's entry has made the frame.  The registers are those it has interrupted. */
static inline bool perfctr_is_interrupt(unsigned long sp, const struct perfctr_frame *frame,
					struct user_pt_regs *regs)
{
	unsigned long mark;

	return !copy_from_kernel_nofault(&mark, (void *)sp + STACK_INT_FRAME_MARKER,
					 sizeof(mark)) &&
	       mark == STACK_FRAME_REGS_MARKER &&
	       !copy_from_kernel_nofault(regs, (void *)sp + STACK_INT_FRAME_REGS, sizeof(*regs)) &&
	       !(regs->msr & MSR_PR) && regs->gpr[1] == frame->next;
}

static inline bool perfctr_is_on_stack(unsigned long sp)
{
	return sp - (unsigned long)task_stack_page(current) < THREAD_SIZE;
}

/*
 * True if there may be a caller's frame.  It is higher on the same stack, or on the thread's,
 * where the stack of an interrupt leads.
 */
static inline bool perfctr_is_caller(unsigned long next, unsigned long sp)
{
	if (!IS_ALIGNED(next, 16))
		return false;
	if (next / THREAD_SIZE == sp / THREAD_SIZE)
		return next > sp;
	return perfctr_is_on_stack(next) && !perfctr_is_on_stack(sp);
}

/* True if an address is in memory, where code is, and not a device's, which a read may change. */
static inline bool perfctr_is_in_memory(unsigned long address)
{
	return (address >= PAGE_OFFSET && address < (unsigned long)high_memory) ||
	       is_vmalloc_addr((void *)address);
}

/*
 * True if the instruction before an address is a branch that sets the link register.  The
 * innermost function may not have saved its return address.  Then any value can be in its place.
 */
static inline bool perfctr_follows_call(unsigned long ret)
{
	u32 insn;

	if (!IS_ALIGNED(ret, 4) || !perfctr_is_in_memory(ret - sizeof(insn)) ||
	    copy_from_kernel_nofault(&insn, (void *)ret - sizeof(insn), sizeof(insn)))
		return false;
	/* bc, b, and bclr, bcctr and the like; LK is the last bit. */
	return (insn & 1) && (insn >> 26 == 16 || insn >> 26 == 18 || insn >> 26 == 19);
}

/*
 * Store at most max return addresses of the kernel mode in which current was interrupted,
 * the innermost first.
 *
 * The first one is the link register's.  It is an address in the function itself if that has
 * called another.  Perf stores it, too.
 *
 * Context: any interrupt.
 * Return: their number.
 */
static inline unsigned int perfctr_kernel_frames(u64 *to, unsigned int max, struct pt_regs *regs)
{
	unsigned long sp = regs->gpr[1], link = regs->link, ret;
	struct user_pt_regs interrupted;
	struct perfctr_frame frame;
	unsigned int n = 0, level = 0;

	while (n < max && !copy_from_kernel_nofault(&frame, (void *)sp, sizeof(frame))) {
		if (perfctr_is_interrupt(sp, &frame, &interrupted)) {
			to[n++] = interrupted.nip;
			link = interrupted.link;
			level = 0;
		} else {
			ret = level ? frame.ra : link;
			/* The register has what a frame has until the function's first call. */
			if (level > 1 || ((level == 0 || ret != link) && perfctr_follows_call(ret)))
				to[n++] = ret;
			level++;
		}
		if (!perfctr_is_caller(frame.next, sp))
			break;
		sp = frame.next;
	}
	return n;
}

#endif /* VPERFCTR_POWERPC_KERNEL_FRAME_H */
