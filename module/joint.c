// SPDX-License-Identifier: GPL-2.0
/*
 * Several states of one thread.
 *
 * A thread may have its own state, and those of observers beside it.  Each has a notifier, a
 * page, a ring and descriptors of its own.  CONTROL keeps their counters apart.  But a driver
 * knows one state for a CPU at a time: it remembers which control the registers hold, and one
 * write starts or stops all counters.
 *
 * So states with counters that count at the same time do so by a joint state, which belongs to the
 * CPU, and which has the counters of all of them: its members.  The switch-in of the thread starts
 * all of them, and its switch-out stops all.  The sums go from the joint state to the members each
 * time it stops, or the driver updates the members directly.  A change of one member stops all, and
 * the others start again without it.
 *
 * A state that counts alone needs none of this, nor does one without counters, which a driver
 * does not know.  Its thread may have other states, which are stopped.  STATE_CHECK_JOINT says
 * that there may be others, and st->cpu of a member is less than -1: see vperfctr_joint_cpu().
 *
 * The kernel calls one notifier for all states of a thread, the lead's: see thread.c.
 *
 * The joint state remembers for which controls it was made, in the order of the thread's states,
 * and a switch to another thread with the same ones, as the threads of a program have, only
 * starts it.  There are two, for the threads of two programs.
 *
 * A remote call (remote.c) may be changing another member while one is switched in.  So the
 * calls that wait for the others are executed first, or waited for: drain_calls().
 *
 * Interrupts are disabled in all of this file.  An NMI in user mode may handle an overflow here.
 * One in kernel mode only reads which members there are, after it has found their joint state
 * counting: see overflow.c.
 */
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "overflow.h"
#include "remote.h"
#include "state.h"
#include "thread.h"

/* Identifies no control. */
#define NO_ID	(~0ULL)

/* A joint state, and what it was made for. */
struct joint_set {
	struct perfctr_cpu_state *joint; /* the joint state's */
	u16 nrkeys;
	bool whole;		/* they were all that were linked to a thread, and plain members */
	bool simple;		/* likewise, and perfctr_cpu_resume_parts() can resume them */
	/* The controls that the members had then, with NO_ID at the end. */
	u64 id[VPERFCTR_MAX_STATES + 1];
	u32 cstatus[VPERFCTR_MAX_STATES];	/* without counters if they are held */
};

/* For threads of two programs that take turns on a CPU. */
#define NR_SETS		2

/* How the members count. */
#define JOINT_DIRECT	1	/* perfctr_cpu_resume_parts() has resumed them */
#define JOINT_WHOLE	2	/* likewise, and they are all states that are linked to current */

struct joint {
	union {
		struct {
			u8 nr;		/* of the members that count now */
			u8 how;		/* JOINT_... */
			bool complex;	/* true unless set->simple */
		};
		u32 not_ready;		/* all; 0: a switch-in may start the members directly */
	};
	struct perfctr_cpu_state *state; /* set->joint */
	struct joint_set *set;		/* the one that counts, or has counted last */
	struct perfctr_cpu_state *part[VPERFCTR_MAX_STATES + 1]; /* the members; `how`: and NULL */
	bool starting;
	bool refused;			/* the CPU cannot count */
	struct joint_set *sets;		/* NR_SETS */
	struct perfctr_cpu_control *control;	/* the place for a combination */
};

static DEFINE_PER_CPU(struct joint, joints);

static __always_inline struct joint *joint_here(void)
{
	return this_cpu_ptr(&joints);
}

static __always_inline struct perfctr_cpu_state *joint_of(const struct joint *j)
{
	return j->state;
}

static void use_set(struct joint *j, struct joint_set *set)
{
	j->set = set;
	j->state = set->joint;
	j->complex = !set->simple;
}

/* Note for which threads find_states() may find the members of the current set. */
static void set_whole(struct joint *j, bool whole, bool simple)
{
	j->set->whole = whole;
	j->set->simple = simple;
	j->complex = !simple;
}

/* The joint state of this CPU that counts, or has counted last. */
struct vperfctr_state *vperfctr_joint_here(void)
{
	return vperfctr_member(joint_of(joint_here()));
}

static __always_inline struct vperfctr_state *member(const struct joint *j, unsigned int i)
{
	return vperfctr_member(j->part[i]);
}

/* ---- the joint state ----------------------------------------------------- */

/* True if the joint state was made for these members. */
static bool is_made_for_members(const struct joint *j, const struct joint_set *set)
{
	unsigned int i;

	if (set->nrkeys != j->nr)
		return false;
	for (i = 0; i < j->nr; i++) {
		if (set->id[i] != j->part[i]->id || set->cstatus[i] != j->part[i]->cstatus)
			return false;
	}
	return true;
}

/*
 * Make the control of the joint state from those of its members.
 *
 * Return: false if no control can count this, although CONTROL has found one.
 */
static bool make_joint(struct joint *j)
{
	const struct perfctr_cpu_control *from[VPERFCTR_MAX_STATES];
	struct joint_set *set = j->set;
	unsigned int i, n = 0;
	bool tsc_on = false;

	set->nrkeys = 0;
	set_whole(j, false, false);
	for (i = 0; i < j->nr; i++) {
		tsc_on |= j->part[i]->cstatus & VPERFCTR_CSTATUS_TSC;
		if (VPERFCTR_CSTATUS_NRCTRS(j->part[i]->cstatus))
			from[n++] = &j->part[i]->control;
	}
	if (perfctr_cpu_combine(j->control, from, n, tsc_on))
		return false;
	perfctr_cpu_update_control(set->joint, j->control, 0);
	/* After the driver has used it for what counts: see add_samples() in overflow.c. */
	set->joint->control.kernel = true;
	for (i = 0; i < j->nr; i++) {
		set->id[i] = j->part[i]->id;
		set->cstatus[i] = j->part[i]->cstatus;
	}
	set->id[i] = NO_ID;
	set->nrkeys = j->nr;
	return true;
}

static __always_inline void mark_stopped(struct perfctr_cpu_state *part)
{
	/* A CPU that sees -1 must also see the final sums: see vperfctr_cpu_of(). */
	smp_store_release(&vperfctr_member(part)->cpu, -1);
}

/* Forget the members, which do not count.  There is one at least. */
static void end_members(struct joint *j)
{
	unsigned int i;

	for (i = 0; i < j->nr; i++)
		mark_stopped(j->part[i]);
	j->nr = 0;
	j->how = 0;
}

/*
 * The joint state has stopped with an overflow that is not handled.  Members that have overflowed
 * remember where it was.  Their next resume reports it again, also if they resume with others.
 */
static void end_pending(struct joint *j)
{
	struct vperfctr_state *joint = vperfctr_member(joint_of(j));

	if (likely(!joint->pending))
		return;
	joint->pending = false;
	vperfctr_overflow_part(j->part, j->nr);
}

/* Stop the members on this CPU, where the driver has refused to resume the joint state. */
static noinline void refuse_members(struct joint *j)
{
	unsigned int i;

	end_pending(j);
	for (i = 0; i < j->nr; i++)
		vperfctr_enter_forbidden_cpu(member(j, i));
	if (j->nr)
		end_members(j);
	set_whole(j, false, false);
}

static noinline void resume_members(struct joint *j)
{
	struct perfctr_cpu_state *joint = joint_of(j);
	bool made;

	j->how = 0;
	made = is_made_for_members(j, j->set) && perfctr_cpu_join(joint, j->part, j->nr);
	if (!made)
		made = make_joint(j) && perfctr_cpu_join(joint, j->part, j->nr);
	j->refused = !made;
	if (made)
		perfctr_cpu_resume(joint);
	if (likely(!j->refused))
		perfctr_cpu_joined(joint, j->part, j->nr);
	else
		refuse_members(j);
}

static unsigned int find_parts(const struct perfctr_cpu_state *state,
			       struct perfctr_cpu_state *const **part)
{
	struct joint *j = joint_here();

	if (state != joint_of(j))
		return 0;
	*part = j->part;
	return j->nr;
}

static noinline void suspend_joint(struct joint *j)
{
	perfctr_cpu_suspend(joint_of(j));
	perfctr_cpu_part(joint_of(j), j->part, j->nr);
	end_pending(j);
}

static __always_inline void suspend_members(struct joint *j)
{
	if (likely(j->how))
		perfctr_cpu_suspend_parts(joint_of(j), j->part);
	else
		suspend_joint(j);
}

/* Note that the driver cannot count on this CPU: see refuse_cpu().  Context: resume_members(). */
void vperfctr_joint_refused(void)
{
	joint_here()->refused = true;
}

/* Let the joint state itself count, as the driver is about to stop it and to start it again. */
void vperfctr_joint_restarting(void)
{
	struct joint *j = joint_here();

	if (!j->how)
		return;
	suspend_members(j);
	resume_members(j);
}

/* Update the members after the driver has stopped the joint state, and started it or refused to. */
void vperfctr_joint_restarted(void)
{
	struct joint *j = joint_here();

	perfctr_cpu_part(joint_of(j), j->part, j->nr);
	if (!j->refused)
		perfctr_cpu_joined(joint_of(j), j->part, j->nr);
	else
		refuse_members(j);
}

/* ---- starting ------------------------------------------------------------ */

/* True if the state counts together with others, when it counts. */
static bool can_be_member(const struct vperfctr_state *st)
{
	return (st->checks & STATE_CHECK_JOINT) && perfctr_nrctrs(&st->cpu_state.control);
}

/* True if the state is a member whenever its thread runs, and no call waits for it. */
static __always_inline bool is_plain_member(const struct vperfctr_state *st)
{
	/* Acquire: as in drain_calls(). */
	return smp_load_acquire(&st->slow) == STATE_SLOW_JOINT;
}

/* True if the state is that, and is stopped. */
static __always_inline bool is_stopped_plain_member(const struct vperfctr_state *st)
{
#ifdef CONFIG_64BIT
	/* Acquire: as in drain_calls(). */
	return smp_load_acquire(&st->slow_and_cpu) == STATE_STOPPED_JOINT;
#else
	return is_plain_member(st) && st->cpu == -1;
#endif
}

/* Execute the calls that wait for other states of current, or wait for them. */
static void drain_calls(struct joint *j, const struct vperfctr_state *except)
{
	struct vperfctr_state *st;

	j->starting = true;
	for (st = vperfctr_of(current); st; st = vperfctr_next_of(st)) {
		/* Acquire: if the call is over, all of it is visible.  See remote_call(). */
		if (st != except && unlikely(smp_load_acquire(&st->remote)))
			vperfctr_run_other_call(st);
	}
	j->starting = false;
}

/* Choose the joint state that was made for the members, or the one that was used less recently. */
static void choose_set(struct joint *j)
{
	unsigned int i;

	for (i = 0; i < NR_SETS; i++) {
		if (is_made_for_members(j, &j->sets[i])) {
			use_set(j, &j->sets[i]);
			return;
		}
	}
	use_set(j, &j->sets[j->set == &j->sets[0]]);
	set_whole(j, false, false);
}

/* Note that the members are all states of a thread, for find_states(). */
static void remember_members(struct joint *j)
{
	bool simple = perfctr_has_parts_ops && !perfctr_cpu_sampling_ns;
	bool whole = is_made_for_members(j, j->set);
	unsigned int i;

	for (i = 0; i < j->nr; i++)
		simple &= VPERFCTR_CSTATUS_NRCTRS(j->part[i]->cstatus) &&
			  !(j->part[i]->cstatus & VPERFCTR_CSTATUS_ICTRS);
	set_whole(j, whole, whole && simple);
}

/*
 * Make all states of current members that may count now, but for one.
 *
 * Return: true if all states of the thread are plain members.
 */
static bool find_members(struct joint *j, const struct vperfctr_state *except, int cpu)
{
	struct vperfctr_state *st;
	bool all = true;

	for (st = vperfctr_of(current); st; st = vperfctr_next_of(st)) {
		all &= is_plain_member(st);
		if (st == except || !can_be_member(st) || st->stop) {
			all = false;
			continue;
		}
		/* One that counts alone has been here before. */
		if (st->cpu < 0 && !vperfctr_enters_cpu(st, cpu))
			continue;
		if (WARN_ON_ONCE(j->nr == VPERFCTR_MAX_STATES))
			break;
		j->part[j->nr++] = &st->cpu_state;
	}
	return all;
}

/*
 * Take back what find_states() has done for the states before this one.  The list may have changed,
 * as a remote call may be detaching the next one.
 */
static void take_back(struct joint *j, unsigned long n)
{
	while (n--)
		WRITE_ONCE(member(j, n)->cpu, -1);	/* the sums have not changed */
}

/*
 * Make a stopped state of current the member `i` if that of the set had the same control, and if
 * nothing else is to be done for it.  NO_ID bounds the index, so the kernel need not check it.
 */
static __always_inline __no_sanitize_undefined bool
find_state(struct joint *j, const struct joint_set *set, unsigned long i,
	   struct vperfctr_state *st, int joint_cpu, bool simple)
{
	/* A state without an owner has a reason to stop. */
	if (unlikely(!is_stopped_plain_member(st) || set->id[i] != st->cpu_state.id ||
		     (!simple && set->cstatus[i] != st->cpu_state.cstatus)))
		return false;
	j->part[i] = &st->cpu_state;
	WRITE_ONCE(st->cpu, joint_cpu);
	return true;
}

/*
 * Make the states of current the members if they have the controls that a set was made for, in the
 * same order, and if nothing else is to be done for any of them.  They are those of the same
 * thread, or of one that has inherited the same controls.
 *
 * The identity says all of a control with a-mode counters but for its TSC, which
 * perfctr_cpu_resume_parts() takes from the state.  Such a control cannot be held.
 *
 * Return: true; otherwise take_back() must be called, with *n.
 */
static __always_inline __no_sanitize_undefined bool
find_states(struct joint *j, const struct joint_set *set, struct vperfctr_state *lead, int cpu,
	    bool simple, unsigned long *n)
{
	const int joint_cpu = vperfctr_joint_cpu(cpu);
	struct hlist_node *node;
	unsigned long i = 0;

	if (unlikely(!find_state(j, set, 0, lead, joint_cpu, simple)))
		goto other;
	node = READ_ONCE(lead->others.first);
	for (i = 1; node; i++) {
		if (unlikely(!find_state(j, set, i, vperfctr_of_node(node), joint_cpu, simple)))
			goto other;
		node = READ_ONCE(node->next);
	}
	j->part[i] = NULL;
	if (unlikely(set->id[i] != NO_ID))
		goto other;
	j->nr = i;
	return true;
other:
	*n = i;
	return false;
}

/* The driver has loaded nothing yet, and cannot resume the members directly. */
static void resume_members_here(void)
{
	resume_members(joint_here());
}

static __always_inline void start_directly(struct joint *j)
{
	j->how = JOINT_DIRECT | JOINT_WHOLE;
	perfctr_cpu_resume_parts(joint_of(j), j->part);
}

static bool start_set(struct joint *j, struct joint_set *set, struct vperfctr_state *lead, int cpu)
{
	unsigned long n;

	if (!set->whole)
		return false;
	if (!find_states(j, set, lead, cpu, false, &n)) {
		take_back(j, n);
		return false;
	}
	use_set(j, set);
	if (set->simple)
		start_directly(j);
	else
		resume_members(j);
	return true;
}

/*
 * Start the states of current if a joint state was made for them, and if nothing else is to be
 * done for any of them.
 *
 * Context: as for vperfctr_start_here().  `lead`: current's, or NULL.
 * Return: false if they must be looked at.
 */
static bool start_again(struct joint *j, struct vperfctr_state *lead, int cpu)
{
	struct joint_set *set = j->set;

	if (!lead || j->nr || perfctr_cpu_sampling_ns)
		return false;
	/* A switch-in has tried the one that has counted last, if that is simple. */
	return start_set(j, &j->sets[set == &j->sets[0]], lead, cpu) ||
	       start_set(j, set, lead, cpu);
}

/* The slow path of vperfctr_joint_sched_in().  `n`: of find_states(). */
static noinline void sched_in_several(unsigned long n)
{
	/* Not the one that was called for: a remote call may have unlinked it since then. */
	struct vperfctr_state *lead = vperfctr_lead_of(current);
	struct joint *j = joint_here();
	int cpu = smp_processor_id();

	take_back(j, n);
	if (!start_again(j, lead, cpu))
		vperfctr_several_sched_in(lead, cpu);
}

/*
 * Start the counters of a thread that has been switched in, which has several states.
 *
 * Context: preemption disabled, interrupts enabled.  An interrupt may have come before this.
 */
void vperfctr_joint_sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct vperfctr_state *lead = container_of(notifier, struct vperfctr_state, notifier);
	unsigned long n = 0;
	struct joint *j;

	local_irq_disable();
	j = joint_here();
	if (likely(!j->not_ready && find_states(j, j->set, lead, cpu, true, &n)))
		start_directly(j);
	else
		sched_in_several(n);
	local_irq_enable();
}

static void start_alone(struct vperfctr_state *st, int cpu)
{
	if (st->cpu >= 0)
		return;
	vperfctr_start_here(st, cpu);
	vperfctr_started(st);
}

/* Start the states that may count now, but for one.  None of them counts with others. */
static void start_members(struct joint *j, const struct vperfctr_state *except, int cpu)
{
	bool all = find_members(j, except, cpu);
	unsigned int i;

	if (j->nr < 2) {
		i = j->nr;
		j->nr = 0;
		if (i)
			start_alone(member(j, 0), cpu);
		return;
	}
	for (i = 0; i < j->nr; i++) {
		vperfctr_stop(member(j, i));
		WRITE_ONCE(member(j, i)->cpu, vperfctr_joint_cpu(cpu));
	}
	choose_set(j);
	resume_members(j);
	if (all && j->nr)
		remember_members(j);
	for (i = 0; i < j->nr; i++)
		vperfctr_started(member(j, i));
}

/*
 * Start the counters of a state whose thread may have others, together with theirs.
 *
 * Context: as for vperfctr_start_here(); it may count on this CPU, and does not yet.
 */
void vperfctr_joint_start(struct vperfctr_state *st)
{
	struct joint *j = joint_here();
	int cpu = smp_processor_id();

	/* A call that drain_calls() executes: its caller starts all. */
	if (j->starting || start_again(j, vperfctr_lead_of(current), cpu))
		return;
	drain_calls(j, st);
	if (vperfctr_of(current) == st && !vperfctr_next_of(st)) {
		/* The others have ended. */
		st->checks &= ~STATE_CHECK_JOINT;
		st->joint = false;
		start_alone(st, cpu);
		return;
	}
	vperfctr_joint_leave();
	start_members(j, NULL, cpu);
}

/* ---- stopping and sampling ----------------------------------------------- */

/*
 * Stop the counters of a thread that is switched out, which has several states.
 *
 * Context: run-queue lock held, interrupts disabled; current is still the owner.
 */
void vperfctr_joint_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	struct joint *j = joint_here();
	struct perfctr_cpu_state **part;

	if (unlikely(!(j->how & JOINT_WHOLE))) {
		vperfctr_several_sched_out(container_of(notifier, struct vperfctr_state, notifier));
		return;
	}
	j->not_ready = 0;	/* neither nr nor how; these members are not complex */
	perfctr_cpu_suspend_parts(joint_of(j), j->part);
	/* There are two at least. */
	mark_stopped(j->part[0]);
	mark_stopped(j->part[1]);
	for (part = &j->part[2]; unlikely(*part); part++)
		mark_stopped(*part);
}

/* Note that current has one state more, which is no member, while the others may count. */
void vperfctr_joint_attached(void)
{
	joint_here()->how &= ~JOINT_WHOLE;
}

/* Stop all members, if there are any.  Context: as for vperfctr_stop(). */
void vperfctr_joint_leave(void)
{
	struct joint *j = joint_here();

	if (!j->nr)
		return;
	suspend_members(j);
	end_members(j);
}

/* Stop one member.  The others go on. */
void vperfctr_joint_stop(struct vperfctr_state *st)
{
	struct joint *j = joint_here();

	vperfctr_joint_leave();
	if (j->starting)
		return;
	start_members(j, st, smp_processor_id());
}

/* Update the sums of all members, which run on this CPU, while their counters go on. */
void vperfctr_joint_sample(void)
{
	struct joint *j = joint_here();

	if (j->how) {
		perfctr_cpu_sample_parts(joint_of(j), j->part);
		return;
	}
	perfctr_cpu_sample(joint_of(j));
	perfctr_cpu_part(joint_of(j), j->part, j->nr);
}

/*
 * Find the members that count on this CPU.
 *
 * Context: interrupts disabled, until the array has been used; or an interrupt that has found the
 * joint state counting.
 * Return: their number.
 */
unsigned int vperfctr_joint_members(struct perfctr_cpu_state ***part)
{
	struct joint *j = joint_here();

	*part = j->part;
	return j->nr;
}

/*
 * Stop all members for the handling of an overflow, which may hold some.  Their sums are up to
 * date then.
 *
 * Context: as for perfctr_ihandler; members count on this CPU.
 */
void vperfctr_joint_pause(void)
{
	suspend_members(joint_here());
}

void vperfctr_joint_continue(void)
{
	resume_members(joint_here());
}

/* ---- what can count together --------------------------------------------- */

struct vperfctr_ctr_set vperfctr_ctrs_of(const struct perfctr_cpu_control *control)
{
	const struct perfctr_cpu_kinds *kinds = control->kinds;
	unsigned int i, kind, nr = kinds ? kinds->nr : 1;
	struct vperfctr_ctr_set set = { };

	for (kind = 0; kind < nr; kind++) {
		const struct perfctr_cpu_control *one = kinds ? &kinds->control[kind] : control;

		for (i = 0; i < perfctr_nrctrs(one); i++) {
			u32 map = one->ctr[i].map;

			if (map & VPERFCTR_FIXED)
				set.fixed |= BIT_ULL(map & 63);
			else
				set.pmcs |= BIT_ULL(map & 63);
		}
	}
	return set;
}

/* The control that counts on CPUs of a kind, or NULL. */
static const struct perfctr_cpu_control *control_for(const struct perfctr_cpu_control *control,
						     unsigned int kind)
{
	const struct perfctr_cpu_kinds *kinds = control->kinds;

	if (kinds)
		return kind < kinds->nr ? &kinds->control[kind] : NULL;
	return control->kind == kind ? control : NULL;
}

/*
 * True if controls, each of which has counters of its own, can count together on the CPUs of
 * each kind.
 *
 * Context: interrupts disabled.
 */
bool vperfctr_can_combine(const struct perfctr_cpu_control *const *controls, unsigned int n)
{
	const struct perfctr_cpu_control *from[VPERFCTR_MAX_STATES];
	unsigned int i, nr, kind;

	for (kind = 0; perfctr_cpu_kind(kind); kind++) {
		for (i = 0, nr = 0; i < n; i++) {
			from[nr] = control_for(controls[i], kind);
			nr += !!from[nr];
		}
		if (nr > 1 && perfctr_cpu_combine(joint_here()->control, from, nr, false))
			return false;
	}
	return true;
}

/* ---- init ---------------------------------------------------------------- */

static void free_joints(void)
{
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct joint *j = per_cpu_ptr(&joints, cpu);

		for (i = 0; j->sets && i < NR_SETS; i++) {
			if (j->sets[i].joint)
				vperfctr_put(vperfctr_member(j->sets[i].joint));
		}
		kfree(j->sets);
		kfree(j->control);
		j->sets = NULL;
		j->control = NULL;
	}
}

static int init_set(struct joint_set *set)
{
	struct vperfctr_state *st = vperfctr_state_create_unowned(false);

	if (IS_ERR(st))
		return -ENOMEM;
	/* Its overflows come to the place where those of rings do. */
	st->flags = STATE_FLAG_JOINT | VPERFCTR_CONTROL_RING;
	set->joint = &st->cpu_state;
	return 0;
}

int __init vperfctr_joint_init(void)
{
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct joint *j = per_cpu_ptr(&joints, cpu);

		j->sets = kcalloc(NR_SETS, sizeof(*j->sets), GFP_KERNEL);
		j->control = kzalloc(sizeof(*j->control), GFP_KERNEL);
		if (!j->sets || !j->control)
			goto no_memory;
		for (i = 0; i < NR_SETS; i++) {
			if (init_set(&j->sets[i]))
				goto no_memory;
		}
		use_set(j, &j->sets[0]);
	}
	perfctr_cpu_set_parts(find_parts, resume_members_here);
	return 0;

no_memory:
	free_joints();
	return -ENOMEM;
}

/* Context: no states exist. */
void vperfctr_joint_exit(void)
{
	free_joints();
}
