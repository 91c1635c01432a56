// SPDX-License-Identifier: GPL-2.0
/*
 * CR4.PCE after a change of mm->context.perf_rdpmc_allowed, on the CPUs that
 * have that mm loaded.
 *
 * Newer kernels let no module write CR4.  They set the bit themselves, by that
 * count, when they switch to an mm from a different one; so each CPU concerned
 * gets a kernel thread that borrows some other process's mm for a moment, and then
 * this one.  Who runs there is switched out for it, and its state's resume finds the
 * bit as it then is.  Until the thread has had its turn the page says that RDPMC does not
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
#include "rdpmc.h"
#include "x86.h"

/* How long to wait for those threads. */
#define WAIT_JIFFIES	(HZ / 50 + 1)

static struct workqueue_struct *pce_wq;

static DEFINE_PER_CPU(struct pce_cpu {
	struct work_struct work;
	struct mm_struct *mm;		/* the mm to follow, with a reference */
	bool pending;			/* the work has mm, and has not been through it */
	bool suspect;			/* perf may have left counters, which it would clear */
}, pce_cpu);

/* CPUs whose works are waited for.  Changes as the callers of follow() serialise. */
static struct cpumask waited;
static DECLARE_WAIT_QUEUE_HEAD(some_ended);

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

/* ---- a switch to it ------------------------------------------------------- */

/* Another process's mm than this, which exists, with a reference.  There is always init's. */
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

static void borrow(struct mm_struct *mm)
{
	kthread_use_mm(mm);
	kthread_unuse_mm(mm);
}

/* Whichever mm is loaded here: there is a switch to this one from another. */
static void switch_to_mm(struct pce_cpu *cpu, struct mm_struct *mm, struct mm_struct *other)
{
	/* The work of a CPU that went offline is done elsewhere, in vain. */
	bool clears = perfctr_x86_rdpmc_allowed(mm) && cpu == raw_cpu_ptr(&pce_cpu);

	/* Ahead of it, as perf may leave something right after. */
	if (clears)
		WRITE_ONCE(cpu->suspect, false);
	borrow(other);
	borrow(mm);
	if (clears && !perfctr_x86_rdpmc_allowed(mm))
		WRITE_ONCE(cpu->suspect, true);
}

static void follow_work(struct work_struct *work)
{
	struct pce_cpu *cpu = container_of(work, struct pce_cpu, work);
	struct mm_struct *mm = cpu->mm, *other = get_other_mm(mm);

	if (other)
		switch_to_mm(cpu, mm, other);
	/*
	 * Ahead of the end: a process that waits for that has a reference, and may be
	 * gone with its mapping right after.  (The last one of another, which died, takes
	 * a lock that who waits holds; he does not wait for long.)
	 */
	mmput(mm);
	smp_store_release(&cpu->pending, false);	/* another may be given to it */
	wake_up(&some_ended);
	if (other)
		mmput(other);
}

static void queue_follow(unsigned int n, struct mm_struct *mm)
{
	struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	/*
	 * A work that is still to come from before will be a switch from whatever is
	 * loaded there by then, so from this mm too.
	 */
	if (smp_load_acquire(&cpu->pending) || !mmget_not_zero(mm))
		return;
	cpu->mm = mm;
	WRITE_ONCE(cpu->pending, true);
	cpumask_set_cpu(n, &waited);
	queue_work_on(n, pce_wq, &cpu->work);
}

static bool have_ended(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, &waited) {
		/* What it has done is seen after. */
		if (smp_load_acquire(&per_cpu_ptr(&pce_cpu, cpu)->pending))
			return false;
	}
	return true;
}

void perfctr_x86_pce_suspect(void)
{
	WRITE_ONCE(this_cpu_ptr(&pce_cpu)->suspect, true);
}

/* ------------------------------------------------------------------------------ */

void perfctr_x86_pce_follow(struct mm_struct *mm)
{
	bool clears = PERFCTR_CLEARS_DIRTY && perfctr_x86_rdpmc_allowed(mm);
	unsigned int cpu;

	if (PERFCTR_WRITES_CR4)
		on_each_cpu_mask(mm_cpumask(mm), follow_here, mm, 1);
	/* One that goes offline meanwhile has left the mm. */
	for_each_cpu_and(cpu, mm_cpumask(mm), cpu_online_mask) {
		if (!PERFCTR_WRITES_CR4 ||
		    (clears && READ_ONCE(per_cpu_ptr(&pce_cpu, cpu)->suspect)))
			queue_follow(cpu, mm);
	}
}

void perfctr_x86_pce_wait(void)
{
	wait_event_timeout(some_ended, have_ended(), WAIT_JIFFIES);
	cpumask_clear(&waited);
}

int perfctr_x86_pce_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_WORK(&per_cpu_ptr(&pce_cpu, cpu)->work, follow_work);
	pce_wq = alloc_workqueue("vperfctr_pce", WQ_PERCPU, 0);
	return pce_wq ? 0 : -ENOMEM;
}

void perfctr_x86_pce_exit(void)
{
	if (pce_wq)
		destroy_workqueue(pce_wq);	/* drains it */
}
