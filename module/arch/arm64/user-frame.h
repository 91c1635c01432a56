/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of user mode.  X29 points to the caller's X29, which the return address follows
 * (Procedure Call Standard for the Arm 64-bit Architecture, "The Frame Pointer").  Code of
 * 32 bits has no such convention.
 */
#ifndef VPERFCTR_ARM64_USER_FRAME_H
#define VPERFCTR_ARM64_USER_FRAME_H

#include <asm/ptrace.h>

/* True if a frame has words of 4 bytes. */
static inline bool perfctr_user_is_32bit(const struct pt_regs *regs)
{
	return false;
}

/* Return the frame pointer, or 0. */
static inline unsigned long perfctr_user_frame(const struct pt_regs *regs)
{
	return compat_user_mode(regs) ? 0 : regs->regs[29];
}

#endif /* VPERFCTR_ARM64_USER_FRAME_H */
