/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's interface that the x86 drivers use.  Included by kernel.h. */
#ifndef SIM_ARCH_H
#define SIM_ARCH_H

struct pt_regs {
	bool user;
	unsigned long ip, sp, cs, flags, argument;
	unsigned long ax, bx, cx, dx, si, di, bp, r8, r9, r10, r11, r12, r13, r14, r15;
};

#define X86_EFLAGS_IF	0x200
#define SIM_IRQS_ON	.flags = X86_EFLAGS_IF
#define __USER32_CS	0x23
#define sim_ip			ip

/* The kernel's stack: see SIM_KERNEL_CALLS. */
struct unwind_state { unsigned long ip; unsigned int left; };
void sim_unwind_start(struct unwind_state *state, struct pt_regs *regs);
#define unwind_start(s, task, regs, frame) sim_unwind_start(s, regs)
#define unwind_done(s)		(!(s)->left)
#define unwind_next_frame(s)	((void)(s)->left--)
#define unwind_get_return_address(s) ((s)->ip + 16 * (s)->left)

#define NMI_LOCAL		0
#define NMI_FLAG_FIRST		1
#define NMI_DONE		0
#define NMI_HANDLED		1
#define APIC_DM_NMI		0x00400
#define APIC_LVT_MASKED		0x10000
typedef int nmi_handler_t(unsigned int type, struct pt_regs *regs);
int register_nmi_handler(unsigned int type, nmi_handler_t *handler, u64 flags, const char *name);
void unregister_nmi_handler(unsigned int type, const char *name);
int reserve_perfctr_nmi(unsigned int msr);
void release_perfctr_nmi(unsigned int msr);
int reserve_evntsel_nmi(unsigned int msr);
void release_evntsel_nmi(unsigned int msr);

/* Only for this variable: the current task of any CPU. */
#define per_cpu(current_task, cpu)	(*sim_task_of(cpu))

#define X86_CR4_PCE			0x100
bool sim_user_rdpmc(void);
void cr4_update_irqsoff(unsigned long set, unsigned long clear);

/* As in a kernel without CPU_PM. */
enum { CPU_PM_ENTER, CPU_PM_ENTER_FAILED, CPU_PM_EXIT };
#define cpu_pm_register_notifier(block)		({ (void)(block); 0; })
#define cpu_pm_unregister_notifier(block)	((void)(block))

#endif /* SIM_ARCH_H */
