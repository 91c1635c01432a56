/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which mm a CPU has loaded.
 *
 * 6.2 to 6.14: the current task of a CPU is in a structure.
 * 6.12: leave_mm() has no argument any more.
 */
#ifndef VPERFCTR_COMPAT_LEAVE_MM_H
#define VPERFCTR_COMPAT_LEAVE_MM_H

#include <linux/percpu.h>
#include <linux/smp.h>
#include <asm/current.h>
#include <asm/mmu.h>

/* Context: RCU read lock held, so that the task is not freed. */
#ifdef PERFCTR_HAVE_CURRENT_TASK
#define perfctr_task_on_cpu(cpu)	READ_ONCE(per_cpu(current_task, cpu))
#else
#define perfctr_task_on_cpu(cpu)	READ_ONCE(per_cpu(pcpu_hot.current_task, cpu))
#endif

/*
 * Leave the mm that the kernel thread's predecessor has left loaded, if any.
 *
 * Context: a kernel thread that uses no mm.  Interrupts disabled.
 */
static inline void perfctr_leave_mm(void)
{
#ifdef PERFCTR_HAVE_LEAVE_MM_HERE
	leave_mm();
#else
	leave_mm(smp_processor_id());
#endif
}

#endif /* VPERFCTR_COMPAT_LEAVE_MM_H */
