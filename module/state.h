/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a thread, and the files of the per-thread service:
 *
 *	main.c		the module and /dev/vperfctr
 *	ioctl.c		dispatch of the ioctls; those of the device
 *	file.c		descriptors of a state
 *	page.c		the mapped page, also after a fork
 *	thread.c	attaching to a thread, and its context switches
 *	exec-fork-exit.c a thread's exec, fork and exit
 *	family.c	inheritance: descendants and their sums
 *	joint.c		several states of one thread
 *	software.c	software counters: the task's own numbers
 *	clock.c		samples by thread time
 *	remote.c	changes to another thread's state
 *	stop-limit.c	a limit on what all CPUs notice
 *	attach.c	attaching to a running process
 *	control.c	control, suspend, resume, unlink
 *	read.c		read
 *	overflow.c	from the interrupt to the signal
 *	rt/signal.c	the signal on PREEMPT_RT
 *	rt/spare.c	memory for the fork probe on PREEMPT_RT
 *	ring.c		samples instead of signals
 *	records.c	records of mappings and threads beside the samples
 *	callchain.c	where a thread was called from
 *	kernel-chain.c	where its kernel mode was called from
 *	user-stack.c	registers and stack of user mode in samples
 *	state.c		creation and end of a state
 *	account.c	limits on a user's states and rings
 *	hardware.c	the reservation of the hardware
 *	holders.c	who has it
 *	cpus.c		counting CPUs instead of threads
 *	cpu-samples.c	their overflows
 *	permission.c	what a caller may do
 *	usercopy.h	copies from and to user memory
 */
#ifndef VPERFCTR_STATE_H
#define VPERFCTR_STATE_H

#include <linux/cred.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cpu.h"

struct cred;
struct file;
struct pt_regs;
struct vm_area_struct;
struct vperfctr_account;
struct vperfctr_buffer;
struct vperfctr_reader;
struct vperfctr_sampler;

/* Reasons why a state's counters do not run while its owner does; see `stop`. */
#define STATE_STOP_IDLE		0x01	/* no control, or an all-zero one */
#define STATE_STOP_SUSPEND	0x02	/* VPERFCTR_SUSPEND */
#define STATE_STOP_EXEC		0x04	/* START_ON_EXEC, and no exec yet */
#define STATE_STOP_CPU		0x08	/* the owner was moved to a forbidden CPU */

/* Slow work of the owner's switch-in; see `checks`. */
#define STATE_CHECK_CPU		0x01	/* some CPUs cannot count the control */
#define STATE_CHECK_SIGNAL	0x02	/* an overflow's signal has not been sent yet */
#define STATE_CHECK_STARTED	0x04	/* an interrupt may have come before, and started it */
#define STATE_CHECK_CLOCK	0x08	/* the timer must be programmed: see clock.c */
#define STATE_CHECK_JOINT	0x10	/* the thread may have other states: see joint.c */

/* Bit numbers in `bits`. */
#define STATE_HARDWARE		0	/* has a share of the reservation */
#define STATE_TRANSIENT		1	/* is detached when its last descriptor closes */
#define STATE_FORBIDDEN		2	/* was not counted on a forbidden CPU */
#define STATE_PRIVILEGED	3	/* was detached by a privileged exec */
#define STATE_CLOSED		4	/* its family is being dissolved, admits no member */
#define STATE_QUEUED		5	/* one of its irq_works has been queued */
#define STATE_RELEASING		6	/* its share of the reservation is being released */
#define STATE_GLOBAL		7	/* has shares of module, notifiers and creator */
#define STATE_OPENED		8	/* has had a descriptor */
#define STATE_LATE_FREE		9	/* a walk of its thread's list may still be there */
#define STATE_REAPED		10	/* detach_work has nothing to do but to put it */
#define STATE_SIGNALLING	11	/* PREEMPT_RT: signal_work has been queued */
#define STATE_RETRYING		12	/* PREEMPT_RT: its signal could not be queued before */
#define STATE_SPARES		13	/* PREEMPT_RT: keeps memory for members */
#define STATE_ATTACHING		14	/* VPERFCTR_ATTACH still adds members */

/* Sums of the software counters, or a task's numbers: see software.c. */
struct vperfctr_soft_sums {
	u64 context_switches;
	u64 migrations;
	u64 minor_faults;
	u64 major_faults;
};

/* A set of counters, by their numbers in a control. */
struct vperfctr_ctr_set {
	u64 pmcs;
	u64 fixed;
};

/* Samples by thread time, in nanoseconds: see clock.c. */
struct vperfctr_clock {
	u64 period;		/* 0: none */
	u64 due;		/* end of the first period that is not accounted for */
	u64 next;		/* of the next sample: `due`, or later if throttled */
	bool kernel;		/* CONTROL's caller may have addresses in the kernel */
};

/*
 * The state of one thread.
 *
 * The owner changes notifier, stop, checks, cpu, cpu_state and the fields of
 * overflows, in its context switches and in its calls.  The calls disable
 * interrupts, which excludes context switches and the interrupts that sample.  They
 * do not exclude NMIs: see overflow.c.  Another thread changes these fields only by a
 * remote call (remote.c).  Otherwise other CPUs only read cpu (see
 * vperfctr_sample_owner()) and the page's sums (under its samplecount).
 *
 * `lock` keeps the control and the attachment unchanged while another thread reads
 * them or prepares a change.  The owner's exit cannot sleep and does not acquire it;
 * it changes only what detaching changes.
 */
struct vperfctr_state {
	u32 overflow;			/* counters that wait for IRESUME */
	u64 pending_ip;			/* of `pending`, in the kernel; 0: not known */
	union {
		struct {
			bool pending;	/* an interrupt left an overflow to overflow_work() */
			bool joint;	/* as STATE_CHECK_JOINT */
		};
		u16 waiting;		/* both; 0: overflow_work() has only a signal to send */
	};

	struct task_struct *owner;	/* NULL: detached */
	struct mutex lock;
	raw_spinlock_t remote_lock;	/* for a remote call: see remote.c */
	struct vperfctr_call *call;
	struct mutex call_mutex;	/* one remote call at a time */
	union {
		struct hlist_node by_owner;	/* attached: see vperfctr_find() */
		struct list_head finish;	/* detached: link, see `finishing` */
	};
	refcount_t refs;		/* files, members of the family, one while attached */
	atomic_t files;			/* open file descriptions */
	unsigned long bits;		/* numbers STATE_...: see above */
	struct vperfctr_account *account;
	const struct cred *creator;	/* made it, or the root; see vperfctr_may_use() */
	const struct cred *may_change;	/* the same; NULL: the owner may not change it */
	wait_queue_head_t wait;		/* for poll */
	struct work_struct detach_work;
	struct irq_work sigill_work;	/* queue all three by vperfctr_queue() */
	struct irq_work wake_work;	/* wakes pollers after an overflow */
	struct irq_work reap_work;	/* queues detach_work after a late unlink */
	struct rcu_head rcu;		/* see STATE_LATE_FREE */
#ifdef CONFIG_PREEMPT_RT
	struct callback_head signal_work;	/* of the owner: see rt/signal.c */
#endif

	/* The process that may read in user mode: see page.c. */
	spinlock_t reads_lock;
	bool reads;			/* the state has a share of the hardware */
	struct perfctr_user *reads_by;	/* NULL: its own process has not mapped it */
	unsigned int reads_maps;	/* how often it has */

	struct hlist_node holder;	/* in a list, while it has a share: see holders.c */

	struct vperfctr_buffer *ring;	/* its own, NULL: none; never changes after that */
	struct vperfctr_sampler *sampler; /* where its samples go: its ring, or the root's */
	unsigned int ring_shift;	/* each 2^ring_shift-th overflow makes a sample */
	struct vperfctr_clock clock;

	/* The rest of the control, for READ; and STATE_FLAG_SET. */
	u32 flags;
	s32 si_signo;
	u64 preserve;
	u32 soft;			/* VPERFCTR_SOFT_*; 0: no software counters */

	/*
	 * Beside other states of the thread: see joint.c.  An observer is not the thread's own
	 * state; this never changes while it is attached.
	 */
	bool observer;
	int joint_cpu;			/* where it counts together with others; -1: nowhere */

	/*
	 * Software counters.  soft_seq covers the sums, the task's numbers when `stop`
	 * became 0, and `stop` itself.
	 */
	seqcount_t soft_seq;
	struct vperfctr_soft_sums soft_sums, soft_start;
	struct vperfctr_soft_sums soft_sampled;	/* when samplecount was soft_samplecount */
	u32 soft_samplecount;

	/*
	 * The family: a root, and the states that inherited its control, directly or
	 * not.  The root's family_lock is an inner lock, with interrupts disabled; it
	 * guards the fields that follow, in the root and in its members.
	 */
	struct vperfctr_state *root;	/* whose control was inherited; NULL: not inherited */
	struct vperfctr_state *topmost;	/* root of the family that it left, or NULL */
	struct list_head family;	/* root: its members; member: its link */
	raw_spinlock_t family_lock;
	u32 round;			/* root: of the last READ_MEMBERS; member: that read it */
	struct vperfctr_reader *reader;	/* root: of a READ_MEMBERS, or NULL */
	u64 children_missed;
	/*
	 * Topmost root: the detachments of its family that a worker must finish, and of the
	 * families that left it, each with a number.  Others: the own number.
	 */
	struct list_head finishing;
	u64 finish_nr;
	u64 children[1 + VPERFCTR_MAX_CTRS];	/* struct vperfctr_sums */
	struct vperfctr_soft_sums soft_children;

	/* A context switch needs one cache line, up to cpu_state.control.regs.enable. */
	struct preempt_notifier notifier ____cacheline_aligned;
	union {
		struct {
			u8 stop;	/* STATE_STOP_*; 0: counters run when the owner does */
			u8 checks;	/* STATE_CHECK_* */
			u16 remote;	/* 1: `call` waits; changed under remote_lock */
		};
		u32 slow;		/* all of them; 0: the switch-in has nothing to do */
	};
	int cpu;			/* where the counters run now; -1: nowhere */

	/*
	 * Last: states are allocated with room for as many counters as this machine has.  The
	 * page follows them until it is mapped: see page.c.
	 */
	struct perfctr_cpu_state cpu_state;
};

/*
 * In `flags`: the root of a set, which never has an owner.  No flag of a control has this
 * value, so that vperfctr_has_family() needs to test only one word.
 */
#define STATE_FLAG_SET	0x80000000U

/* In `flags`: what joint.c lets count for several states.  It is attached to no thread. */
#define STATE_FLAG_JOINT	0x40000000U

static inline bool vperfctr_is_set(const struct vperfctr_state *st)
{
	return st->flags & STATE_FLAG_SET;
}

/*
 * Queue one of the state's irq_works.  STATE_QUEUED lets vperfctr_put() skip
 * irq_work_sync(), which takes an RCU grace period on PREEMPT_RT.
 *
 * Context: the caller has a reference, or is the owner.
 */
static inline void vperfctr_queue(struct vperfctr_state *st, struct irq_work *work)
{
	set_bit(STATE_QUEUED, &st->bits);
	irq_work_queue(work);
}

/*
 * On PREEMPT_RT the fork probe can neither allocate memory nor free it, and interrupts can
 * neither send a signal nor wake a sleeper.
 */
#define STATE_ON_RT	IS_ENABLED(CONFIG_PREEMPT_RT)

/* Let an irq_work run in hard interrupt context, also on PREEMPT_RT. */
static inline void vperfctr_init_hard_work(struct irq_work *work, void (*func)(struct irq_work *))
{
	init_irq_work(work, func);
#ifdef CONFIG_PREEMPT_RT
	*work = IRQ_WORK_INIT_HARD(func);
#endif
}

/* rt/spare.c: only on PREEMPT_RT */
#define VPERFCTR_SPARE_SIZE	128	/* of other objects than states */

void *vperfctr_spare_state(void);
void *vperfctr_spare(void);
void vperfctr_unspare(void *spare);
int vperfctr_get_spares(struct vperfctr_state *st);
void vperfctr_put_spares(struct vperfctr_state *st);
void vperfctr_spare_init(struct kmem_cache *cache);
void vperfctr_spare_exit(void);

/*
 * Return a place for a control, which takes more than a kilobyte: the one on the stack, or
 * other memory where stacks have 8 KB, as on 32 bits.  Allocations that follow may reclaim
 * memory, which needs most of such a stack.
 *
 * Return: the place, for vperfctr_put_room(), or NULL if there is no memory.
 */
#define VPERFCTR_SMALL_STACK	(THREAD_SIZE <= 8192)

static __always_inline void *vperfctr_get_room(void *on_stack, size_t size)
{
	return VPERFCTR_SMALL_STACK ? kmalloc(size, GFP_KERNEL) : on_stack;
}

static __always_inline void vperfctr_put_room(void *room)
{
	if (VPERFCTR_SMALL_STACK)
		kfree(room);
}

/* True if a caller that allows no more than gfp cannot allocate memory at all. */
static __always_inline bool vperfctr_needs_spare(gfp_t gfp)
{
	return STATE_ON_RT && !gfpflags_allow_blocking(gfp);
}

/* Allocate zeroed memory, also in the fork probe.  Free it by vperfctr_free(). */
static __always_inline void *vperfctr_zalloc(size_t size, gfp_t gfp)
{
	return vperfctr_needs_spare(gfp) ? vperfctr_spare() :
					   kzalloc(STATE_ON_RT ? VPERFCTR_SPARE_SIZE : size, gfp);
}

static __always_inline void vperfctr_free(void *object)
{
	if (STATE_ON_RT && object && !preemptible())
		vperfctr_unspare(object);
	else
		kfree(object);
}

/* True if an overflow holds the counters until IRESUME. */
static inline bool vperfctr_is_held(const struct vperfctr_state *st)
{
	return READ_ONCE(st->overflow) && !(READ_ONCE(st->stop) & STATE_STOP_IDLE);
}

/*
 * The tables of a control for any kind, or NULL.
 *
 * get: the caller has a reference, or the control cannot change.
 */
static inline struct perfctr_cpu_kinds *vperfctr_get_kinds(struct perfctr_cpu_kinds *kinds)
{
	if (unlikely(kinds))
		refcount_inc(&kinds->refs);
	return kinds;
}

static inline void vperfctr_put_kinds(struct perfctr_cpu_kinds *kinds)
{
	if (unlikely(kinds) && refcount_dec_and_test(&kinds->refs))
		kfree(kinds);
}

/* state.c */
int vperfctr_state_init(void);
void vperfctr_state_exit(void);
struct vperfctr_state *vperfctr_state_create(struct vperfctr_state *parent, gfp_t gfp);
struct vperfctr_state *vperfctr_state_create_unowned(bool charged);
int vperfctr_get_global(struct vperfctr_state *st);
void vperfctr_get(struct vperfctr_state *st);
void vperfctr_put(struct vperfctr_state *st);

/* account.c */
void vperfctr_account_init(void);
struct vperfctr_account *vperfctr_charge_current(gfp_t gfp);
struct vperfctr_account *vperfctr_charge_child(struct vperfctr_account *account, gfp_t gfp);
void vperfctr_uncharge(struct vperfctr_account *account);
kuid_t vperfctr_account_uid(const struct vperfctr_account *account);
int vperfctr_charge_ring(struct vperfctr_account *account, u64 kb);
void vperfctr_uncharge_ring(struct vperfctr_account *account, unsigned int kb);

/* stop-limit.c */
unsigned int vperfctr_threads_per_stop(void);
int vperfctr_limit_stops(const struct vperfctr_account *account, unsigned int nrthreads,
			 unsigned int ring_kb);
int vperfctr_limit_rings(const struct vperfctr_account *account, unsigned int kb);
void vperfctr_stop_limit_exit(void);

/* hardware.c */
int vperfctr_get_hardware(struct vperfctr_state *st);
int vperfctr_share_hardware(struct vperfctr_state *st);
void vperfctr_release_hardware(struct vperfctr_state *st);
void vperfctr_release_unused(struct vperfctr_state *st);

/* A set of CPUs, for whom it counts. */
struct vperfctr_cpus_holder {
	struct hlist_node link;
	struct pid *pid;
	const struct cred *cred;
};

int vperfctr_get_cpu_hardware(struct vperfctr_cpus_holder *holder);
void vperfctr_release_cpu_hardware(struct vperfctr_cpus_holder *holder);

/* holders.c */
void vperfctr_hold(struct vperfctr_state *st);
void vperfctr_unhold(struct vperfctr_state *st);
void vperfctr_hold_cpus(struct vperfctr_cpus_holder *holder);
void vperfctr_unhold_cpus(struct vperfctr_cpus_holder *holder);
void vperfctr_report_holder(void);
void vperfctr_holders_init(void);
void vperfctr_holders_exit(void);

/* permission.c */
bool vperfctr_may_count_kernel(void);
bool vperfctr_may_use(const struct vperfctr_state *st);
bool vperfctr_may_use_of(const struct cred *creator);
bool vperfctr_may_monitor(const struct task_struct *task, const struct task_struct *monitor);
int vperfctr_check_open(const struct vperfctr_state *st);
int vperfctr_check_user(struct vperfctr_state *st);
int vperfctr_check_unlink(struct vperfctr_state *st);

/* True if the state was made with OPEN_LOCKED or ATTACH_LOCKED, or inherited from such a one. */
static inline bool vperfctr_is_locked(const struct vperfctr_state *st)
{
	return !st->may_change;
}

/*
 * Check that the caller may change this state.  vperfctr_apply() checks again that it is
 * the owner or the monitor, as that may be outdated at once.
 *
 * Return: 0; -ESRCH if it is detached; -EPERM if the caller is neither its owner nor
 * the owner's monitor, is another user than the creator, or is an owner that may not
 * change it.
 */
static inline int vperfctr_check_access(struct vperfctr_state *st)
{
	return likely(READ_ONCE(st->owner) == current && st->may_change == current_cred()) ?
	       0 : vperfctr_check_user(st);
}

/* thread.c */
int vperfctr_thread_init(void);
void vperfctr_thread_exit(void);
struct vperfctr_state *vperfctr_of(struct task_struct *task);
struct vperfctr_state *vperfctr_next_of(struct vperfctr_state *st);
struct vperfctr_state *vperfctr_next_of_current(struct vperfctr_state *st);
struct vperfctr_state *vperfctr_of_current(void);
struct vperfctr_state *vperfctr_find(struct task_struct *task);
struct vperfctr_state *vperfctr_find_member(const struct vperfctr_state *root,
					    struct task_struct *task);
int vperfctr_may_open(const struct task_struct *task, bool observer);
int vperfctr_may_attach_to(struct task_struct *task, bool observer);
int vperfctr_may_join(const struct vperfctr_state *parent, const struct task_struct *task);
int vperfctr_joins(const struct vperfctr_state *parent, struct task_struct *task);
int vperfctr_check_beside(struct vperfctr_state *st, const struct perfctr_cpu_control *control);
void vperfctr_used_ctrs(struct vperfctr_ctr_set *own, struct vperfctr_ctr_set *observers);
void vperfctr_attach(struct vperfctr_state *st, struct task_struct *task);
void vperfctr_detach(struct vperfctr_state *st, bool missed);
void vperfctr_detach_current(struct vperfctr_state *st, bool missed);
bool vperfctr_unlink_notifier(struct vperfctr_state *st, struct task_struct *task);
void vperfctr_reap_current(void);
void vperfctr_put_attachment(struct vperfctr_state *st);
void vperfctr_put_later(struct vperfctr_state *st);
void vperfctr_finish_detach(struct vperfctr_state *st, struct vperfctr_state *root);
void vperfctr_finish_detach_work(struct work_struct *work);
void vperfctr_finish_detach_later(struct vperfctr_state *st);
void vperfctr_flush_detached(struct vperfctr_state *st);
void vperfctr_start_other(struct vperfctr_state *st, int cpu);
void vperfctr_started(struct vperfctr_state *st);
bool vperfctr_enters_cpu(struct vperfctr_state *st, int cpu);
void vperfctr_enter_forbidden_cpu(struct vperfctr_state *st);
void vperfctr_sample_here(struct vperfctr_state *st);
void vperfctr_sample_owner(struct vperfctr_state *st);
bool vperfctr_is_alone(int cpu);

/* joint.c */
int vperfctr_joint_init(void);
void vperfctr_joint_exit(void);
void vperfctr_joint_start(struct vperfctr_state *st);
void vperfctr_joint_stop(struct vperfctr_state *st);
void vperfctr_joint_leave(void);
void vperfctr_joint_sample(void);
void vperfctr_joint_refused(void);
void vperfctr_joint_restarted(void);
unsigned int vperfctr_joint_members(struct vperfctr_state ***members);
void vperfctr_joint_pause(void);
void vperfctr_joint_continue(void);
struct vperfctr_state *vperfctr_joint_here(void);
bool vperfctr_can_combine(const struct perfctr_cpu_control *const *controls, unsigned int n);
struct vperfctr_ctr_set vperfctr_ctrs_of(const struct perfctr_cpu_control *control);

/*
 * The CPU on which the counters of a state run, alone or together with others; -1: none.  If
 * it is -1, the final sums are visible.
 */
static inline int vperfctr_cpu_of(const struct vperfctr_state *st)
{
	int cpu = smp_load_acquire(&st->cpu);	/* see vperfctr_stop() */

	if (unlikely(cpu < 0))
		cpu = smp_load_acquire(&st->joint_cpu);	/* see end_members() */
	return cpu;
}

/*
 * Start the counters of a state.
 *
 * Context: current is the owner.  Interrupts are disabled: an interrupt that reads
 * st->cpu must not come between its change and the resume.
 */
static __always_inline void vperfctr_start_here(struct vperfctr_state *st, int cpu)
{
	WRITE_ONCE(st->cpu, cpu);
	perfctr_cpu_resume(&st->cpu_state);
}

/* True if the counters start with nothing else to do. */
static __always_inline bool vperfctr_starts_fast(const struct vperfctr_state *st)
{
	return likely(!READ_ONCE(st->slow) && !perfctr_cpu_sampling_ns);
}

/* Start the counters, unless they run or must not.  Context: as above. */
static __always_inline void vperfctr_start(struct vperfctr_state *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu >= 0)
		return;
	if (vperfctr_starts_fast(st))
		vperfctr_start_here(st, smp_processor_id());
	else
		vperfctr_start_other(st, smp_processor_id());
}

/*
 * Stop the counters of a state, unless they are stopped.
 *
 * Context: as for vperfctr_start_here().
 */
static __always_inline void vperfctr_stop(struct vperfctr_state *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu < 0) {
		if (unlikely(st->joint_cpu >= 0))
			vperfctr_joint_stop(st);
		return;
	}
	perfctr_cpu_suspend(&st->cpu_state);
	/* A CPU that sees -1 must also see the final sums. */
	smp_store_release(&st->cpu, -1);
}

/* software.c */
u32 vperfctr_soft_available(void);
void vperfctr_soft_set_stop(struct vperfctr_state *st, u16 stop);
void vperfctr_soft_control(struct vperfctr_state *st, u32 soft);
void vperfctr_soft_read(const struct vperfctr_state *st, struct vperfctr_soft_sums *sums);
void vperfctr_soft_sample(struct vperfctr_state *st);
bool vperfctr_soft_read_other(const struct vperfctr_state *st, u32 samplecount,
			      struct vperfctr_soft_sums *sums);
void vperfctr_soft_add(struct vperfctr_soft_sums *to, const struct vperfctr_soft_sums *sums);
u64 vperfctr_ns_of_tsc(u64 tsc);
void vperfctr_soft_fill(u32 soft, const struct vperfctr_soft_sums *sums, u64 tsc,
			u64 counts[VPERFCTR_NR_SOFT]);

/*
 * Change `stop`.  The software counters run while it is 0.
 *
 * Context: interrupts disabled; the owner is current, or cannot run.
 */
static inline void vperfctr_set_stop(struct vperfctr_state *st, u16 stop)
{
	if (unlikely(st->soft))
		vperfctr_soft_set_stop(st, stop);
	else
		WRITE_ONCE(st->stop, stop);
}

/* clock.c */
void vperfctr_clock_init(void);
void vperfctr_clock_exit(void);
bool vperfctr_clock_available(void);
void vperfctr_clock_begin(struct vperfctr_state *st, u64 period, bool kernel);
void vperfctr_clock_spread(struct vperfctr_state *st, u32 part);
void vperfctr_clock_start(const struct vperfctr_state *st);
void vperfctr_clock_end(struct vperfctr_state *st);

/* As vperfctr_overflow_last(), for samples by thread time. */
static inline void vperfctr_clock_last(struct vperfctr_state *st)
{
	if (unlikely(st->clock.period))
		vperfctr_clock_end(st);
}

/* remote.c */
typedef int vperfctr_op(struct vperfctr_state *st, void *arg);
int vperfctr_apply_monitor(struct vperfctr_state *st, vperfctr_op *op, void *arg);
int vperfctr_apply_any(struct vperfctr_state *st, vperfctr_op *op, void *arg);
int vperfctr_may_attach(const struct task_struct *task, bool observer);
int vperfctr_open_thread(struct task_struct *task, bool creat, struct vperfctr_state **st);
int vperfctr_unlink_monitor(struct vperfctr_state *st);
void vperfctr_detach_abandoned(struct vperfctr_state *st);
void vperfctr_dissolve_members(struct vperfctr_state *root);
void vperfctr_run_call(struct vperfctr_state *st, bool may_unlink);
void vperfctr_run_other_call(struct vperfctr_state *st);

/*
 * Call `op` for an attached state on behalf of its owner or the owner's monitor, with
 * interrupts disabled and with no other code changing the state.
 *
 * Context: may sleep.
 * Return: the result of `op`, or an error of vperfctr_check_access().
 */
static __always_inline int vperfctr_apply(struct vperfctr_state *st, vperfctr_op *op, void *arg)
{
	int err = -ESRCH;

	if (unlikely(READ_ONCE(st->owner) != current))
		return vperfctr_apply_monitor(st, op, arg);
	local_irq_disable();
	smp_rmb();	/* pairs with vperfctr_unlink_notifier() */
	/* It may have been detached since the first check. */
	if (likely(st->owner == current))
		err = op(st, arg);
	local_irq_enable();
	return err;
}

/*
 * Detach all members of a root's family, and add their counts to the root's children's
 * sums.  A member's list is not empty either, but it is the root's family.
 *
 * Context: may sleep.
 */
static inline void vperfctr_dissolve_family(struct vperfctr_state *root)
{
	/* Pairs with the releases that clear a member's root, after its list is empty. */
	if (unlikely(!smp_load_acquire(&root->root) && !list_empty(&root->family)))
		vperfctr_dissolve_members(root);
}

/* family.c */
/*
 * True if there can be children's sums.
 *
 * Context: the control cannot change, as for vperfctr_snapshot().
 */
static inline bool vperfctr_has_family(const struct vperfctr_state *st)
{
	return st->flags & (VPERFCTR_CONTROL_INHERIT | STATE_FLAG_SET);
}

void vperfctr_inherit(struct vperfctr_state *parent, struct task_struct *child);
struct vperfctr_state *vperfctr_make_member(struct vperfctr_state *parent, gfp_t gfp);
bool vperfctr_join_family(struct vperfctr_state *st, struct task_struct *task);
void vperfctr_count_missed(struct vperfctr_state *root, unsigned int nr);
void vperfctr_leave_family(struct vperfctr_state *st, bool missed);
bool vperfctr_end_member(struct vperfctr_state *st);
bool vperfctr_family_is_over(struct vperfctr_state *st);
bool vperfctr_is_over(struct vperfctr_state *st);
void vperfctr_wake_if_over(struct vperfctr_state *root);
void vperfctr_reset_family(struct vperfctr_state *root);
bool vperfctr_read_family(struct vperfctr_state *st, u64 *sums, unsigned int n,
			  struct vperfctr_soft_sums *soft, u64 *missed);
int vperfctr_read_members(struct vperfctr_state *root, u64 *sums,
			  struct vperfctr_soft_sums *soft);

/* cpus.c */
void vperfctr_cpus_init(void);
int vperfctr_open_cpus_ioctl(struct vperfctr_open_cpus __user *arg);
bool vperfctr_cpus_refuse(const struct perfctr_cpu_state *state);
void vperfctr_cpus_sleep(void);
void vperfctr_cpus_wake(void);

/* cpu-samples.c */
int vperfctr_cpu_samples_begin(struct vperfctr_state *st, const struct vperfctr_state *root);
void vperfctr_cpu_begin_change(void);
void vperfctr_cpu_end_change(struct vperfctr_state *st);
void vperfctr_cpu_last_sample(struct vperfctr_state *st);
void vperfctr_cpus_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs);

/* attach.c */
int vperfctr_attach_ioctl(struct vperfctr_attach __user *arg);

/* control.c */
int vperfctr_get_control(struct vperfctr_control *header, struct perfctr_cpu_control *control,
			 const struct vperfctr_control __user *arg);
bool vperfctr_may_clock_kernel(const struct vperfctr_control *header);
bool vperfctr_can_count(const struct perfctr_cpu_control *control, int cpu);
bool vperfctr_is_restricted(const struct perfctr_cpu_control *control);
int vperfctr_control(struct vperfctr_state *st, const struct vperfctr_control __user *arg);
int vperfctr_open_with_control(struct task_struct *task, struct vperfctr_state *st,
			       const struct vperfctr_control __user *arg);
int vperfctr_suspend(struct vperfctr_state *st);
int vperfctr_resume(struct vperfctr_state *st);
int vperfctr_unlink(struct vperfctr_state *st);

/* The sizes of interface 0.9, and the smallest accepted. */
#define CONTROL_SIZE_VER0	80
#define CTR_SIZE_VER0		32

/* True if a counter's control can have this size; the fields have 8 bytes. */
static inline bool vperfctr_is_ctr_size(u32 size)
{
	return likely(size == sizeof(struct vperfctr_ctr)) ||
	       (size >= CTR_SIZE_VER0 && size <= PAGE_SIZE && !(size % sizeof(u64)));
}

/* overflow.c */
void vperfctr_handle_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs);
void vperfctr_overflow_init(void);
void vperfctr_overflow_exit(void);
void vperfctr_overflow_attach(struct vperfctr_state *st);
void vperfctr_overflow_later(void);
void vperfctr_retry_later(void);
void vperfctr_overflow_end(struct vperfctr_state *st);
void vperfctr_overflow_forget(struct vperfctr_state *st);
u64 vperfctr_user_ip(const struct task_struct *task);
int vperfctr_iresume(struct vperfctr_state *st);

/*
 * Wake pollers.  The overflow or the sample must already be visible.
 *
 * Context: any interrupt.
 */
static inline void vperfctr_wake_pollers(struct vperfctr_state *st)
{
	/* The memory barrier in it pairs with that of poll(). */
	if (wq_has_sleeper(&st->wait))
		vperfctr_queue(st, &st->wake_work);
}

/*
 * Report the last overflows of counters that have stopped for good or for another
 * control.
 *
 * Context: the state is suspended; current is the owner, or the owner cannot run.
 */
static inline void vperfctr_overflow_last(struct vperfctr_state *st)
{
	if (unlikely(st->cpu_state.control.nrictrs))
		vperfctr_overflow_end(st);
}

/* rt/signal.c: only on PREEMPT_RT */
void vperfctr_signal_owner(struct vperfctr_state *st);
void vperfctr_signal_exit(void);

/* ring.c */
bool vperfctr_ring_available(void);
int vperfctr_ring(struct vperfctr_state *st, struct vperfctr_ring __user *arg);
int vperfctr_ring_get(struct vperfctr_ring *req, const struct vperfctr_ring __user *arg);
int vperfctr_ring_create(struct vperfctr_state *st, const struct vperfctr_ring *req,
			 struct vperfctr_ring __user *arg, unsigned int nrthreads);
int vperfctr_ring_mmap(struct vperfctr_state *st, struct vm_area_struct *vma);
void vperfctr_ring_exec(struct vperfctr_state *st);
int vperfctr_ring_inherit(struct vperfctr_state *st, const struct vperfctr_state *parent,
			  gfp_t gfp);
void vperfctr_ring_attach(struct vperfctr_state *st, const struct task_struct *task);
struct vperfctr_sampler *vperfctr_ring_leave(struct vperfctr_state *st);
void vperfctr_ring_put(struct vperfctr_sampler *sampler);
struct vperfctr_state *vperfctr_ring_waiters(const struct vperfctr_state *st);
bool vperfctr_ring_ready(const struct vperfctr_state *st, bool over);
bool vperfctr_ring_is_over(const struct vperfctr_state *st);
void vperfctr_ring_detach(struct vperfctr_state *st);
bool vperfctr_ring_has_kernel(const struct vperfctr_state *st);
bool vperfctr_ring_add(struct vperfctr_state *st, u64 ip, struct perfctr_overflow overflow);
bool vperfctr_ring_add_clock(struct vperfctr_state *st, u64 ip, u32 flags, u64 skipped);
void vperfctr_ring_drop(struct vperfctr_state *st, u64 nr);
void vperfctr_ring_begin_kernel(struct vperfctr_state *st);
void vperfctr_ring_end_kernel(struct vperfctr_state *st);
int vperfctr_consume(struct vperfctr_state *st, unsigned long nr);
void vperfctr_ring_free(struct vperfctr_state *st);

/* True if samples of all threads of the family go to the root's ring. */
static inline bool vperfctr_ring_is_shared(const struct vperfctr_state *st)
{
	return (st->flags & VPERFCTR_CONTROL_RING) && vperfctr_has_family(st);
}

/* True if the kernel's handling of an overflow may itself make samples. */
static inline bool vperfctr_ring_counts_kernel(const struct vperfctr_state *st)
{
	return (st->flags & VPERFCTR_CONTROL_RING) && st->cpu_state.control.kernel;
}

/* records.c */
void vperfctr_records_init(void);
void vperfctr_records_exit(void);
bool vperfctr_records_exist(void);
void vperfctr_record_fork(const struct vperfctr_state *parent, const struct vperfctr_state *child);
void vperfctr_record_exit(const struct vperfctr_state *st);
void vperfctr_record_exec(const struct vperfctr_state *st, bool ends);
void vperfctr_probe_rename(void *unused, struct task_struct *task, const char *name);

/* callchain.c */
unsigned int vperfctr_user_chain(u64 *to, unsigned int max);

/* kernel-chain.c */
void vperfctr_save_calls(struct vperfctr_state *st, struct pt_regs *regs, bool clock);

/* user-stack.c */
u64 *vperfctr_user_stack(u64 *to, unsigned int max);

/* read.c */
struct vperfctr_snapshot {
	unsigned int nrctrs;
	u32 status;
	u32 overflow;
	u64 sums[1 + VPERFCTR_MAX_CTRS];	/* struct vperfctr_sums */
	struct vperfctr_soft_sums soft;		/* only if the state has software counters */
};

void vperfctr_snapshot(struct vperfctr_state *st, struct vperfctr_snapshot *snap);
int vperfctr_read(struct vperfctr_state *st, struct vperfctr_read __user *arg);

/* exec-fork-exit.c */
int vperfctr_probes_init(void);
void vperfctr_probes_exit(void);

/* file.c */
struct file *vperfctr_file(struct vperfctr_state *st);
int vperfctr_check_vma(struct vm_area_struct *vma);
int vperfctr_map_ring(struct vperfctr_state *st, struct vm_area_struct *vma);

/* page.c */
int vperfctr_page_init(void);
void vperfctr_page_exit(void);
size_t vperfctr_page_layout(size_t offset);
void vperfctr_page_begin_state(struct vperfctr_state *st);
void vperfctr_page_end_state(struct vperfctr_state *st);
void vperfctr_allow_reads(struct vperfctr_state *st, bool allow);
int vperfctr_page_make(struct vperfctr_state *st);
int vperfctr_page_mmap(struct vperfctr_state *st, struct vm_area_struct *vma);
int vperfctr_page_mmap_cpu(struct vperfctr_state *st, struct vm_area_struct *vma);

/*
 * Return the page, for a reading by another CPU than the owner's.  It may be moved meanwhile:
 * the old place then remains as it was, until the state ends.
 *
 * Context: the caller has a reference.
 */
static inline const struct vperfctr_page *vperfctr_get_page(const struct vperfctr_state *st)
{
	return smp_load_acquire(&st->cpu_state.page);	/* see op_move() */
}

/* True if what was read after this samplecount may have changed meanwhile. */
static inline bool vperfctr_page_changed(const struct vperfctr_state *st,
					 const struct vperfctr_page *page, u32 samplecount)
{
	return READ_ONCE(page->samplecount) != samplecount ||
	       unlikely(READ_ONCE(st->cpu_state.page) != page);
}

/* ioctl.c */
struct task_struct *vperfctr_get_thread(s32 tid);
long vperfctr_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long vperfctr_state_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* main.c */
extern const char vperfctr_version[];

#endif /* VPERFCTR_STATE_H */
