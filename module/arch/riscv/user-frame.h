/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of user mode.  s0 points behind the return address, before which the caller's s0 is
 * (RISC-V ELF psABI, "Frame Pointer Convention").
 */
#ifndef VPERFCTR_RISCV_USER_FRAME_H
#define VPERFCTR_RISCV_USER_FRAME_H

#include <linux/string.h>
#include <linux/types.h>
#include <linux/vperfctr.h>

#include <asm/csr.h>
#include <asm/ptrace.h>

/* A frame's two words begin at this distance below the address in s0, in bytes. */
#define PERFCTR_FRAME_BELOW	16

/* A function that calls no other saves s0 alone, in the place of ra. */
#define PERFCTR_LEAF_RA(regs)	((regs)->ra)

/* True: registers of user mode are in task_pt_regs(), and there is no NMI. */
#define PERFCTR_NMI_HAS_USER_REGS	true

/* True if what these registers are of can be interrupted. */
static inline bool perfctr_takes_interrupts(const struct pt_regs *regs)
{
	return regs->status & SR_PIE;
}

/* True if a frame has words of 4 bytes. */
static inline bool perfctr_user_is_32bit(const struct pt_regs *regs)
{
	return false;
}

/* Return the address of the frame's words, or 0. */
static inline unsigned long perfctr_user_frame(const struct pt_regs *regs)
{
	return regs->s0 - PERFCTR_FRAME_BELOW;
}

/*
 * Registers of user mode by their numbers in DWARF: x1 to x31 (RISC-V DWARF Specification,
 * "DWARF register numbers").  As in pt_regs, pc is in the place of x0, which is always 0.
 */
#define PERFCTR_USER_REGS	VPERFCTR_RISCV64_REGS

/* Store the registers of user mode.  Return: VPERFCTR_USER_64. */
static inline u64 perfctr_user_regs(u64 *to, const struct pt_regs *regs)
{
	memcpy(to, regs, PERFCTR_USER_REGS * sizeof(u64));
	return VPERFCTR_USER_64;
}

static inline unsigned long perfctr_user_sp(const struct pt_regs *regs)
{
	return regs->sp;
}

#endif /* VPERFCTR_RISCV_USER_FRAME_H */
