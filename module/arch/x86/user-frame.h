/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of user mode.  With frame pointers, RBP or EBP points to the caller's frame
 * pointer, which the return address follows (System V ABI, "The Stack Frame").
 */
#ifndef VPERFCTR_X86_USER_FRAME_H
#define VPERFCTR_X86_USER_FRAME_H

#include <asm/ptrace.h>
#include <asm/segment.h>

/* True if a frame has words of 4 bytes. */
static inline bool perfctr_user_is_32bit(const struct pt_regs *regs)
{
	return regs->cs == __USER32_CS;
}

/* Return the frame pointer, or 0. */
static inline unsigned long perfctr_user_frame(const struct pt_regs *regs)
{
	return regs->bp;
}

#endif /* VPERFCTR_X86_USER_FRAME_H */
