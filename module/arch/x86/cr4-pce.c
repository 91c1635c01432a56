// SPDX-License-Identifier: GPL-2.0
/*
 * Update CR4.PCE after a change of mm->context.perf_rdpmc_allowed, on the CPUs that
 * have that mm loaded.
 *
 * Newer kernels let no module write CR4.  The kernel derives the bit from that count
 * when it switches to an mm from a different one.  So each CPU concerned has a kernel
 * thread that borrows another process's mm for a moment, and then this one.  The
 * thread that runs there is switched out for it, and the resume of its state finds
 * the bit as it then is.  Until then the page reports that RDPMC does not work.
 *
 * Nothing waits for these threads but the release of the hardware to perf: mmap() and
 * munmap() hold mmap_lock.  The threads are real-time ones.  So on the
 * caller's CPU the bit has changed when the call returns, and on others it changes soon,
 * unless a real-time thread of a higher priority keeps the CPU for itself.
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
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/smpboot.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <asm/mmu_context.h>

#include "../../compat/cr4.h"
#include "rdpmc.h"
#include "x86.h"

/* True if this kernel needs the threads at all. */
#define NEEDS_THREADS	(!PERFCTR_WRITES_CR4 || PERFCTR_CLEARS_DIRTY)

/* The longest wait for the kernel threads. */
#define WAIT_JIFFIES	(HZ / 10 + 1)

static DEFINE_PER_CPU(struct pce_cpu {
	struct task_struct *thread;
	struct mm_struct *mm;		/* the mm to follow next, with mmgrab(); or NULL */
	atomic_t requested;		/* number of the last request */
	int completed;			/* the last request that has been fulfilled */
	bool suspect;			/* perf may have left counters to be cleared */
}, pce_cpu);

static DECLARE_WAIT_QUEUE_HEAD(completed_wait);

/*
 * The CPUs whose requests may not be completed, so that a look at all needs no others.  A
 * request sets a bit without the lock, which serialises those that look and clear bits.
 */
static struct cpumask asked;
static DEFINE_SPINLOCK(asked_lock);

/* ---- where CR4 can be written -------------------------------------------- */

/*
 * Follow the mm if it is loaded here.  A lazy kernel thread has its predecessor's mm in
 * active_mm.
 */
static void follow_here(void *mm)
{
	if (current->active_mm != mm)
		return;
	if (perfctr_x86_rdpmc_allowed(mm)) {
		/* Clear what perf left, before user mode can see it, or note it as suspect. */
		perfctr_x86_prepare_here();
		perfctr_update_cr4(X86_CR4_PCE, 0);
	} else if (!READ_ONCE(perfctr_x86_rdpmc_always)) {
		perfctr_update_cr4(0, X86_CR4_PCE);
	}
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
	bool clears = perfctr_x86_rdpmc_allowed(mm);

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
 * be, as it keeps the mappings of an exiting process.  A request holds none.  If user
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
		mmput(mm);
	}
	mmput(other);
}

void perfctr_x86_pce_wake(void)
{
	if (wq_has_sleeper(&completed_wait))
		wake_up(&completed_wait);
}

static void complete_requests(struct pce_cpu *cpu, int request)
{
	/* After the mm is dropped: a waiter may depend on that. */
	smp_store_release(&cpu->completed, request);
	perfctr_x86_pce_wake();
}

static int thread_should_run(unsigned int n)
{
	const struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	return atomic_read(&cpu->requested) != cpu->completed;
}

static void thread_follow(unsigned int n)
{
	struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);
	/* Pairs with request_switch(): the mm comes with the number. */
	int request = atomic_read_acquire(&cpu->requested);
	struct mm_struct *mm = xchg(&cpu->mm, NULL);

	/* NULL: the previous run took it, after the count had changed. */
	if (mm) {
		switch_from_other(cpu, mm);
		mmdrop(mm);
	}
	complete_requests(cpu, request);
}

static void thread_setup(unsigned int n)
{
	sched_set_fifo(current);
}

/*
 * No park: on a CPU that goes offline, a request remains.  A thread of the process may run
 * there until the scheduler moves it, and must not take the old CR4.PCE for the new one.
 * Nothing waits for a CPU meanwhile, as that needs cpus_read_lock().
 */
static struct smp_hotplug_thread pce_threads = {
	.store			= &pce_cpu.thread,
	.setup			= thread_setup,
	.thread_should_run	= thread_should_run,
	.thread_fn		= thread_follow,
	.thread_comm		= "vperfctr/%u",
};

static void set_mm(unsigned int n, struct mm_struct *mm)
{
	struct mm_struct *old;

	if (mm)
		mmgrab(mm);
	old = xchg(&per_cpu_ptr(&pce_cpu, n)->mm, mm);
	if (old)
		mmdrop(old);
}

/*
 * Request a switch to the mm that was set on CPU n.  A request that has not been served is
 * replaced: whatever mm is loaded there by then, it gets a switch from a different one.
 * A thread that already runs may be past its switch, and runs once more.
 */
static void request_switch(unsigned int n)
{
	struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	/* A thread that sees the number sees the mm. */
	atomic_inc_return_release(&cpu->requested);
	smp_mb__before_atomic();	/* the number first: see perfctr_x86_pce_idle() */
	cpumask_set_cpu(n, &asked);
	if (cpu->thread)
		wake_up_process(cpu->thread);
}

/* True if CPU n has fulfilled all requests. */
static bool has_completed(unsigned int n)
{
	const struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	/* Pairs with complete_requests(): the switch has been made. */
	return smp_load_acquire(&cpu->completed) == atomic_read(&cpu->requested);
}

bool perfctr_x86_pce_idle(void)
{
	bool idle = true;
	unsigned int n;

	if (!NEEDS_THREADS)
		return true;
	spin_lock(&asked_lock);
	for_each_cpu_and(n, &asked, cpu_online_mask) {
		idle = has_completed(n);
		if (!idle)
			break;
		/*
		 * A request made meanwhile either sets its bit after this, or is seen here and
		 * gets its bit back.
		 */
		cpumask_clear_cpu(n, &asked);
		smp_mb__after_atomic();	/* see above, and request_switch() */
		idle = has_completed(n);
		if (!idle) {
			cpumask_set_cpu(n, &asked);
			break;
		}
	}
	spin_unlock(&asked_lock);
	return idle;
}

bool perfctr_x86_pce_is_late(void)
{
	const struct pce_cpu *cpu = this_cpu_ptr(&pce_cpu);

	return READ_ONCE(cpu->completed) != atomic_read(&cpu->requested);
}

void perfctr_x86_pce_suspect(void)
{
	WRITE_ONCE(this_cpu_ptr(&pce_cpu)->suspect, true);
}

/* ---- the interface -------------------------------------------------------- */

/* True if CPU n must switch to an mm whose right has changed to @allowed. */
static bool must_switch(unsigned int n, bool allowed)
{
	if (!PERFCTR_WRITES_CR4)
		return true;
	return PERFCTR_CLEARS_DIRTY && allowed && READ_ONCE(per_cpu_ptr(&pce_cpu, n)->suspect);
}

/* A CPU that goes offline meanwhile has left the mm. */
void perfctr_x86_pce_follow(struct mm_struct *mm)
{
	bool allowed = perfctr_x86_rdpmc_allowed(mm);
	unsigned int cpu;

	if (PERFCTR_WRITES_CR4)
		on_each_cpu_mask(mm_cpumask(mm), follow_here, mm, 1);
	for_each_cpu_and(cpu, mm_cpumask(mm), cpu_online_mask) {
		if (must_switch(cpu, allowed)) {
			set_mm(cpu, mm);
			request_switch(cpu);
		}
	}
}

static bool is_settled(void)
{
	if (perfctr_x86_is_withdrawing())
		return false;
	smp_rmb();	/* pairs with end_withdrawal(): the requests are seen then */
	return perfctr_x86_pce_idle();
}

void perfctr_x86_pce_wait(void)
{
	if (!is_settled())
		wait_event_timeout(completed_wait, is_settled(), WAIT_JIFFIES);
}

int perfctr_x86_pce_init(void)
{
	return NEEDS_THREADS ? smpboot_register_percpu_thread(&pce_threads) : 0;
}

void perfctr_x86_pce_exit(void)
{
	int cpu;

	if (!NEEDS_THREADS)
		return;
	smpboot_unregister_percpu_thread(&pce_threads);
	for_each_possible_cpu(cpu)
		set_mm(cpu, NULL);
}
