/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of the kernel.  Its unwinder starts only from where it is called: in the handler of
 * the interrupt.  Behind the handler's frames and those of the entry, it finds the address
 * that was interrupted.
 */
#ifndef VPERFCTR_RISCV_KERNEL_FRAME_H
#define VPERFCTR_RISCV_KERNEL_FRAME_H

#include <linux/kconfig.h>
#include <linux/minmax.h>
#include <linux/ptrace.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#define PERFCTR_KERNEL_FRAMES	IS_ENABLED(CONFIG_STACKTRACE)

/* Addresses for which perfctr_kernel_frames() needs room: about 20 are of the handler. */
#define PERFCTR_KERNEL_EXTRA	40

/*
 * Store at most max return addresses of the kernel mode in which current was interrupted,
 * the innermost first.
 *
 * The interrupted address must be there, and its caller's must follow: that in s0's frame,
 * or ra where the function has made no frame.  Otherwise it may be one of the handler's own
 * frames, if an interrupt was interrupted.
 *
 * Context: any interrupt.
 * Return: their number, 0 if the place is not found.
 */
static inline unsigned int perfctr_kernel_frames(u64 *to, unsigned int max, struct pt_regs *regs)
{
#ifdef CONFIG_STACKTRACE
	unsigned int i, n;
	u64 ret;

	if (copy_from_kernel_nofault(&ret, (void *)regs->s0 - sizeof(ret), sizeof(ret)))
		ret = regs->ra;
	n = stack_trace_save((unsigned long *)to, max + PERFCTR_KERNEL_EXTRA, 0);
	for (i = 0; i + 1 < n; i++) {
		if (to[i] != regs->epc || (to[i + 1] != ret && to[i + 1] != regs->ra))
			continue;
		n = min(n - i - 1, max);
		memmove(to, to + i + 1, n * sizeof(*to));
		return n;
	}
#endif
	return 0;
}

#endif /* VPERFCTR_RISCV_KERNEL_FRAME_H */
