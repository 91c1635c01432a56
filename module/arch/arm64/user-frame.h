/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of user mode.  X29 points to the caller's X29, which the return address follows
 * (Procedure Call Standard for the Arm 64-bit Architecture, "The Frame Pointer").  Code of
 * 32 bits has no such convention.
 */
#ifndef VPERFCTR_ARM64_USER_FRAME_H
#define VPERFCTR_ARM64_USER_FRAME_H

#include <linux/string.h>
#include <linux/types.h>
#include <linux/vperfctr.h>

#include <asm/ptrace.h>

/* True: registers of user mode are in task_pt_regs(), also in an NMI. */
#define PERFCTR_NMI_HAS_USER_REGS	true

/* True if what these registers are of can be interrupted. */
static inline bool perfctr_takes_interrupts(const struct pt_regs *regs)
{
	return interrupts_enabled(regs);
}

/* A frame's two words begin where its pointer points to. */
#define PERFCTR_FRAME_BELOW	0

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

/*
 * Registers of user mode by their numbers in DWARF (DWARF for the Arm 64-bit Architecture,
 * "DWARF register names"; for the Arm Architecture, the same).
 */
#define PERFCTR_USER_REGS	VPERFCTR_ARM64_REGS

/* Store the registers of user mode.  Return: VPERFCTR_USER_32 or _64. */
static inline u64 perfctr_user_regs(u64 *to, const struct pt_regs *regs)
{
	unsigned int i;

	if (compat_user_mode(regs)) {
		/* R13 is the stack pointer, R14 the link register. */
		for (i = 0; i < PERFCTR_USER_REGS; i++)
			to[i] = i < 15 ? (u32)regs->regs[i] : i == 15 ? (u32)regs->pc : 0;
		return VPERFCTR_USER_32;
	}
	memcpy(to, regs->regs, 31 * sizeof(u64));
	to[31] = regs->sp;
	to[32] = regs->pc;
	return VPERFCTR_USER_64;
}

static inline unsigned long perfctr_user_sp(const struct pt_regs *regs)
{
	return compat_user_mode(regs) ? (u32)regs->regs[13] : regs->sp;
}

#endif /* VPERFCTR_ARM64_USER_FRAME_H */
