// SPDX-License-Identifier: GPL-2.0
/*
 * CR4.PCE after a change of mm->context.perf_rdpmc_allowed, on the CPUs that
 * have that mm loaded.
 *
 * Newer kernels let no module write CR4.  They set the bit themselves, by that
 * count, when they switch to an mm from a different one; so each CPU concerned
 * gets a kernel thread that borrows some other process's mm for a moment.  Who
 * runs there is switched out for it, and its state's resume finds the bit as it
 * then is.  Until the thread has had its turn the page says that RDPMC does not
 * work; nobody waits for it longer than a moment, as the caller has mmap_lock,
 * and a real-time thread may keep the CPU for itself.
 *
 * The same is done where CR4 can be written, for something else: when a kernel from
 * 5.14 on switches to an mm that may RDPMC it clears the counters that perf has left
 * (perf_clear_dirty_counters()), whosever they are meanwhile.  It must do so while their
 * owner is switched out.  But it returns to a thread's mm also from patching its own
 * code, for a BPF program or a static key, with that thread's counters running; so
 * there is to have been such a switch before, after which there is nothing to clear.
 */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <asm/mmu_context.h>

#include "../../compat/cr4.h"
#include "../../compat/workqueue.h"
#include "watch.h"
#include "x86.h"

/* How long to wait for those threads. */
#define WAIT_JIFFIES	(HZ / 50 + 1)

static struct workqueue_struct *pce_wq;
static DEFINE_PER_CPU(struct work_struct, pce_works);

/* Queued works that have not ended. */
static atomic_t pending = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_pending);

/* ---- where CR4 can be written -------------------------------------------- */

static void follow_here(void *arg)
{
	struct mm_struct *mm = arg;

	/* A lazy kernel thread keeps its predecessor's mm in active_mm. */
	if (current->active_mm != mm)
		return;
	if (perfctr_x86_rdpmc_allowed(mm))
		perfctr_update_cr4(X86_CR4_PCE, 0);
	else
		perfctr_update_cr4(0, X86_CR4_PCE);
}

/* ---- and where not -------------------------------------------------------- */

/*
 * Some process's mm, with a reference, that is not `mm`, which exists: nobody gets
 * it anew.  There is always init's.
 */
static struct mm_struct *get_other_mm(const struct mm_struct *mm)
{
	struct mm_struct *other = NULL;
	struct task_struct *task;

	rcu_read_lock();
	for_each_process(task) {
		if (READ_ONCE(task->mm) != mm)
			other = get_task_mm(task);
		if (other)
			break;
	}
	rcu_read_unlock();
	return other;
}

static void work_ended(void)
{
	if (atomic_dec_and_test(&pending))
		wake_up(&none_pending);
}

static void borrow_mm(struct work_struct *work)
{
	struct mm_struct *mm = get_other_mm(current->active_mm);

	if (mm) {
		kthread_use_mm(mm);
		kthread_unuse_mm(mm);
		mmput(mm);
	}
	work_ended();
}

static void follow_soon(struct mm_struct *mm)
{
	int cpu;

	/* One that goes offline meanwhile has left the mm; its work is done elsewhere, in vain. */
	for_each_cpu_and(cpu, mm_cpumask(mm), cpu_online_mask) {
		atomic_inc(&pending);
		/* What is queued already has not looked yet. */
		if (!queue_work_on(cpu, pce_wq, per_cpu_ptr(&pce_works, cpu)))
			work_ended();
	}
	wait_event_timeout(none_pending, !atomic_read(&pending), WAIT_JIFFIES);
}

/* ------------------------------------------------------------------------------ */

void perfctr_x86_pce_follow(struct mm_struct *mm)
{
	if (PERFCTR_WRITES_CR4)
		on_each_cpu_mask(mm_cpumask(mm), follow_here, mm, 1);
	if (!PERFCTR_WRITES_CR4 || perfctr_x86_rdpmc_allowed(mm))
		follow_soon(mm);
}

int perfctr_x86_pce_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_WORK(per_cpu_ptr(&pce_works, cpu), borrow_mm);
	pce_wq = alloc_workqueue("vperfctr_pce", WQ_PERCPU, 0);
	return pce_wq ? 0 : -ENOMEM;
}

void perfctr_x86_pce_exit(void)
{
	if (pce_wq)
		destroy_workqueue(pce_wq);	/* drains it */
}
