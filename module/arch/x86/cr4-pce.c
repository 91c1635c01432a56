// SPDX-License-Identifier: GPL-2.0
/*
 * Update CR4.PCE after a change of mm->context.perf_rdpmc_allowed, on the CPUs that
 * have that mm loaded.
 *
 * Newer kernels let no module write CR4.  The kernel derives the bit from that count
 * when it switches to an mm from a different one.  So each CPU concerned has a kernel
 * thread that leaves the mm, as an idle CPU does before it sleeps.  The thread of the
 * process that runs there is switched out for it, and comes back from no mm at all.  The
 * resume of its state finds the bit as it then is.  Until then the page reports that RDPMC
 * does not work.
 *
 * Nothing waits for these threads but the release of the hardware to perf: mmap() and
 * munmap() hold mmap_lock.  The threads are real-time ones.  So a right that begins has set the
 * bit on the caller's CPU when the call returns, and on others it is set soon, unless a
 * real-time thread of a higher priority keeps the CPU for itself.  A right that ends may do so
 * late: see leave_later().  The threads use no process's memory and put no reference, so each
 * run is as short as a switch.
 *
 * Kernels that let a module write CR4 need the same switch for another reason.  From
 * 5.14 on, a switch to an mm that may RDPMC clears the counters that perf has left
 * (perf_clear_dirty_counters()).  They may belong to a state by then, so this must
 * happen while its owner is switched out.  But the kernel also leaves a thread's mm for a
 * moment to patch its own code, for a BPF program or a static key.  The
 * thread's counters run meanwhile.  So one such switch comes first, and the later ones
 * find nothing to clear.  The kernel clears before it sets CR4.PCE: a CPU whose bit the
 * kernel has set needs no further switch.
 *
 * Only CPUs that have the mm loaded are disturbed.  mm_cpumask() has these, and from 6.13 on
 * also others that the process has left, which may run threads of other users.  So the task
 * that is current on each of them is looked at: see has_loaded().  A CPU that switches to
 * the mm at that moment may have read the old count, and still shows the previous task.  If
 * that is possible, a worker looks once more when each such switch has ended.
 */
#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/smpboot.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <asm/mmu_context.h>

#include "../../compat/cr4.h"
#include "../../compat/dirty-counters.h"
#include "../../compat/leave-mm.h"
#include "../../compat/workqueue.h"
#include "rdpmc.h"
#include "regs.h"
#include "x86.h"

/* True if this kernel needs the threads at all. */
#define NEEDS_THREADS	(!PERFCTR_WRITES_CR4 || PERFCTR_CLEARS_DIRTY)

/* The longest wait for the kernel threads, and for a second look. */
#define WAIT_JIFFIES	(HZ / 4 + 1)

/* The shortest time between two looks of the worker, except for the release of the hardware. */
#define LOOK_JIFFIES	(HZ / 10 + 1)

static DEFINE_PER_CPU(struct pce_cpu {
	struct task_struct *thread;
	atomic_t requested;		/* number of the last request */
	int completed;			/* the last request that has been fulfilled */
	struct preempt_notifier notifier;	/* of the thread */
	bool has_left;			/* the thread has left the mm that it has found */
	const struct task_struct *idle;	/* the idle task, if the thread then gave it the CPU */
	unsigned long idle_switches;	/* its switches_of() at that time */
	bool suspect;			/* the kernel may still clear the counters of perf */
	bool follows;			/* CR4.PCE was clear; only the kernel has set it since */
}, pce_cpu);

static DECLARE_WAIT_QUEUE_HEAD(completed_wait);

/*
 * The CPUs whose requests may not be completed, so that a look at all needs no others.  A
 * request sets a bit without the lock, which serialises those that look and clear bits.
 */
static struct cpumask asked;
static DEFINE_SPINLOCK(asked_lock);

/* ---- which CPUs have an mm loaded ------------------------------------------- */

static unsigned long switches_of(const struct task_struct *task)
{
	return READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
}

/*
 * True if our thread has left the mm, and the CPU has been idle since then.  Its active_mm says
 * otherwise.
 */
static bool has_left(const struct pce_cpu *cpu, const struct task_struct *task,
		     unsigned long switches)
{
	return READ_ONCE(cpu->idle) == task && READ_ONCE(cpu->idle_switches) == switches;
}

/*
 * True if the task that is current has the mm, or a kernel thread has it from its predecessor
 * and may not have left it.  NULL: a kernel thread has given it to the next one.
 */
static bool task_has(const struct task_struct *task, const struct mm_struct *mm)
{
	const struct mm_struct *active = READ_ONCE(task->active_mm);

	return active == mm || !active;
}

/*
 * True if a CPU has the mm loaded, except that it may switch to it at this moment.  A kernel
 * thread that has left it may be taken for one that has it.  The CPU is not interrupted.
 *
 * A kernel thread's active_mm changes when it is switched, and it may be on another CPU by
 * then.  It is switched out in between, and the number of its switches grows.
 */
static bool has_loaded(int n, const struct mm_struct *mm)
{
	struct task_struct *task;
	unsigned long switches;
	bool ret;

	rcu_read_lock();	/* the task is not freed */
	do {
		task = perfctr_task_on_cpu(n);
		switches = switches_of(task);
		smp_rmb();	/* the task is current, then it has this mm */
		ret = task_has(task, mm) && !has_left(per_cpu_ptr(&pce_cpu, n), task, switches);
		smp_rmb();	/* and it has not been switched out meanwhile */
	} while (task != perfctr_task_on_cpu(n) || switches != switches_of(task));
	rcu_read_unlock();
	return ret;
}

/* More threads than that are not looked at. */
#define MAX_THREADS	64

/* Return: true if a thread does not run.  *switches is then the number of times that it has run. */
static bool rests(const struct task_struct *task, unsigned long *switches)
{
	bool runs = false;

	*switches = switches_of(task);
	smp_rmb();	/* it does not run after this number of times */
#ifdef CONFIG_SMP
	runs = READ_ONCE(task->on_cpu);
#endif
	smp_rmb();	/* and it has not just stopped */
	return !runs && *switches == switches_of(task);
}

/*
 * Count the threads of current's process that have its mm.  If `which` is the same twice within one
 * RCU section, they are the same ones, and have not run in between.
 *
 * Context: RCU.
 * Return: false if another thread runs, or there are too many.
 */
static bool count_threads(unsigned int *nr, unsigned long *which)
{
	struct task_struct *task;
	unsigned int nr_seen = 0;
	unsigned long switches;

	*nr = 0;
	*which = 0;
	for_each_thread(current, task) {
		if (task != current) {
			if (!rests(task, &switches))
				return false;
			*which += (unsigned long)task + switches;
		}
		/* One that is ending has put the mm, and may stay in the list for long. */
		*nr += READ_ONCE(task->mm) == current->mm;
		if (++nr_seen > MAX_THREADS)
			return false;
	}
	return true;
}

/*
 * True if no CPU is in a switch to the mm that has read the old count: this is the mm of the
 * caller's process, and no other thread of it runs.  A switch first marks the thread as one
 * that runs.  Then it loads the mm, which is a full barrier, and then it reads the count.
 */
static bool runs_alone(const struct mm_struct *mm)
{
	unsigned long which, which_before;
	unsigned int nr, nr_before;
	bool alone;

	if (current->mm != mm)
		return false;
	rcu_read_lock();
	/* A thread that is counted may start another one and end, so all are counted twice. */
	alone = count_threads(&nr_before, &which_before);
	smp_rmb();	/* the number between the two counts */
	/* Other processes, and the kernel, may use the same mm. */
	alone = alone && nr_before == atomic_read(&mm->mm_users);
	smp_rmb();	/* likewise */
	alone = alone && count_threads(&nr, &which) && nr == nr_before && which == which_before;
	rcu_read_unlock();
	smp_rmb();	/* a thread that has run may have left the mm loaded: see has_loaded() */
	return alone;
}

/* ---- where CR4 can be written -------------------------------------------- */

/*
 * True if the mm is loaded here.  A lazy kernel thread has its predecessor's mm in
 * active_mm.
 */
static bool is_here(const struct mm_struct *mm)
{
	return current->active_mm == mm;
}

/*
 * Perf's counters have been cleared here if the kernel has set CR4.PCE since our thread left
 * the mm.  Context: interrupts disabled.
 */
static void trust_kernel_here(void)
{
	struct pce_cpu *cpu = this_cpu_ptr(&pce_cpu);

	if (cpu->suspect && cpu->follows && perfctr_user_rdpmc())
		WRITE_ONCE(cpu->suspect, false);
}

/* The mm whose right has changed. */
struct change {
	struct mm_struct *mm;
	bool left_out;		/* a CPU in mm_cpumask() was not asked */
};

/*
 * True if CPU n must be asked.  One that has not loaded the mm now may do so at once, with the old
 * count.  So a later look cannot tell that it was asked.
 */
static bool must_ask(int n, void *info)
{
	struct change *change = info;
	bool ret = has_loaded(n, change->mm);

	if (!ret)
		change->left_out = true;
	return ret;
}

/* These two do nothing if the right has changed again: that change asks the CPUs itself. */
static void allow_here(void *info)
{
	struct mm_struct *mm = ((struct change *)info)->mm;

	if (!is_here(mm) || !perfctr_x86_rdpmc_allowed(mm))
		return;
	/* Clear what perf left, before user mode can see it, or note it as suspect. */
	perfctr_prepare_here();
	trust_kernel_here();
	this_cpu_ptr(&pce_cpu)->follows = false;
	perfctr_update_cr4(X86_CR4_PCE, 0);
}

static void forbid_here(void *info)
{
	struct mm_struct *mm = ((struct change *)info)->mm;

	if (!is_here(mm) || perfctr_x86_rdpmc_allowed(mm))
		return;
	trust_kernel_here();
	perfctr_update_cr4(0, X86_CR4_PCE);
}

/* ---- the threads ---------------------------------------------------------- */

void perfctr_x86_pce_wake(void)
{
	if (wq_has_sleeper(&completed_wait))
		wake_up(&completed_wait);
}

static int thread_should_run(unsigned int n)
{
	const struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	return atomic_read(&cpu->requested) != cpu->completed;
}

static void thread_leave(unsigned int n)
{
	struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);
	/* Pairs with request_switch(): the count has changed. */
	int request = atomic_read_acquire(&cpu->requested);

	local_irq_disable();
	trust_kernel_here();
	perfctr_leave_mm();
	cpu->has_left = true;	/* before the thread can be switched out */
	/* CR4.PCE is that of a CPU without a process: set under rdpmc=2 only. */
	cpu->follows = !perfctr_user_rdpmc();
	if (cpu->follows)
		perfctr_x86_deny_always();
	local_irq_enable();
	/* Whatever runs next here gets its CR4.PCE from its mm. */
	smp_store_release(&cpu->completed, request);
	perfctr_x86_pce_wake();
}

static void thread_sched_in(struct preempt_notifier *notifier, int n)
{
	container_of(notifier, struct pce_cpu, notifier)->has_left = false;
}

/* Context: interrupts disabled, as in each switch. */
static void thread_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	struct pce_cpu *cpu = container_of(notifier, struct pce_cpu, notifier);

	/* Other kernel threads can borrow an mm. */
	WRITE_ONCE(cpu->idle_switches, switches_of(next));
	WRITE_ONCE(cpu->idle, cpu->has_left && is_idle_task(next) ? next : NULL);
	cpu->has_left = false;
}

static struct preempt_ops thread_ops __ro_after_init = {
	.sched_in	= thread_sched_in,
	.sched_out	= thread_sched_out,
};

/*
 * preempt_notifier_register() warns while the static key of notifiers is off, as it is before there
 * are states.  So this adds to the list itself.
 */
static void thread_setup(unsigned int n)
{
	struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	sched_set_fifo(current);
	preempt_notifier_init(&cpu->notifier, &thread_ops);
	preempt_disable();
	hlist_add_head(&cpu->notifier.link, &current->preempt_notifiers);
	preempt_enable();
}

static void thread_cleanup(unsigned int n, bool online)
{
	preempt_disable();
	hlist_del(&per_cpu_ptr(&pce_cpu, n)->notifier.link);
	preempt_enable();
}

/*
 * No park: on a CPU that goes offline, a request remains.  A thread of the process may run
 * there until the scheduler moves it, and must not take the old CR4.PCE for the new one.
 * Nothing waits for a CPU meanwhile, as that needs cpus_read_lock().
 */
static struct smp_hotplug_thread pce_threads = {
	.store			= &pce_cpu.thread,
	.setup			= thread_setup,
	.cleanup		= thread_cleanup,
	.thread_should_run	= thread_should_run,
	.thread_fn		= thread_leave,
	.thread_comm		= "vperfctr/%u",
};

/*
 * A right that ends may end late.  A CPU that runs another process takes it away in that switch.
 * So one that still has it has run no other process since the first mapping, before which what
 * others had left there was cleared.  The process sees what it could see with the right: its
 * own counts.  Until all CPUs have followed, all suspends of others clear counters all the same
 * (raise_level() and lower_level() in rdpmc.c), no CPU takes the old CR4.PCE for rdpmc=2, and the
 * hardware is not released, so that neither perf nor a counted CPU gets it.
 *
 * A thread that is woken for it costs two switches, which stop and start the counters.  So one
 * work wakes those of all CPUs a little later, unless the release comes first.  A process that
 * maps a page over and over is disturbed by it no more often than that.
 */
#define LEAVE_JIFFIES	(HZ / 10 + 1)

static void leave_now(struct work_struct *work);
static DECLARE_DELAYED_WORK(leave_work, leave_now);

static void leave_later(void)
{
	/* Pairs with the start of the work, a full barrier: it sees the request, or is queued. */
	smp_mb__after_atomic();
	if (!delayed_work_pending(&leave_work))
		queue_delayed_work(system_dfl_wq, &leave_work, LEAVE_JIFFIES);
}

/*
 * Request that CPU n leaves its mm, now or later.  A thread that already runs may have done so
 * before, and runs once more.
 */
static void request_switch(unsigned int n, bool now)
{
	struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	/* A thread that sees the number comes after the change. */
	atomic_inc_return_release(&cpu->requested);
	smp_mb__before_atomic();	/* the number first: see perfctr_x86_pce_idle() */
	cpumask_set_cpu(n, &asked);
	if (!now)
		leave_later();
	else if (cpu->thread)
		wake_up_process(cpu->thread);
}

/* True if CPU n has fulfilled all requests. */
static bool has_completed(unsigned int n)
{
	const struct pce_cpu *cpu = per_cpu_ptr(&pce_cpu, n);

	/* Pairs with thread_leave(). */
	return smp_load_acquire(&cpu->completed) == atomic_read(&cpu->requested);
}

/* Let the CPUs fulfil their requests now. */
static void wake_asked(void)
{
	struct task_struct *thread;
	unsigned int n;

	/* Not only those in `asked`: has_no_requests() takes CPUs out of it for a moment. */
	for_each_online_cpu(n) {
		thread = per_cpu_ptr(&pce_cpu, n)->thread;
		if (thread && !has_completed(n))
			wake_up_process(thread);
	}
}

static void leave_now(struct work_struct *work)
{
	wake_asked();
}

/*
 * True if every CPU has fulfilled its requests.  Otherwise wake those that have not: the release
 * of the hardware waits for them.
 */
static bool idle_or_wake(void)
{
	if (perfctr_x86_pce_idle())
		return true;
	wake_asked();
	return false;
}

/* ---- asking the CPUs ------------------------------------------------------- */

/*
 * True if CPU n is this one, RDPMC works here for the mm, as the right ends late, and the kernel
 * has cleared what perf left.
 */
static bool works_here(unsigned int n, const struct mm_struct *mm)
{
	bool works = false;
	unsigned long flags;

	local_irq_save(flags);
	if (n == smp_processor_id() && is_here(mm)) {
		trust_kernel_here();
		works = perfctr_user_rdpmc() && !this_cpu_ptr(&pce_cpu)->suspect;
	}
	local_irq_restore(flags);
	return works;
}

/*
 * True if CPU n must leave an mm whose right has changed to @allowed.  A CPU may remain suspect
 * for a few such changes: it may run another process before the kernel has cleared what perf
 * left.
 *
 * @always: rdpmc=2 seems to be in force.  Then the module does not clear CR4.PCE itself, and
 * the kernel decides.  Before 5.14 there are no threads for that, and perf has no events
 * while the counters are reserved, so that the inference is right.
 */
static bool must_leave(unsigned int n, bool allowed, bool always)
{
	if (!PERFCTR_WRITES_CR4)
		return true;
	if (!PERFCTR_CLEARS_DIRTY)
		return false;
	return allowed ? READ_ONCE(per_cpu_ptr(&pce_cpu, n)->suspect) : always;
}

/*
 * Let the CPUs that have the mm loaded follow it.
 *
 * Context: interrupts enabled.  A CPU that goes offline meanwhile has left the mm.
 * Return: true if a CPU in mm_cpumask() was not asked: it has another mm loaded, or is in a
 * switch.
 */
static bool ask_cpus(struct mm_struct *mm)
{
	bool allowed = perfctr_x86_rdpmc_allowed(mm);
	bool always = READ_ONCE(perfctr_x86_rdpmc_always);	/* one decision for all CPUs */
	struct change change = { .mm = mm };
	unsigned int cpu;

	if (PERFCTR_WRITES_CR4 && (allowed || !always))
		on_each_cpu_cond_mask(must_ask, allowed ? allow_here : forbid_here, &change, 1,
				      mm_cpumask(mm));
	for_each_cpu_and(cpu, mm_cpumask(mm), cpu_online_mask) {
		if (!has_loaded(cpu, mm))
			change.left_out = true;
		else if (must_leave(cpu, allowed, always) &&
			 !(allowed && works_here(cpu, mm)))
			request_switch(cpu, allowed);
	}
	return change.left_out;
}

/* ---- the second look ------------------------------------------------------- */

/* An mm whose count has changed, and whose CPUs must be looked at again. */
struct later {
	struct list_head list;
	struct mm_struct *mm;		/* with mmgrab() */
};

static LIST_HEAD(later_list);
static DEFINE_SPINLOCK(later_lock);

/* All of them, and by hash of the mm. */
static atomic_t nr_later;
#define LATER_BITS	6
static atomic_t later_by_mm[1 << LATER_BITS];

/* When the worker last looked, in jiffies. */
static unsigned long looked_at;

static void look_again(struct work_struct *work);
static DECLARE_DELAYED_WORK(later_work, look_again);

static atomic_t *later_of(const struct mm_struct *mm)
{
	return &later_by_mm[hash_ptr(mm, LATER_BITS)];
}

static void end_later(struct later *later)
{
	smp_mb__before_atomic();	/* the CPUs have been asked: see is_late_here() */
	atomic_dec(later_of(later->mm));
	atomic_dec(&nr_later);
	mmdrop(later->mm);
	kfree(later);
}

/*
 * A CPU that read the old count has been in a switch since then, with interrupts disabled.
 * After a grace period it shows the mm, unless it has left it.
 */
static void look_again(struct work_struct *work)
{
	struct later *later, *next;
	LIST_HEAD(list);

	spin_lock(&later_lock);
	list_splice_init(&later_list, &list);
	spin_unlock(&later_lock);
	synchronize_rcu();
	list_for_each_entry_safe(later, next, &list, list) {
		ask_cpus(later->mm);
		end_later(later);
	}
	WRITE_ONCE(looked_at, jiffies);
	perfctr_x86_pce_wake();
}

static bool is_listed(const struct mm_struct *mm)
{
	struct later *later;

	list_for_each_entry(later, &later_list, list) {
		if (later->mm == mm)
			return true;
	}
	return false;
}

/*
 * Make an entry.  A process in a full memory cgroup must not let CPUs of others be asked instead,
 * so it gets one that is not charged.  Each call of a thread makes one at most, and an mm has two,
 * for a tenth of a second.
 */
static struct later *alloc_later(void)
{
	struct later *later = kmalloc(sizeof(*later), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	return later ?: kmalloc(sizeof(*later), GFP_KERNEL);
}

/* Look at the mm later, when a worker does.  Return: false if there is no memory. */
static bool look_later(struct mm_struct *mm)
{
	struct later *later = alloc_later();
	unsigned long last, due, now;

	if (!later)
		return false;
	later->mm = mm;
	spin_lock(&later_lock);
	if (is_listed(mm)) {
		kfree(later);
	} else {
		mmgrab(mm);
		atomic_inc(&nr_later);
		atomic_inc(later_of(mm));
		list_add_tail(&later->list, &later_list);
	}
	spin_unlock(&later_lock);
	last = READ_ONCE(looked_at);
	due = last + LOOK_JIFFIES;
	now = jiffies;
	/* The last look may be so old that jiffies has wrapped. */
	queue_delayed_work(system_dfl_wq, &later_work,
			   time_in_range_open(now, last, due) ? due - now : 0);
	return true;
}

static void forget_later(void)
{
	struct later *later, *next;

	list_for_each_entry_safe(later, next, &later_list, list) {
		list_del(&later->list);
		end_later(later);
	}
}

/* ---- the interface -------------------------------------------------------- */

/* True if no CPU has a request, or will have one of which this module knows. */
static bool has_no_requests(void)
{
	bool idle = true;
	unsigned int n;

	if (atomic_read(&nr_later))
		return false;
	smp_rmb();	/* pairs with end_later(): the requests are seen then */
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

	if (atomic_read(later_of(current->mm)))
		return true;
	smp_rmb();	/* pairs with end_later(), as in has_no_requests() */
	return READ_ONCE(cpu->completed) != atomic_read(&cpu->requested);
}

void perfctr_x86_pce_suspect(void)
{
	struct pce_cpu *cpu = this_cpu_ptr(&pce_cpu);

	cpu->follows = false;	/* CR4.PCE may be older than what perf has left */
	WRITE_ONCE(cpu->suspect, true);
}

bool perfctr_x86_pce_is_suspect(void)
{
	return this_cpu_ptr(&pce_cpu)->suspect;
}

void perfctr_x86_pce_follow(struct mm_struct *mm)
{
	struct change change = { .mm = mm };
	bool allowed, alone;
	unsigned int cpu;

	smp_mb();	/* the count first: see runs_alone() */
	alone = runs_alone(mm);
	if (!ask_cpus(mm) || alone)
		return;
	if (look_later(mm))
		return;
	/* No memory: ask all, and let all leave the mm, whatever rdpmc is. */
	allowed = perfctr_x86_rdpmc_allowed(mm);
	if (PERFCTR_WRITES_CR4 && (allowed || !READ_ONCE(perfctr_x86_rdpmc_always)))
		on_each_cpu_mask(mm_cpumask(mm), allowed ? allow_here : forbid_here, &change, 1);
	for_each_cpu_and(cpu, mm_cpumask(mm), cpu_online_mask) {
		if (NEEDS_THREADS)
			request_switch(cpu, allowed);
	}
}

bool perfctr_x86_pce_idle(void)
{
	if (perfctr_x86_is_withdrawing())
		return false;
	smp_rmb();	/* pairs with end_withdrawal(): the requests are seen then */
	return has_no_requests();
}

void perfctr_x86_pce_wait(void)
{
	if (perfctr_x86_pce_idle())
		return;
	/* The worker need not wait its turn. */
	if (atomic_read(&nr_later))
		mod_delayed_work(system_dfl_wq, &later_work, 0);
	wait_event_timeout(completed_wait, idle_or_wake(), WAIT_JIFFIES);
}

int perfctr_x86_pce_init(void)
{
	looked_at = jiffies - LOOK_JIFFIES;
	return NEEDS_THREADS ? smpboot_register_percpu_thread(&pce_threads) : 0;
}

void perfctr_x86_pce_exit(void)
{
	cancel_delayed_work_sync(&later_work);
	cancel_delayed_work_sync(&leave_work);
	forget_later();
	if (NEEDS_THREADS)
		smpboot_unregister_percpu_thread(&pce_threads);
}
