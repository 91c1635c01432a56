// SPDX-License-Identifier: GPL-2.0
/*
 * Update CR4.PCE after a change of mm->context.perf_rdpmc_allowed, on the CPUs that
 * have that mm loaded.
 *
 * Newer kernels let no module write CR4.  The kernel derives the bit from that count
 * when it switches to an mm from a different one.  So each CPU concerned gets a kernel
 * thread that borrows another process's mm for a moment, and then this one.  The
 * thread that runs there is switched out for it, and the resume of its state finds
 * the bit as it then is.  Until then the page reports that RDPMC does not work.  The
 * wait for the kernel threads is short: the caller holds mmap_lock, and a real-time
 * thread may keep the CPU for itself.
 *
 * Kernels that let a module write CR4 need the same switch for another reason.  From
 * 5.14 on, a switch to an mm that may RDPMC clears the counters that perf has left
 * (perf_clear_dirty_counters()).  They may belong to a state by then, so this must
 * happen while its owner is switched out.  But the kernel also leaves a thread's mm for a
 * moment to patch its own code, for a BPF program or a static key.  The
 * thread's counters run meanwhile.  So one such switch comes first, and the later ones
 * find nothing to clear.
 */
#include <linux/atomic.h>
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

/* The longest wait for the kernel threads. */
#define WAIT_JIFFIES	(HZ / 10 + 1)

static struct workqueue_struct *pce_wq;

static DEFINE_PER_CPU(struct pce_cpu {
	struct work_struct work;
	struct mm_struct *mm;		/* the mm to follow next, with mmgrab(); or NULL */
	unsigned int requested;		/* number of the last request */
	unsigned int completed;		/* the last request that has been fulfilled */
	bool suspect;			/* perf may have left counters to be cleared */
}, pce_cpu);

/* CPUs whose works are waited for.  The callers of perfctr_x86_pce_follow() serialise. */
static struct cpumask waited;
static DECLARE_WAIT_QUEUE_HEAD(completed_wait);

/* ---- where CR4 can be written -------------------------------------------- */

static void follow_here(void *arg)
{
	struct mm_struct *mm = arg;

	/* A lazy kernel thread has its predecessor's mm in active_mm. */
	if (current->active_mm != mm)
		return;
	if (perfctr_x86_rdpmc_allowed(mm))
		perfctr_update_cr4(X86_CR4_PCE, 0);
	else
		perfctr_update_cr4(0, X86_CR4_PCE);
}

/* ---- a switch to the mm --------------------------------------------------- */

/* Get a reference to the mm of another process.  Init always has one. */
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

static void borrow_mm(struct mm_struct *mm)
{
	kthread_use_mm(mm);
	kthread_unuse_mm(mm);
}

/* Switch to @mm from a different one, whichever is loaded here. */
static void switch_to_mm(struct pce_cpu *cpu, struct mm_struct *mm, struct mm_struct *other)
{
	/* The work of a CPU that went offline runs elsewhere, and does nothing for it. */
	bool clears = perfctr_x86_rdpmc_allowed(mm) && cpu == raw_cpu_ptr(&pce_cpu);

	/* Before the switch: perf may leave counters right after it. */
	if (clears)
		WRITE_ONCE(cpu->suspect, false);
	borrow_mm(other);
	borrow_mm(mm);
	if (clears && !perfctr_x86_rdpmc_allowed(mm))
		WRITE_ONCE(cpu->suspect, true);
}

/*
 * Borrow the mm with a reference to its user space.  The reference is as short as it can
 * be, as it keeps the mappings of an exiting process.  A queued work holds none.  If user
 * space is gone by now, a second process's mm serves as well: the CPU returns to its
 * thread from a different mm.
 */
static void switch_from_other(struct pce_cpu *cpu, struct mm_struct *mm)
{
	struct mm_struct *other = get_other_mm(mm);

	if (!other)
		return;
	if (!mmget_not_zero(mm))
		mm = get_other_mm(other);
	if (mm) {
		switch_to_mm(cpu, mm, other);
		/*
		 * If this is the last reference, unmapping may need a lock that the waiter
		 * holds.  The waiter times out.
		 */
		mmput(mm);
	}
	mmput(other);
}

static void follow_work(struct work_struct *work)
{
	struct pce_cpu *cpu = container_of(work, struct pce_cpu, work);
	/* Pairs with queue_follow(): the mm comes with the number. */
	unsigned int request = smp_load_acquire(&cpu->requested);
	struct mm_struct *mm = xchg(&cpu->mm, NULL);

	/* NULL: the previous run took it, after the count had changed. */
	if (mm) {
		switch_from_other(cpu, mm);
		mmdrop(mm);
	}
	/* After the mm is dropped: a waiter may depend on that. */
	smp_store_release(&cpu->completed, request);
	wake_up(&completed_wait);
}

/*
 * Queue a switch to this mm on CPU n.  A request that is still queued is replaced:
 * whatever mm is loaded there by then, it gets a switch from a different one.  A work
 * that already runs may be past its switch, and is queued again.
 */
static void queue_follow(unsigned int n, struct mm_struct *mm)
{
	struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);
	struct mm_struct *old;

	mmgrab(mm);
	old = xchg(&cpu->mm, mm);
	if (old)
		mmdrop(old);
	/* A work that sees the number sees the mm. */
	smp_store_release(&cpu->requested, cpu->requested + 1);
	cpumask_set_cpu(n, &waited);
	queue_work_on(n, pce_wq, &cpu->work);
}

static bool all_completed(void)
{
	unsigned int n;

	for_each_cpu(n, &waited) {
		const struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

		/* Pairs with the release in follow_work(): the switch has been made. */
		if (smp_load_acquire(&cpu->completed) != cpu->requested)
			return false;
	}
	return true;
}

void perfctr_x86_pce_suspect(void)
{
	WRITE_ONCE(this_cpu_ptr(&pce_cpu)->suspect, true);
}

/* ---- the interface -------------------------------------------------------- */

void perfctr_x86_pce_follow(struct mm_struct *mm)
{
	bool clears = PERFCTR_CLEARS_DIRTY && perfctr_x86_rdpmc_allowed(mm);
	unsigned int cpu;

	if (PERFCTR_WRITES_CR4)
		on_each_cpu_mask(mm_cpumask(mm), follow_here, mm, 1);
	/* A CPU that goes offline meanwhile has left the mm. */
	for_each_cpu_and(cpu, mm_cpumask(mm), cpu_online_mask) {
		if (!PERFCTR_WRITES_CR4 ||
		    (clears && READ_ONCE(per_cpu_ptr(&pce_cpu, cpu)->suspect)))
			queue_follow(cpu, mm);
	}
}

void perfctr_x86_pce_wait(void)
{
	wait_event_timeout(completed_wait, all_completed(), WAIT_JIFFIES);
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
