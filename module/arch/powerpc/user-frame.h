/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of user mode: none yet.  A frame's return address does not follow the pointer to the
 * caller's frame, but is two words behind it (64-Bit ELF V2 ABI Specification: Power
 * Architecture, "The Stack Frame").
 */
#ifndef VPERFCTR_POWERPC_USER_FRAME_H
#define VPERFCTR_POWERPC_USER_FRAME_H

#include <linux/string.h>
#include <linux/types.h>
#include <linux/vperfctr.h>

#include <asm/ptrace.h>
#include <asm/reg.h>

/* True: registers of user mode are in task_pt_regs(), also in an NMI. */
#define PERFCTR_NMI_HAS_USER_REGS	true

#define PERFCTR_FRAME_BELOW	0

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

/* Return 0: no frame is known, and nothing can be mapped there. */
static inline unsigned long perfctr_user_frame(const struct pt_regs *regs)
{
	return 0;
}

#define PERFCTR_USER_REGS	VPERFCTR_POWER64_REGS

/* Return: VPERFCTR_USER_32 or _64. */
static inline u64 perfctr_user_regs(u64 *to, const struct pt_regs *regs)
{
	memcpy(to, regs->gpr, 32 * sizeof(u64));
	to[32] = regs->link;
	to[33] = regs->nip;
	return perfctr_user_is_32bit(regs) ? VPERFCTR_USER_32 : VPERFCTR_USER_64;
}

static inline unsigned long perfctr_user_sp(const struct pt_regs *regs)
{
	return perfctr_user_is_32bit(regs) ? (u32)regs->gpr[1] : regs->gpr[1];
}

#endif /* VPERFCTR_POWERPC_USER_FRAME_H */
