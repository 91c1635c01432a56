/* SPDX-License-Identifier: GPL-2.0 */
/* Frames of the kernel: none yet, so a ring with kernel_depth is refused. */
#ifndef VPERFCTR_POWERPC_KERNEL_FRAME_H
#define VPERFCTR_POWERPC_KERNEL_FRAME_H

#include <linux/types.h>

struct pt_regs;

#define PERFCTR_KERNEL_FRAMES	0
#define PERFCTR_KERNEL_EXTRA	0

static inline unsigned int perfctr_kernel_frames(u64 *to, unsigned int max, struct pt_regs *regs)
{
	return 0;
}

#endif /* VPERFCTR_POWERPC_KERNEL_FRAME_H */
