// SPDX-License-Identifier: GPL-2.0
/*
 * A thread and its state: how the one gets the other and loses it, and what
 * the thread's context switches, exec, fork and exit do to it.
 *
 * There is no pointer to the state in the task: its preempt notifier on the
 * task's list is the link.  That list is the task's own, changed and walked
 * by nobody else.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/binfmts.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "compat/hrtimer.h"
#include "compat/tracepoint.h"
#include "vperfctr.h"

static struct kmem_cache *vperfctr_cache;

/* Detaching what cannot be done in an exiting thread; drained before unload. */
static struct workqueue_struct *vperfctr_wq;

/* ---- narrow counters ---------------------------------------------------- */

/*
 * A counter of 32 bits can go round more than once between two context
 * switches, and then its difference is wrong.  Where there are such, each CPU
 * that runs a state samples it often enough; the timer stops by itself when it
 * finds nothing to sample.
 */
static DEFINE_PER_CPU(struct hrtimer, sampling_timer);

static void sample_here(void *arg);

static enum hrtimer_restart sampling_tick(struct hrtimer *timer)
{
	struct vperfctr *st = vperfctr_of_current();

	/* Timers of CPUs that went offline expire elsewhere; those have their own. */
	if (!st || READ_ONCE(st->cpu) < 0 || timer != this_cpu_ptr(&sampling_timer))
		return HRTIMER_NORESTART;
	sample_here(st);
	hrtimer_forward_now(timer, ns_to_ktime(perfctr_cpu_sampling_ns));
	return HRTIMER_RESTART;
}

/* Preemption is disabled.  A timer about to stop by itself counts as stopped. */
static noinline void start_sampling(void)
{
	struct hrtimer *timer = this_cpu_ptr(&sampling_timer);

	if (!hrtimer_is_queued(timer))
		hrtimer_start(timer, ns_to_ktime(perfctr_cpu_sampling_ns),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

static void sampling_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_setup(per_cpu_ptr(&sampling_timer, cpu), sampling_tick,
			      CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

static void sampling_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(per_cpu_ptr(&sampling_timer, cpu));
}

/* ---- the counters of current -------------------------------------------- */

/*
 * Start and stop the counters of a state whose owner is current and whose
 * `stop` has just been or will be changed.  Interrupts are disabled, or, for
 * start in a context switch, preemption is: until cpu is set an interrupt
 * takes the counters for stopped, which for the sums is true enough.
 */
static __always_inline void start_here(struct vperfctr *st, int cpu)
{
	perfctr_cpu_resume(&st->cpu_state);
	barrier();	/* resumed before an interrupt samples */
	WRITE_ONCE(st->cpu, cpu);
	if (unlikely(perfctr_cpu_sampling_ns))
		start_sampling();
}

static __always_inline void stop_here(struct vperfctr *st)
{
	perfctr_cpu_suspend(&st->cpu_state);
	/* Who sees that they do not run sees all that they counted. */
	smp_store_release(&st->cpu, -1);
}

void vperfctr_start(struct vperfctr *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu < 0 && !st->stop)
		start_here(st, smp_processor_id());
}

void vperfctr_stop(struct vperfctr *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu >= 0)
		stop_here(st);
}

static void sample_here(void *arg)
{
	struct vperfctr *st = arg;

	if (READ_ONCE(st->cpu) == smp_processor_id())
		perfctr_cpu_sample(&st->cpu_state);
}

/*
 * Bring the sums of a running owner up to date, for whoever is about to read
 * them.  If it stops running before the interrupt gets there, its suspend has
 * brought them up to a moment after this call.  May sleep.
 */
void vperfctr_sample_owner(struct vperfctr *st)
{
	int cpu = smp_load_acquire(&st->cpu);	/* see stop_here() */

	/* An error means that the CPU went offline: the owner left it before that. */
	if (cpu >= 0)
		smp_call_function_single(cpu, sample_here, st, 1);
}

/* ---- context switches --------------------------------------------------- */

/* Run-queue lock held, interrupts disabled; current is the owner still. */
static void vperfctr_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	struct vperfctr *st = container_of(notifier, struct vperfctr, notifier);

	if (likely(st->cpu >= 0))
		stop_here(st);
}

/* Interrupts enabled, preemption disabled. */
static void vperfctr_sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct vperfctr *st = container_of(notifier, struct vperfctr, notifier);

	if (likely(!st->stop))
		start_here(st, cpu);
}

static struct preempt_ops vperfctr_preempt_ops = {
	.sched_in	= vperfctr_sched_in,
	.sched_out	= vperfctr_sched_out,
};

/*
 * The notifiers' static key: taken when there is a first state, given back
 * when there has been none for a while, so that programs run one after the
 * other do not patch the kernel each time.
 */
static DEFINE_MUTEX(notifiers_mutex);
static unsigned int nr_states;
static bool notifiers_on;

static void notifiers_drop(struct work_struct *work)
{
	mutex_lock(&notifiers_mutex);
	if (!nr_states && notifiers_on) {
		preempt_notifier_dec();
		notifiers_on = false;
	}
	mutex_unlock(&notifiers_mutex);
}

static DECLARE_DELAYED_WORK(notifiers_drop_work, notifiers_drop);

static void notifiers_get(void)
{
	mutex_lock(&notifiers_mutex);
	nr_states++;
	if (!notifiers_on) {
		preempt_notifier_inc();
		notifiers_on = true;
	}
	mutex_unlock(&notifiers_mutex);
}

static void notifiers_put(void)
{
	mutex_lock(&notifiers_mutex);
	if (!--nr_states)
		mod_delayed_work(system_wq, &notifiers_drop_work, HZ);
	mutex_unlock(&notifiers_mutex);
}

/* ---- life of a state ---------------------------------------------------- */

static void detach_work(struct work_struct *work);

struct vperfctr *vperfctr_create(void)
{
	struct vperfctr *st;

	st = kmem_cache_zalloc(vperfctr_cache, GFP_KERNEL);
	if (!st)
		return ERR_PTR(-ENOMEM);
	st->cpu_state.page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!st->cpu_state.page) {
		kmem_cache_free(vperfctr_cache, st);
		return ERR_PTR(-ENOMEM);
	}
	st->cpu_state.page->version = VPERFCTR_ABI_VERSION;
	preempt_notifier_init(&st->notifier, &vperfctr_preempt_ops);
	st->stop = VPERFCTR_STOP_IDLE;
	st->cpu = -1;
	mutex_init(&st->lock);
	refcount_set(&st->refs, 1);
	INIT_WORK(&st->detach_work, detach_work);
	/* A state may be attached with no descriptor open. */
	__module_get(THIS_MODULE);
	notifiers_get();
	return st;
}

void vperfctr_get(struct vperfctr *st)
{
	refcount_inc(&st->refs);
}

/* May sleep. */
void vperfctr_put(struct vperfctr *st)
{
	if (!refcount_dec_and_test(&st->refs))
		return;
	vperfctr_release_hardware(st);
	/* A mapping, if there is one, keeps the page itself. */
	free_page((unsigned long)st->cpu_state.page);
	mutex_destroy(&st->lock);
	kmem_cache_free(vperfctr_cache, st);
	notifiers_put();
	module_put(THIS_MODULE);
}

/* The calling thread's state, or NULL. */
struct vperfctr *vperfctr_of_current(void)
{
	struct preempt_notifier *notifier;

	hlist_for_each_entry(notifier, &current->preempt_notifiers, link) {
		if (notifier->ops == &vperfctr_preempt_ops)
			return container_of(notifier, struct vperfctr, notifier);
	}
	return NULL;
}

/* Give current, which has none, this state, and with it a reference. */
void vperfctr_attach(struct vperfctr *st)
{
	vperfctr_get(st);
	preempt_disable();
	WRITE_ONCE(st->owner, current);
	preempt_notifier_register(&st->notifier);
	preempt_enable();
}

/*
 * Stop the counters of current's state, and part the two.  The hardware and
 * the reference that attaching took are for the caller to give back.
 */
static void detach(struct vperfctr *st)
{
	unsigned long flags;

	local_irq_save(flags);
	vperfctr_stop(st);
	preempt_notifier_unregister(&st->notifier);
	st->stop = VPERFCTR_STOP_IDLE;
	perfctr_cpu_mark_suspended(&st->cpu_state);
	/* Who sees it detached may release the hardware: all is stopped. */
	smp_store_release(&st->owner, NULL);
	local_irq_restore(flags);
}

static void finish_detach(struct vperfctr *st)
{
	vperfctr_release_hardware(st);
	vperfctr_put(st);
}

static void detach_work(struct work_struct *work)
{
	finish_detach(container_of(work, struct vperfctr, detach_work));
}

/* For unlink: current is the owner and the caller has a descriptor.  May sleep. */
void vperfctr_detach(struct vperfctr *st)
{
	mutex_lock(&st->lock);
	detach(st);
	mutex_unlock(&st->lock);
	finish_detach(st);
}

/* ---- exec, fork, exit --------------------------------------------------- */

/*
 * Tracepoint probes: in the context of the thread (of the parent, for fork),
 * never to sleep.
 */

static void detach_deferred(struct vperfctr *st)
{
	detach(st);
	queue_work(vperfctr_wq, &st->detach_work);
}

/*
 * Is this a program whose instructions the caller must not watch?  The same
 * question as ptrace's and core dumps': what begin_new_exec() makes
 * undumpable.
 */
static bool is_privileged_exec(const struct linux_binprm *bprm)
{
	const struct cred *cred = current_cred();

	return bprm->secureexec || (bprm->interp_flags & BINPRM_FLAGS_ENFORCE_NONDUMP) ||
	       !uid_eq(cred->euid, cred->uid) || !gid_eq(cred->egid, cred->gid);
}

static void probe_exec(void *unused, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	struct vperfctr *st = vperfctr_of_current();
	unsigned long flags;

	if (likely(!st))
		return;
	if (is_privileged_exec(bprm)) {
		detach_deferred(st);
		return;
	}
	local_irq_save(flags);
	st->stop &= ~VPERFCTR_STOP_EXEC;
	vperfctr_start(st);
	local_irq_restore(flags);
}

/* The child is not running yet. */
static void probe_fork(void *unused, struct task_struct *parent, struct task_struct *child)
{
	if (child->mm && child->mm != parent->mm)
		perfctr_cpu_user_fork(child->mm);
}

/* Before the files are closed, after the mm is gone. */
static void probe_exit(PERFCTR_PROBE_EXIT_ARGS)
{
	struct vperfctr *st = vperfctr_of_current();

	if (unlikely(st))
		detach_deferred(st);
}

static struct vperfctr_probe {
	const char *name;
	void *func;
	struct tracepoint *tp;
} probes[] = {
	{ "sched_process_exec", probe_exec },
	{ "sched_process_fork", probe_fork },
	{ "sched_process_exit", probe_exit },
};

/* The tracepoints are not exported by name. */
static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
	}
}

static void unregister_probes(unsigned int n)
{
	while (n--)
		tracepoint_probe_unregister(probes[n].tp, probes[n].func, NULL);
	tracepoint_synchronize_unregister();
}

static int register_probes(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		err = probes[i].tp ?
		      tracepoint_probe_register(probes[i].tp, probes[i].func, NULL) : -ENOENT;
		if (err) {
			pr_err("cannot attach to the tracepoint %s\n", probes[i].name);
			unregister_probes(i);
			return err;
		}
	}
	return 0;
}

int vperfctr_thread_init(void)
{
	int err = -ENOMEM;

	vperfctr_cache = KMEM_CACHE(vperfctr, SLAB_ACCOUNT | SLAB_HWCACHE_ALIGN);
	if (!vperfctr_cache)
		return err;
	vperfctr_wq = alloc_workqueue("vperfctr", 0, 0);
	if (!vperfctr_wq)
		goto no_wq;
	sampling_init();
	err = register_probes();
	if (err)
		goto no_probes;
	return 0;

no_probes:
	destroy_workqueue(vperfctr_wq);
no_wq:
	kmem_cache_destroy(vperfctr_cache);
	return err;
}

/* There are no states, but work that gave back the last may still be returning. */
void vperfctr_thread_exit(void)
{
	unregister_probes(ARRAY_SIZE(probes));
	destroy_workqueue(vperfctr_wq);
	sampling_exit();
	cancel_delayed_work_sync(&notifiers_drop_work);
	notifiers_drop(NULL);
	kmem_cache_destroy(vperfctr_cache);
}
