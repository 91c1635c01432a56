/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The per-thread service:
 *
 *	state.c		a state's making and end
 *	account.c	what users' states and rings cost
 *	thread.c	a thread's context switches, exec, fork and exit
 *	remote.c	doing things to another thread's state
 *	family.c	inheritance: descendants and their sums
 *	control.c	control, suspend, resume, unlink
 *	hardware.c	the states' shares of the hardware
 *	permission.c	what a caller may do
 *	overflow.c	from the interrupt to the signal
 *	ring.c		samples instead of signals
 *	read.c		read
 *	file.c		descriptors and mappings
 */
#ifndef VPERFCTR_STATE_H
#define VPERFCTR_STATE_H

#include <linux/irqflags.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cpu.h"

struct file;
struct vm_area_struct;
struct vperfctr_account;
struct vperfctr_buffer;

/* Why a state's counters do not run though its owner does. */
#define STATE_STOP_IDLE	0x01	/* no control, or an all-zero one */
#define STATE_STOP_SUSPEND	0x02	/* VPERFCTR_SUSPEND */
#define STATE_STOP_EXEC	0x04	/* START_ON_EXEC, and no exec yet */
#define STATE_STOP_CPU	0x08	/* the owner was put on a forbidden CPU */

/* What is to be seen to when the owner is switched in. */
#define STATE_CHECK_CPU	0x01	/* the control does not count on forbidden CPUs */
#define STATE_CHECK_SIGNAL	0x02	/* an overflow's signal has not been sent yet */

/* How a state was made and what became of it; see `bits`. */
#define STATE_HARDWARE	0	/* holds a share of the reservation */
#define STATE_TRANSIENT	1	/* is detached when its last descriptor closes */
#define STATE_FORBIDDEN	2	/* did not count everything: forbidden CPU */
#define STATE_PRIVILEGED	3	/* was detached by a privileged exec */
#define STATE_CLOSED	4	/* its family is being dissolved, takes no more members */
#define STATE_QUEUED	5	/* an irq_work of it was, some time */
#define STATE_HAD_FAMILY	6	/* some control of it had INHERIT */

/*
 * The state of one thread.
 *
 * The owner changes notifier, stop, checks, cpu, cpu_state and what is of
 * overflows: in its context switches, and in calls with interrupts disabled,
 * which excludes the former and the interrupts that sample.  NMIs are not
 * excluded: see overflow.c.  Another thread does so only while every CPU is kept
 * from running anything else (remote.c).  Other CPUs otherwise only read: cpu
 * (see vperfctr_sample_owner()) and the page's sums (under its samplecount).
 *
 * `lock` keeps control and attachment as they are while somebody looks or
 * prepares a change.  The owner's exit, which cannot sleep, does not take it;
 * it changes nothing but what detaching changes.
 */
struct vperfctr_state {
	/* What a context switch needs is in one cache line, up to cpu_state.regs.global_ctrl. */
	struct preempt_notifier notifier;
	u16 stop;			/* STATE_STOP_*; 0: counters run when the owner does */
	u16 checks;			/* STATE_CHECK_* */
	int cpu;			/* where they run now; -1: nowhere */
	struct perfctr_cpu_state cpu_state;
	u32 overflow;			/* counters that wait for IRESUME */
	u64 pending_ip;			/* where in the kernel; 0: not known */
	bool pending;			/* an interrupt left an overflow to be taken */

	struct task_struct *owner;	/* NULL: detached */
	struct mutex lock;
	refcount_t refs;		/* descriptors, descendants, one for being attached */
	atomic_t files;			/* open descriptions */
	unsigned long bits;		/* STATE_HARDWARE ... */
	struct vperfctr_account *account;
	wait_queue_head_t wait;		/* for poll */
	struct work_struct detach_work;
	struct irq_work sigill_work;	/* vperfctr_queue() queues it, and the next */
	struct irq_work wake_work;	/* for an overflow */
	struct vperfctr_buffer *ring;	/* once there is one it stays; NULL: none */
	unsigned int ring_shift;	/* only each 2^ring_shift-th overflow makes a sample */

	/* Of the control, for READ to show. */
	u32 flags;
	s32 si_signo;
	u64 preserve;

	/*
	 * The family: a state and those that inherited its control, directly
	 * or not.  family_lock, an inner lock taken with interrupts disabled,
	 * is that of the root, and guards what follows in root and members.
	 */
	struct vperfctr_state *root;	/* whose control was inherited; NULL: nobody's */
	struct list_head family;	/* root: its members; member: its link */
	raw_spinlock_t family_lock;
	u64 children_missed;
	u64 children[1 + VPERFCTR_MAX_CTRS];	/* struct vperfctr_sums */
};

/*
 * One of the state's own.  The caller has a reference, or is the owner.  To wait for one
 * takes a grace period of RCU on PREEMPT_RT: nobody is to for what was never queued.
 */
static inline void vperfctr_queue(struct vperfctr_state *st, struct irq_work *work)
{
	set_bit(STATE_QUEUED, &st->bits);
	irq_work_queue(work);
}

/*
 * PREEMPT_RT: nothing can be allocated in the probe of fork, and no signal be
 * sent or sleeper be woken in an interrupt.
 */
#define STATE_ON_RT	IS_ENABLED(CONFIG_PREEMPT_RT)

/* Must the counters wait for IRESUME? */
static inline bool vperfctr_is_held(const struct vperfctr_state *st)
{
	return READ_ONCE(st->overflow) && !(READ_ONCE(st->stop) & STATE_STOP_IDLE);
}

/* state.c */
int vperfctr_state_init(void);
void vperfctr_state_exit(void);
struct vperfctr_state *vperfctr_state_create(struct vperfctr_state *parent, gfp_t gfp);
void vperfctr_get(struct vperfctr_state *st);
void vperfctr_put(struct vperfctr_state *st);

/* account.c */
struct vperfctr_account *vperfctr_charge_current(gfp_t gfp);
struct vperfctr_account *vperfctr_charge_again(struct vperfctr_account *account);
void vperfctr_uncharge(struct vperfctr_account *account);
int vperfctr_charge_ring(struct vperfctr_account *account, unsigned int kb);
void vperfctr_uncharge_ring(struct vperfctr_account *account, unsigned int kb);

/* hardware.c */
int vperfctr_get_hardware(struct vperfctr_state *st);
void vperfctr_share_hardware(struct vperfctr_state *st);
void vperfctr_release_hardware(struct vperfctr_state *st);

/* permission.c */
bool vperfctr_may_count_kernel(void);
bool vperfctr_may_monitor(const struct task_struct *task, const struct task_struct *monitor);
int vperfctr_check_monitor(struct vperfctr_state *st);

/*
 * May the caller change this state?  -ESRCH: it is detached; -EPERM: neither
 * owner nor monitor.  Only a first look, for the precise errno.
 */
static inline int vperfctr_check_access(struct vperfctr_state *st)
{
	return likely(READ_ONCE(st->owner) == current) ? 0 : vperfctr_check_monitor(st);
}

/* thread.c */
int vperfctr_thread_init(void);
void vperfctr_thread_exit(void);
struct vperfctr_state *vperfctr_of(struct task_struct *task);
void vperfctr_attach(struct vperfctr_state *st, struct task_struct *task);
void vperfctr_detach(struct vperfctr_state *st, bool missed);
void vperfctr_finish_detach(struct vperfctr_state *st);
void vperfctr_flush_detached(void);
void vperfctr_start_other(struct vperfctr_state *st, int cpu);
void vperfctr_sample_owner(struct vperfctr_state *st);
bool vperfctr_is_alone(int cpu);

/*
 * Start and stop the counters of a state whose owner is current.  Interrupts
 * are disabled: none that goes by st->cpu comes between that and resume.
 */
static __always_inline void vperfctr_start_here(struct vperfctr_state *st, int cpu)
{
	WRITE_ONCE(st->cpu, cpu);
	perfctr_cpu_resume(&st->cpu_state);
}

static __always_inline void vperfctr_switch_in(struct vperfctr_state *st, int cpu)
{
	if (likely(!(st->stop | st->checks) && !perfctr_cpu_sampling_ns))
		vperfctr_start_here(st, cpu);
	else
		vperfctr_start_other(st, cpu);
}

static __always_inline void vperfctr_start(struct vperfctr_state *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu < 0)
		vperfctr_switch_in(st, smp_processor_id());
}

static __always_inline void vperfctr_stop(struct vperfctr_state *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu < 0)
		return;
	perfctr_cpu_suspend(&st->cpu_state);
	/* Who sees that they do not run sees all that they counted. */
	smp_store_release(&st->cpu, -1);
}

/* remote.c */
typedef int vperfctr_op(struct vperfctr_state *st, void *arg);
int vperfctr_apply_monitor(struct vperfctr_state *st, vperfctr_op *op, void *arg);
int vperfctr_open_thread(struct task_struct *task, bool creat, struct vperfctr_state **st);
void vperfctr_detach_abandoned(struct vperfctr_state *st);
void vperfctr_dissolve_members(struct vperfctr_state *root);

/*
 * Do `op` to an attached state, by its owner or by the owner's monitor, with
 * interrupts disabled and nobody else doing anything to it.  Returns what it
 * does, or errors as above.  May sleep.
 */
static __always_inline int vperfctr_apply(struct vperfctr_state *st, vperfctr_op *op, void *arg)
{
	int err = -ESRCH;

	if (unlikely(READ_ONCE(st->owner) != current))
		return vperfctr_apply_monitor(st, op, arg);
	local_irq_disable();
	/* Somebody may have detached it since we looked. */
	if (likely(st->owner == current))
		err = op(st, arg);
	local_irq_enable();
	return err;
}

/*
 * Detach all that inherited a state's control; what they counted is the root's.
 * A member's link is not empty either, but no family of its own.  May sleep.
 */
static inline void vperfctr_dissolve_family(struct vperfctr_state *root)
{
	if (unlikely(!root->root && !list_empty(&root->family)))
		vperfctr_dissolve_members(root);
}

/* family.c */
/* Could there be children's sums?  The control stays, as for vperfctr_snapshot(). */
static inline bool vperfctr_has_family(const struct vperfctr_state *st)
{
	return st->flags & VPERFCTR_CONTROL_INHERIT;
}

void vperfctr_inherit(struct vperfctr_state *parent, struct task_struct *child);
void vperfctr_leave_family(struct vperfctr_state *st, bool missed);
void vperfctr_reset_family(struct vperfctr_state *root);
bool vperfctr_read_family(struct vperfctr_state *st, u64 *sums, unsigned int n, u64 *missed);

/* control.c */
int vperfctr_control(struct vperfctr_state *st, const struct vperfctr_control __user *arg);
int vperfctr_suspend(struct vperfctr_state *st);
int vperfctr_resume(struct vperfctr_state *st);
int vperfctr_unlink(struct vperfctr_state *st);

/* The size of the first version of struct vperfctr_control: what every caller must have. */
#define CONTROL_SIZE_VER0	64

/* overflow.c */
void vperfctr_overflow_init(void);
void vperfctr_overflow_exit(void);
void vperfctr_overflow_attach(struct vperfctr_state *st);
void vperfctr_overflow_later(void);
void vperfctr_overflow_end(struct vperfctr_state *st);
void vperfctr_overflow_forget(struct vperfctr_state *st);
int vperfctr_iresume(struct vperfctr_state *st);

/*
 * The counters have stopped for good, or for another control.  PRE: suspended, by
 * the owner or with the owner kept from running.
 */
static inline void vperfctr_overflow_last(struct vperfctr_state *st)
{
	if (unlikely(st->cpu_state.control.nrictrs))
		vperfctr_overflow_end(st);
}

/* ring.c */
int vperfctr_ring(struct vperfctr_state *st, struct vperfctr_ring __user *arg);
int vperfctr_ring_mmap(struct vperfctr_state *st, struct vm_area_struct *vma);
bool vperfctr_ring_ready(const struct vperfctr_state *st);
bool vperfctr_ring_has_kernel(const struct vperfctr_state *st);
bool vperfctr_ring_add(struct vperfctr_state *st, u64 ip, struct perfctr_overflow overflow);
void vperfctr_ring_drop(struct vperfctr_state *st, u64 nr);
void vperfctr_ring_begin_kernel(struct vperfctr_state *st);
void vperfctr_ring_end_kernel(struct vperfctr_state *st);
int vperfctr_consume(struct vperfctr_state *st, unsigned long nr);
void vperfctr_ring_free(struct vperfctr_state *st);

/* Do overflows make samples, which may be of what taking one does in the kernel? */
static inline bool vperfctr_ring_counts_kernel(const struct vperfctr_state *st)
{
	return (st->flags & VPERFCTR_CONTROL_RING) && st->cpu_state.control.kernel;
}

/* read.c */
struct vperfctr_snapshot {
	unsigned int nrctrs;
	u32 status;
	u32 overflow;
	u64 sums[1 + VPERFCTR_MAX_CTRS];	/* struct vperfctr_sums */
};

void vperfctr_snapshot(struct vperfctr_state *st, struct vperfctr_snapshot *snap);
int vperfctr_read(struct vperfctr_state *st, struct vperfctr_read __user *arg);

/* file.c */
int vperfctr_file_init(void);
void vperfctr_file_exit(void);
struct file *vperfctr_file(struct vperfctr_state *st);

#endif /* VPERFCTR_STATE_H */
