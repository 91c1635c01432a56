/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a thread.
 *
 * A header per concern has what the files of the per-thread service do for each other, and names
 * them: thread.h, family.h, remote.h, control.h, overflow.h, ring.h, software.h, page.h, files.h,
 * cpus.h, reservation.h, account.h, permission.h, alloc.h.
 */
#ifndef VPERFCTR_STATE_H
#define VPERFCTR_STATE_H

#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cpu.h"

struct cred;
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
#define STATE_CHECK_NARROW	0x20	/* a timer must sample the counters; always or never */

/*
 * `slow` of a state that counts together with others, for which nothing else is to be done; and
 * `slow_and_cpu` while it is stopped.
 */
#ifdef CONFIG_CPU_BIG_ENDIAN
#define STATE_SLOW_JOINT	(STATE_CHECK_JOINT << 16)
#define STATE_STOPPED_JOINT	((u64)STATE_SLOW_JOINT << 32 | 0xffffffff)
#else
#define STATE_SLOW_JOINT	(STATE_CHECK_JOINT << 8)
#define STATE_STOPPED_JOINT	(STATE_SLOW_JOINT | 0xffffffffULL << 32)
#endif

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
 * `lock` keeps the control unchanged while another thread reads it or prepares a change.  A
 * detachment does not acquire it, as the owner's exit cannot sleep; it changes only what
 * detaching changes.
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
	const struct cred *creator;	/* made this state or its root; see vperfctr_may_use() */
	const struct cred *may_change;	/* `creator`; NULL: the owner may not change the state */
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
	struct perfctr_user *reads_by;	/* NULL: the owner's process has not mapped the page */
	unsigned int reads_maps;	/* mappings of the page by this process */

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

	/* The lead of several states of a thread: the notifiers of the others.  See thread.c. */
	struct hlist_head others;

	/* A context switch needs one cache line, up to cpu_state.control.regs.enable. */
	struct preempt_notifier notifier ____cacheline_aligned;
	union {
		struct {
			union {
				struct {
					u8 stop;	/* STATE_STOP_*; 0: counters run */
					u8 checks;	/* STATE_CHECK_* */
					u16 remote;	/* 1: `call` waits; see remote_lock */
				};
				u32 slow;	/* all; 0: the switch-in has nothing to do */
			};
			/*
			 * Where the counters run now; -1: nowhere; less: together with those of
			 * other states, on the CPU vperfctr_joint_cpu().
			 */
			int cpu;
		};
		u64 slow_and_cpu;
	};

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

/* True if an overflow holds the counters until IRESUME. */
static inline bool vperfctr_is_held(const struct vperfctr_state *st)
{
	return READ_ONCE(st->overflow) && !(READ_ONCE(st->stop) & STATE_STOP_IDLE);
}

/* Return st->cpu for a state that counts together with others on this CPU, and the reverse. */
static __always_inline int vperfctr_joint_cpu(int cpu)
{
	return (u32)cpu ^ 0x80000000;	/* not -1, and one instruction */
}

/*
 * The CPU on which the counters of a state run, alone or together with others; -1: none.  If
 * it is -1, the final sums are visible.
 */
static inline int vperfctr_cpu_of(const struct vperfctr_state *st)
{
	int cpu = smp_load_acquire(&st->cpu);	/* see vperfctr_stop() and end_members() */

	return unlikely(cpu < -1) ? vperfctr_joint_cpu(cpu) : cpu;
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

#endif /* VPERFCTR_STATE_H */
