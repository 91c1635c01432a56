/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of the kernel, from the registers that were interrupted.  The kernel's own unwinder
 * starts only from where it is called, in the handler, and does not leave the stack of
 * interrupts: a frame pointer into another stack ends its walk.
 */
#ifndef VPERFCTR_RISCV_KERNEL_FRAME_H
#define VPERFCTR_RISCV_KERNEL_FRAME_H

#include <linux/align.h>
#include <linux/kconfig.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/csr.h>
#include <asm/processor.h>
#include <asm/thread_info.h>

#define PERFCTR_KERNEL_FRAMES	IS_ENABLED(CONFIG_FRAME_POINTER)

/* Addresses for which perfctr_kernel_frames() needs room, besides those it stores. */
#define PERFCTR_KERNEL_EXTRA	0

/* More than the code of a trap's entry and end, from the address in stvec on. */
#define PERFCTR_ENTRY_SIZE	1024

/* A frame.  s0 points behind it. */
struct perfctr_frame {
	unsigned long fp, ra;
};

/* From where the caller of a function is found. */
struct perfctr_place {
	unsigned long sp, fp;
	unsigned long ra;	/* the register, if the function was interrupted; else 0 */
};

/* True if a frame that ends at fp is in the same stack as sp, and above it. */
static inline bool perfctr_is_frame(unsigned long fp, unsigned long sp)
{
	return IS_ALIGNED(fp, sizeof(fp)) && fp >= sp + sizeof(struct perfctr_frame) &&
	       fp <= ALIGN(sp, THREAD_SIZE);
}

/* Go to the caller.  Return: the return address; 0 if there is no frame. */
static inline unsigned long perfctr_go_to_caller(struct perfctr_place *at)
{
	struct perfctr_frame frame;
	unsigned long ret;

	if (!perfctr_is_frame(at->fp, at->sp) ||
	    copy_from_kernel_nofault(&frame, (void *)at->fp - sizeof(frame), sizeof(frame)))
		return 0;
	at->sp = at->fp;
	if (at->ra && perfctr_is_frame(frame.ra, at->sp)) {
		/* A function that calls no others saves s0 in the place of ra. */
		at->fp = frame.ra;
		ret = at->ra;
	} else {
		at->fp = frame.fp;
		ret = frame.ra;
	}
	at->ra = 0;
	return ret;
}

/* True if a trap's entry has called the function that returns there. */
static inline bool perfctr_is_entry(unsigned long ret)
{
	return ret - ALIGN_DOWN(csr_read(CSR_STVEC), 4) < PERFCTR_ENTRY_SIZE;
}

/*
 * Go to what a trap has interrupted in kernel mode.  The entry has saved the registers below
 * the interrupted stack pointer.
 *
 * Return: the interrupted address; 0 if there is none.
 */
static inline unsigned long perfctr_go_to_interrupted(struct perfctr_place *at)
{
	struct pt_regs regs;

	if (copy_from_kernel_nofault(&regs, (void *)at->sp, sizeof(regs)) || user_mode(&regs) ||
	    regs.sp != at->sp + ALIGN(sizeof(regs), STACK_ALIGN))
		return 0;
	*at = (struct perfctr_place){ .sp = regs.sp, .fp = regs.s0, .ra = regs.ra };
	return regs.epc;
}

/*
 * Store at most max return addresses of the kernel mode in which current was interrupted,
 * the innermost first.
 *
 * Context: any interrupt.
 * Return: their number.
 */
static inline unsigned int perfctr_kernel_frames(u64 *to, unsigned int max, struct pt_regs *regs)
{
	struct perfctr_place at = { .sp = regs->sp, .fp = regs->s0, .ra = regs->ra };
	bool in_entry = false;
	unsigned int n = 0;
	unsigned long ip;

	while (n < max) {
		ip = in_entry ? perfctr_go_to_interrupted(&at) : perfctr_go_to_caller(&at);
		/* The kernel has the upper half of the addresses. */
		if ((long)ip >= 0)
			break;
		to[n++] = ip;
		in_entry = !in_entry && perfctr_is_entry(ip);
	}
	return n;
}

#endif /* VPERFCTR_RISCV_KERNEL_FRAME_H */
