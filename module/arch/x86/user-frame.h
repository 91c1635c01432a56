/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of user mode.  With frame pointers, RBP or EBP points to the caller's frame
 * pointer, which the return address follows (System V ABI, "The Stack Frame").
 */
#ifndef VPERFCTR_X86_USER_FRAME_H
#define VPERFCTR_X86_USER_FRAME_H

#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vperfctr.h>

#include <asm/processor-flags.h>
#include <asm/ptrace.h>
#include <asm/segment.h>

/* True if what these registers are of can be interrupted. */
static inline bool perfctr_takes_interrupts(const struct pt_regs *regs)
{
	return regs->flags & X86_EFLAGS_IF;
}

/*
 * False if the registers of user mode that an NMI interrupts are not in task_pt_regs().  On 32
 * bits the NMI's entry leaves them on another stack.  The irq_work that follows at once, before
 * the next instruction of user mode, is an interrupt that has them there.
 */
#define PERFCTR_NMI_HAS_USER_REGS	(!IS_ENABLED(CONFIG_X86_32))

/* A frame's two words begin where its pointer points to. */
#define PERFCTR_FRAME_BELOW	0

/* True if a frame has words of 4 bytes. */
static inline bool perfctr_user_is_32bit(const struct pt_regs *regs)
{
#ifndef CONFIG_X86_32
	return regs->cs == __USER32_CS;
#else
	return true;
#endif
}

/* Return the frame pointer, or 0. */
static inline unsigned long perfctr_user_frame(const struct pt_regs *regs)
{
	return regs->bp;
}

/*
 * Registers of user mode by their numbers in DWARF (System V ABI, AMD64, "DWARF Register
 * Number Mapping"; i386, "DWARF Register Number Mapping").
 */
#define PERFCTR_USER_REGS	VPERFCTR_X86_REGS

/* Store the registers of user mode.  Return: VPERFCTR_USER_32 or _64. */
static inline u64 perfctr_user_regs(u64 *to, const struct pt_regs *regs)
{
	const u32 words32[] = {
		regs->ax, regs->cx, regs->dx, regs->bx, regs->sp, regs->bp, regs->si, regs->di,
		regs->ip,
	};
#ifndef CONFIG_X86_32
	const u64 words64[PERFCTR_USER_REGS] = {
		regs->ax, regs->dx, regs->cx, regs->bx, regs->si, regs->di, regs->bp, regs->sp,
		regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
		regs->r15, regs->ip,
	};
#endif
	unsigned int i;

#ifndef CONFIG_X86_32
	if (!perfctr_user_is_32bit(regs)) {
		memcpy(to, words64, sizeof(words64));
		return VPERFCTR_USER_64;
	}
#endif
	for (i = 0; i < PERFCTR_USER_REGS; i++)
		to[i] = i < ARRAY_SIZE(words32) ? words32[i] : 0;
	return VPERFCTR_USER_32;
}

static inline unsigned long perfctr_user_sp(const struct pt_regs *regs)
{
	return perfctr_user_is_32bit(regs) ? (u32)regs->sp : regs->sp;
}

#endif /* VPERFCTR_X86_USER_FRAME_H */
