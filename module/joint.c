// SPDX-License-Identifier: GPL-2.0
/*
 * Several states of one thread.
 *
 * A thread may have its own state, and those of observers beside it.  Each has a notifier, a
 * page, a ring and descriptors of its own.  CONTROL keeps their counters apart.  But a driver
 * knows one state for a CPU at a time: it remembers which control the registers hold, and one
 * write starts or stops all counters.
 *
 * So states with counters that count at the same time do so by a joint state, which belongs
 * to the CPU, and which has the counters of all of them: its members.  The first member that
 * is switched in starts all of them, and the first that is switched out stops all.  The sums
 * go from the joint state to the members each time it stops.  A change of one member stops
 * all, and the others start again without it.
 *
 * A state that counts alone needs none of this, nor does one without counters, which a driver
 * does not know.  Its thread may have other states, which are stopped.  Only a thread that has
 * several states takes the slow path of the switch-in: STATE_CHECK_JOINT.
 *
 * st->cpu of a member is -1, so that its switch-out takes the slow path, too; joint_cpu is
 * where it counts.
 *
 * The joint state remembers for which controls it was made, and a switch to another thread
 * with the same ones, as the threads of a program have, only starts it.
 *
 * A remote call (remote.c) may be changing another member while one is switched in.  So the
 * calls that wait for the others are executed first, or waited for: drain_calls().
 *
 * Interrupts are disabled in all of this file.  An NMI comes here only from user mode:
 * see overflow.c.
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

#include "remote.h"
#include "state.h"
#include "thread.h"

/* The control that a member had when the joint state was made. */
struct joint_key {
	u64 id;
	u32 cstatus;		/* without counters if they are held */
};

/* A state in the list of the thread whose states were the last members. */
struct joint_last {
	struct joint_key key;
	unsigned int nr;	/* of the member */
};

struct joint {
	struct vperfctr_state *st;	/* the joint state */
	bool starting;
	bool refused;			/* the CPU cannot count */
	unsigned int nr;		/* of the members that count now */
	unsigned int nrkeys;
	struct vperfctr_state *member[VPERFCTR_MAX_STATES];
	struct perfctr_cpu_state *part[VPERFCTR_MAX_STATES];	/* the same */
	struct joint_key key[VPERFCTR_MAX_STATES];
	unsigned int nrlast;		/* 0: not all states of that thread were plain members */
	struct joint_last last[VPERFCTR_MAX_STATES];
	struct perfctr_cpu_control control;	/* the place for a combination */
};

static DEFINE_PER_CPU(struct joint *, joints);

static struct joint *joint_here(void)
{
	return *this_cpu_ptr(&joints);
}

/* The joint state of this CPU. */
struct vperfctr_state *vperfctr_joint_here(void)
{
	return joint_here()->st;
}

/* ---- the joint state ----------------------------------------------------- */

/* True if the joint state was made for these members. */
static bool is_made_for_members(const struct joint *j)
{
	unsigned int i;

	if (j->nrkeys != j->nr)
		return false;
	for (i = 0; i < j->nr; i++) {
		if (j->key[i].id != j->part[i]->id || j->key[i].cstatus != j->part[i]->cstatus)
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
	unsigned int i, n = 0;
	bool tsc_on = false;

	j->nrkeys = 0;
	for (i = 0; i < j->nr; i++) {
		tsc_on |= j->part[i]->cstatus & VPERFCTR_CSTATUS_TSC;
		if (VPERFCTR_CSTATUS_NRCTRS(j->part[i]->cstatus))
			from[n++] = &j->part[i]->control;
	}
	if (perfctr_cpu_combine(&j->control, from, n, tsc_on))
		return false;
	j->control.kernel = true;	/* see add_samples() in overflow.c */
	perfctr_cpu_update_control(&j->st->cpu_state, &j->control, 0);
	for (i = 0; i < j->nr; i++) {
		j->key[i].id = j->part[i]->id;
		j->key[i].cstatus = j->part[i]->cstatus;
	}
	j->nrkeys = j->nr;
	return true;
}

/* Forget the members, which do not count. */
static void end_members(struct joint *j)
{
	unsigned int i;

	for (i = 0; i < j->nr; i++) {
		/* A CPU that sees -1 must also see the final sums: see vperfctr_cpu_of(). */
		smp_store_release(&j->member[i]->joint_cpu, -1);
	}
	j->nr = 0;
}

/* Stop the members on this CPU, where the driver has refused to resume the joint state. */
static noinline void refuse_members(struct joint *j)
{
	unsigned int i;

	for (i = 0; i < j->nr; i++)
		vperfctr_enter_forbidden_cpu(j->member[i]);
	end_members(j);
	j->nrlast = 0;
}

static void resume_members(struct joint *j)
{
	struct perfctr_cpu_state *joint = &j->st->cpu_state;
	bool made;

	made = is_made_for_members(j) && perfctr_cpu_join(joint, j->part, j->nr);
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

static void suspend_members(struct joint *j)
{
	perfctr_cpu_suspend(&j->st->cpu_state);
	perfctr_cpu_part(&j->st->cpu_state, j->part, j->nr);
	/* The next resume reports an overflow again, of these members or of others. */
	j->st->pending = false;
}

/* Note that the driver cannot count on this CPU: see refuse_cpu().  Context: resume_members(). */
void vperfctr_joint_refused(void)
{
	joint_here()->refused = true;
}

/* Update the members after the driver has stopped the joint state, and started it or refused to. */
void vperfctr_joint_restarted(void)
{
	struct joint *j = joint_here();

	perfctr_cpu_part(&j->st->cpu_state, j->part, j->nr);
	if (!j->refused)
		perfctr_cpu_joined(&j->st->cpu_state, j->part, j->nr);
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
static bool is_plain_member(const struct vperfctr_state *st)
{
	/* Acquire: as in drain_calls(). */
	return !smp_load_acquire(&st->remote) && !st->stop && st->checks == STATE_CHECK_JOINT &&
	       perfctr_nrctrs(&st->cpu_state.control);
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

/* Remember the members and their order, by which start_again() knows them. */
static void remember_members(struct joint *j, const struct vperfctr_state *const *listed)
{
	unsigned int i, k;

	for (i = 0; i < j->nr; i++) {
		for (k = 0; j->member[k] != listed[i]; k++)
			;
		j->last[i].key.id = j->part[k]->id;
		j->last[i].key.cstatus = j->part[k]->cstatus;
		j->last[i].nr = k;
	}
	j->nrlast = j->nr;
}

/* Make all states of current members that may count now, but for one. */
static void find_members(struct joint *j, const struct vperfctr_state *except, int cpu)
{
	const struct vperfctr_state *listed[VPERFCTR_MAX_STATES];
	struct vperfctr_state *st;
	bool all = true;
	unsigned int i;

	j->nrlast = 0;
	for (st = vperfctr_of(current); st; st = vperfctr_next_of(st)) {
		all &= is_plain_member(st);
		if (st == except || !can_be_member(st) || st->stop)
			continue;
		/* One that counts alone has been here before. */
		if (st->cpu < 0 && !vperfctr_enters_cpu(st, cpu))
			continue;
		if (WARN_ON_ONCE(j->nr == ARRAY_SIZE(j->member)))
			break;
		listed[j->nr] = st;
		/*
		 * In the order of identities, not of the list: threads that have inherited the
		 * same controls then have the same joint one.
		 */
		for (i = j->nr++; i && j->part[i - 1]->id > st->cpu_state.id; i--) {
			j->member[i] = j->member[i - 1];
			j->part[i] = j->part[i - 1];
		}
		j->member[i] = st;
		j->part[i] = &st->cpu_state;
	}
	if (all && j->nr > 1)
		remember_members(j, listed);
}

/*
 * Start the states of current, if they have the controls of the last members on this CPU, in the
 * same order, and if nothing else is to be done for any of them.  They are those of the same
 * thread, or of one that has inherited the same controls.
 *
 * Return: false if they must be looked at.
 */
static bool start_again(struct joint *j, int cpu)
{
	const struct joint_last *last = j->last, *end = j->last + j->nrlast;
	struct vperfctr_state *st;
	unsigned int i;

	if (last == end || perfctr_cpu_sampling_ns)
		return false;
	for (st = vperfctr_of(current); st; st = vperfctr_next_of(st), last++) {
		if (last == end || !is_plain_member(st) || st->cpu >= 0 ||
		    last->key.id != st->cpu_state.id || last->key.cstatus != st->cpu_state.cstatus)
			return false;
		j->member[last->nr] = st;
		j->part[last->nr] = &st->cpu_state;
	}
	if (last != end)
		return false;
	j->nr = j->nrlast;
	for (i = 0; i < j->nr; i++)
		WRITE_ONCE(j->member[i]->joint_cpu, cpu);
	resume_members(j);
	return true;
}

static void start_alone(struct vperfctr_state *st, int cpu)
{
	if (st->cpu >= 0)
		return;
	vperfctr_start_here(st, cpu);
	vperfctr_started(st);
}

/* Start the members that were found.  None of them counts with others. */
static void start_members(struct joint *j, int cpu)
{
	unsigned int i;

	if (j->nr < 2) {
		if (j->nr)
			start_alone(j->member[0], cpu);
		j->nr = 0;
		return;
	}
	for (i = 0; i < j->nr; i++) {
		vperfctr_stop(j->member[i]);
		WRITE_ONCE(j->member[i]->joint_cpu, cpu);
	}
	resume_members(j);
	for (i = 0; i < j->nr; i++)
		vperfctr_started(j->member[i]);
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
	if (j->starting || (!j->nr && start_again(j, cpu)))
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
	find_members(j, NULL, cpu);
	start_members(j, cpu);
}

/* ---- stopping and sampling ----------------------------------------------- */

/* Stop all members.  Context: the switch-out of one of them, or as for vperfctr_stop(). */
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
	find_members(j, st, smp_processor_id());
	start_members(j, smp_processor_id());
}

/* Update the sums of all members, which run on this CPU, while their counters go on. */
void vperfctr_joint_sample(void)
{
	struct joint *j = joint_here();

	perfctr_cpu_sample(&j->st->cpu_state);
	perfctr_cpu_part(&j->st->cpu_state, j->part, j->nr);
}

/*
 * Find the members that count on this CPU.
 *
 * Context: interrupts disabled, until the array has been used.
 * Return: their number.
 */
unsigned int vperfctr_joint_members(struct vperfctr_state ***members)
{
	struct joint *j = joint_here();

	*members = j->member;
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
		if (nr > 1 && perfctr_cpu_combine(&joint_here()->control, from, nr, false))
			return false;
	}
	return true;
}

/* ---- init ---------------------------------------------------------------- */

static void free_joints(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct joint **place = per_cpu_ptr(&joints, cpu), *j = *place;

		if (j && j->st)
			vperfctr_put(j->st);
		kfree(j);
		*place = NULL;
	}
}

int __init vperfctr_joint_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct joint *j = kzalloc(sizeof(*j), GFP_KERNEL);

		*per_cpu_ptr(&joints, cpu) = j;
		if (!j)
			goto no_memory;
		j->st = vperfctr_state_create_unowned(false);
		if (IS_ERR(j->st)) {
			j->st = NULL;
			goto no_memory;
		}
		/* Its overflows come to the place where those of rings do. */
		j->st->flags = STATE_FLAG_JOINT | VPERFCTR_CONTROL_RING;
	}
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
