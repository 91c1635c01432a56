/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of user mode, which all code has.  r1 points to the caller's r1, the back chain.  A
 * function saves its return address in its caller's frame, two words behind the back chain, or
 * in code of 32 bits one word (64-Bit ELF V2 ABI Specification: Power Architecture, "The Stack
 * Frame"; Power Architecture 32-bit Application Binary Interface Supplement, the same).
 */
#ifndef VPERFCTR_POWERPC_USER_FRAME_H
#define VPERFCTR_POWERPC_USER_FRAME_H

#include <linux/types.h>
#include <linux/vperfctr.h>

#include <asm/ptrace.h>
#include <asm/reg.h>

/* True: registers of user mode are in task_pt_regs(), also in an NMI. */
#define PERFCTR_NMI_HAS_USER_REGS	true

#define PERFCTR_FRAME_BELOW	0

#define PERFCTR_RA_WORD		2	/* in code of 64 bits */

#define PERFCTR_CALLER_RA(regs)	perfctr_user_link(regs)

/*
 * Return the link register.  0: it has the place itself, where a called function has just
 * returned to, or scv has entered the kernel.
 */
static inline unsigned long perfctr_user_link(const struct pt_regs *regs)
{
	return regs->link != regs->nip ? regs->link : 0;
}

/* True if what these registers are of can be interrupted.  The kernel disables by software. */
static inline bool perfctr_takes_interrupts(const struct pt_regs *regs)
{
	return !arch_irq_disabled_regs((struct pt_regs *)regs);
}

/* True if a frame has words of 4 bytes. */
static inline bool perfctr_user_is_32bit(const struct pt_regs *regs)
{
	return !(regs->msr & MSR_SF);
}

static inline unsigned long perfctr_user_sp(const struct pt_regs *regs)
{
	return perfctr_user_is_32bit(regs) ? (u32)regs->gpr[1] : regs->gpr[1];
}

/* Return the address of the innermost function's frame, or its caller's if it has none. */
static inline unsigned long perfctr_user_frame(const struct pt_regs *regs)
{
	return perfctr_user_sp(regs);
}

#define PERFCTR_USER_REGS	VPERFCTR_POWER64_REGS

/* Store the registers of user mode.  Return: VPERFCTR_USER_32 or _64. */
static inline u64 perfctr_user_regs(u64 *to, const struct pt_regs *regs)
{
	unsigned int i;

	for (i = 0; i < 32; i++)
		to[i] = regs->gpr[i];
	to[32] = regs->link;
	to[33] = regs->nip;
	return perfctr_user_is_32bit(regs) ? VPERFCTR_USER_32 : VPERFCTR_USER_64;
}

#endif /* VPERFCTR_POWERPC_USER_FRAME_H */
