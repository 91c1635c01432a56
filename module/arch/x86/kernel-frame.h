/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of the kernel, found by its own unwinder, which perf uses in NMIs, too.  It starts
 * from the registers that were interrupted, so it never sees the frames of our handler.
 */
#ifndef VPERFCTR_X86_KERNEL_FRAME_H
#define VPERFCTR_X86_KERNEL_FRAME_H

#include <linux/kconfig.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/types.h>

#include <asm/unwind.h>

/* UNWINDER_GUESS also finds the return addresses of calls that are over. */
#define PERFCTR_KERNEL_FRAMES	(!IS_ENABLED(CONFIG_UNWINDER_GUESS))

/* Addresses for which perfctr_kernel_frames() needs room, besides those it stores. */
#define PERFCTR_KERNEL_EXTRA	0

/*
 * Store at most max return addresses of the kernel mode in which current was interrupted,
 * the innermost first.
 *
 * Context: any interrupt.
 * Return: their number.
 */
static inline unsigned int perfctr_kernel_frames(u64 *to, unsigned int max, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned int n = 0;

	for (unwind_start(&state, current, regs, NULL); n < max && !unwind_done(&state);
	     unwind_next_frame(&state)) {
		to[n] = unwind_get_return_address(&state);
		if (!to[n])
			break;
		n++;
	}
	return n;
}

#endif /* VPERFCTR_X86_KERNEL_FRAME_H */
