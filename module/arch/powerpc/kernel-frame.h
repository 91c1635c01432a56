/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of the kernel, from the registers that were interrupted.  They have the form of user
 * mode's: see user-frame.h.  The kernel's own unwinder starts only from where it is called.
 */
#ifndef VPERFCTR_POWERPC_KERNEL_FRAME_H
#define VPERFCTR_POWERPC_KERNEL_FRAME_H

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stddef.h>
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
 * innermost function may not have saved its return address.  Then any value can be in its place,
 * also an old return address.
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

#ifdef CONFIG_PPC64
#define PERFCTR_MAKE_FRAME	0xf8210001	/* stdu r1,d(r1) */
#define PERFCTR_STORE		0xf8010000	/* std rS,d(r1) */
#else
#define PERFCTR_MAKE_FRAME	0x94210000	/* stwu r1,d(r1) */
#define PERFCTR_STORE		0x90010000	/* stw rS,d(r1) */
#endif
#define PERFCTR_ANY_RS		(31U << 21)
#define PERFCTR_BLR		0x4e800020

/* Words of code in which nearly all functions have made a frame and saved their return address. */
#define PERFCTR_PROLOGUE	128

/* Return where a branch that does not set the link register leads to, or 0. */
static inline unsigned long perfctr_branch_target(u32 insn, unsigned long at)
{
	if ((insn & 0xfc000003) == 0x48000000)		/* b */
		return at + sign_extend32(insn & 0x03fffffc, 25);
	if ((insn & 0xfc000003) == 0x40000000)		/* bc */
		return at + (s16)(insn & 0xfffc);
	return 0;
}

/* True if an instruction never leads to the next one: b, blr or bctr. */
static inline bool perfctr_ends_way(u32 insn)
{
	return (insn & 0xfc000001) == 0x48000000 || insn == PERFCTR_BLR || insn == 0x4e800420;
}

/*
 * True if the code before an address makes a frame of this size, and does not save the return
 * address or can branch over that.  Compilers may save it later, before the function's first
 * call, and not at all on the way to code that calls none.
 *
 * block: the last place before the address that ends a way there, or that saves.
 */
static inline bool perfctr_saves_later(unsigned long ip, unsigned long size)
{
	u32 make = PERFCTR_MAKE_FRAME + (-size & U16_MAX);
	u32 save_first = PERFCTR_STORE + offsetof(struct perfctr_frame, ra);
	u32 save = save_first + size, code[16];
	unsigned long at = ip, block = 0, target;
	bool has_made = false, can_skip = true;
	unsigned int n, i;

	if (size > S16_MAX)
		return false;
	for (n = 0; n < PERFCTR_PROLOGUE; n += ARRAY_SIZE(code)) {
		if (!perfctr_is_in_memory(at - sizeof(code)) ||
		    copy_from_kernel_nofault(code, (void *)at - sizeof(code), sizeof(code)))
			return false;
		for (i = ARRAY_SIZE(code); i--;) {
			at -= sizeof(code[0]);
			if (has_made) {
				if ((code[i] & ~PERFCTR_ANY_RS) == save_first)
					return false;
				if (code[i] == PERFCTR_BLR)
					return true;	/* the end of another function */
			} else if (code[i] == make) {
				if (!can_skip)
					return false;
				has_made = true;
			} else if ((code[i] & ~PERFCTR_ANY_RS) == save) {
				can_skip = false;
				block = block ?: at;
			} else {
				target = perfctr_branch_target(code[i], at);
				can_skip |= block && target > block && target <= ip;
				if (perfctr_ends_way(code[i]))
					block = block ?: at;
			}
		}
	}
	return has_made;
}

/*
 * True if a word is a return address: the link register, at level 0, or that of a frame.  The
 * innermost function's frame may not have it yet, and the register has it until the function's
 * first call.
 */
static inline bool perfctr_is_return(unsigned long ret, unsigned int level, unsigned long link,
				     unsigned long ip, unsigned long size)
{
	if (level > 1)
		return true;
	if (level == 1 && ret == link)
		return false;
	return perfctr_follows_call(ret) && (level == 0 || !perfctr_saves_later(ip, size));
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
	unsigned long sp = regs->gpr[1], ip = regs->nip, link = regs->link, ret, size = 0;
	struct user_pt_regs interrupted;
	struct perfctr_frame frame;
	unsigned int n = 0, level = 0;

	while (n < max && !copy_from_kernel_nofault(&frame, (void *)sp, sizeof(frame))) {
		if (perfctr_is_interrupt(sp, &frame, &interrupted)) {
			ip = interrupted.nip;
			to[n++] = ip;
			link = interrupted.link;
			level = 0;
		} else {
			ret = level ? frame.ra : link;
			if (perfctr_is_return(ret, level, link, ip, size))
				to[n++] = ret;
			level++;
		}
		if (!perfctr_is_caller(frame.next, sp))
			break;
		size = frame.next - sp;
		sp = frame.next;
	}
	return n;
}

#endif /* VPERFCTR_POWERPC_KERNEL_FRAME_H */
