/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of the kernel.  Its unwinder starts only from where it is called: in the handler of
 * the interrupt.  Behind the handler's frames and those of the entry, it finds the address
 * that was interrupted.  The kernel's frame records lead there, as the entry makes one.
 */
#ifndef VPERFCTR_ARM64_KERNEL_FRAME_H
#define VPERFCTR_ARM64_KERNEL_FRAME_H

#include <linux/bits.h>
#include <linux/kconfig.h>
#include <linux/minmax.h>
#include <linux/ptrace.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/memory.h>

#define PERFCTR_KERNEL_FRAMES	IS_ENABLED(CONFIG_STACKTRACE)

/* Addresses for which perfctr_kernel_frames() needs room: about 15 are of the handler. */
#define PERFCTR_KERNEL_EXTRA	32

/* True if two return addresses are the same, but for a signature in their upper bits. */
static inline bool perfctr_same_return(u64 a, u64 b)
{
	return !((a ^ b) & GENMASK_ULL(VA_BITS_MIN - 1, 0));
}

/*
 * Store at most max return addresses of the kernel mode in which current was interrupted,
 * the innermost first.
 *
 * The interrupted address must be there, and its caller's must follow as X29 says.  Otherwise
 * it may be one of the handler's own frames, if an interrupt was interrupted.
 *
 * Context: any interrupt.
 * Return: their number, 0 if the place is not found.
 */
static inline unsigned int perfctr_kernel_frames(u64 *to, unsigned int max, struct pt_regs *regs)
{
#ifdef CONFIG_STACKTRACE
	u64 record[2];		/* X29 of the caller, and the return address */
	unsigned int i, n;

	if (copy_from_kernel_nofault(record, (void *)regs->regs[29], sizeof(record)))
		return 0;
	n = stack_trace_save((unsigned long *)to, max + PERFCTR_KERNEL_EXTRA, 0);
	for (i = 0; i + 1 < n; i++) {
		if (to[i] != regs->pc || !perfctr_same_return(to[i + 1], record[1]))
			continue;
		n = min(n - i - 1, max);
		memmove(to, to + i + 1, n * sizeof(*to));
		return n;
	}
#endif
	return 0;
}

#endif /* VPERFCTR_ARM64_KERNEL_FRAME_H */
